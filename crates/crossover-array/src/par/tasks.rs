//! Tasks: functions that run by themselves, whose panics stay with them.

use std::{
    any::Any,
    fmt,
    panic::{AssertUnwindSafe, catch_unwind},
    sync::Arc,
};

use parking_lot::{Condvar, Mutex};

use super::carry::carry;

/// A task that panicked, with its message.
///
/// ```
/// use crossover_array::par;
/// let panicked = par::spawn(|| -> i64 { panic!("no luck") }).join().unwrap_err();
/// assert_eq!((panicked.message(), panicked.to_string().as_str()), ("no luck", "a task panicked: no luck"));
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Panicked {
    message: String,
}

impl Panicked {
    pub(super) fn new(payload: &(dyn Any + Send)) -> Panicked {
        let text = payload.downcast_ref::<&str>().map(|text| (*text).to_string());
        let text = text.or_else(|| payload.downcast_ref::<String>().cloned());
        Panicked { message: text.unwrap_or_else(|| "without a message".to_string()) }
    }

    /// What the panic said.
    pub fn message(&self) -> &str {
        &self.message
    }
}

impl fmt::Display for Panicked {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "a task panicked: {}", self.message)
    }
}

impl std::error::Error for Panicked {}

/// Runs a function; a panic is an error.
pub(super) fn isolated<T>(body: impl FnOnce() -> T) -> Result<T, Panicked> {
    // Nobody sees what a function that panicked has left half done, except what it shares with others on purpose.
    catch_unwind(AssertUnwindSafe(body)).map_err(|payload| Panicked::new(&*payload))
}

/// Where a task leaves its result.
struct Slot<T> {
    result: Mutex<Option<Result<T, Panicked>>>,
    filled: Condvar,
}

/// A task that was started; made by [`spawn`] and [`Scope::spawn`]. Dropping it leaves the task alone.
///
/// ```
/// use crossover_array::par;
/// let task = par::spawn(|| 6 * 7);
/// while !task.is_finished() {
///     std::thread::yield_now(); // or something useful
/// }
/// assert_eq!(task.join(), Ok(42));
/// ```
#[must_use = "the task goes on without it; `join` says how it ended"]
pub struct Task<T> {
    slot: Arc<Slot<T>>,
}

impl<T> Task<T> {
    fn pair() -> (Task<T>, Arc<Slot<T>>) {
        let slot = Arc::new(Slot { result: Mutex::new(None), filled: Condvar::new() });
        (Task { slot: slot.clone() }, slot)
    }

    /// Whether waiting would take no time.
    pub fn is_finished(&self) -> bool {
        self.slot.result.lock().is_some()
    }

    /// Waits for the result, or what the task's panic said. A thread that runs tasks itself does others meanwhile.
    pub fn join(self) -> Result<T, Panicked> {
        loop {
            let mut result = self.slot.result.lock();
            if let Some(result) = result.take() {
                return result;
            }
            if rayon::current_thread_index().is_none() {
                self.slot.filled.wait(&mut result);
                continue;
            }
            drop(result);
            if rayon::yield_now() != Some(rayon::Yield::Executed) {
                std::thread::yield_now();
            }
        }
    }
}

fn run<T>(slot: &Slot<T>, body: impl FnOnce() -> T) {
    let result = isolated(body);
    *slot.result.lock() = Some(result);
    slot.filled.notify_all();
}

/// Starts a task on one of the threads that parallel iterators use, with this thread's runtime and device.
///
/// ```
/// use crossover_array::{Array, par};
/// let sum = par::spawn(|| Array::arange(10).sum(()).item::<i64>());
/// let failing = par::spawn(|| -> i64 { panic!("no luck") });
/// assert_eq!(sum.join().expect("it does not panic")?, 45);
/// assert_eq!(failing.join().unwrap_err().message(), "no luck");
/// # Ok::<(), crossover_array::Error>(())
/// ```
pub fn spawn<T: Send + 'static>(body: impl FnOnce() -> T + Send + 'static) -> Task<T> {
    let (task, slot) = Task::pair();
    let carried = carry();
    rayon::spawn(move || run(&slot, || carried.enter(body)));
    task
}

/// Where tasks can be started that borrow from the caller; made by [`scope`].
///
/// ```
/// use crossover_array::par;
/// let text = String::from("borrowed");
/// let length = par::scope(|scope| scope.spawn(|| text.len()).join());
/// assert_eq!(length, Ok(8));
/// ```
pub struct Scope<'a, 'scope> {
    inner: &'a rayon::Scope<'scope>,
}

impl<'scope> Scope<'_, 'scope> {
    /// Starts a task that ends before the scope does.
    pub fn spawn<T: Send + 'scope>(&self, body: impl FnOnce() -> T + Send + 'scope) -> Task<T> {
        let (task, slot) = Task::pair();
        let carried = carry();
        self.inner.spawn(move |_| run(&slot, || carried.enter(body)));
        task
    }
}

/// Runs a function that may start tasks, and returns when all of them have ended. A task that panics ends alone.
///
/// ```
/// use crossover_array::par;
/// let words = ["parallel", "tasks"];
/// let lengths = par::scope(|scope| {
///     let tasks: Vec<_> = words.iter().map(|word| scope.spawn(|| word.len())).collect();
///     tasks.into_iter().map(|task| task.join()).collect::<Result<Vec<_>, _>>()
/// })?;
/// assert_eq!(lengths, [8, 5]);
/// # Ok::<(), par::Panicked>(())
/// ```
pub fn scope<'scope, R: Send>(body: impl FnOnce(&Scope<'_, 'scope>) -> R + Send) -> R {
    let carried = carry();
    rayon::scope(|inner| carried.enter(|| body(&Scope { inner })))
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::*;

    #[test]
    fn tasks_that_panic_leave_the_others_alone() {
        let done = AtomicUsize::new(0);
        let ended: Vec<Result<usize, Panicked>> = scope(|scope| {
            let tasks: Vec<Task<usize>> = (0..100)
                .map(|number| {
                    let done = &done;
                    scope.spawn(move || {
                        assert!(number % 10 != 3, "{number} is not liked");
                        done.fetch_add(1, Ordering::Relaxed);
                        number * 2
                    })
                })
                .collect();
            tasks.into_iter().map(Task::join).collect()
        });
        assert_eq!(done.load(Ordering::Relaxed), 90);
        assert_eq!(ended[4], Ok(8));
        assert_eq!(ended[13].as_ref().unwrap_err().to_string(), "a task panicked: 13 is not liked");
        assert_eq!(ended.iter().filter(|result| result.is_err()).count(), 10);
    }

    #[test]
    fn tasks_can_wait_for_tasks_on_one_thread() {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(1).build().unwrap();
        let sum = pool.install(|| {
            spawn(|| {
                let inner = spawn(|| 20);
                inner.join().unwrap() + 1
            })
            .join()
        });
        assert_eq!(sum, Ok(21));
    }

    #[test]
    fn a_scope_waits_for_tasks_that_nobody_joins() {
        let done = AtomicUsize::new(0);
        scope(|scope| {
            for _ in 0..50 {
                let task = scope.spawn(|| done.fetch_add(1, Ordering::Relaxed));
                drop(task);
            }
        });
        assert_eq!(done.load(Ordering::Relaxed), 50);
    }
}
