//! Recording what a program does.

use crossover_array::Runtime;
use crossover_runtime::trace;

use crate::{Trace, gather};

/// A recording in progress, for programs that cannot be a closure.
///
/// ```
/// use crossover_array::Array;
/// use crossover_profile::Session;
///
/// let session = Session::begin("by hand");
/// Array::linspace(0.0, 1.0, 1000).exp().eval()?;
/// let trace = session.end();
/// assert_eq!(trace.name, "by hand");
/// assert_eq!(trace.breakdown.total(), trace.wall_ns);
/// # Ok::<(), crossover_array::Error>(())
/// ```
pub struct Session {
    name: String,
    inner: trace::Session,
}

impl Session {
    /// Begins to record the whole process.
    pub fn begin(name: impl Into<String>) -> Session {
        Session::new(name.into(), trace::Session::begin)
    }

    fn new(name: String, begin: fn() -> trace::Session) -> Session {
        // Opening the runtime is not what anybody wants to measure.
        let runtime = Runtime::current();
        let inner = begin();
        inner.look(runtime.executor().machine());
        Session { name, inner }
    }

    /// Begins to record, with every kernel and copy of other devices timed by events, whatever that costs: a few microseconds each. Otherwise short
    /// work that repeats is timed now and then, and [`estimated`](Trace::estimated) where it was not.
    ///
    /// ```
    /// use crossover_profile::Session;
    /// let session = Session::begin_timing_everything("to the last kernel");
    /// assert!(session.end().estimated.is_empty());
    /// ```
    pub fn begin_timing_everything(name: impl Into<String>) -> Session {
        Session::new(name.into(), trace::Session::begin_timing_everything)
    }

    /// Ends, and gives what was seen: some hundred nanoseconds per span. The first session on a machine without a GPU also measures its processor, once, in about a quarter
    /// of a second, so that kernels have a roof; see [`Runtime::measured`].
    pub fn end(self) -> Trace {
        gather::trace(&self.name, &self.inner.end(), &Runtime::current())
    }
}

/// Runs a function and records what happens meanwhile, in all threads.
///
/// ```
/// use crossover_array::{Array, Key, random};
/// use crossover_profile::profile;
///
/// let (mean, trace) = profile("mean", || {
///     random::normal::<f32>(&Key::new(1), [512, 512]).mean(()).item::<f32>()
/// });
/// assert!(mean?.abs() < 0.02);
/// assert!(trace.kernels.len() >= 1);
/// # Ok::<(), crossover_array::Error>(())
/// ```
pub fn profile<T>(name: &str, work: impl FnOnce() -> T) -> (T, Trace) {
    let session = Session::begin(name);
    let result = work();
    (result, session.end())
}
