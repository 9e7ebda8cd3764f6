//! Masks: where something holds, and the entries there. What depends on data is evaluated at once.

use std::panic::Location;

use crossover_core::{
    DType, Error as CoreError, Shape,
    compose::{self, Build},
    graph::Op,
    ops::MapOp,
};

use crate::{Array, Error, Result};

/// Masks.
impl Array {
    /// Indices of the elements that are not zero, in row-major order: one `i64` array per axis. Evaluated at once.
    ///
    /// ```
    /// # use crossover_array::Array;
    /// let x = Array::from([[0, 7, 0], [8, 0, 9]]);
    /// let [rows, columns] = x.nonzero()?.try_into().unwrap();
    /// assert_eq!(rows.to_vec::<i64>()?, [0, 1, 1]);
    /// assert_eq!(columns.to_vec::<i64>()?, [1, 0, 2]);
    /// # Ok::<(), crossover_array::Error>(())
    /// ```
    #[track_caller]
    pub fn nonzero(&self) -> Result<Vec<Array>> {
        let location = Location::caller();
        self.check()?;
        let shape = self.shape().clone();
        if shape.rank() == 0 {
            let what = "an array without axes has no indices; reshape it to [1] first".to_string();
            return Err(Error::new(CoreError::Value { op: "nonzero", what }, location));
        }
        let mask = Array::build([self], truth_of);
        let count = mask.count_true()?;
        let flat = Array::build([&mask], |b, [mask]| {
            let line = Shape::from([shape.size()]);
            let mask = b.push(Op::Reshape(line.clone()), &[mask])?;
            let position = b.push(Op::Index { shape: line, axis: 0 }, &[])?;
            b.push(Op::Compress { count }, &[&mask, &position])
        });
        flat.eval()?;
        let strides = shape.strides();
        let along = |axis: usize| match shape.rank() {
            1 => flat.clone(),
            _ => Array::build([&flat], |b, [flat]| {
                let stride = compose::number(b, (strides[axis] as i64).into(), DType::I64)?;
                let length = compose::number(b, shape[axis].into(), DType::I64)?;
                let upper = compose::binary(b, MapOp::FloorDivide, flat, &stride)?;
                if axis == 0 { Ok(upper) } else { compose::binary(b, MapOp::Remainder, &upper, &length) }
            }),
        };
        Ok((0..shape.rank()).map(along).collect())
    }

    /// Indices of the elements that are not zero, one row per element. Evaluated at once.
    ///
    /// ```
    /// # use crossover_array::Array;
    /// let x = Array::from([[0, 7], [8, 0]]);
    /// assert_eq!(x.argwhere()?.to_vec::<i64>()?, [0, 1, 1, 0]);
    /// # Ok::<(), crossover_array::Error>(())
    /// ```
    #[track_caller]
    pub fn argwhere(&self) -> Result<Array> {
        let axes = self.nonzero()?;
        Ok(Array::stack(&axes.iter().collect::<Vec<_>>(), 1))
    }

    /// Entries along an axis at which a mask with one axis is true. The mask is evaluated at once.
    ///
    /// ```
    /// # use crossover_array::Array;
    /// let x = Array::from([[1, 2, 3], [4, 5, 6]]);
    /// let odd = Array::from([true, false, true]);
    /// assert_eq!(x.compress(&odd, 1).to_vec::<i32>()?, [1, 3, 4, 6]);
    /// # Ok::<(), crossover_array::Error>(())
    /// ```
    #[track_caller]
    pub fn compress(&self, mask: &Array, axis: i64) -> Array {
        let location = Location::caller();
        if let Some(error) = self.failure().or_else(|| mask.failure()) {
            return Array::failed(error);
        }
        let axis = match self.shape().axis("compress", axis) {
            Ok(axis) => axis,
            Err(error) => return Array::wrong(error, location),
        };
        if mask.ndim() == 0 {
            let what =
                "a mask without axes chooses no entries; get takes everything or nothing by it".to_string();
            return Array::wrong(CoreError::Value { op: "compress", what }, location);
        }
        let first = self.move_axis(axis as i64, 0);
        let taken = first.masked("compress", mask, location);
        if taken.failure().is_some() { taken } else { taken.move_axis(0, axis as i64) }
    }

    /// Entries at which a mask over the leading axes is true, in row-major order.
    pub(crate) fn masked(
        &self,
        op: &'static str,
        mask: &Array,
        location: &'static Location<'static>,
    ) -> Array {
        if let Err(error) = check_mask(op, mask, self.shape(), 0) {
            return Array::wrong(error, location);
        }
        let count = match mask.count_true() {
            Ok(count) => count,
            Err(error) => return Array::failed(error),
        };
        Array::build([mask, self], |b, [mask, x]| {
            let (covered, shape) = (b.ty(mask).shape, b.ty(x).shape);
            let rest = &shape.dims()[covered.rank()..];
            let line = Shape::from([covered.size()]);
            let rows: Shape = line.iter().chain(rest).copied().collect();
            let mask = b.push(Op::Reshape(line), &[mask])?;
            let x = b.push(Op::Reshape(rows), &[x])?;
            b.push(Op::Compress { count }, &[&mask, &x])
        })
    }

    /// How many elements of a boolean array are true; evaluates it.
    pub(crate) fn count_true(&self) -> Result<usize> {
        self.eval()?;
        Ok(self.sum(()).item::<i64>()? as usize)
    }
}

fn truth_of(
    b: &mut crate::compose::Composer,
    [x]: [&crate::compose::Value; 1],
) -> crossover_core::Result<crate::compose::Value> {
    compose::truth(b, x)
}

/// A mask is boolean and has the lengths of the axes it covers, from `axis` on. One without axes covers none and takes
/// everything or nothing, along a new axis.
pub(crate) fn check_mask(
    op: &'static str,
    mask: &Array,
    shape: &Shape,
    axis: usize,
) -> crossover_core::Result<()> {
    if mask.dtype() != DType::Bool {
        return Err(CoreError::DType { op, dtype: mask.dtype(), supported: "bool".to_string() });
    }
    let rank = mask.ndim();
    if axis + rank <= shape.rank() && shape.dims()[axis..axis + rank] == *mask.shape().dims() {
        return Ok(());
    }
    let why = "the mask has the lengths of the axes it covers";
    Err(CoreError::Shape { op, left: shape.clone(), right: mask.shape().clone(), why })
}
