//! Work that goes on while the caller does something else.

use std::{
    panic::Location,
    sync::Arc,
    thread::{Builder, JoinHandle},
};

use crossover_runtime::{Buffer, trace};
use parking_lot::Mutex;

use crate::{Array, Device, Error, Result, device, eval, node::State, runtime::Runtime, with_device};

/// An evaluation that goes on by itself; made by [`Array::eval_async`] and [`Array::prefetch`].
///
/// Dropping it waits for nothing: the work goes on, and whoever asks the array for its values gets them.
///
/// ```
/// use crossover_array::Array;
/// let x = Array::linspace(0.0, 1.0, 1000).exp();
/// let coming = x.eval_async();
/// // Something else meanwhile.
/// assert_eq!(coming.wait()?.size(), 1000);
/// # Ok::<(), crossover_array::Error>(())
/// ```
#[derive(Debug)]
#[must_use = "the work goes on without it; `wait` says whether it succeeded"]
pub struct Evaluation {
    array: Array,
    work: Work,
}

#[derive(Debug)]
enum Work {
    Done(Result<()>),
    Going(JoinHandle<Result<()>>),
}

impl Evaluation {
    /// Whether waiting would take no time.
    ///
    /// ```
    /// use crossover_array::Array;
    /// let coming = Array::linspace(0.0, 1.0, 1000).exp().eval_async();
    /// while !coming.is_ready() {
    ///     std::thread::yield_now(); // or something useful
    /// }
    /// assert_eq!(coming.wait()?.to_vec::<f64>()?[0], 1.0);
    /// # Ok::<(), crossover_array::Error>(())
    /// ```
    pub fn is_ready(&self) -> bool {
        match &self.work {
            Work::Done(_) => true,
            Work::Going(thread) => thread.is_finished(),
        }
    }

    /// The array, once its values are there, devices included.
    pub fn wait(self) -> Result<Array> {
        let done = match self.work {
            Work::Done(done) => done,
            // A panic of the evaluation belongs to whoever asked for it.
            Work::Going(thread) => thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)),
        };
        done.map(|()| self.array)
    }
}

impl Array {
    /// Evaluates on a thread of its own, with this thread's runtime and device, and returns at once.
    ///
    /// ```
    /// use crossover_array::Array;
    /// let x = Array::linspace(0.0, 1.0, 1000);
    /// let coming = x.exp().sum(()).eval_async();
    /// let meanwhile = x.sum(()).item::<f64>()?;
    /// assert!(coming.wait()?.item::<f64>()? > meanwhile);
    /// # Ok::<(), crossover_array::Error>(())
    /// ```
    #[track_caller]
    pub fn eval_async(&self) -> Evaluation {
        let location = Location::caller();
        let node = self.version();
        let settled = match &*node.state() {
            State::Pending { .. } | State::Scalar(_) => None,
            State::Failed(error) => Some(Err(error.clone())),
            State::Ready(_) => Some(Ok(())),
        };
        let work = match settled {
            Some(done) => Work::Done(done),
            None => begin(location, move |runtime| {
                let buffer = eval::node(&node)?;
                finish(runtime, &buffer, location)
            }),
        };
        Evaluation { array: self.clone(), work }
    }

    /// Starts to bring the array to a device and returns at once: [`to_device`](Array::to_device) on a thread of its own.
    ///
    /// While a kernel computes one part of the data, the next can be on its way.
    ///
    /// ```
    /// use crossover_array::{Array, Device};
    /// let next = Array::linspace(0.0, 1.0, 1000);
    /// let coming = next.prefetch(Device::Cpu);
    /// // … compute something else …
    /// assert_eq!(coming.wait()?.device(), Device::Cpu);
    /// # Ok::<(), crossover_array::Error>(())
    /// ```
    #[track_caller]
    pub fn prefetch(&self, device: Device) -> Evaluation {
        let array = self.clone();
        let work = begin(Location::caller(), move |_| array.to_device(device).map(drop));
        Evaluation { array: self.clone(), work }
    }
}

/// Runs work on a thread of its own, or here and now where there is none to be had.
fn begin(
    location: &'static Location<'static>,
    work: impl FnOnce(&Runtime) -> Result<()> + Send + 'static,
) -> Work {
    let (runtime, scoped) = (Runtime::current(), device::scoped());
    let body = move || {
        let _asked = trace::asked(location);
        let inside = || runtime.scope(|| work(&runtime));
        match scoped {
            Some(device) => with_device(device, inside),
            None => inside(),
        }
    };
    // Left where both the thread and, if none starts, the caller can take it.
    let body = Arc::new(Mutex::new(Some(body)));
    let shared = body.clone();
    let on_thread = move || {
        let taken = shared.lock().take();
        taken.map_or(Ok(()), |body| body())
    };
    match Builder::new().name("crossover-ahead".to_string()).spawn(on_thread) {
        Ok(thread) => Work::Going(thread),
        Err(_) => {
            let taken = body.lock().take();
            Work::Done(taken.map_or(Ok(()), |body| body()))
        }
    }
}

/// Waits until the devices that hold a buffer have written it.
fn finish(runtime: &Runtime, buffer: &Arc<Buffer>, location: &'static Location<'static>) -> Result<()> {
    for device in buffer.valid_on() {
        runtime.machine().backend(device).finish().map_err(|e| Error::new(e, location))?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use crate::{Array, Device};

    #[test]
    fn errors_come_out_of_the_wait() {
        let wrong = Array::from([1.0f32, 2.0]) + Array::from([1.0f32, 2.0, 3.0]);
        let coming = wrong.eval_async();
        assert!(coming.is_ready());
        assert!(coming.wait().is_err());
        let missing = Array::from([1.0f32]).prefetch(Device::Cuda(999)).wait().unwrap_err();
        assert!(missing.to_string().contains("cuda:999"), "{missing}");
    }

    #[test]
    fn many_evaluations_of_one_array_agree() {
        let x = Array::linspace(0.0, 1.0, 10_000).exp();
        let coming: Vec<_> = (0..8).map(|_| x.eval_async()).collect();
        let want = x.to_vec::<f64>().unwrap();
        for one in coming {
            assert_eq!(one.wait().unwrap().to_vec::<f64>().unwrap(), want);
        }
    }
}
