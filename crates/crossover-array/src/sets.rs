//! Sets and counts: distinct elements, histograms. The sizes depend on data, so these evaluate at once.

use std::panic::Location;

use crossover_core::{
    DType, Error as CoreError, Kind, Shape,
    compose::{self, Build},
    graph::Op,
    ops::{MapOp, scatter::ScatterOp},
};

use crate::{Array, Error, Result, eval_all, s};

/// What [`Array::unique_all`] finds.
///
/// ```
/// use crossover_array::Array;
/// let x = Array::from([7, 5, 7]);
/// let found = x.unique_all()?;
/// assert_eq!(found.values.take(&found.inverse, 0).to_vec::<i32>()?, [7, 5, 7]);
/// assert_eq!(x.take(&found.indices, 0).to_vec::<i32>()?, found.values.to_vec::<i32>()?);
/// assert_eq!(found.counts.to_vec::<i64>()?, [1, 2]);
/// # Ok::<(), crossover_array::Error>(())
/// ```
#[derive(Debug, Clone)]
pub struct Unique {
    /// The distinct elements in ascending order; every NaN is distinct.
    pub values: Array,
    /// Where each first occurs in the flattened array, as `i64`.
    pub indices: Array,
    /// For every element of the array, in its shape, which of the values it is, as `i64`.
    pub inverse: Array,
    /// How often each occurs, as `i64`.
    pub counts: Array,
}

/// A flattened array in order.
struct Runs {
    sorted: Array,
    /// Whether an element differs from the one before it.
    first: Array,
    count: usize,
}

impl Runs {
    fn of(sorted: Array) -> Result<Runs> {
        let first = Array::build([&sorted], |b, [x]| {
            let length = b.ty(x).shape[0];
            let yes = b.scalar(crossover_core::Element::to_scalar(true));
            if length < 2 {
                return compose::expand(b, &yes, &Shape::from([length]));
            }
            let span = |start| crossover_core::Span { start, step: 1, length: length - 1 };
            let former = b.push(Op::Slice([span(0)].into_iter().collect()), &[x])?;
            let latter = b.push(Op::Slice([span(1)].into_iter().collect()), &[x])?;
            let differs = compose::binary(b, MapOp::NotEqual, &former, &latter)?;
            let start = compose::expand(b, &yes, &Shape::from([1]))?;
            b.push(Op::Concat { axis: 0 }, &[&start, &differs])
        });
        eval_all(&[&sorted, &first])?;
        let count = first.count_true()?;
        Ok(Runs { sorted, first, count })
    }

    fn values(&self) -> Array {
        self.sorted.compressed(&self.first, self.count)
    }

    fn counts(&self) -> Array {
        let total = self.sorted.size() as i64;
        let starts = Array::arange(total).compressed(&self.first, self.count);
        let ends = Array::concat(&[&starts.slice(s![1..]), &Array::from([total])], 0);
        // Without values, the end of nothing is left over.
        ends.slice(..self.count) - starts
    }
}

/// Sets.
impl Array {
    /// The distinct elements in ascending order, where each first occurs, which of them each element is, and how often
    /// each occurs. Every NaN is distinct.
    ///
    /// ```
    /// # use crossover_array::Array;
    /// let unique = Array::from([30, 10, 30, 20]).unique_all()?;
    /// assert_eq!(unique.values.to_vec::<i32>()?, [10, 20, 30]);
    /// assert_eq!(unique.indices.to_vec::<i64>()?, [1, 3, 0]);
    /// assert_eq!(unique.inverse.to_vec::<i64>()?, [2, 0, 2, 1]);
    /// assert_eq!(unique.counts.to_vec::<i64>()?, [1, 1, 2]);
    /// # Ok::<(), crossover_array::Error>(())
    /// ```
    #[track_caller]
    pub fn unique_all(&self) -> Result<Unique> {
        self.check()?;
        let flat = self.flatten();
        let order = flat.argsort(0);
        let sorted = Array::build([&flat, &order], |b, [x, at]| compose::take(b, x, at, 0));
        let runs = Runs::of(sorted)?;
        let size = self.size();
        let inverse = Array::build([&runs.first, &order], |b, [first, order]| {
            let steps = compose::cast(b, first, DType::I64)?;
            let group = compose::cumulative_sum(b, &steps, 0, false)?;
            let one = compose::number(b, 1.into(), DType::I64)?;
            let group = compose::binary(b, MapOp::Subtract, &group, &one)?;
            let nothing = b.scalar(crossover_core::Scalar::zero(DType::I64));
            let nothing = compose::expand(b, &nothing, &Shape::from([size]))?;
            compose::scatter_along(b, ScatterOp::Set, &nothing, order, &group, 0)
        });
        Ok(Unique {
            values: runs.values(),
            indices: order.compressed(&runs.first, runs.count),
            inverse: inverse.reshape(self.shape()),
            counts: runs.counts(),
        })
    }

    /// The distinct elements in ascending order; every NaN is distinct.
    ///
    /// ```
    /// # use crossover_array::Array;
    /// let x = Array::from([2.0f32, -0.0, 0.0, 2.0, f32::NAN, f32::NAN]);
    /// assert_eq!(x.unique_values()?.size(), 4);
    /// # Ok::<(), crossover_array::Error>(())
    /// ```
    #[track_caller]
    pub fn unique_values(&self) -> Result<Array> {
        self.check()?;
        Ok(Runs::of(self.flatten().sort(0))?.values())
    }

    /// The distinct elements in ascending order, and how often each occurs.
    ///
    /// ```
    /// # use crossover_array::Array;
    /// let (values, counts) = Array::from([3, 1, 3]).unique_counts()?;
    /// assert_eq!(values.to_vec::<i32>()?, [1, 3]);
    /// assert_eq!(counts.to_vec::<i64>()?, [1, 2]);
    /// # Ok::<(), crossover_array::Error>(())
    /// ```
    #[track_caller]
    pub fn unique_counts(&self) -> Result<(Array, Array)> {
        self.check()?;
        let runs = Runs::of(self.flatten().sort(0))?;
        Ok((runs.values(), runs.counts()))
    }

    /// The distinct elements in ascending order, and which of them each element is.
    ///
    /// ```
    /// # use crossover_array::Array;
    /// let x = Array::from([[3, 1], [1, 3]]);
    /// let (values, inverse) = x.unique_inverse()?;
    /// assert_eq!(values.take(&inverse, 0).to_vec::<i32>()?, x.to_vec::<i32>()?);
    /// # Ok::<(), crossover_array::Error>(())
    /// ```
    #[track_caller]
    pub fn unique_inverse(&self) -> Result<(Array, Array)> {
        let all = self.unique_all()?;
        Ok((all.values, all.inverse))
    }
}

/// Counts.
impl Array {
    /// How often each of 0, 1, … occurs, up to the largest element and for at least `at_least` numbers, as `i64`.
    /// Elements are integers from 0 on.
    ///
    /// ```
    /// # use crossover_array::Array;
    /// assert_eq!(Array::from([0u8, 3, 3, 1]).bincount(0).to_vec::<i64>()?, [1, 1, 0, 2]);
    /// assert_eq!(Array::from([0, 1]).bincount(4).to_vec::<i64>()?, [1, 1, 0, 0]);
    /// assert!(Array::from([-1]).bincount(0).check().is_err());
    /// # Ok::<(), crossover_array::Error>(())
    /// ```
    #[track_caller]
    pub fn bincount(&self, at_least: usize) -> Array {
        self.counted(None, at_least, Location::caller()).unwrap_or_else(Array::failed)
    }

    /// The sums of the weights beside each of 0, 1, …, added in order, as `f64`.
    ///
    /// ```
    /// # use crossover_array::Array;
    /// let weights = Array::from([0.5, 1.0, 2.0]);
    /// let sums = Array::from([1, 0, 1]).bincount_weighted(&weights, 0);
    /// assert_eq!(sums.to_vec::<f64>()?, [1.0, 2.5]);
    /// # Ok::<(), crossover_array::Error>(())
    /// ```
    #[track_caller]
    pub fn bincount_weighted(&self, weights: &Array, at_least: usize) -> Array {
        self.counted(Some(weights), at_least, Location::caller()).unwrap_or_else(Array::failed)
    }

    #[track_caller]
    fn counted(
        &self,
        weights: Option<&Array>,
        at_least: usize,
        location: &'static Location<'static>,
    ) -> Result<Array> {
        let op = "bincount";
        let wrap = |e: CoreError| Error::new(e, location);
        self.check()?;
        if self.dtype().kind() != Kind::Int {
            let supported = crossover_core::DTypeSet::INT.to_string();
            return Err(wrap(CoreError::DType { op, dtype: self.dtype(), supported }));
        }
        let mut length = at_least;
        if self.size() > 0 {
            let (low, high) = (self.min(()).astype(DType::I64), self.max(()).astype(DType::I64));
            eval_all(&[&low, &high])?;
            // Beyond i64, an unsigned integer seems negative here: either way it is no bin.
            let (low, high) = (low.item::<i64>()?, high.item::<i64>()?);
            if low < 0 || high < 0 {
                let what = format!("elements must be from 0 to {}, {} occurs", i64::MAX, low.min(high));
                return Err(wrap(CoreError::Value { op, what }));
            }
            length = length.max((high as usize).saturating_add(1));
        }
        Shape::checked(op, [length]).map_err(wrap)?;
        Ok(match weights {
            None => Array::build([self], |b, [x]| compose::bincount(b, x, None, length)),
            Some(weights) => {
                Array::build([self, weights], |b, [x, w]| compose::bincount(b, x, Some(w), length))
            }
        })
    }

    /// How many elements lie in each of `bins` intervals of equal length from the smallest to the largest element, and
    /// the edges of the intervals: counts as `i64`, edges in the dtype of the elements or `f64`.
    ///
    /// ```
    /// # use crossover_array::Array;
    /// let (counts, edges) = Array::from([0.0, 0.1, 0.5, 1.0]).histogram(2)?;
    /// assert_eq!(counts.to_vec::<i64>()?, [2, 2]);
    /// assert_eq!(edges.to_vec::<f64>()?, [0.0, 0.5, 1.0]);
    /// # Ok::<(), crossover_array::Error>(())
    /// ```
    #[track_caller]
    pub fn histogram(&self, bins: usize) -> Result<(Array, Array)> {
        let location = Location::caller();
        self.check()?;
        self.countable(location)?;
        let (mut low, mut high) = (0.0, 1.0);
        if self.size() > 0 {
            let (least, most) = (self.min(()).astype(DType::F64), self.max(()).astype(DType::F64));
            eval_all(&[&least, &most])?;
            (low, high) = (least.item::<f64>()?, most.item::<f64>()?);
        }
        self.histogram_between(bins, low, high)
    }

    /// As [`histogram`](Array::histogram), from `low` to `high`; elements outside are not counted.
    ///
    /// ```
    /// # use crossover_array::Array;
    /// let (counts, _) = Array::from([-5, 1, 2, 9]).histogram_between(2, 0.0, 4.0)?;
    /// assert_eq!(counts.to_vec::<i64>()?, [1, 1]);
    /// # Ok::<(), crossover_array::Error>(())
    /// ```
    #[track_caller]
    pub fn histogram_between(&self, bins: usize, low: f64, high: f64) -> Result<(Array, Array)> {
        let location = Location::caller();
        self.check()?;
        self.countable(location)?;
        let wrong = |what| Error::new(CoreError::Value { op: "histogram", what }, location);
        if bins == 0 {
            return Err(wrong("there must be at least one bin".to_string()));
        }
        if !low.is_finite() || !high.is_finite() || low > high {
            return Err(wrong(format!("the range from {low} to {high} must be finite and rise")));
        }
        let (low, high) = if low == high { (low - 0.5, high + 0.5) } else { (low, high) };
        let dtype = if self.dtype().is_float() { self.dtype() } else { DType::F64 };
        let edges = Array::linspace_dtype(low, high, bins + 1, dtype);
        let counts = self.histogram_edges(&edges);
        counts.check()?;
        Ok((counts, edges))
    }

    /// How many elements lie between neighbouring `edges`, which rise: from each edge on to before the next, the last
    /// one included. As `i64`.
    ///
    /// ```
    /// # use crossover_array::Array;
    /// let edges = Array::from([0.0, 1.0, 10.0]);
    /// let counts = Array::from([0.5, 1.0, 10.0, 11.0]).histogram_edges(&edges);
    /// assert_eq!(counts.to_vec::<i64>()?, [1, 2]);
    /// # Ok::<(), crossover_array::Error>(())
    /// ```
    #[track_caller]
    pub fn histogram_edges(&self, edges: &Array) -> Array {
        self.histogram_edges_with(edges, None, false)
    }

    /// As [`histogram_edges`](Array::histogram_edges): the sums of the weights beside the elements, as `f64`, if there are
    /// any; with `density`, over the length of each interval and the sum of all, so that the area is 1.
    ///
    /// ```
    /// # use crossover_array::Array;
    /// let (x, edges) = (Array::from([0.5, 1.5, 2.5]), Array::from([0.0, 1.0, 3.0]));
    /// let weights = Array::from([1.0, 2.0, 1.0]);
    /// assert_eq!(x.histogram_edges_with(&edges, Some(&weights), false).to_vec::<f64>()?, [1.0, 3.0]);
    /// assert_eq!(x.histogram_edges_with(&edges, Some(&weights), true).to_vec::<f64>()?, [0.25, 0.375]);
    /// # Ok::<(), crossover_array::Error>(())
    /// ```
    #[track_caller]
    pub fn histogram_edges_with(&self, edges: &Array, weights: Option<&Array>, density: bool) -> Array {
        let counts = match weights {
            None => Array::build([self, edges], |b, [x, edges]| compose::histogram(b, x, edges, None)),
            Some(weights) => Array::build([self, edges, weights], |b, [x, edges, weights]| {
                compose::histogram(b, x, edges, Some(weights))
            }),
        };
        if !density {
            return counts;
        }
        Array::build([&counts, edges], |b, [counts, edges]| {
            let edges = compose::cast(b, edges, DType::F64)?;
            let lengths = compose::diff(b, &edges, 0, 1)?;
            let total = compose::sum(b, counts, &[], false)?;
            let share = compose::binary(b, MapOp::Divide, counts, &lengths)?;
            compose::binary(b, MapOp::Divide, &share, &total)
        })
    }

    fn countable(&self, location: &'static Location<'static>) -> Result<()> {
        if !self.dtype().is_complex() {
            return Ok(());
        }
        let supported = crossover_core::DTypeSet::REAL.to_string();
        let error = CoreError::DType { op: "histogram", dtype: self.dtype(), supported };
        Err(Error::new(error, location))
    }
}
