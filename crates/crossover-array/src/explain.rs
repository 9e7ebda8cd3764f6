//! What evaluating an array would do.

use crossover_core::Graph;

use crate::{Array, Error, Result, eval, runtime::Runtime};

impl Array {
    /// The plan of what is pending: kernels, their operands, bytes and arithmetic. Runs nothing.
    ///
    /// ```
    /// # use crossover_array::Array;
    /// let x = Array::ones::<f32>([1024, 768]).softmax(-1);
    /// assert!(x.explain()?.contains("1 kernel"));
    /// # Ok::<(), crossover_array::Error>(())
    /// ```
    #[track_caller]
    pub fn explain(&self) -> Result<String> {
        let location = std::panic::Location::caller();
        let graph = self.graph()?;
        let prepared = Runtime::current().executor().prepare(&graph).map_err(|e| Error::new(e, location))?;
        Ok(prepared.plan().explain(None))
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
