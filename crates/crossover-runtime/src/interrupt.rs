//! Telling a running plan to stop.
//!
//! A plan stops between two launches. What it has computed by then is dropped with its buffers, so that nobody sees half a result; a launch
//! that has begun is finished.

use std::{
    cell::RefCell,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
};

use crate::{Error, Result};

thread_local! {
    /// What the plans of this thread listen to.
    static CURRENT: RefCell<Option<Interrupt>> = const { RefCell::new(None) };
}

/// A wish that plans stop, which any thread may express.
///
/// ```
/// use crossover_runtime::Interrupt;
/// let interrupt = Interrupt::default();
/// let other = interrupt.clone();
/// assert!(!interrupt.is_raised());
/// other.raise();
/// assert!(interrupt.is_raised());
/// ```
#[derive(Debug, Clone, Default)]
pub struct Interrupt(Arc<AtomicBool>);

impl Interrupt {
    /// Stops the plans that listen, for good.
    pub fn raise(&self) {
        self.0.store(true, Ordering::Relaxed);
    }

    /// Whether somebody has raised it.
    pub fn is_raised(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }

    /// Calls `body`. Plans that this thread runs meanwhile end with [`Error::Interrupted`] when the interrupt is raised.
    pub fn scope<T>(&self, body: impl FnOnce() -> T) -> T {
        struct Back(Option<Interrupt>);
        impl Drop for Back {
            fn drop(&mut self) {
                CURRENT.set(self.0.take());
            }
        }
        let _back = Back(CURRENT.replace(Some(self.clone())));
        body()
    }
}

/// Whether the plan that this thread runs may go on.
pub(crate) fn check() -> Result<()> {
    let raised = CURRENT.with_borrow(|current| current.as_ref().is_some_and(Interrupt::is_raised));
    if raised { Err(Error::Interrupted) } else { Ok(()) }
}

#[cfg(test)]
mod tests {
    use crossover_core::{DType, Graph, Shape, ops::MapOp};

    use super::*;
    use crate::{
        Buffer, Executor, Machine, Placement,
        sim::{Clock, SimHost, SimOptions},
    };

    #[test]
    fn a_plan_stops_before_its_next_launch() {
        let mut graph = Graph::new();
        let x = graph.input(DType::F32, Shape::from([3])).unwrap();
        let sum = graph.map(MapOp::Add, &[x, x]).unwrap();
        graph.output(sum);
        let host = Arc::new(SimHost::hollow(SimOptions::default(), Clock::default()));
        let machine = Machine::new(host, Vec::new()).unwrap();
        let executor = Executor::new(machine.clone(), Default::default(), Placement::Auto);
        let inputs = [Buffer::from_bytes(&machine, &[0; 12]).unwrap()];
        let interrupt = Interrupt::default();
        interrupt.scope(|| executor.evaluate(&graph, &inputs)).unwrap();
        assert_eq!(executor.counts().launches, 1);
        interrupt.raise();
        let prepared = executor.prepare(&graph).unwrap();
        let alone = interrupt.scope(|| executor.run(&prepared, &inputs, &[]));
        assert!(alone.is_ok(), "a plan of one kernel that is ready has no place to stop at");
        let fresh = Executor::new(machine, Default::default(), Placement::Auto);
        let stopped = interrupt.scope(|| fresh.evaluate(&graph, &inputs));
        assert!(matches!(stopped, Err(Error::Interrupted)), "{stopped:?}");
        assert_eq!(fresh.counts().launches, 0);
        fresh.evaluate(&graph, &inputs).expect("outside of the scope nothing is stopped");
    }
}
