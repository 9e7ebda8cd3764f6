//! Where a plan would run, for whoever prepares its operands meanwhile.

use std::sync::Arc;

use crate::{Buffer, Device, Executor, Placement, Prepared, Wanted, executor::stays_home};

impl Executor {
    /// The accelerator on which all of a plan would run now, if its inputs lie as they do; `None` where the host has a part in it, where that is
    /// only to be tried out, and while the accelerator's kernels are still being made.
    ///
    /// Whoever sends the inputs there beforehand moves what would have been moved anyway. Only where the inputs lie counts, not what they hold.
    ///
    /// ```
    /// use crossover_core::{DType, Graph, Shape, graph::Op};
    /// use crossover_runtime::{Executor, Machine, Placement, Wanted, sim::{Clock, SimHost, SimOptions}};
    /// # use std::sync::Arc;
    /// let host = Arc::new(SimHost::hollow(SimOptions::default(), Clock::default()));
    /// let executor = Executor::new(Machine::new(host, Vec::new())?, Default::default(), Placement::Auto);
    /// let mut graph = Graph::new();
    /// let x = graph.input(DType::F32, Shape::from([512, 512]))?;
    /// let square = graph.push(Op::MatMul, &[x, x])?;
    /// graph.output(square);
    /// let prepared = executor.prepare(&graph)?;
    /// assert!(executor.destination(Placement::Auto, &prepared, &[], Wanted::Anywhere).is_none(), "there is no other");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn destination(
        &self,
        placement: Placement,
        prepared: &Prepared,
        inputs: &[Arc<Buffer>],
        wanted: Wanted,
    ) -> Option<Device> {
        match placement {
            Placement::On(device) => Some(device).filter(|&device| device != Device::HOST),
            Placement::Auto if self.machine().is_host_only() || stays_home(prepared, inputs) => None,
            Placement::Auto => {
                let decision = self.decide(prepared, inputs, wanted);
                if decision.is_trial() || decision.is_whole_trial() {
                    return None;
                }
                let device = decision.only_device().filter(|&device| device != Device::HOST)?;
                prepared.begin(device.0, &**self.machine().backend(device));
                let is_ready = (0..decision.kernels()).all(|at| prepared.is_ready(at, device.0));
                (is_ready || self.is_patient(prepared)).then_some(device)
            }
            Placement::Host | Placement::RoundRobin => None,
        }
    }
}
