//! Plans of one kernel on the host: what code that computes call by call runs, again and again.
//!
//! The same kernel with the same checks as in any other plan, without a table of buffers. A session is told about it in one piece; where anybody
//! else watches, or anything is missing, the plan is left to the executor's usual way.

use std::sync::Arc;

use crossover_core::Scalar;
use smallvec::{SmallVec, smallvec};

use crate::{
    Buffer, Device, Executor, Outputs, Placement, Prepared, Result,
    executor::stays_home,
    fork, spans,
    trace::{self, Moment},
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
            prepared.at_home(0).filter(|_| home && !trace::is_heard() && !self.recent().is_on())?;
        let start = trace::is_on().then(Moment::now);
        let mut blocks: SmallVec<[_; 4]> = SmallVec::new();
        for &input in &alone.inputs {
            blocks.push(inputs.get(input as usize)?.at_home()?);
        }
        Some((|| {
            fork::check()?;
            let (buffer, block, _) = Buffer::uninitialised(self.machine(), Device::HOST, alone.bytes)?;
            let result = [block];
            let launch = prepared.signature(0).launch(&blocks, &result, scalars)?;
            let begun = start.map(|start| (start, Moment::now()));
            executable.run(&launch)?;
            self.stats().launched();
            if let Some((start, begun)) = begun {
                spans::alone(self.machine(), prepared, start, begun);
            }
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

    #[test]
    fn a_session_sees_the_evaluation_and_its_kernel() {
        let host = Arc::new(SimHost::hollow(SimOptions::default(), Clock::default()));
        let machine = Machine::new(host, Vec::new()).unwrap();
        let executor = Executor::new(machine.clone(), Default::default(), Placement::Auto);
        let prepared = executor.prepare(&twice()).unwrap();
        let inputs = [Buffer::from_bytes(&machine, &[0; 12]).unwrap()];
        // The first run is the usual one, and takes two events for the same.
        let (usual, alone) = ("alone usual", "alone itself");
        let line = std::panic::Location::caller();
        let run = |name: &'static str| {
            let _scope = trace::scope(name);
            let _asked = trace::asked(line);
            executor.run(&prepared, &inputs, &[]).unwrap();
        };
        // Numbers of kernels begin anew with every session.
        for round in 0..2 {
            let session = trace::Session::begin();
            if round == 0 {
                run(usual);
            }
            assert!(executor.run_alone(Placement::Auto, &prepared, &inputs, &[]).is_some());
            run(alone);
            let seen = session.end();
            let below = |name: &str| -> Vec<trace::Span<'_>> {
                let at = seen.spans().position(|span| span.name == name).unwrap();
                let is_below = |span: &trace::Span<'_>| {
                    let above = span.parent.map(|above| (above, seen.span(above).parent));
                    above.is_some_and(|(above, top)| above == at || top == Some(at))
                };
                seen.spans().filter(is_below).collect()
            };
            for name in [usual, alone].into_iter().skip(round) {
                let spans = below(name);
                let [evaluation, kernel] = spans.as_slice() else { panic!("{name}: {spans:?}") };
                assert_eq!((evaluation.kind, evaluation.name), (trace::Kind::Evaluation, "evaluate"));
                assert_eq!((kernel.kind, kernel.name), (trace::Kind::Kernel, "add"));
                assert_eq!((evaluation.place, kernel.place), (Some(line), Some(line)));
                assert!(kernel.start >= evaluation.start && kernel.end() <= evaluation.end());
                let work = kernel.work.as_ref().unwrap();
                assert_eq!((work.kernel.form, work.kernel.dtype, work.device), ("map", "f32", Device::HOST));
                assert_eq!((work.read(), work.written(), work.flops(), kernel.bytes), (12, 12, 3, 24));
            }
        }
    }
}
