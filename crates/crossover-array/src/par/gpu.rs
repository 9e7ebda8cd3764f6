//! A function of arrays over many items, in as few plans as possible.

use std::{collections::VecDeque, fmt, panic::Location, sync::Arc, time::Instant};

use crossover_core::graph::Type;
use crossover_runtime::{Bringing, Buffer, Wanted};

use super::{
    Policy, Progress, Telemetry,
    carry::carry,
    group::{self, Limits, Stacked},
    jobs::{Watcher, tell},
    pieces::{Kinds, Pieces, pieces},
    tasks::isolated,
    traced::{Outcome, Traced, trace},
    work::{Work, group_size, is_of_device},
};
use crate::{Array, Error, Result, Runtime, node::State};

/// What a map did, and how long it took.
///
/// ```
/// use crossover_array::{Array, par_iter};
/// let items = vec![Array::from([1.0f32, 2.0]), Array::from([3.0f32, 4.0])];
/// let (results, report) = par_iter(items).gpu_map(|x| x.sum(())).run();
/// assert!(results.iter().all(|result| result.is_ok()));
/// assert_eq!((report.kinds, report.batched), (1, 2));
/// ```
#[derive(Debug, Clone, PartialEq, Default)]
pub struct GpuReport {
    /// Combinations of dtypes and shapes among the items.
    pub kinds: usize,
    /// Plans that ran over several items at once.
    pub groups: usize,
    /// Items of the largest of them.
    pub largest_group: usize,
    /// Items that ran in groups.
    pub batched: usize,
    /// Items for which the function was called by itself.
    pub single: usize,
    /// Why, for each kind that had to be.
    pub reasons: Vec<String>,
    /// Positions of the items that were not begun, because another had failed; in order.
    pub skipped: Vec<usize>,
    /// Counts, and times of groups and of single items.
    pub telemetry: Telemetry,
}

impl fmt::Display for GpuReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} items in {} groups of at most {}", self.batched, self.groups, self.largest_group)?;
        if self.single > 0 {
            write!(f, ", {} one by one ({})", self.single, self.reasons.join("; "))?;
        }
        write!(f, "; {}", self.telemetry)
    }
}

/// A function to be applied to items; made by [`gpu_map`](super::ParIter::gpu_map).
///
/// ```
/// use crossover_array::{Array, par_iter};
/// let items: Vec<Array> = (0..5).map(|i| Array::full([3], i as f32)).collect();
/// let sums = par_iter(items).gpu_map(|x| x.sum(())).max_batch_size(2).collect()?;
/// assert_eq!(sums[4].item::<f32>()?, 12.0);
/// # Ok::<(), crossover_array::Error>(())
/// ```
#[must_use = "nothing is computed before `collect` or `run`"]
pub struct GpuMap<P, F> {
    items: Vec<P>,
    f: F,
    most: Option<usize>,
    fetched: bool,
    fails_fast: bool,
    /// Attempts beyond the first.
    again: u32,
    progress: Option<Watcher>,
    location: &'static Location<'static>,
}

impl<P: Pieces, F: Fn(P) -> Array> GpuMap<P, F> {
    #[track_caller]
    pub(super) fn new(items: Vec<P>, f: F) -> GpuMap<P, F> {
        let location = Location::caller();
        GpuMap { items, f, most: None, fetched: false, fails_fast: false, again: 0, progress: None, location }
    }

    /// Items of a group at most, 0 taken as 1; without this as many as memory has room for.
    pub fn max_batch_size(mut self, most: usize) -> GpuMap<P, F> {
        self.most = Some(most);
        self
    }

    /// Brings results to the host while later items are computed, for a caller who looks at them at once; without this they stay where they
    /// were computed until somebody asks.
    ///
    /// ```
    /// use crossover_array::{Array, Device, par_iter};
    /// let items = vec![Array::from([1.0f32, 2.0]), Array::from([3.0f32, 4.0])];
    /// let sums = par_iter(items).gpu_map(|x| x.sum(())).to_host().collect()?;
    /// assert_eq!(sums[1].device(), Device::Cpu);
    /// # Ok::<(), crossover_array::Error>(())
    /// ```
    pub fn to_host(mut self) -> GpuMap<P, F> {
        self.fetched = true;
        self
    }

    /// What happens when an item fails; by default the others go on. A group fails as its items do: those that are well are computed one by one.
    ///
    /// ```
    /// use crossover_array::{Array, par::{Policy, par_iter}};
    /// let items = vec![Array::from([1.0f32]), Array::from([1.0f32, 2.0]), Array::from([1.0f32, 2.0, 3.0])];
    /// let (results, report) = par_iter(items).gpu_map(|x| x.reshape([1, 1])).policy(Policy::FailFast).run();
    /// assert!(results[0].is_ok() && results[1].is_err());
    /// assert_eq!((report.telemetry.failed, report.skipped), (1, vec![2]));
    /// # Ok::<(), crossover_array::Error>(())
    /// ```
    pub fn policy(mut self, policy: Policy) -> GpuMap<P, F> {
        self.fails_fast = policy == Policy::FailFast;
        if let Policy::Retry(more) = policy {
            self.again = more;
        }
        self
    }

    /// Tries an item that fails again, so many times at most, before the policy has its say.
    ///
    /// ```
    /// use crossover_array::{Array, par_iter};
    /// let (results, report) = par_iter(vec![Array::from([1, 2])]).gpu_map(|x| x.reshape([3])).retries(2).run();
    /// assert_eq!((results[0].is_err(), report.telemetry.retries), (true, 2));
    /// ```
    pub fn retries(mut self, more: u32) -> GpuMap<P, F> {
        self.again = more;
        self
    }

    /// Calls a function whenever a group or an item has ended, on the thread that asked for it all. A GPU may still be computing then what it
    /// was told to. A panic of this function is no item's failure: the work goes on.
    ///
    /// ```
    /// use crossover_array::{Array, par_iter};
    /// let items: Vec<Array> = (0..5).map(|i| Array::full([3], i as f32)).collect();
    /// let map = par_iter(items).gpu_map(|x| x.sum(())).max_batch_size(2);
    /// map.progress(|so_far| println!("{} of {}", so_far.done, so_far.total)).collect()?;
    /// # Ok::<(), crossover_array::Error>(())
    /// ```
    pub fn progress(mut self, watch: impl Fn(Progress) + Send + Sync + 'static) -> GpuMap<P, F> {
        self.progress = Some(Box::new(watch));
        self
    }

    /// All results in the order of the items, or the first error that is not a consequence of another.
    pub fn collect(self) -> Result<Vec<Array>> {
        let (results, report) = self.run();
        let is_skipped = |at: usize| report.skipped.binary_search(&at).is_ok();
        let first = results.iter().enumerate().find(|(at, result)| result.is_err() && !is_skipped(*at));
        if let Some((_, Err(error))) = first {
            return Err(error.clone());
        }
        results.into_iter().collect()
    }

    /// A result for each item, and what was done: one that fails does not take the others with it.
    ///
    /// ```
    /// use crossover_array::{Array, par_iter};
    /// let weights = Array::from([1.0f32, 2.0]);
    /// let items = vec![Array::from([1.0f32, 1.0]), Array::from([1.0f32, 1.0, 1.0]), Array::from([3.0f32, 0.5])];
    /// let (results, report) = par_iter(items).gpu_map(|x| (x * &weights).sum(())).run();
    /// assert_eq!(results[0].as_ref().unwrap().item::<f32>()?, 3.0);
    /// assert!(results[1].as_ref().unwrap_err().to_string().contains("[3] and [2] do not fit"));
    /// assert_eq!(results[2].as_ref().unwrap().item::<f32>()?, 4.0);
    /// assert_eq!((report.kinds, report.batched), (2, 2));
    /// # Ok::<(), crossover_array::Error>(())
    /// ```
    pub fn run(self) -> (Vec<Result<Array>>, GpuReport) {
        let began = Instant::now();
        let mut results: Vec<Option<Result<Array>>> = vec![None; self.items.len()];
        let mut types: Vec<Vec<Type>> = Vec::new();
        // The kind of each item, by its place among the types.
        let mut kinds = Kinds::default();
        for (item, result) in self.items.iter().zip(&mut results) {
            // An item that carries an error has no type, and its error is its result.
            *result = pieces(item).find_map(Array::failure).map(Err);
            kinds.add(item, &mut types);
        }
        let mut run = Run::new(&self, results);
        for (types, members) in types.iter().zip(kinds.members) {
            let members: Vec<usize> =
                members.into_iter().filter(|&item| run.results[item].is_none()).collect();
            if !members.is_empty() && !run.stopped {
                run.report.kinds += 1;
                run.kind(types, &members);
            }
        }
        let Run { results, mut report, times, retries, stopped, .. } = run;
        let mut left_out = |at: usize| {
            if !stopped {
                let error = crossover_runtime::Error::Internal("an item was left out".into());
                return Err(Error::new(error, self.location));
            }
            report.skipped.push(at);
            let what = "skipped: another item had failed; see its error".to_string();
            Err(Error::new(crossover_core::Error::Value { op: "gpu_map", what }, self.location))
        };
        let results = results.into_iter().enumerate();
        let results: Vec<Result<Array>> =
            results.map(|(at, result)| result.unwrap_or_else(|| left_out(at))).collect();
        let succeeded = results.iter().filter(|result| result.is_ok()).count();
        let skipped = report.skipped.len();
        report.telemetry = Telemetry {
            items: results.len(),
            succeeded,
            failed: results.len() - succeeded - skipped,
            skipped,
            retries,
            wall: began.elapsed(),
            ..Telemetry::default()
        };
        report.telemetry.note(times);
        (results, report)
    }
}

/// A run under way.
struct Run<'a, P, F> {
    map: &'a GpuMap<P, F>,
    results: Vec<Option<Result<Array>>>,
    report: GpuReport,
    times: Vec<std::time::Duration>,
    retries: usize,
    /// Items that have ended.
    ended: usize,
    /// Whether an item has failed that no other may follow.
    stopped: bool,
}

impl<'a, P: Pieces, F: Fn(P) -> Array> Run<'a, P, F> {
    /// A run of which some items have failed before it begins.
    fn new(map: &'a GpuMap<P, F>, results: Vec<Option<Result<Array>>>) -> Run<'a, P, F> {
        let failed = results.iter().flatten().count();
        let (report, times) = (GpuReport::default(), Vec::new());
        let mut run = Run { map, results, report, times, retries: 0, ended: 0, stopped: false };
        run.stopped = failed > 0 && map.fails_fast;
        run.told(failed);
        run
    }

    /// So many items have ended.
    fn told(&mut self, items: usize) {
        self.ended += items;
        if let (Some(watch), 1..) = (&self.map.progress, items) {
            tell(watch, Progress { done: self.ended, total: self.results.len() });
        }
    }

    fn failed(&mut self, item: usize, error: Error) {
        self.results[item] = Some(Err(error));
        self.stopped |= self.map.fails_fast;
    }

    fn call(&self, pieces: Vec<Array>) -> Array {
        match P::from_pieces(pieces) {
            Some(item) => (self.map.f)(item),
            None => {
                let error = crossover_runtime::Error::Internal("an item lost a piece".into());
                Array::failed(Error::new(error, self.map.location))
            }
        }
    }

    /// All items of one combination of types.
    fn kind(&mut self, types: &[Type], members: &[usize]) {
        let traced = trace(types, self.map.location, |pieces| self.call(pieces));
        let reason = match traced {
            Outcome::Piece(piece) => {
                for &item in members {
                    self.results[item] = self.map.items[item].piece(piece).cloned().map(Ok);
                }
                self.told(members.len());
                return;
            }
            Outcome::Each(reason) => reason,
            Outcome::Graph(traced) => match self.groups(types, members, &traced) {
                Ok(()) => return,
                Err(reason) => reason,
            },
        };
        tracing::debug!(target: "crossover::fallback", reason, items = members.len(), "gpu_map calls its function for each item");
        self.report.reasons.push(reason);
        members.iter().for_each(|&item| self.single(item));
    }

    /// Group after group, unless the function has no form for many items; the reason then.
    fn groups(
        &mut self,
        types: &[Type],
        members: &[usize],
        traced: &Traced,
    ) -> std::result::Result<(), String> {
        let (items, location) = (&self.map.items, self.map.location);
        let is_pending = |piece: &Array| !matches!(&*piece.version().state(), State::Ready(_));
        let pending = |item: &usize| pieces(&items[*item]).any(is_pending);
        let computed_first = members.iter().filter(|item| pending(item)).count() as u64;
        let sizes = |ty: &Type| (ty.shape.size() * ty.dtype.size()) as u64;
        let kept =
            computed_first * types.iter().map(sizes).sum::<u64>() + members.len() as u64 * sizes(&traced.ty);
        let runtime = Runtime::current();
        let limits = Limits::new(&runtime, kept, traced.captured());
        let size = group_size(&runtime, traced, limits, (members.len(), self.map.most))?;
        let mut work = Work::new(items, types, traced, location, (members.len(), size))?;
        let groups: Vec<&[usize]> = members.chunks(size).collect();
        let is_sent = work.send_ahead(&groups, self.wish());
        if is_sent || groups.len() == 1 {
            self.in_turn(&groups, &work);
        } else {
            self.side_by_side(&groups, &work);
        }
        Ok(())
    }

    fn wish(&self) -> Wanted {
        if self.map.fetched { Wanted::OnHost } else { Wanted::Anywhere }
    }

    /// On a device that works by itself: this thread tells it what to do next, and waits only for what the next step needs.
    fn in_turn(&mut self, groups: &[&[usize]], work: &Work<'_, P>) {
        let (fetched, wish) = (self.map.fetched, self.wish());
        let mut following = groups.iter();
        let mut begun: VecDeque<Result<Vec<Stacked>>> = VecDeque::new();
        let mut coming: Vec<Bringing> = Vec::new();
        for &members in groups {
            if self.stopped {
                break;
            }
            let began = Instant::now();
            // Once groups are put together, the one that comes next is on its way.
            let apart = if begun.is_empty() { work.apart(members) } else { None };
            let whole = match apart {
                Some(whole) => {
                    following.next();
                    Ok(whole)
                }
                None => {
                    // The next group is on its way to the device before anybody waits for this one.
                    while begun.len() < 2
                        && let Some(members) = following.next()
                    {
                        begun.push_back(work.stacked(members));
                    }
                    let stacked = begun.pop_front().unwrap_or_else(|| work.stacked(members));
                    let arrived = stacked.and_then(|stacked| work.arrived(stacked));
                    arrived.and_then(|arrived| work.evaluate(&arrived, members.len(), wish))
                }
            };
            if let (true, Ok(whole)) = (fetched, &whole) {
                match whole.begin_home() {
                    Ok(bringing) => coming.push(bringing),
                    Err(error) => unfetched(&error),
                }
            }
            self.done(members, whole, began, work);
        }
        coming.into_iter().for_each(|bringing| drop(bringing.wait().inspect_err(unfetched)));
    }

    /// Where the host may do the work: while one group is computed, a thread puts the next together, and another brings the last to the host if
    /// that is wanted.
    fn side_by_side(&mut self, groups: &[&[usize]], work: &Work<'_, P>) {
        let fetched = self.map.fetched;
        let carried = carry();
        std::thread::scope(|scope| {
            // One group waits; more would only take memory.
            let (put, stacked) = std::sync::mpsc::sync_channel(1);
            let (wanted, computed) = std::sync::mpsc::channel::<Arc<Buffer>>();
            let carried = &carried;
            let together = move |members: &&[usize]| work.stacked(members).and_then(|s| work.arrived(s));
            scope.spawn(move || {
                carried.enter(|| groups.iter().map(together).all(|made| put.send(made).is_ok()))
            });
            if fetched {
                let bring = |whole: Arc<Buffer>| drop(whole.host_bytes().inspect_err(unfetched));
                scope.spawn(move || computed.into_iter().for_each(bring));
            }
            let wish = self.wish();
            for (&members, stacked) in groups.iter().zip(stacked) {
                if self.stopped {
                    break;
                }
                let began = Instant::now();
                let whole = stacked
                    .and_then(|stacked| work.evaluate(&stacked, members.len(), wish))
                    // Nobody listens where nothing is to be fetched.
                    .inspect(|whole| _ = wanted.send(whole.clone()));
                self.done(members, whole, began, work);
            }
        });
    }

    /// Notes the results of a group.
    fn done(&mut self, members: &[usize], whole: Result<Arc<Buffer>>, began: Instant, work: &Work<'_, P>) {
        let mut whole = whole;
        if work.is_pinned() {
            for _ in 0..self.map.again {
                if whole.as_ref().err().is_none_or(|error| !is_of_device(error)) {
                    break;
                }
                self.retries += members.len();
                whole = work.whole(members, self.wish());
            }
        }
        match whole {
            Ok(whole) => {
                self.times.push(began.elapsed());
                self.report.groups += 1;
                self.report.largest_group = self.report.largest_group.max(members.len());
                self.report.batched += members.len();
                let arrays = group::parted(whole, &work.traced.ty, members.len(), self.map.location);
                members.iter().zip(arrays).for_each(|(&item, array)| self.results[item] = Some(Ok(array)));
                self.told(members.len());
            }
            Err(error) if work.is_pinned() && is_of_device(&error) => {
                // One by one they would belong elsewhere, and have other bits.
                self.times.push(began.elapsed());
                self.report.reasons.push(format!("a group failed: {error}"));
                members.iter().for_each(|&item| self.failed(item, error.clone()));
                self.told(members.len());
            }
            Err(error) => {
                // One matrix without an inverse fails the plan, not the other items.
                self.report.reasons.push(format!("a group failed: {error}"));
                members.iter().for_each(|&item| self.single(item));
            }
        }
    }

    /// One item by itself, unless another has failed that it may not follow.
    fn single(&mut self, item: usize) {
        if self.stopped {
            return;
        }
        let began = Instant::now();
        let mut computed = self.attempt(item);
        for _ in 0..self.map.again {
            if computed.is_ok() {
                break;
            }
            self.retries += 1;
            computed = self.attempt(item);
        }
        self.times.push(began.elapsed());
        self.report.single += 1;
        match computed {
            Ok(array) => self.results[item] = Some(Ok(array)),
            Err(error) => self.failed(item, error),
        }
        self.told(1);
    }

    fn attempt(&self, item: usize) -> Result<Array> {
        let pieces = self.map.items[item].clone();
        let computed = isolated(|| {
            let array = (self.map.f)(pieces);
            array.eval().cloned()
        });
        computed.unwrap_or_else(|panic| {
            let what = format!("the function panicked: {}", panic.message());
            Err(Error::new(crossover_core::Error::Value { op: "gpu_map", what }, self.map.location))
        })
    }
}

/// Notes that a result was not brought to the host: whoever reads it will be told.
fn unfetched(error: &crossover_runtime::Error) {
    tracing::debug!(target: "crossover::fallback", %error, "a result was not brought to the host");
}
