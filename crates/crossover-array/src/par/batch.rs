//! The usual operations on a list of arrays, each as few batched kernels.

use std::{fmt, time::Duration};

use parking_lot::Mutex;
use rayon::prelude::*;

use super::{
    GpuReport,
    carry::carry,
    gpu::GpuMap,
    pieces::Pieces,
    tasks::{Panicked, isolated},
};
use crate::{Array, DType, Error, Result, keepdims};

/// A list of arrays to be worked on together.
///
/// Arrays of one dtype and shape share kernels, at most [`max_batch_size`](Batch::max_batch_size) of them and as many as memory has room
/// for. Results come in the order of the arrays.
///
/// ```
/// use crossover_array::{Array, Batch};
/// let matrices: Vec<Array> = (1..=10).map(|i| Array::full([4, 4], i as f32)).collect();
/// let batch = Batch::new(matrices.clone()).max_batch_size(16);
/// let products = batch.matmul(&matrices)?;
/// assert_eq!(products[2].to_vec::<f32>()?[0], 36.0);
/// assert_eq!((batch.stats().operations, batch.stats().groups), (1, 1));
/// let signs = Batch::new(vec![Array::from([1u8, 2]), Array::from([4u8])]).xor(&Array::from(255u8))?;
/// assert_eq!(signs[1].to_vec::<u8>()?, [251]);
/// let each = batch.try_map(|x| x.reshape([2, 8]));
/// assert!(each.iter().all(|result| result.is_ok()) && batch.items().len() == each.len());
/// # Ok::<(), crossover_array::Error>(())
/// ```
pub struct Batch {
    items: Vec<Array>,
    most: Option<usize>,
    stats: Mutex<BatchStats>,
}

/// What a batch has done so far.
///
/// ```
/// use crossover_array::{Array, Batch};
/// let batch = Batch::new(vec![Array::from([1.0f32, 2.0]), Array::from([3.0f32, 4.0])]);
/// batch.map(|x| x.exp())?;
/// let stats = batch.stats();
/// assert_eq!((stats.results, stats.largest_group, stats.failed), (2, 2, 0));
/// println!("{:.0} results per second", stats.throughput());
/// # Ok::<(), crossover_array::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Default)]
pub struct BatchStats {
    /// Operations over the whole list.
    pub operations: usize,
    /// Results that they gave.
    pub results: usize,
    /// Plans over several arrays at once.
    pub groups: usize,
    /// Arrays of the largest of them.
    pub largest_group: usize,
    /// Arrays that were worked on by themselves.
    pub single: usize,
    /// Results that failed.
    pub failed: usize,
    /// Time of all operations.
    pub time: Duration,
}

impl BatchStats {
    /// Results per second.
    pub fn throughput(&self) -> f64 {
        let seconds = self.time.as_secs_f64();
        if seconds > 0.0 { self.results as f64 / seconds } else { 0.0 }
    }
}

impl fmt::Display for BatchStats {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let BatchStats { operations, results, groups, largest_group, single, failed, time } = self;
        write!(f, "{operations} operations, {results} results in {time:.3?} ({:.0}/s): ", self.throughput())?;
        write!(f, "{groups} groups of at most {largest_group}, {single} one by one, {failed} failed")
    }
}

impl Batch {
    /// A batch of these arrays. An empty list has empty results.
    pub fn new(items: Vec<Array>) -> Batch {
        Batch { items, most: None, stats: Mutex::default() }
    }

    /// Arrays that share a kernel at most, 0 taken as 1; without this as many as memory has room for.
    pub fn max_batch_size(mut self, most: usize) -> Batch {
        self.most = Some(most);
        self
    }

    /// The arrays.
    pub fn items(&self) -> &[Array] {
        &self.items
    }

    /// What has been done so far.
    pub fn stats(&self) -> BatchStats {
        self.stats.lock().clone()
    }

    /// A function of each array; see [`gpu_map`](super::ParIter::gpu_map).
    ///
    /// ```
    /// use crossover_array::{Array, Batch};
    /// let batch = Batch::new(vec![Array::from([1.0f32, 2.0]), Array::from([3.0f32])]);
    /// let out = batch.map(|x| x.exp().log().round())?;
    /// assert_eq!(out[1].to_vec::<f32>()?, [3.0]);
    /// # Ok::<(), crossover_array::Error>(())
    /// ```
    #[track_caller]
    pub fn map(&self, f: impl Fn(Array) -> Array) -> Result<Vec<Array>> {
        self.run(GpuMap::new(self.items.clone(), f)).into_iter().collect()
    }

    /// As [`map`](Batch::map), with a result or an error for each array.
    #[track_caller]
    pub fn try_map(&self, f: impl Fn(Array) -> Array) -> Vec<Result<Array>> {
        self.run(GpuMap::new(self.items.clone(), f))
    }

    /// A function of each array and one of another list, which is as long.
    ///
    /// ```
    /// use crossover_array::{Array, Batch};
    /// let batch = Batch::new(vec![Array::from([1, 2]), Array::from([3, 4])]);
    /// let sums = batch.zip_map(&[Array::from([10, 10]), Array::from([20, 20])], |a, b| a + b)?;
    /// assert_eq!(sums[1].to_vec::<i32>()?, [23, 24]);
    /// assert!(batch.zip_map(&[Array::from([1])], |a, b| a + b).is_err());
    /// # Ok::<(), crossover_array::Error>(())
    /// ```
    #[track_caller]
    pub fn zip_map(&self, others: &[Array], f: impl Fn(Array, Array) -> Array) -> Result<Vec<Array>> {
        if others.len() != self.items.len() {
            let what =
                format!("the batch has {} arrays and the other list {}", self.items.len(), others.len());
            return Err(Error::from(crossover_core::Error::Value { op: "batch", what }));
        }
        let pairs: Vec<(Array, Array)> = self.items.iter().cloned().zip(others.iter().cloned()).collect();
        self.run(GpuMap::new(pairs, |(a, b)| f(a, b))).into_iter().collect()
    }

    /// The matrix product of each array with that of another list.
    #[track_caller]
    pub fn matmul(&self, others: &[Array]) -> Result<Vec<Array>> {
        self.zip_map(others, |a, b| a.matmul(&b))
    }

    /// Each array combined bit by bit with one key, which broadcasts.
    #[track_caller]
    pub fn xor(&self, key: &Array) -> Result<Vec<Array>> {
        self.map(|x| x.bitwise_xor(key))
    }

    /// Each array divided by its length, √Σ|x|², however large or small its elements are; zeros stay zeros. A NaN makes all of the array NaN;
    /// beside an infinity finite elements become zeros, and it becomes NaN.
    ///
    /// ```
    /// use crossover_array::{Array, Batch};
    /// let unit = Batch::new(vec![Array::from([3.0f32, 4.0]), Array::zeros::<f32>([2])]).normalise()?;
    /// assert_eq!(unit[0].to_vec::<f32>()?, [0.6, 0.8]);
    /// assert_eq!(unit[1].to_vec::<f32>()?, [0.0, 0.0]);
    /// # Ok::<(), crossover_array::Error>(())
    /// ```
    #[track_caller]
    pub fn normalise(&self) -> Result<Vec<Array>> {
        self.map(|x| {
            // Wide enough for squares of integers and of 16-bit floats.
            let dtype = x.dtype();
            let wide = match dtype {
                DType::F16 | DType::BF16 => DType::F32,
                dtype if dtype.is_float() || dtype.is_complex() => dtype,
                _ => DType::F64,
            };
            let x = x.astype(wide);
            let x = &x * within_squares(&x);
            let axes: Vec<i64> = (0..x.ndim() as i64).collect();
            let size = if dtype.is_complex() { x.abs() } else { x.clone() };
            let length = size.square().sum(keepdims(axes)).sqrt();
            let length = length.equal(0).where_(1, &length);
            let unit = x / length;
            if dtype.is_float() { unit.astype(dtype) } else { unit }
        })
    }

    /// Calls one function per array, shared by threads. A function that panics fails alone.
    ///
    /// ```
    /// use crossover_array::{Array, Batch};
    /// let batch = Batch::new(vec![Array::from([1, 2]), Array::from([3])]);
    /// let sizes = batch.execute_parallel(vec![|x: &Array| x.size(), |x: &Array| x.size() * 100])?;
    /// assert_eq!(sizes.into_iter().map(Result::unwrap).collect::<Vec<_>>(), [2, 100]);
    /// # Ok::<(), crossover_array::Error>(())
    /// ```
    #[track_caller]
    pub fn execute_parallel<T: Send>(
        &self,
        functions: Vec<impl FnOnce(&Array) -> T + Send>,
    ) -> Result<Vec<Result<T, Panicked>>> {
        if functions.len() != self.items.len() {
            let what = format!(
                "the batch has {} arrays, and {} functions were given",
                self.items.len(),
                functions.len()
            );
            return Err(Error::from(crossover_core::Error::Value { op: "execute_parallel", what }));
        }
        let (carried, began) = (carry(), std::time::Instant::now());
        let pairs = functions.into_par_iter().zip(&self.items).with_max_len(1);
        let results: Vec<Result<T, Panicked>> =
            pairs.map(|(f, item)| isolated(|| carried.enter(|| f(item)))).collect();
        let mut stats = self.stats.lock();
        stats.operations += 1;
        stats.results += results.iter().filter(|result| result.is_ok()).count();
        stats.failed += results.iter().filter(|result| result.is_err()).count();
        stats.single += results.len();
        stats.time += began.elapsed();
        Ok(results)
    }

    fn run<P: Pieces, F: Fn(P) -> Array>(&self, map: GpuMap<P, F>) -> Vec<Result<Array>> {
        let map = match self.most {
            Some(most) => map.max_batch_size(most),
            None => map,
        };
        let (results, report) = map.run();
        self.note(&report);
        results
    }

    fn note(&self, report: &GpuReport) {
        let mut stats = self.stats.lock();
        stats.operations += 1;
        stats.results += report.telemetry.succeeded;
        stats.failed += report.telemetry.failed;
        stats.groups += report.groups;
        stats.largest_group = stats.largest_group.max(report.largest_group);
        stats.single += report.single;
        stats.time += report.telemetry.wall;
    }
}

/// What an array is multiplied by so that the squares of its largest elements are neither too large nor too small for its dtype: 1 for most
/// arrays, and else a power of two, which rounds nothing.
fn within_squares(x: &Array) -> Array {
    let single = matches!(x.dtype(), DType::F32 | DType::C64);
    let real = if single { DType::F32 } else { DType::F64 };
    if x.size() == 0 {
        return Array::full_dtype([], 1, real);
    }
    // Where it begins, and by what: the smallest number of all becomes larger than the lower end, and the largest has room to be added up.
    let (end, down, up) = if single { (50, -78, 100) } else { (500, -524, 600) };
    let power = |exponent: i32| Array::full_dtype([], 2f64.powi(exponent), real);
    let axes: Vec<i64> = (0..x.ndim() as i64).collect();
    let largest = x.abs().max(keepdims(axes));
    let scale = largest.less(power(-end)).where_(power(up), power(0));
    largest.greater(power(end)).where_(power(down), scale)
}
