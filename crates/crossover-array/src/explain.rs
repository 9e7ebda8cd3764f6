//! What evaluating an array would do, and what it did.

use crossover_core::Graph;
use crossover_runtime::{Wanted, explained, explained_with};

use crate::{Array, Error, Result, eval, node::State, runtime::Runtime};

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
        let location = std::panic::Location::caller();
        let wrap = |e: crossover_runtime::Error| Error::new(e, location);
        let runtime = Runtime::current();
        let extraction = eval::extract(&[&self.node()], &runtime)?;
        let executor = runtime.executor();
        let prepared = executor.prepare(&extraction.graph).map_err(wrap)?;
        let placement = runtime.placement().map_err(wrap)?;
        let decision = executor.decision_for(placement, &prepared, &extraction.inputs, Wanted::OnHost);
        Ok(explained(prepared.plan(), &decision, executor.machine()))
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
        let location = std::panic::Location::caller();
        let wrap = |e: crossover_runtime::Error| Error::new(e, location);
        let runtime = Runtime::current();
        let extraction = eval::extract(&[&self.node()], &runtime)?;
        let executor = runtime.executor();
        let prepared = executor.prepare(&extraction.graph).map_err(wrap)?;
        let placement = runtime.placement().map_err(wrap)?;
        let (inputs, wanted) = (&extraction.inputs, Wanted::OnHost);
        let decision = executor.decision_for(placement, &prepared, inputs, wanted);
        let ran = executor.analyse(placement, wanted, &prepared, inputs, extraction.graph.scalars());
        let (buffers, seen) = ran.map_err(wrap)?;
        for (node, buffer) in extraction.outputs.into_iter().zip(buffers) {
            node.finish(State::Ready(buffer));
        }
        Ok(explained_with(prepared.plan(), &decision, executor.machine(), &seen))
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
