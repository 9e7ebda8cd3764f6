//! What evaluating an array would do, and what it did.

use std::{panic::Location, sync::Arc};

use crossover_core::Graph;
use crossover_runtime::{Decision, Placement, Prepared, Wanted, explained, explained_with};

use crate::{
    Array, Error, Result,
    eval::{self, Extraction},
    node::State,
    runtime::Runtime,
};

/// What is to be computed for the host, how, and where.
struct Pending {
    runtime: Runtime,
    extraction: Extraction,
    prepared: Arc<Prepared>,
    placement: Placement,
    decision: Arc<Decision>,
}

impl Pending {
    fn of(array: &Array, location: &'static Location<'static>) -> Result<Pending> {
        let wrap = |e: crossover_runtime::Error| Error::new(e, location);
        let runtime = Runtime::current();
        let extraction = eval::extract(&[&array.node()], &runtime)?;
        let prepared = runtime.executor().prepare(&extraction.graph).map_err(wrap)?;
        let placement = runtime.placement().map_err(wrap)?;
        let decision =
            runtime.executor().decision_for(placement, &prepared, &extraction.inputs, Wanted::OnHost);
        Ok(Pending { runtime, extraction, prepared, placement, decision })
    }
}

impl Array {
    /// The plan of what is pending: kernels, their operands, bytes and arithmetic; where each would run if the host wanted
    /// the result, what every device is predicted to take, and why. Runs nothing.
    ///
    /// ```
    /// # use crossover_array::Array;
    /// let x = Array::ones::<f32>([1024, 768]).softmax(-1);
    /// let text = x.explain()?;
    /// assert!(text.contains("1 kernel") && text.contains("on CPU: about"));
    /// # Ok::<(), crossover_array::Error>(())
    /// ```
    #[track_caller]
    pub fn explain(&self) -> Result<String> {
        let pending = Pending::of(self, Location::caller())?;
        Ok(explained(pending.prepared.plan(), &pending.decision, pending.runtime.machine()))
    }

    /// Evaluates the array with every kernel and copy timed, and says what was predicted and what happened.
    ///
    /// ```
    /// # use crossover_array::Array;
    /// let x = Array::linspace(0.0, 1.0, 10_000).exp();
    /// let text = x.explain_analyze()?;
    /// assert!(text.contains("took") && text.contains("predicted"));
    /// assert_eq!(x.to_vec::<f64>()?[0], 1.0);
    /// # Ok::<(), crossover_array::Error>(())
    /// ```
    #[track_caller]
    pub fn explain_analyze(&self) -> Result<String> {
        let location = Location::caller();
        let Pending { runtime, extraction, prepared, placement, decision } = Pending::of(self, location)?;
        let (inputs, scalars) = (&extraction.inputs, extraction.graph.scalars());
        let ran = runtime.executor().analyse(placement, Wanted::OnHost, &prepared, inputs, scalars);
        let (buffers, seen) = ran.map_err(|e| Error::new(e, location))?;
        for (node, buffer) in extraction.outputs.into_iter().zip(buffers) {
            node.finish(State::Ready(buffer));
        }
        Ok(explained_with(prepared.plan(), &decision, runtime.machine(), &seen))
    }

    /// The graph of what is pending. Its text form can be read back by [`Graph::parse`].
    ///
    /// ```
    /// # use crossover_array::Array;
    /// let x = Array::from([1.0f32, 2.0]).exp();
    /// assert!(x.graph()?.to_string().contains("exp"));
    /// # Ok::<(), crossover_array::Error>(())
    /// ```
    pub fn graph(&self) -> Result<Graph> {
        Ok(eval::extract(&[&self.node()], &Runtime::current())?.graph)
    }
}
