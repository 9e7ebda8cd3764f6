//! Arrays from several others: joined, stacked, multiplied.

use crossover_core::{
    Error, Result as CoreResult, Shape,
    compose::{self, Build},
    graph::Op,
    ops::MapOp,
};

use crate::Array;

impl Array {
    /// Arrays joined along an axis they have, after promotion; all other axes must be equal.
    ///
    /// ```
    /// # use crossover_array::Array;
    /// let (a, b) = (Array::from([[1, 2]]), Array::from([[3, 4], [5, 6]]));
    /// assert_eq!(Array::concat(&[&a, &b], 0).to_vec::<i32>()?, [1, 2, 3, 4, 5, 6]);
    /// # Ok::<(), crossover_array::Error>(())
    /// ```
    #[track_caller]
    pub fn concat(arrays: &[&Array], axis: i64) -> Array {
        Array::joined("concat", arrays, axis, |shape, axis| shape.axis("concat", axis), |shape, _| shape)
    }

    /// Arrays of one shape joined along a new axis.
    ///
    /// ```
    /// # use crossover_array::Array;
    /// let (a, b) = (Array::from([1, 2]), Array::from([3, 4]));
    /// assert_eq!(Array::stack(&[&a, &b], 1).to_vec::<i32>()?, [1, 3, 2, 4]);
    /// # Ok::<(), crossover_array::Error>(())
    /// ```
    #[track_caller]
    pub fn stack(arrays: &[&Array], axis: i64) -> Array {
        let place = |shape: &Shape, axis: i64| {
            let rank = shape.rank() as i64 + 1;
            let inside = (-rank..rank).contains(&axis);
            let at = if axis < 0 { axis + rank } else { axis };
            if inside {
                Ok(at as usize)
            } else {
                Err(Error::Axis { op: "stack", axis, shape: shape.clone() })
            }
        };
        let widen = |shape: Shape, axis: usize| {
            let mut dims = shape.dims().to_vec();
            dims.insert(axis.min(dims.len()), 1);
            Shape::from(dims)
        };
        Array::joined("stack", arrays, axis, place, widen)
    }

    #[track_caller]
    fn joined(
        op: &'static str,
        arrays: &[&Array],
        axis: i64,
        place: impl Fn(&Shape, i64) -> CoreResult<usize>,
        widen: impl Fn(Shape, usize) -> Shape,
    ) -> Array {
        Array::build_many(arrays, |b, values| {
            let Some(first) = values.first() else {
                return Err(Error::Value {
                    op,
                    what: "nothing to join: the list of arrays is empty".to_string(),
                });
            };
            let axis = place(&b.ty(first).shape, axis)?;
            let dtype = values[1..].iter().fold(b.dtype(first), |dtype, v| dtype.promote(b.dtype(v)));
            let mut parts = Vec::with_capacity(values.len());
            for value in values {
                let part = compose::cast(b, value, dtype)?;
                let from = b.ty(&part).shape;
                let to = widen(from.clone(), axis);
                parts.push(if from == to { part } else { b.push(Op::Reshape(to), &[&part])? });
            }
            let parts: Vec<_> = parts.iter().collect();
            b.push(Op::Concat { axis }, &parts)
        })
    }

    /// Matrix product over the last two axes; a vector is a row on the left and a column on the right, and leading
    /// axes broadcast.
    ///
    /// ```
    /// # use crossover_array::Array;
    /// let (a, b) = (Array::from([[1.0f32, 2.0], [3.0, 4.0]]), Array::from([1.0f32, 10.0]));
    /// assert_eq!(a.matmul(&b).to_vec::<f32>()?, [21.0, 43.0]);
    /// # Ok::<(), crossover_array::Error>(())
    /// ```
    #[track_caller]
    pub fn matmul(&self, other: &Array) -> Array {
        Array::build([self, other], |b, [x, y]| compose::matmul(b, x, y))
    }

    /// NumPy's product: of vectors, of matrices, with a single value. Of more axes the sum is over the last of this and the one
    /// before the last of the other, and all the others are kept: those of this first.
    ///
    /// ```
    /// # use crossover_array::Array;
    /// let x = Array::from([1, 2, 3]);
    /// assert_eq!(x.dot(&x).item::<i32>()?, 14);
    /// assert_eq!(x.dot(&Array::scalar(2)).to_vec::<i32>()?, [2, 4, 6]);
    /// let (a, b) = (Array::ones::<f32>([4, 2, 3]), Array::ones::<f32>([4, 3, 5]));
    /// assert_eq!((a.dot(&b).shape().dims(), a.matmul(&b).shape().dims()), (&[4, 2, 4, 5][..], &[4, 2, 5][..]));
    /// # Ok::<(), crossover_array::Error>(())
    /// ```
    #[track_caller]
    pub fn dot(&self, other: &Array) -> Array {
        if self.ndim() == 0 || other.ndim() == 0 {
            return self.binary(MapOp::Multiply, other.into());
        }
        // Where one of them has no axes beside those of a matrix, it is the product of matrices.
        if self.ndim() > 1 && other.ndim() > 2 {
            return self.tensordot(other, -1, -2);
        }
        self.matmul(other)
    }
}
