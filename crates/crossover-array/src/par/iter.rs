//! Parallel iterators: Rayon's, with results that do not depend on the number of threads.

use std::iter::Sum;

use rayon::prelude::*;

use super::{
    carry::{Carried, carry},
    gpu::GpuMap,
    jobs::Jobs,
    pieces::Pieces,
};
use crate::Array;

/// Items that one partial result of a reduction is made of, in order.
const RUN: usize = 1024;

/// Items that are worked on by several threads; made by [`par_iter`].
///
/// Adaptors are lazy, and cost what Rayon's cost. What follows [`map`](ParIter::map) sees items in their order.
///
/// ```
/// use crossover_array::par_iter;
/// let words = par_iter(vec!["seven", "is", "prime"]);
/// let long: Vec<(usize, &str)> = words.enumerate().filter(|(_, word)| word.len() > 2).collect();
/// assert_eq!(long, [(0, "seven"), (2, "prime")]);
///
/// let squares = || par_iter(0..100u32).map(|n| n * n);
/// assert_eq!((squares().min(), squares().max(), squares().count()), (Some(0), Some(9801), 100));
/// assert_eq!(squares().sum::<u32>(), 328_350);
/// assert!(squares().any(|n| n == 49) && !squares().all(|n| n < 9));
/// let pairs: Vec<Vec<u32>> = squares().skip(2).take(3).chunks(2).collect();
/// assert_eq!(pairs, [vec![4, 9], vec![16]]);
/// let total = std::sync::atomic::AtomicU32::new(0);
/// squares().for_each(|n| {
///     total.fetch_add(n, std::sync::atomic::Ordering::Relaxed);
/// });
/// assert_eq!(total.into_inner(), 328_350);
/// let halves = par_iter(vec![4, 2]).jobs().run(|n| Ok::<i32, String>(n / 2));
/// assert_eq!(halves.results[1], Ok(1));
/// ```
#[derive(Clone)]
pub struct ParIter<I> {
    inner: I,
    carried: Carried,
}

/// Items for several threads: anything that Rayon can iterate over, as vectors, ranges and slices.
///
/// ```
/// use crossover_array::par_iter;
/// let total: u64 = par_iter(1..=100u64).map(|n| n * n).sum();
/// assert_eq!(total, 338_350);
/// let none: Vec<u64> = par_iter(Vec::new()).collect();
/// assert!(none.is_empty());
/// ```
pub fn par_iter<P: IntoParallelIterator>(items: P) -> ParIter<P::Iter> {
    ParIter { inner: items.into_par_iter(), carried: carry() }
}

impl<I: ParallelIterator> ParIter<I> {
    fn with<J>(self, adapt: impl FnOnce(I, &Carried) -> J) -> ParIter<J> {
        ParIter { inner: adapt(self.inner, &self.carried), carried: self.carried }
    }

    /// A function of each item.
    pub fn map<U: Send>(
        self,
        f: impl Fn(I::Item) -> U + Sync + Send,
    ) -> ParIter<rayon::iter::Map<I, impl Fn(I::Item) -> U + Sync + Send>> {
        self.with(|inner, carried| {
            let carried = carried.clone();
            inner.map(move |item| carried.enter(|| f(item)))
        })
    }

    /// The items for which a condition holds.
    pub fn filter(
        self,
        holds: impl Fn(&I::Item) -> bool + Sync + Send,
    ) -> ParIter<impl ParallelIterator<Item = I::Item>> {
        self.with(|inner, carried| {
            let carried = carried.clone();
            inner.filter(move |item| carried.enter(|| holds(item)))
        })
    }

    /// All the items that a function makes of each item.
    ///
    /// ```
    /// use crossover_array::par_iter;
    /// let all: Vec<usize> = par_iter(0..4usize).flat_map(|n| vec![n; n]).collect();
    /// assert_eq!(all, [1, 2, 2, 3, 3, 3]);
    /// ```
    pub fn flat_map<U: Send, S: IntoIterator<Item = U>>(
        self,
        f: impl Fn(I::Item) -> S + Sync + Send,
    ) -> ParIter<impl ParallelIterator<Item = U>> {
        self.with(|inner, carried| {
            let carried = carried.clone();
            inner.flat_map_iter(move |item| {
                // What it makes may be computed only when the next is asked for.
                let (mut made, carried) = (carried.enter(|| f(item).into_iter()), carried.clone());
                std::iter::from_fn(move || carried.enter(|| made.next()))
            })
        })
    }

    /// Runs a function on each item.
    pub fn for_each(self, f: impl Fn(I::Item) + Sync + Send) {
        let carried = self.carried;
        self.inner.for_each(|item| carried.enter(|| f(item)));
    }

    /// All items, in order.
    pub fn collect<C: FromParallelIterator<I::Item>>(self) -> C {
        self.inner.collect()
    }

    /// How many items there are.
    pub fn count(self) -> usize {
        self.inner.count()
    }

    /// Whether a condition holds for an item; others may not be looked at.
    pub fn any(self, holds: impl Fn(I::Item) -> bool + Sync + Send) -> bool {
        let carried = self.carried;
        self.inner.any(|item| carried.enter(|| holds(item)))
    }

    /// Whether a condition holds for all items.
    pub fn all(self, holds: impl Fn(I::Item) -> bool + Sync + Send) -> bool {
        let carried = self.carried;
        self.inner.all(|item| carried.enter(|| holds(item)))
    }

    /// The smallest item; of equals the first.
    pub fn min(self) -> Option<I::Item>
    where
        I::Item: Ord,
    {
        self.inner.collect::<Vec<_>>().into_iter().min()
    }

    /// The largest item; of equals the last, as of the standard library's iterators.
    pub fn max(self) -> Option<I::Item>
    where
        I::Item: Ord,
    {
        self.inner.collect::<Vec<_>>().into_iter().max()
    }

    /// Items joined in order, runs of 1024 by one thread each: the same bits for any number of threads, also of sums of floats.
    ///
    /// ```
    /// use crossover_array::par_iter;
    /// let largest = par_iter(vec![3.0f64, 7.5, 1.0]).reduce(|| f64::NEG_INFINITY, f64::max);
    /// assert_eq!(largest, 7.5);
    /// ```
    pub fn reduce(
        self,
        identity: impl Fn() -> I::Item + Sync + Send,
        join: impl Fn(I::Item, I::Item) -> I::Item + Sync + Send,
    ) -> I::Item {
        let carried = self.carried.clone();
        let parts = self.folded(&identity, &join);
        carried.enter(|| parts.into_iter().fold(identity(), &join))
    }

    /// Runs of 1024 items folded into a value each, in order; join those with [`reduce`](ParIter::reduce), or collect them.
    ///
    /// ```
    /// use crossover_array::par_iter;
    /// let letters = par_iter(vec!["a", "b", "c"]).fold(String::new, |all, one| all + one).reduce(String::new, |a, b| a + &b);
    /// assert_eq!(letters, "abc");
    /// ```
    pub fn fold<T: Send>(
        self,
        identity: impl Fn() -> T + Sync + Send,
        step: impl Fn(T, I::Item) -> T + Sync + Send,
    ) -> ParIter<rayon::vec::IntoIter<T>> {
        let carried = self.carried.clone();
        let parts = self.folded(&identity, &step);
        ParIter { inner: parts.into_par_iter(), carried }
    }

    fn folded<T: Send>(
        self,
        identity: &(impl Fn() -> T + Sync + Send),
        step: &(impl Fn(T, I::Item) -> T + Sync + Send),
    ) -> Vec<T> {
        let (items, carried) = (self.inner.collect::<Vec<_>>(), self.carried);
        let runs = items.into_par_iter().chunks(RUN);
        runs.map(|run| carried.enter(|| run.into_iter().fold(identity(), step))).collect()
    }

    /// The sum of all items, in the order of [`reduce`](ParIter::reduce).
    pub fn sum<S: Send + Sum<I::Item> + Sum<S>>(self) -> S {
        let (items, carried) = (self.inner.collect::<Vec<_>>(), self.carried);
        let runs = items.into_par_iter().chunks(RUN);
        let parts: Vec<S> = runs.map(|run| carried.enter(|| run.into_iter().sum())).collect();
        carried.enter(|| parts.into_iter().sum())
    }

    /// Work that may fail or panic, item by item; see [`Jobs`].
    pub fn jobs(self) -> Jobs<I::Item>
    where
        I::Item: Sync,
    {
        Jobs::new(self.inner.collect(), self.carried)
    }

    /// A function of arrays, for all items in as few plans as possible.
    ///
    /// The function is called with arrays that have no values yet, once for each combination of dtypes and shapes that occurs; what it computes
    /// runs as one plan over all items of that kind, with one more leading axis, in groups that fit into memory. A function that asks for
    /// values, or does something that cannot be batched, is called for each item instead; [`GpuMap::run`] reports that and why. It must
    /// depend on nothing but its argument and what it has captured.
    ///
    /// Items are arrays, or pairs, triples and fixed lists of them. Products and transforms may differ in the last bits from those of single
    /// items, within their stated errors; everything else has the same bits.
    ///
    /// Random numbers drawn inside the function are drawn once, with the one key that it has captured, and are the same for all items. Noise
    /// of its own comes to an item as a second array, drawn with a key for each; it is computed with the rest:
    ///
    /// ```
    /// use crossover_array::{Array, Key, par_iter, random};
    /// let key = Key::new(7);
    /// let noisy = |(i, x): (u64, Array)| (x, random::normal::<f32>(&key.fold(i), [2]));
    /// let pairs: Vec<(Array, Array)> = (0..3).map(|i| (i, Array::zeros::<f32>([2]))).map(noisy).collect();
    /// let out = par_iter(pairs).gpu_map(|(x, noise)| x + noise * 0.1).collect()?;
    /// assert_ne!(out[0].to_vec::<f32>()?, out[1].to_vec::<f32>()?);
    /// # Ok::<(), crossover_array::Error>(())
    /// ```
    ///
    /// ```
    /// use crossover_array::{Array, par_iter};
    /// let rows = vec![Array::from([1.0f32, 2.0]), Array::from([3.0f32]), Array::from([4.0f32, 5.0])];
    /// let sums = par_iter(rows).gpu_map(|x| x.square().sum(())).collect()?;
    /// let sums: Vec<f32> = sums.iter().map(|sum| sum.item::<f32>()).collect::<Result<_, _>>()?;
    /// assert_eq!(sums, [5.0, 9.0, 41.0]);
    /// # Ok::<(), crossover_array::Error>(())
    /// ```
    #[track_caller]
    pub fn gpu_map<F: Fn(I::Item) -> Array>(self, f: F) -> GpuMap<I::Item, F>
    where
        I::Item: Pieces,
    {
        GpuMap::new(self.inner.collect(), f)
    }
}

impl<I: IndexedParallelIterator> ParIter<I> {
    /// Each item with its position.
    pub fn enumerate(self) -> ParIter<impl IndexedParallelIterator<Item = (usize, I::Item)>> {
        self.with(|inner, _| inner.enumerate())
    }

    /// Each item with that of another iterator at the same position, as far as both go.
    ///
    /// ```
    /// use crossover_array::par_iter;
    /// let sums: Vec<i32> = par_iter(vec![1, 2, 3]).zip(par_iter(vec![10, 20])).map(|(a, b)| a + b).collect();
    /// assert_eq!(sums, [11, 22]);
    /// ```
    pub fn zip<J: IndexedParallelIterator>(
        self,
        other: ParIter<J>,
    ) -> ParIter<impl IndexedParallelIterator<Item = (I::Item, J::Item)>> {
        self.with(|inner, _| inner.zip(other.inner))
    }

    /// The first items.
    pub fn take(self, count: usize) -> ParIter<impl IndexedParallelIterator<Item = I::Item>> {
        self.with(|inner, _| inner.take(count))
    }

    /// All but the first items.
    pub fn skip(self, count: usize) -> ParIter<impl IndexedParallelIterator<Item = I::Item>> {
        self.with(|inner, _| inner.skip(count))
    }

    /// Lists of so many items, the last of which may be shorter; 0 is taken as 1.
    pub fn chunks(self, length: usize) -> ParIter<impl IndexedParallelIterator<Item = Vec<I::Item>>> {
        self.with(|inner, _| inner.chunks(length.max(1)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Device, Runtime, with_device};

    #[test]
    fn adaptors_keep_the_order() {
        let found: Vec<(usize, Vec<u32>)> = par_iter(0..100_000u32)
            .skip(10)
            .take(50_000)
            .map(|n| n + 1)
            .chunks(7)
            .enumerate()
            .filter(|(i, _)| i % 1000 == 3)
            .collect();
        assert_eq!(found.len(), 8);
        assert_eq!(found[1], (1003, (7032..7039).collect::<Vec<u32>>()));
    }

    #[test]
    fn sums_of_floats_do_not_depend_on_threads() {
        let items: Vec<f64> = (0..100_000).map(|i| (f64::from(i) * 0.37).sin() * 1e3).collect();
        let sum = || par_iter(items.clone()).map(|x| x * 1.1).sum::<f64>();
        let bits: Vec<u64> = (1..=4)
            .map(|threads| {
                let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
                pool.install(sum).to_bits()
            })
            .collect();
        assert!(bits.windows(2).all(|pair| pair[0] == pair[1]), "{bits:?}");
        let reduced = par_iter(items.clone()).map(|x| x * 1.1).reduce(|| 0.0, |a, b| a + b);
        let folded = par_iter(items).fold(|| 0.0, |a, x| a + x * 1.1).reduce(|| 0.0, |a, b| a + b);
        assert_eq!((reduced.to_bits(), folded.to_bits()), (bits[0], bits[0]));
    }

    #[test]
    fn conditions_extremes_and_counts() {
        let items = || par_iter((0..10_000i64).map(|i| i * 7919 % 10_007).collect::<Vec<_>>());
        assert_eq!((items().min(), items().max(), items().count()), (Some(0), Some(10_006), 10_000));
        assert!(items().any(|x| x == 7919) && !items().all(|x| x < 10_006));
        assert_eq!(par_iter(Vec::<i32>::new()).min(), None);
    }

    #[test]
    fn threads_have_the_runtime_and_device_of_the_caller() {
        let runtime = Runtime::builder().threads(1).build().unwrap();
        let before = runtime.executor().counts().launches;
        let sums: Vec<i64> = runtime.scope(|| {
            with_device(Device::Cpu, || {
                par_iter(0..64i64).map(|n| Array::arange(n).sum(()).item::<i64>().unwrap()).collect()
            })
        });
        assert_eq!(sums[63], 63 * 62 / 2);
        assert!(runtime.executor().counts().launches > before);
        let missing: Vec<bool> = with_device(Device::Cuda(999), || {
            par_iter(0..8i64).map(|n| Array::arange(n + 1).exp().eval().is_err()).collect()
        });
        assert_eq!(missing, [true; 8]);
    }

    #[test]
    fn every_adaptor_has_the_device_of_the_caller() {
        // There is no such device, so that whatever is computed there fails.
        let fails = |n: i64| Array::arange(n + 1).exp().eval().is_err();
        with_device(Device::Cuda(999), || {
            let items = || par_iter(0..5000i64);
            assert_eq!(items().filter(|n| fails(*n)).count(), 5000);
            assert_eq!(items().filter(|n| !fails(*n)).count(), 0);
            assert!(items().all(fails) && !items().any(|n| !fails(n)));
            let lazy: Vec<bool> = items().flat_map(|n| std::iter::once_with(move || fails(n))).collect();
            assert!(lazy.into_iter().all(|fails| fails));
            let both = items().map(fails).reduce(|| true, |a, b| a && b && fails(1));
            assert!(both);
            items().for_each(|n| assert!(fails(n)));
        });
    }
}
