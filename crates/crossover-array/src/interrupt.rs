//! Computations that the thread which asked for them can stop waiting for.
//!
//! A thread that has to look after something else from time to time, as the first thread of an interpreter looks after signals, says so with
//! [`interruptible`]. Plans that take long then run on a thread of their own, with everything they need: whoever stops waiting leaves nothing behind
//! that the plan still uses. What was asked for is pending as before; the plan itself stops before its next kernel, and its buffers go with it.

use std::{
    cell::Cell,
    sync::{
        Arc, OnceLock,
        mpsc::{self, RecvTimeoutError},
    },
    time::Duration,
};

use crossover_core::Scalar;
use crossover_runtime::{
    Buffer, Error, Interrupt, Outputs, Placement, Prepared, Result as RuntimeResult, Wanted, trace,
};

use crate::runtime::Runtime;

/// How often a waiting thread looks up.
const PERIOD: Duration = Duration::from_millis(50);
/// Bytes that a plan moves, or operations that it does, from which on it may take as long as some periods of a person's patience on a slow
/// machine: at 10 GB/s and 10 billion operations per second, 5 ms and 25 ms.
const BYTES: u64 = 48 << 20;
const OPERATIONS: u64 = 1 << 28;

thread_local! {
    static STOP: Cell<Option<fn() -> bool>> = const { Cell::new(None) };
}

/// Calls `body` on this thread. While it waits for a computation that takes long, `stop` is asked every 50 ms whether to give up; then
/// the evaluation ends with [`Error::Interrupted`](crossover_runtime::Error::Interrupted), and the arrays are as before.
///
/// A kernel that has begun is finished on another thread, and its result dropped. What a profiling session watches is waited for.
///
/// ```
/// use crossover_array::{Array, interruptible};
/// let x = Array::arange(1000);
/// let sum = interruptible(|| false, || x.sum(()).item::<i64>())?;
/// assert_eq!(sum, 499_500);
/// # Ok::<(), crossover_array::Error>(())
/// ```
pub fn interruptible<T>(stop: fn() -> bool, body: impl FnOnce() -> T) -> T {
    struct Back(Option<fn() -> bool>);
    impl Drop for Back {
        fn drop(&mut self) {
            STOP.set(self.0);
        }
    }
    let _back = Back(STOP.replace(Some(stop)));
    body()
}

/// What is called around work that nobody asked for.
static AROUND: OnceLock<fn(&mut (dyn FnMut() + Send))> = OnceLock::new();

/// Has `around` called with the work whenever what has piled up is computed without being asked for, which happens on a thread that only writes
/// expressions down. It calls the work once; before, it may let go of what others wait for. The first call decides for the process.
///
/// ```
/// crossover_array::around_piled_up_work(|work| work());
/// ```
pub fn around_piled_up_work(around: fn(&mut (dyn FnMut() + Send))) {
    let _ = AROUND.set(around);
}

/// Does work that nobody asked for.
pub(crate) fn unasked<T: Send>(work: impl FnOnce() -> T + Send) -> T {
    let Some(around) = AROUND.get() else { return work() };
    let (mut work, mut done) = (Some(work), None);
    around(&mut || done = work.take().map(|work| work()));
    match (done, work) {
        (Some(done), _) => done,
        (None, Some(work)) => work(),
        (None, None) => unreachable!("work that was taken has been done"),
    }
}

/// Whether a plan may take so long that somebody loses patience. Nobody knows about kernels of users.
fn is_long(prepared: &Prepared) -> bool {
    let launches = &prepared.plan().launches;
    if launches.iter().any(|launch| launch.kernel.is_custom()) {
        return true;
    }
    let (bytes, operations) = launches.iter().fold((0u64, 0u64), |(bytes, operations), launch| {
        let cost = &launch.cost;
        (bytes.saturating_add(cost.moved()), operations.saturating_add(cost.flops))
    });
    bytes >= BYTES || operations >= OPERATIONS
}

/// Runs a prepared plan; aside, where this thread wants to look up and the plan is long.
pub(crate) fn run(
    runtime: &Runtime,
    placement: Placement,
    wanted: Wanted,
    prepared: &Arc<Prepared>,
    inputs: &[Arc<Buffer>],
    scalars: &[Scalar],
) -> RuntimeResult<Outputs> {
    let here = || runtime.executor().run_for(placement, wanted, prepared, inputs, scalars);
    let Some(stop) = STOP.get().filter(|_| is_long(prepared) && !trace::is_watched()) else { return here() };
    let interrupt = Interrupt::default();
    let (done, result) = mpsc::sync_channel(1);
    let aside = {
        let (runtime, prepared, interrupt) = (runtime.clone(), prepared.clone(), interrupt.clone());
        let (inputs, scalars) = (inputs.to_vec(), scalars.to_vec());
        move || {
            let run = || runtime.executor().run_for(placement, wanted, &prepared, &inputs, &scalars);
            // Nobody may be waiting any more.
            let _ = done.send(interrupt.scope(run));
        }
    };
    let Ok(thread) = std::thread::Builder::new().name("crossover-aside".to_owned()).spawn(aside) else {
        return here();
    };
    loop {
        match result.recv_timeout(PERIOD) {
            Ok(outputs) => return outputs,
            Err(RecvTimeoutError::Timeout) if stop() => {
                interrupt.raise();
                return Err(Error::Interrupted);
            }
            Err(RecvTimeoutError::Timeout) => {}
            // The thread has ended without a word: it panicked, and so does whoever asked.
            Err(RecvTimeoutError::Disconnected) => match thread.join() {
                Err(panic) => std::panic::resume_unwind(panic),
                Ok(()) => return Err(Error::Internal("a plan ended without a result".to_owned())),
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use std::{
        sync::atomic::{AtomicUsize, Ordering},
        time::Instant,
    };

    use super::*;
    use crate::{Array, CustomKernel, DType, s};

    /// One more than the element, after a while; and how many of them have been begun.
    fn slow() -> (CustomKernel, Arc<AtomicUsize>) {
        let begun = Arc::new(AtomicUsize::new(0));
        let counted = begun.clone();
        let kernel = CustomKernel::builder("slow")
            .input("x", DType::I64)
            .output("out", DType::I64)
            .elementwise("out = x + 1", move |x: i64| {
                counted.fetch_add(1, Ordering::SeqCst);
                std::thread::sleep(Duration::from_millis(300));
                x + 1
            })
            .build();
        (kernel.unwrap(), begun)
    }

    #[test]
    fn whoever_gives_up_gets_an_error_at_once_and_may_ask_again() {
        let (kernel, begun) = slow();
        let (x, start) = (Array::from([1i64]), Instant::now());
        let chain = kernel.call(&[&kernel.call(&[&x])]);
        let given_up = interruptible(|| true, || chain.to_vec::<i64>()).unwrap_err();
        assert!(matches!(given_up.kind(), Error::Interrupted), "{given_up}");
        assert!(start.elapsed() < Duration::from_millis(250), "{:?}", start.elapsed());
        std::thread::sleep(Duration::from_millis(500));
        assert_eq!(begun.load(Ordering::SeqCst), 1, "the second kernel was never begun");
        assert_eq!(interruptible(|| false, || chain.to_vec::<i64>()).unwrap(), [3]);
    }

    #[test]
    fn an_assignment_that_is_given_up_changes_nothing() {
        let (target, value) = (Array::from([1i64, 2]), slow().0.call(&[&Array::from([5i64])]));
        let given_up = interruptible(|| true, || target.get(s![0..1]).assign(&value)).unwrap_err();
        assert!(matches!(given_up.kind(), Error::Interrupted), "{given_up}");
        assert_eq!(target.to_vec::<i64>().unwrap(), [1, 2]);
        target.get(s![0..1]).assign(&value).unwrap();
        assert_eq!(target.to_vec::<i64>().unwrap(), [6, 2]);
    }

    #[test]
    fn a_closure_that_panics_aside_fails_here() {
        let kernel = CustomKernel::builder("panics")
            .input("x", DType::I64)
            .output("out", DType::I64)
            .elementwise("out = x", |x: i64| if x >= 0 { panic!("by design") } else { x })
            .build()
            .unwrap();
        let broken = kernel.call(&[&Array::from([1i64])]);
        let error = interruptible(|| false, || broken.eval().map(drop)).unwrap_err();
        assert!(error.to_string().contains("panicked: by design"), "{error}");
    }

    #[test]
    fn what_takes_long_is_told_by_its_work() {
        let is_long = |sum: &Array| {
            let graph = crate::eval::extract(&[&sum.version()], &Runtime::current()).unwrap().graph;
            is_long(&Runtime::current().executor().prepare(&graph).unwrap())
        };
        let matrix = |n: usize| Array::zeros::<f64>([n, n]).eval().unwrap().clone();
        assert!(!is_long(&matrix(100).sum(())));
        assert!(!is_long(&matrix(100).matmul(&matrix(100))));
        assert!(is_long(&matrix(1000).matmul(&matrix(1000))));
        assert!(is_long(&slow().0.call(&[&Array::from([1i64])])));
    }
}
