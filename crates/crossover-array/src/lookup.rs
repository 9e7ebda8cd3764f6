//! Elements by index, read and written: take, gather, scatter.
//!
//! Indices are evaluated at once to check them: one that is out of range is an error that names it. Negative indices
//! count from the end.

use std::{panic::Location, sync::Arc};

use crossover_core::{
    DType, DTypeSet, Error as CoreError, Scalar,
    compose::{self, Build},
    ops::{reduce::ReduceOp, scatter::ScatterOp},
};

use crate::{Array, Error, Operand, Result, compose::Composer, compose::Value, eval_all};

/// What happens to an element that a scattered value meets. Values arrive in row-major order of their indices.
///
/// ```
/// use crossover_array::{Array, Scatter};
/// let x = Array::zeros::<i32>([3]);
/// let (at, values) = (Array::from([0, 2, 2]), Array::from([5, 6, 7]));
/// assert_eq!(x.scatter(&[&at], &values, Scatter::Set).to_vec::<i32>()?, [5, 0, 7]);
/// assert_eq!(x.scatter(&[&at], &values, Scatter::Add).to_vec::<i32>()?, [5, 0, 13]);
/// # Ok::<(), crossover_array::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Scatter {
    /// The value replaces it; the last one wins.
    Set,
    /// The value is added to it. Sums of 16-bit floats are carried in `f32` and rounded once.
    Add,
    /// The smaller of both stays; NaN wins.
    Min,
    /// The larger of both stays; NaN wins.
    Max,
}

impl From<Scatter> for ScatterOp {
    fn from(scatter: Scatter) -> ScatterOp {
        match scatter {
            Scatter::Set => ScatterOp::Set,
            Scatter::Add => ScatterOp::Add,
            Scatter::Min => ScatterOp::Min,
            Scatter::Max => ScatterOp::Max,
        }
    }
}

/// Lookups.
impl Array {
    /// Entries along an axis by index; the axis is replaced by the axes of `indices`. Negative indices count from the
    /// end.
    ///
    /// The indices are evaluated at once to check them: one that is out of range is an error that names it.
    ///
    /// ```
    /// # use crossover_array::Array;
    /// let x = Array::from([10, 20, 30]);
    /// assert_eq!(x.take(&Array::from([2, 0, -1]), 0).to_vec::<i32>()?, [30, 10, 30]);
    /// let error = x.take(&Array::from([1, 7]), 0).check().unwrap_err();
    /// assert!(error.to_string().contains("index 7 is out of range"));
    /// # Ok::<(), crossover_array::Error>(())
    /// ```
    #[track_caller]
    pub fn take(&self, indices: &Array, axis: i64) -> Array {
        let location = Location::caller();
        match self.places("take", indices, axis, location) {
            Ok(place) => Array::build([self, indices], |b, [x, at]| {
                let at = place.applied(b, at)?;
                compose::take(b, x, &at, axis)
            }),
            Err(error) => Array::failed(error),
        }
    }

    /// As [`take`](Array::take), with indices that nobody looks at first: one that is out of range, negative ones among them, is that of the
    /// nearest end, as with NumPy's `mode="clip"`. Nothing is evaluated.
    ///
    /// ```
    /// # use crossover_array::Array;
    /// let x = Array::from([10, 20, 30]);
    /// assert_eq!(x.take_clipped(&Array::from([1, 7, -1]), 0).to_vec::<i32>()?, [20, 30, 10]);
    /// # Ok::<(), crossover_array::Error>(())
    /// ```
    #[track_caller]
    pub fn take_clipped(&self, indices: &Array, axis: i64) -> Array {
        if indices.dtype() == DType::U64 {
            // The largest of them are no i64.
            return self.take_clipped(&indices.minimum(i64::MAX as u64).astype(DType::I64), axis);
        }
        Array::build([self, indices], |b, [x, at]| {
            let (values, dtype) = (b.ty(x).shape, b.ty(at).dtype);
            let length = values[values.axis("take_clipped", axis)?];
            if !dtype.is_int() || (length == 0 && b.ty(at).shape.size() > 0) {
                let what = format!(
                    "indices of {dtype} into an axis of {length}; whole numbers and an end are needed"
                );
                return Err(CoreError::Value { op: "take_clipped", what });
            }
            let at = compose::cast(b, at, DType::I64)?;
            compose::take(b, x, &at, axis)
        })
    }

    /// Elements along an axis, each at an index of its own: what [`argsort`](Array::argsort) returns can be used here.
    /// All other axes broadcast.
    ///
    /// ```
    /// # use crossover_array::Array;
    /// let x = Array::from([[3, 1, 2], [6, 5, 4]]);
    /// let order = x.argsort(1);
    /// assert_eq!(x.take_along_axis(&order, 1).to_vec::<i32>()?, [1, 2, 3, 4, 5, 6]);
    /// # Ok::<(), crossover_array::Error>(())
    /// ```
    #[track_caller]
    pub fn take_along_axis(&self, indices: &Array, axis: i64) -> Array {
        let location = Location::caller();
        match self.places("take_along_axis", indices, axis, location) {
            Ok(place) => Array::build([self, indices], |b, [x, at]| {
                let at = place.applied(b, at)?;
                compose::take_along_axis(b, x, &at, axis)
            }),
            Err(error) => Array::failed(error),
        }
    }

    /// Elements at coordinates: one index array per leading axis, broadcast against each other; further axes follow.
    ///
    /// ```
    /// # use crossover_array::Array;
    /// let x = Array::from([[1, 2], [3, 4], [5, 6]]);
    /// let (rows, columns) = (Array::from([2, 0]), Array::from([1, -1]));
    /// assert_eq!(x.gather(&[&rows, &columns]).to_vec::<i32>()?, [6, 2]);
    /// assert_eq!(x.gather(&[&rows]).to_vec::<i32>()?, [5, 6, 1, 2]);
    /// # Ok::<(), crossover_array::Error>(())
    /// ```
    #[track_caller]
    pub fn gather(&self, indices: &[&Array]) -> Array {
        let location = Location::caller();
        let places = match self.coordinates("gather", indices, location) {
            Ok(places) => places,
            Err(error) => return Array::failed(error),
        };
        let operands: Vec<&Array> = std::iter::once(self).chain(indices.iter().copied()).collect();
        Array::build_many(&operands, |b, values| {
            let at = applied(b, &places, &values[1..])?;
            compose::gather(b, &values[0], &at)
        })
    }

    /// A copy with values written or combined into it at coordinates: one index array per leading axis, broadcast
    /// against each other. The values broadcast to the indices' common shape and the axes that follow.
    ///
    /// ```
    /// # use crossover_array::{Array, Scatter};
    /// let x = Array::zeros::<f32>([2, 3]);
    /// let (rows, columns) = (Array::from([0, 1, 1]), Array::from([0, 2, 2]));
    /// let counted = x.scatter(&[&rows, &columns], 1, Scatter::Add);
    /// assert_eq!(counted.to_vec::<f32>()?, [1.0, 0.0, 0.0, 0.0, 0.0, 2.0]);
    /// let filled = x.scatter(&[&Array::from([-1])], &Array::from([7.0f32, 8.0, 9.0]), Scatter::Set);
    /// assert_eq!(filled.to_vec::<f32>()?, [0.0, 0.0, 0.0, 7.0, 8.0, 9.0]);
    /// # Ok::<(), crossover_array::Error>(())
    /// ```
    #[track_caller]
    pub fn scatter<'a>(&self, indices: &[&Array], values: impl Into<Operand<'a>>, how: Scatter) -> Array {
        let location = Location::caller();
        let places = match self.coordinates(ScatterOp::from(how).name(), indices, location) {
            Ok(places) => places,
            Err(error) => return Array::failed(error),
        };
        let written = values.into().into_array(self.dtype());
        let operands: Vec<&Array> = [self, &written].into_iter().chain(indices.iter().copied()).collect();
        Array::build_many(&operands, |b, values| {
            let at = applied(b, &places, &values[2..])?;
            compose::scatter(b, how.into(), &values[0], &at, &values[1])
        })
    }

    /// A copy with values written or combined along an axis, each at an index of its own: the counterpart of
    /// [`take_along_axis`](Array::take_along_axis). Indices broadcast to this array's other axes, values to the indices.
    ///
    /// ```
    /// # use crossover_array::{Array, Scatter};
    /// let x = Array::from([[10, 20, 30], [40, 50, 60]]);
    /// let at = Array::from([[2], [0]]);
    /// let y = x.put_along_axis(&at, 0, 1, Scatter::Set);
    /// assert_eq!(y.to_vec::<i32>()?, [10, 20, 0, 0, 50, 60]);
    /// # Ok::<(), crossover_array::Error>(())
    /// ```
    #[track_caller]
    pub fn put_along_axis<'a>(
        &self,
        indices: &Array,
        values: impl Into<Operand<'a>>,
        axis: i64,
        how: Scatter,
    ) -> Array {
        let location = Location::caller();
        let op = ScatterOp::from(how);
        let place = match self.places(op.name(), indices, axis, location) {
            Ok(place) => place,
            Err(error) => return Array::failed(error),
        };
        let values = values.into().into_array(self.dtype());
        Array::build([self, indices, &values], |b, [x, at, values]| {
            let at = place.applied(b, at)?;
            compose::scatter_along(b, op, x, &at, values, axis)
        })
    }

    /// Checked indices into one axis.
    fn places(
        &self,
        op: &'static str,
        indices: &Array,
        axis: i64,
        location: &'static Location<'static>,
    ) -> Result<Places> {
        self.check()?;
        let position = self.shape().axis(op, axis).map_err(|e| Error::new(e, location))?;
        Places::new(op, indices, position, self.shape()[position], location)
    }

    /// Checked indices into leading axes.
    fn coordinates(
        &self,
        op: &'static str,
        indices: &[&Array],
        location: &'static Location<'static>,
    ) -> Result<Vec<Places>> {
        self.check()?;
        // Too many indices are refused by the composition; here they meet no axis.
        let lengths = self.shape().iter().copied().chain(std::iter::repeat(usize::MAX));
        let pairs = indices.iter().zip(lengths).enumerate();
        pairs.map(|(axis, (index, length))| Places::new(op, index, axis, length, location)).collect()
    }
}

fn applied(b: &mut Composer, places: &[Places], values: &[Value]) -> crossover_core::Result<Vec<Value>> {
    places.iter().zip(values).map(|(place, value)| place.applied(b, value)).collect()
}

/// What is known about indices after checking them against an axis.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Places {
    length: usize,
    has_negative: bool,
}

impl Places {
    /// Evaluates the indices and checks that all lie inside the axis.
    pub(crate) fn new(
        op: &'static str,
        indices: &Array,
        axis: usize,
        length: usize,
        location: &'static Location<'static>,
    ) -> Result<Places> {
        indices.check()?;
        if !indices.dtype().is_int() {
            let supported = DTypeSet::INT.to_string();
            let error = CoreError::DType { op, dtype: indices.dtype(), supported };
            return Err(Error::new(error, location));
        }
        let Some((low, high)) = range(indices)? else {
            return Ok(Places { length, has_negative: false });
        };
        let limit = length as i128;
        let outside = [low, high].into_iter().find(|at| !(-limit..limit).contains(at));
        if let Some(index) = outside {
            let index = i64::try_from(index).unwrap_or(i64::MAX);
            return Err(Error::new(CoreError::Index { op, index, axis, length }, location));
        }
        Ok(Places { length, has_negative: low < 0 })
    }

    /// The indices counted from the start.
    fn applied(self, b: &mut Composer, indices: &Value) -> crossover_core::Result<Value> {
        let dtype = b.dtype(indices);
        if self.has_negative && dtype.is_signed_int() {
            return compose::wrapped(b, indices, self.length);
        }
        compose::cast(b, indices, DType::I64)
    }
}

/// Smallest and largest index, or `None` without indices.
fn range(indices: &Array) -> Result<Option<(i128, i128)>> {
    if indices.size() == 0 {
        return Ok(None);
    }
    // Finding out waits for the device; indices that are used again and again are looked over once.
    let node = indices.version();
    let whole = indices.view().is_none();
    if let Some(&[low, high]) = node.extremes.get().filter(|_| whole).map(|known| &**known) {
        return Ok(Some((low, high)));
    }
    let extreme = |op| Array::build([indices], |b, [x]| compose::reduce(b, op, x, &[], false));
    let (low, high) = (extreme(ReduceOp::Min), extreme(ReduceOp::Max));
    eval_all(&[&low, &high])?;
    let wide = |value: Scalar| match value.dtype() {
        DType::U64 => value.bits()[0] as i128,
        _ => value.cast(DType::I64).bits()[0] as i64 as i128,
    };
    let (low, high) = (wide(low.to_scalar()?), wide(high.to_scalar()?));
    // Somebody may have written to the array in between.
    if whole && Arc::ptr_eq(&node, &indices.version()) {
        let _ = node.extremes.set(Box::new([low, high]));
    }
    Ok(Some((low, high)))
}
