//! A function of arrays over many items, in as few plans as possible.

use std::{collections::VecDeque, fmt, panic::Location, sync::Arc, time::Instant};

use crossover_core::{Graph, graph::Type};
use crossover_runtime::{Bringing, Buffer, Device as Place, Entry, Placement, Wanted};
use rustc_hash::FxHashMap;

use super::{
    Telemetry,
    carry::carry,
    group::{self, Stacked},
    tasks::isolated,
    traced::{Outcome, Traced, trace},
};
use crate::{Array, Error, Result, Runtime, node::State};

/// What [`gpu_map`](super::ParIter::gpu_map) takes: an array, or several that belong together.
///
/// ```
/// use crossover_array::{Array, par_iter};
/// let pairs = vec![(Array::from([1, 2]), Array::from([3, 4]))];
/// let sums = par_iter(pairs).gpu_map(|(a, b)| a + b).collect()?;
/// assert_eq!(sums[0].to_vec::<i32>()?, [4, 6]);
/// # Ok::<(), crossover_array::Error>(())
/// ```
pub trait Pieces: Clone + Send + Sync {
    /// The arrays.
    fn pieces(&self) -> Vec<&Array>;
    /// One of them.
    fn piece(&self, at: usize) -> Option<&Array> {
        self.pieces().get(at).copied()
    }
    /// The same from arrays in the same order; `None` where their number is wrong.
    fn from_pieces(pieces: Vec<Array>) -> Option<Self>;
}

impl Pieces for Array {
    fn pieces(&self) -> Vec<&Array> {
        vec![self]
    }

    fn piece(&self, at: usize) -> Option<&Array> {
        (at == 0).then_some(self)
    }

    fn from_pieces(mut pieces: Vec<Array>) -> Option<Array> {
        pieces.pop()
    }
}

impl Pieces for (Array, Array) {
    fn pieces(&self) -> Vec<&Array> {
        vec![&self.0, &self.1]
    }

    fn piece(&self, at: usize) -> Option<&Array> {
        [&self.0, &self.1].get(at).copied()
    }

    fn from_pieces(pieces: Vec<Array>) -> Option<Self> {
        <[Array; 2]>::try_from(pieces).ok().map(<(Array, Array)>::from)
    }
}

impl Pieces for (Array, Array, Array) {
    fn pieces(&self) -> Vec<&Array> {
        vec![&self.0, &self.1, &self.2]
    }

    fn piece(&self, at: usize) -> Option<&Array> {
        [&self.0, &self.1, &self.2].get(at).copied()
    }

    fn from_pieces(pieces: Vec<Array>) -> Option<Self> {
        <[Array; 3]>::try_from(pieces).ok().map(<(Array, Array, Array)>::from)
    }
}

impl<const N: usize> Pieces for [Array; N] {
    fn pieces(&self) -> Vec<&Array> {
        self.iter().collect()
    }

    fn piece(&self, at: usize) -> Option<&Array> {
        self.get(at)
    }

    fn from_pieces(pieces: Vec<Array>) -> Option<Self> {
        pieces.try_into().ok()
    }
}

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
    location: &'static Location<'static>,
}

impl<P: Pieces, F: Fn(P) -> Array> GpuMap<P, F> {
    #[track_caller]
    pub(super) fn new(items: Vec<P>, f: F) -> GpuMap<P, F> {
        GpuMap { items, f, most: None, fetched: false, location: Location::caller() }
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

    /// All results in the order of the items, or the first error.
    pub fn collect(self) -> Result<Vec<Array>> {
        self.run().0.into_iter().collect()
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
        let mut run = Run { map: &self, results, report: GpuReport::default(), times: Vec::new() };
        for (types, members) in types.iter().zip(kinds.members) {
            let members: Vec<usize> =
                members.into_iter().filter(|&item| run.results[item].is_none()).collect();
            if !members.is_empty() {
                run.report.kinds += 1;
                run.kind(types, &members);
            }
        }
        let Run { results, mut report, times, .. } = run;
        let unreached = || {
            Err(Error::new(crossover_runtime::Error::Internal("an item was left out".into()), self.location))
        };
        let results: Vec<Result<Array>> =
            results.into_iter().map(|result| result.unwrap_or_else(unreached)).collect();
        let succeeded = results.iter().filter(|result| result.is_ok()).count();
        report.telemetry = Telemetry {
            items: results.len(),
            succeeded,
            failed: results.len() - succeeded,
            wall: began.elapsed(),
            ..Telemetry::default()
        };
        report.telemetry.note(times);
        (results, report)
    }
}

/// The pieces of an item, without a list of them.
fn pieces<P: Pieces>(item: &P) -> impl Iterator<Item = &Array> {
    (0..).map_while(|at| item.piece(at))
}

/// Whether an item is of these types, found without making a list of its own.
fn is_of<P: Pieces>(item: &P, types: &[Type]) -> bool {
    let same = |(piece, ty): (&Array, &Type)| piece.dtype() == ty.dtype && *piece.shape() == ty.shape;
    item.piece(types.len()).is_none()
        && pieces(item).zip(types).filter(|pair| same(*pair)).count() == types.len()
}

/// Positions of items by the types of their pieces, in the order of first occurrence.
#[derive(Default)]
struct Kinds {
    members: Vec<Vec<usize>>,
    known: FxHashMap<Vec<Type>, usize>,
    items: usize,
    last: usize,
}

impl Kinds {
    fn add<P: Pieces>(&mut self, item: &P, types: &mut Vec<Vec<Type>>) {
        let number = self.items;
        self.items += 1;
        // Most are like the one before.
        if !types.get(self.last).is_some_and(|types| is_of(item, types)) {
            let mine: Vec<Type> = pieces(item).map(Array::ty).collect();
            self.last = *self.known.entry(mine).or_insert_with_key(|mine| {
                types.push(mine.clone());
                types.len() - 1
            });
            self.members.resize_with(types.len(), Vec::new);
        }
        self.members[self.last].push(number);
    }
}

/// A run under way.
struct Run<'a, P, F> {
    map: &'a GpuMap<P, F>,
    results: Vec<Option<Result<Array>>>,
    report: GpuReport,
    times: Vec<std::time::Duration>,
}

impl<P: Pieces, F: Fn(P) -> Array> Run<'_, P, F> {
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
        let size = group::size(&runtime, traced.bytes_per_item(), kept, self.map.most);
        // All about as large as the first, so that few shapes are planned.
        let even = members.len().div_ceil(members.len().div_ceil(size));
        let groups: Vec<&[usize]> = members.chunks(even).collect();
        let work = Work { items, types, traced, location, lifted: Lifted::new(traced, &groups)? };
        let told = matches!(runtime.placement(), Ok(Placement::On(device)) if device != Place::HOST);
        if told || groups.len() == 1 {
            self.in_turn(&groups, &work);
        } else {
            self.side_by_side(&groups, &work);
        }
        Ok(())
    }

    /// On a device that works by itself: this thread tells it what to do next, and waits only for what the next step needs.
    fn in_turn(&mut self, groups: &[&[usize]], work: &Work<'_, P>) {
        let fetched = self.map.fetched;
        let wish = if fetched { Wanted::OnHost } else { Wanted::Anywhere };
        let mut following = groups.iter();
        let mut begun: VecDeque<Result<Vec<Stacked>>> = VecDeque::new();
        let mut coming: Vec<Bringing> = Vec::new();
        for &members in groups {
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
            self.done(members, whole, began, work.traced);
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
            let wish = if fetched { Wanted::OnHost } else { Wanted::Anywhere };
            for (&members, stacked) in groups.iter().zip(stacked) {
                let began = Instant::now();
                let whole = stacked
                    .and_then(|stacked| work.evaluate(&stacked, members.len(), wish))
                    // Nobody listens where nothing is to be fetched.
                    .inspect(|whole| _ = wanted.send(whole.clone()));
                self.done(members, whole, began, work.traced);
            }
        });
    }

    /// Notes the results of a group.
    fn done(&mut self, members: &[usize], whole: Result<Arc<Buffer>>, began: Instant, traced: &Traced) {
        match whole {
            Ok(whole) => {
                self.times.push(began.elapsed());
                self.report.groups += 1;
                self.report.largest_group = self.report.largest_group.max(members.len());
                self.report.batched += members.len();
                let arrays = group::parted(whole, &traced.ty, members.len(), self.map.location);
                members.iter().zip(arrays).for_each(|(&item, array)| self.results[item] = Some(Ok(array)));
            }
            Err(error) => {
                // One matrix without an inverse fails the plan, not the other items.
                self.report.reasons.push(format!("a group failed: {error}"));
                members.iter().for_each(|&item| self.single(item));
            }
        }
    }

    /// One item by itself.
    fn single(&mut self, item: usize) {
        let began = Instant::now();
        let pieces = self.map.items[item].clone();
        let computed = isolated(|| {
            let array = (self.map.f)(pieces);
            array.eval().cloned()
        });
        self.times.push(began.elapsed());
        self.report.single += 1;
        self.results[item] = Some(computed.unwrap_or_else(|panic| {
            let what = format!("the function panicked: {}", panic.message());
            Err(Error::new(crossover_core::Error::Value { op: "gpu_map", what }, self.map.location))
        }));
    }
}

/// The graphs of a traced function for the one or two sizes that groups have.
struct Lifted(Vec<(usize, Graph)>);

impl Lifted {
    fn new(traced: &Traced, groups: &[&[usize]]) -> std::result::Result<Lifted, String> {
        let mut made: Vec<(usize, Graph)> = Vec::new();
        for count in groups.iter().map(|members| members.len()) {
            if made.iter().all(|(known, _)| *known != count) {
                made.push((count, traced.lifted(count)?));
            }
        }
        Ok(Lifted(made))
    }

    fn of(&self, count: usize) -> Option<&Graph> {
        self.0.iter().find(|(known, _)| *known == count).map(|(_, graph)| graph)
    }
}

/// What every group of one kind of items is worked on with. The function itself is not here: it stays on its thread.
struct Work<'a, P> {
    items: &'a [P],
    types: &'a [Type],
    traced: &'a Traced,
    location: &'static Location<'static>,
    lifted: Lifted,
}

impl<P: Pieces> Work<'_, P> {
    fn wrap(&self, error: crossover_runtime::Error) -> Error {
        Error::new(error, self.location)
    }

    fn graph(&self, count: usize) -> Result<&Graph> {
        let missing = || crossover_runtime::Error::Internal("a group of a size that nobody expected".into());
        self.lifted.of(count).ok_or_else(|| self.wrap(missing()))
    }

    /// The pieces of some items, each as one buffer or on the way to it.
    fn stacked(&self, members: &[usize]) -> Result<Vec<Stacked>> {
        let pieces: Vec<Vec<&Array>> = members.iter().map(|&item| self.items[item].pieces()).collect();
        let one = |piece: usize| {
            let is_known = |other: &usize| pieces.iter().all(|p| is_same(p[piece], p[*other]));
            if let Some(other) = (0..piece).find(is_known) {
                return Ok(Stacked::Same(other));
            }
            let arrays: Vec<&Array> = pieces.iter().map(|pieces| pieces[piece]).collect();
            group::stacked(&arrays, &self.types[piece], self.location)
        };
        (0..self.types.len()).map(one).collect()
    }

    /// Buffers that kernels find everything in.
    fn arrived(&self, stacked: Vec<Stacked>) -> Result<Vec<Arc<Buffer>>> {
        let mut there: Vec<Arc<Buffer>> = Vec::with_capacity(stacked.len());
        for (stacked, ty) in stacked.into_iter().zip(self.types) {
            let next = stacked.arrived(&there, ty, self.location)?;
            there.push(next);
        }
        Ok(there)
    }

    fn evaluate(&self, stacked: &[Arc<Buffer>], count: usize, wanted: Wanted) -> Result<Arc<Buffer>> {
        let internal = || crossover_runtime::Error::Internal("a plan without a result".into());
        let graph = self.graph(count)?;
        let buffers = Runtime::current()
            .evaluate(graph, &self.traced.inputs(stacked), wanted)
            .map_err(|error| self.wrap(error))?;
        buffers.into_iter().next().ok_or_else(|| self.wrap(internal()))
    }

    /// The result of items that are read where they lie; `None` where they have to be put together first.
    fn apart(&self, members: &[usize]) -> Option<Arc<Buffer>> {
        let runtime = Runtime::current();
        let (placement, graph) = (runtime.placement().ok()?, self.lifted.of(members.len())?);
        if !self.traced.is_bare() || placement == Placement::Host || runtime.machine().is_host_only() {
            return None;
        }
        let list = |piece: usize| -> Option<Vec<Entry>> {
            let arrays = members.iter().map(|&item| self.items[item].piece(piece));
            group::entries(arrays, &self.types[piece])
        };
        let inputs: Vec<Vec<Entry>> = self.traced.pieces().map(list).collect::<Option<_>>()?;
        let evaluated = runtime.executor().evaluate_apart(placement, graph, &inputs);
        // What goes wrong here goes wrong in the usual way too, where it is dealt with.
        evaluated.ok().flatten()
    }
}

/// Whether two arrays show the same elements of the same memory.
fn is_same(one: &Array, other: &Array) -> bool {
    Arc::ptr_eq(&one.version(), &other.version()) && one.view() == other.view()
}

/// Notes that a result was not brought to the host: whoever reads it will be told.
fn unfetched(error: &crossover_runtime::Error) {
    tracing::debug!(target: "crossover::fallback", %error, "a result was not brought to the host");
}
