//! Plans of one kernel on the host: what code that computes call by call runs, again and again.
//!
//! The same kernel with the same checks as in any other plan, without a table of buffers and without looking for somebody who watches: where
//! anybody does, or anything is missing, the plan is left to the executor's usual way.

use std::sync::Arc;

use crossover_core::Scalar;
use smallvec::{SmallVec, smallvec};

use crate::{
    Buffer, Device, Executor, Outputs, Placement, Prepared, Result, executor::stays_home, fork, trace,
};

impl Executor {
    /// Runs a plan of one kernel on the host. `None`, with nothing done, where there is more to do than that.
    #[inline]
    pub(crate) fn run_alone(
        &self,
        placement: Placement,
        prepared: &Prepared,
        inputs: &[Arc<Buffer>],
        scalars: &[Scalar],
    ) -> Option<Result<Outputs>> {
        let alone = prepared.alone()?;
        let home = match placement {
            Placement::Host => true,
            Placement::Auto => self.machine().is_host_only() || stays_home(prepared, inputs),
            Placement::On(_) | Placement::RoundRobin => false,
        };
        // The first run makes the kernel ready.
        let executable =
            prepared.at_home(0).filter(|_| home && !trace::is_watched() && !self.recent().is_on())?;
        let mut blocks: SmallVec<[_; 4]> = SmallVec::new();
        for &input in &alone.inputs {
            blocks.push(inputs.get(input as usize)?.at_home()?);
        }
        Some((|| {
            fork::check()?;
            let (buffer, block, _) = Buffer::uninitialised(self.machine(), Device::HOST, alone.bytes)?;
            executable.run(&prepared.signature(0).launch(&blocks, &[block], scalars)?)?;
            self.stats().launched();
            Ok(smallvec![buffer])
        })())
    }
}

#[cfg(test)]
mod tests {
    use crossover_core::{DType, Graph, Shape, ops::MapOp};

    use crate::{
        Buffer, Executor, Machine,
        sim::{Clock, SimHost, SimOptions},
    };

    use super::*;

    fn twice() -> Graph {
        let mut graph = Graph::new();
        let x = graph.input(DType::F32, Shape::from([3])).unwrap();
        let sum = graph.map(MapOp::Add, &[x, x]).unwrap();
        graph.output(sum);
        graph
    }

    #[test]
    fn a_kernel_made_ready_runs_alone_and_counts() {
        let host = Arc::new(SimHost::hollow(SimOptions::default(), Clock::default()));
        let machine = Machine::new(host, Vec::new()).unwrap();
        let executor = Executor::new(machine.clone(), Default::default(), Placement::Auto);
        let prepared = executor.prepare(&twice()).unwrap();
        let inputs = [Buffer::from_bytes(&machine, &[0; 12]).unwrap()];
        let run = || executor.run_alone(Placement::Auto, &prepared, &inputs, &[]);
        assert!(run().is_none(), "nobody has made it ready");
        executor.run(&prepared, &inputs, &[]).unwrap();
        assert_eq!(run().expect("it is ready").unwrap()[0].bytes(), 12);
        assert_eq!(executor.counts().launches, 2);
        assert!(executor.run_alone(Placement::RoundRobin, &prepared, &inputs, &[]).is_none());
        assert!(executor.run_alone(Placement::Auto, &prepared, &[], &[]).is_none(), "an input is missing");
        executor.recent().set(true);
        assert!(run().is_none(), "somebody watches");
    }
}
