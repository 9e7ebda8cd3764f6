//! A function of arrays over many items, in as few plans as possible.

use std::{fmt, panic::Location, sync::Arc, time::Instant};

use crossover_core::graph::Type;
use crossover_runtime::{Buffer, Wanted};

use super::{
    Telemetry,
    carry::carry,
    group,
    tasks::isolated,
    traced::{Outcome, Traced, trace},
};
use crate::{Array, Device, Error, Result, Runtime};

/// What [`gpu_map`](super::ParIter::gpu_map) takes: an array, or several that belong together.
pub trait Pieces: Clone + Send + Sync {
    /// The arrays.
    fn pieces(&self) -> Vec<&Array>;
    /// The same from arrays in the same order; `None` where their number is wrong.
    fn from_pieces(pieces: Vec<Array>) -> Option<Self>;
}

impl Pieces for Array {
    fn pieces(&self) -> Vec<&Array> {
        vec![self]
    }

    fn from_pieces(mut pieces: Vec<Array>) -> Option<Array> {
        pieces.pop()
    }
}

impl Pieces for (Array, Array) {
    fn pieces(&self) -> Vec<&Array> {
        vec![&self.0, &self.1]
    }

    fn from_pieces(pieces: Vec<Array>) -> Option<Self> {
        <[Array; 2]>::try_from(pieces).ok().map(<(Array, Array)>::from)
    }
}

impl Pieces for (Array, Array, Array) {
    fn pieces(&self) -> Vec<&Array> {
        vec![&self.0, &self.1, &self.2]
    }

    fn from_pieces(pieces: Vec<Array>) -> Option<Self> {
        <[Array; 3]>::try_from(pieces).ok().map(<(Array, Array, Array)>::from)
    }
}

impl<const N: usize> Pieces for [Array; N] {
    fn pieces(&self) -> Vec<&Array> {
        self.iter().collect()
    }

    fn from_pieces(pieces: Vec<Array>) -> Option<Self> {
        pieces.try_into().ok()
    }
}

/// What a map did, and how long it took.
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

    /// Items of a group at most; without this as many as memory has room for.
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
        let mut types: Vec<Vec<Type>> = Vec::with_capacity(self.items.len());
        for (item, result) in self.items.iter().zip(&mut results) {
            let pieces = item.pieces();
            // An item that carries an error has no type, and its error is its result.
            *result = pieces.iter().find_map(|piece| piece.failure()).map(Err);
            types.push(pieces.iter().map(|piece| piece.ty()).collect());
        }
        let mut run = Run { map: &self, results, report: GpuReport::default(), times: Vec::new() };
        for (types, members) in group::kinds(&types) {
            let members: Vec<usize> =
                members.into_iter().filter(|&item| run.results[item].is_none()).collect();
            if !members.is_empty() {
                run.report.kinds += 1;
                run.kind(&types, &members);
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
                    let array = self.map.items[item].pieces().get(piece).map(|piece| (*piece).clone());
                    self.results[item] = array.map(Ok);
                }
                return;
            }
            Outcome::Each(reason) => reason,
            Outcome::Graph(traced) => match traced.lifted(2) {
                Ok(_) => return self.groups(types, members, &traced),
                Err(reason) => reason,
            },
        };
        tracing::debug!(target: "crossover::fallback", reason, items = members.len(), "gpu_map calls its function for each item");
        self.report.reasons.push(reason);
        members.iter().for_each(|&item| self.single(item));
    }

    /// Group after group: while one is computed, the next is put together, and the last brought to the host if that is wanted.
    fn groups(&mut self, types: &[Type], members: &[usize], traced: &Traced) {
        // The function itself stays on this thread; only items go to others.
        let (items, location, fetched) = (&self.map.items, self.map.location, self.map.fetched);
        let pending = |item: &usize| items[*item].pieces().iter().any(|piece| piece.device() == Device::Auto);
        let computed_first = members.iter().filter(|item| pending(item)).count() as u64;
        let sizes = |ty: &Type| (ty.shape.size() * ty.dtype.size()) as u64;
        let kept =
            computed_first * types.iter().map(sizes).sum::<u64>() + members.len() as u64 * sizes(&traced.ty);
        let size = group::size(&Runtime::current(), traced.bytes_per_item(), kept, self.map.most);
        // All about as large as the first, so that few shapes are planned.
        let even = members.len().div_ceil(members.len().div_ceil(size));
        let groups: Vec<&[usize]> = members.chunks(even).collect();
        let gather = |members: &[usize]| -> Result<Vec<Arc<Buffer>>> {
            let pieces: Vec<Vec<&Array>> = members.iter().map(|&item| items[item].pieces()).collect();
            let one = |piece: usize| {
                let arrays: Vec<&Array> = pieces.iter().map(|pieces| pieces[piece]).collect();
                group::stacked(&arrays, &types[piece], location)
            };
            (0..types.len()).map(one).collect()
        };
        if let [only] = groups[..] {
            // Threads would have nothing to do beside it.
            let began = Instant::now();
            let computed = gather(only).and_then(|stacked| {
                evaluate(traced, &stacked, only.len(), fetched, location)
                    .inspect(|whole| fetch(fetched, whole))
            });
            return self.done(only, computed, began, traced);
        }
        let carried = carry();
        std::thread::scope(|scope| {
            // One group waits; more would only take memory.
            let (put, stacked) = std::sync::mpsc::sync_channel(1);
            let (wanted, computed) = std::sync::mpsc::channel::<Arc<Buffer>>();
            let (carried, gather, groups) = (&carried, &gather, &groups);
            scope.spawn(move || {
                carried
                    .enter(|| groups.iter().map(|members| gather(members)).all(|made| put.send(made).is_ok()))
            });
            if fetched {
                scope.spawn(move || computed.into_iter().for_each(|whole| fetch(true, &whole)));
            }
            for (&members, stacked) in groups.iter().zip(stacked) {
                let began = Instant::now();
                let whole = stacked
                    .and_then(|stacked| evaluate(traced, &stacked, members.len(), fetched, location))
                    // Nobody listens where nothing is to be fetched.
                    .inspect(|whole| _ = wanted.send(whole.clone()));
                self.done(members, whole, began, traced);
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

fn evaluate(
    traced: &Traced,
    stacked: &[Arc<Buffer>],
    count: usize,
    fetched: bool,
    location: &'static Location<'static>,
) -> Result<Arc<Buffer>> {
    let wrap = |error: crossover_runtime::Error| Error::new(error, location);
    let internal = |reason: String| wrap(crossover_runtime::Error::Internal(reason));
    let graph = traced.lifted(count).map_err(internal)?;
    let wanted = if fetched { Wanted::OnHost } else { Wanted::Anywhere };
    let buffers = Runtime::current().evaluate(&graph, &traced.inputs(stacked), wanted).map_err(wrap)?;
    buffers.into_iter().next().ok_or_else(|| internal("a plan without a result".into()))
}

/// Brings a result to the host. If that fails, whoever reads it will be told.
fn fetch(wanted: bool, whole: &Buffer) {
    if wanted && let Err(error) = whole.host_bytes() {
        tracing::debug!(target: "crossover::fallback", %error, "a result was not brought to the host");
    }
}
