//! Work that may fail or panic, item by item, with a policy for that.

use std::{
    fmt,
    sync::atomic::{AtomicBool, AtomicUsize, Ordering::Relaxed},
    time::{Duration, Instant},
};

use rayon::prelude::*;

use super::{Telemetry, carry::Carried, tasks::Panicked, tasks::isolated};

/// What happens when an item fails.
///
/// ```
/// use crossover_array::par::{Policy, par_iter};
/// use std::sync::atomic::{AtomicU32, Ordering};
/// let attempts = AtomicU32::new(0);
/// let report = par_iter(vec![7]).jobs().policy(Policy::Retry(3)).run(|n| {
///     if attempts.fetch_add(1, Ordering::Relaxed) < 2 { Err("not yet") } else { Ok(*n) }
/// });
/// assert_eq!((report.results[0].clone(), report.telemetry.retries), (Ok(7), 2));
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Policy {
    /// Items that have not begun are skipped.
    #[default]
    FailFast,
    /// The others go on.
    Continue,
    /// It is tried again, so many times at most; then the others go on.
    Retry(u32),
}

/// Why an item has no result.
///
/// ```
/// use crossover_array::par::{Failure, par_iter};
/// let report = par_iter(vec![1]).jobs().run(|_| -> Result<i32, String> { panic!("no luck") });
/// assert!(matches!(&report.results[0], Err(Failure::Panic(panic)) if panic.message() == "no luck"));
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Failure<E> {
    /// Its function returned this, the last time.
    Error(E),
    /// Its function panicked, the last time.
    Panic(Panicked),
    /// Another item had failed before it began.
    Skipped,
}

impl<E: fmt::Display> fmt::Display for Failure<E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Failure::Error(error) => error.fmt(f),
            Failure::Panic(panic) => panic.fmt(f),
            Failure::Skipped => f.write_str("skipped: another item had failed; see its error"),
        }
    }
}

impl<E: fmt::Debug + fmt::Display> std::error::Error for Failure<E> {}

/// How far a run is.
///
/// ```
/// use crossover_array::par::{Progress, par_iter};
/// let jobs = par_iter(0..3).jobs().progress(|Progress { done, total }| println!("{done} of {total}"));
/// assert_eq!(jobs.run(|n| Ok::<i32, String>(n + 1)).into_results(), Ok(vec![1, 2, 3]));
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Progress {
    /// Items that have ended, well or badly.
    pub done: usize,
    /// All items.
    pub total: usize,
}

/// Results of a run, in the order of the items, and how long they took.
///
/// ```
/// use crossover_array::par::{Failure, Policy, par_iter};
/// let report = par_iter(vec!["1", "x"]).jobs().policy(Policy::Continue).run(|text| text.parse::<i32>());
/// assert_eq!(report.telemetry.succeeded, 1);
/// assert!(matches!(report.into_results(), Err(Failure::Error(_))));
/// ```
#[derive(Debug, Clone)]
pub struct Report<U, E> {
    /// One per item.
    pub results: Vec<Result<U, Failure<E>>>,
    /// Counts and times.
    pub telemetry: Telemetry,
}

impl<U, E> Report<U, E> {
    /// All results, or the first failure that is not a consequence of another.
    pub fn into_results(self) -> Result<Vec<U>, Failure<E>> {
        let mut results = Vec::with_capacity(self.results.len());
        let mut skipped = None;
        for result in self.results {
            match result {
                Ok(value) => results.push(value),
                Err(Failure::Skipped) => skipped = Some(Failure::Skipped),
                Err(failure) => return Err(failure),
            }
        }
        skipped.map_or(Ok(results), Err)
    }
}

/// How an item ended, and when it was begun how long it took.
type Ended<U, E> = (Result<U, Failure<E>>, Option<Duration>);
/// Who wants to know how far a run is.
pub(super) type Watcher = Box<dyn Fn(Progress) + Send + Sync>;

/// Tells whoever watches. Results of items that are done are worth more than being told of them.
pub(super) fn tell(watch: &Watcher, progress: Progress) {
    if let Err(panic) = isolated(|| watch(progress)) {
        tracing::warn!(target: "crossover::par", %panic, "a function that watches the progress failed");
    }
}

/// Items to be worked on under a [`Policy`]; made by [`ParIter::jobs`](super::ParIter::jobs).
///
/// ```
/// use crossover_array::par::{Failure, Policy, par_iter};
/// let jobs = par_iter(vec!["1", "two", "3"]).jobs().policy(Policy::Continue);
/// let report = jobs.progress(|so_far| println!("{} of {}", so_far.done, so_far.total)).run(|text| text.parse::<i32>());
/// assert_eq!(report.results[0], Ok(1));
/// assert!(matches!(report.results[1], Err(Failure::Error(_))));
/// assert_eq!(report.results[2], Ok(3));
/// assert_eq!((report.telemetry.succeeded, report.telemetry.failed), (2, 1));
/// ```
pub struct Jobs<T> {
    items: Vec<T>,
    carried: Carried,
    policy: Policy,
    progress: Option<Watcher>,
}

impl<T: Send + Sync> Jobs<T> {
    pub(super) fn new(items: Vec<T>, carried: Carried) -> Jobs<T> {
        Jobs { items, carried, policy: Policy::default(), progress: None }
    }

    /// What happens when an item fails; by default items that have not begun are skipped.
    pub fn policy(mut self, policy: Policy) -> Jobs<T> {
        self.policy = policy;
        self
    }

    /// Calls a function whenever an item has ended, on the thread that did it. A panic of this function is no item's failure: the work goes on.
    pub fn progress(mut self, watch: impl Fn(Progress) + Send + Sync + 'static) -> Jobs<T> {
        self.progress = Some(Box::new(watch));
        self
    }

    /// Does the work. A panic of one item is that item's failure.
    pub fn run<U: Send, E: Send>(self, work: impl Fn(&T) -> Result<U, E> + Sync) -> Report<U, E> {
        let Jobs { items, carried, policy, progress } = self;
        let (total, began) = (items.len(), Instant::now());
        let (stop, done, retries) = (AtomicBool::new(false), AtomicUsize::new(0), AtomicUsize::new(0));
        let attempts = if let Policy::Retry(more) = policy { more.saturating_add(1) } else { 1 };
        let one = |item: &T| {
            if stop.load(Relaxed) {
                return (Err(Failure::Skipped), None);
            }
            let began = Instant::now();
            let mut result = Err(Failure::Skipped);
            for attempt in 0..attempts {
                retries.fetch_add(usize::from(attempt > 0), Relaxed);
                result = match isolated(|| carried.enter(|| work(item))) {
                    Ok(Ok(value)) => Ok(value),
                    Ok(Err(error)) => Err(Failure::Error(error)),
                    Err(panic) => Err(Failure::Panic(panic)),
                };
                if result.is_ok() {
                    break;
                }
            }
            if result.is_err() && policy == Policy::FailFast {
                stop.store(true, Relaxed);
            }
            let time = began.elapsed();
            if let Some(watch) = &progress {
                tell(watch, Progress { done: done.fetch_add(1, Relaxed) + 1, total });
            }
            (result, Some(time))
        };
        let ended: Vec<Ended<U, E>> = items.par_iter().map(one).collect();
        let mut telemetry = Telemetry { items: total, wall: began.elapsed(), ..Telemetry::default() };
        telemetry.retries = retries.into_inner();
        telemetry.note(ended.iter().filter_map(|(_, time)| *time).collect());
        for (result, _) in &ended {
            match result {
                Ok(_) => telemetry.succeeded += 1,
                Err(Failure::Skipped) => telemetry.skipped += 1,
                Err(_) => telemetry.failed += 1,
            }
        }
        Report { results: ended.into_iter().map(|(result, _)| result).collect(), telemetry }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use parking_lot::Mutex;

    use super::*;
    use crate::par::par_iter;

    #[test]
    fn a_panic_is_one_items_failure() {
        let report = par_iter((0..100).collect::<Vec<i32>>()).jobs().policy(Policy::Continue).run(|&n| {
            assert!(n != 41, "not {n}");
            if n % 10 == 7 { Err(format!("{n} ends with 7")) } else { Ok(n * 2) }
        });
        assert_eq!(report.results[3], Ok(6));
        assert_eq!(report.results[17], Err(Failure::Error("17 ends with 7".to_string())));
        assert_eq!(report.results[41].as_ref().unwrap_err().to_string(), "a task panicked: not 41");
        let told = &report.telemetry;
        assert_eq!((told.items, told.succeeded, told.failed, told.skipped), (100, 89, 11, 0));
        assert!(told.p50 <= told.p95 && told.p95 <= told.p99 && told.p99 <= told.wall);
        assert!(report.into_results().is_err());
    }

    #[test]
    fn failing_fast_skips_what_has_not_begun() {
        let report = par_iter((0..10_000).collect::<Vec<i32>>()).jobs().run(|&n| {
            std::thread::sleep(Duration::from_micros(50));
            if n == 0 { Err("first") } else { Ok(n) }
        });
        assert_eq!(report.results[0], Err(Failure::Error("first")));
        assert!(report.telemetry.skipped > 1000, "{}", report.telemetry);
        assert_eq!(report.into_results().unwrap_err(), Failure::Error("first"));
    }

    #[test]
    fn retries_stop_at_success_or_at_the_limit() {
        let tries: Vec<AtomicUsize> = (0..20).map(|_| AtomicUsize::new(0)).collect();
        let report = par_iter((0..20).collect::<Vec<usize>>()).jobs().policy(Policy::Retry(3)).run(|&n| {
            let before = tries[n].fetch_add(1, Relaxed);
            if before >= n { Ok(before) } else { Err(before) }
        });
        assert_eq!(report.results[..4], [Ok(0), Ok(1), Ok(2), Ok(3)]);
        assert_eq!(report.results[4], Err(Failure::Error(3)));
        assert_eq!(report.telemetry.retries, 1 + 2 + 3 * 17);
    }

    #[test]
    fn progress_counts_to_the_end() {
        let seen = Arc::new(Mutex::new(Vec::new()));
        let notes = seen.clone();
        let report = par_iter(vec![1; 50])
            .jobs()
            .progress(move |progress| notes.lock().push(progress))
            .run(|&n| Ok::<i32, String>(n));
        assert_eq!(report.telemetry.succeeded, 50);
        let mut done: Vec<usize> = seen.lock().iter().map(|progress| progress.done).collect();
        done.sort_unstable();
        assert_eq!(done, (1..=50).collect::<Vec<_>>());
        let told =
            par_iter(vec![1; 50]).jobs().progress(|_| panic!("cannot draw")).run(|&n| Ok::<i32, String>(n));
        assert_eq!((told.telemetry.succeeded, told.into_results()), (50, Ok(vec![1; 50])));
        let none = par_iter(Vec::<i32>::new()).jobs().run(|_| Ok::<i32, String>(1));
        assert!(none.results.is_empty());
    }
}
