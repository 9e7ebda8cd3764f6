//! Shapes: lengths of axes, row-major, possibly none of them and possibly zero.

use std::{fmt, ops::Index};

use smallvec::SmallVec;

use crate::{Error, Result};

/// The lengths of an array's axes.
///
/// ```
/// use crossover_core::Shape;
/// let shape = Shape::from([2, 3]);
/// assert_eq!(shape.size(), 6);
/// assert_eq!(shape.to_string(), "[2, 3]");
/// assert_eq!((shape.rank(), shape.size(), shape.dims()), (2, 6, &[2, 3][..]));
/// assert_eq!((shape.strides().as_slice(), shape.iter().max()), (&[3, 1][..], Some(&3)));
/// assert_eq!((shape.axis("sum", -1)?, shape.axes("sum", &[-1, 0])?.as_slice()), (1, &[0, 1][..]));
/// assert_eq!(shape.reduced(&[0], true), Shape::from([1, 3]));
/// assert_eq!(Shape::scalar().size(), 1);
/// assert!(Shape::checked("zeros", [usize::MAX, 2]).is_err());
/// let mut wider = shape.clone();
/// wider.dims_mut()[0] = 4;
/// assert_eq!(wider, Shape::from([4, 3]));
/// # Ok::<(), crossover_core::Error>(())
/// ```
#[derive(Eq, Default)]
pub struct Shape(SmallVec<[usize; 4]>);

impl PartialEq for Shape {
    #[inline]
    fn eq(&self, other: &Shape) -> bool {
        // A few lengths are compared sooner than memcmp is called.
        self.0.len() == other.0.len() && self.0.iter().zip(&other.0).all(|(a, b)| a == b)
    }
}

impl std::hash::Hash for Shape {
    #[inline]
    fn hash<H: std::hash::Hasher>(&self, state: &mut H) {
        self.0.hash(state);
    }
}

impl Clone for Shape {
    #[inline]
    fn clone(&self) -> Shape {
        // At once; the list's own way is one length at a time.
        Shape(SmallVec::from_slice(&self.0))
    }
}

impl Shape {
    /// The shape of a single value without axes.
    pub fn scalar() -> Shape {
        Shape::default()
    }

    /// A shape whose number of elements is known to be addressable in bytes of the widest dtype.
    pub fn checked(op: &'static str, dims: impl IntoIterator<Item = usize>) -> Result<Shape> {
        let shape: Shape = dims.into_iter().collect();
        // An axis of length zero makes the product zero whatever the others are, yet strides still multiply the others.
        let addressable = shape
            .iter()
            .try_fold(1usize, |total, &n| total.checked_mul(n.max(1)))
            .filter(|&total| total <= (isize::MAX as usize) / 16);
        match addressable {
            Some(_) => Ok(shape),
            None => Err(Error::TooLarge { op, shape: shape.to_string() }),
        }
    }

    /// Number of axes.
    pub fn rank(&self) -> usize {
        self.0.len()
    }

    /// Number of elements: 1 without axes, 0 when any axis is empty, `usize::MAX` when there are more than that.
    pub fn size(&self) -> usize {
        self.0.iter().fold(1, |size: usize, &n| size.saturating_mul(n))
    }

    /// The lengths as a slice.
    pub fn dims(&self) -> &[usize] {
        &self.0
    }

    /// The lengths, mutable.
    pub fn dims_mut(&mut self) -> &mut [usize] {
        &mut self.0
    }

    /// Iterates over the lengths.
    pub fn iter(&self) -> std::slice::Iter<'_, usize> {
        self.0.iter()
    }

    /// Row-major strides in elements.
    pub fn strides(&self) -> SmallVec<[isize; 4]> {
        let mut strides: SmallVec<[isize; 4]> = SmallVec::from_elem(0, self.rank());
        let mut step = 1isize;
        for (stride, &n) in strides.iter_mut().zip(&self.0).rev() {
            *stride = step;
            step = step.saturating_mul(n.max(1).try_into().unwrap_or(isize::MAX));
        }
        strides
    }

    /// Resolves an axis that may count from the end.
    pub fn axis(&self, op: &'static str, axis: i64) -> Result<usize> {
        let rank = self.rank() as i64;
        if (-rank..rank).contains(&axis) {
            Ok((if axis < 0 { axis + rank } else { axis }) as usize)
        } else {
            Err(Error::Axis { op, axis, shape: self.clone() })
        }
    }

    /// Resolves several axes; the result is sorted and free of repetition.
    pub fn axes(&self, op: &'static str, axes: &[i64]) -> Result<SmallVec<[usize; 4]>> {
        let mut out = SmallVec::new();
        for &axis in axes {
            let resolved = self.axis(op, axis)?;
            if out.contains(&resolved) {
                return Err(Error::Value { op, what: format!("axis {axis} is given twice in {axes:?}") });
            }
            out.push(resolved);
        }
        out.sort_unstable();
        Ok(out)
    }

    /// The common shape of two operands under NumPy's broadcasting.
    ///
    /// ```
    /// use crossover_core::Shape;
    /// let shape = Shape::from([4, 1]).broadcast("add", &Shape::from([3]))?;
    /// assert_eq!(shape, Shape::from([4, 3]));
    /// # Ok::<(), crossover_core::Error>(())
    /// ```
    pub fn broadcast(&self, op: &'static str, other: &Shape) -> Result<Shape> {
        if self == other {
            return Ok(self.clone());
        }
        let rank = self.rank().max(other.rank());
        let at = |shape: &Shape, i: usize| (i + shape.rank()).checked_sub(rank).map_or(1, |k| shape.0[k]);
        let mut out = Shape::default();
        for i in 0..rank {
            let length = match (at(self, i), at(other, i)) {
                (a, b) if a == b => a,
                (1, b) => b,
                (a, 1) => a,
                _ => {
                    return Err(Error::Shape {
                        op,
                        left: self.clone(),
                        right: other.clone(),
                        why: "axes must be equal or 1, counted from the last",
                    });
                }
            };
            out.0.push(length);
        }
        Shape::checked(op, out.0)
    }

    /// This shape with the given axes (sorted) reduced, kept as length 1 or removed.
    pub fn reduced(&self, axes: &[usize], keepdims: bool) -> Shape {
        let kept = self.0.iter().enumerate().filter_map(|(i, &n)| match (axes.contains(&i), keepdims) {
            (false, _) => Some(n),
            (true, true) => Some(1),
            (true, false) => None,
        });
        kept.collect()
    }
}

impl Index<usize> for Shape {
    type Output = usize;
    fn index(&self, axis: usize) -> &usize {
        &self.0[axis]
    }
}

impl FromIterator<usize> for Shape {
    fn from_iter<I: IntoIterator<Item = usize>>(dims: I) -> Shape {
        Shape(dims.into_iter().collect())
    }
}

impl<const N: usize> From<[usize; N]> for Shape {
    fn from(dims: [usize; N]) -> Shape {
        dims.into_iter().collect()
    }
}

impl From<&[usize]> for Shape {
    fn from(dims: &[usize]) -> Shape {
        Shape(SmallVec::from_slice(dims))
    }
}

impl From<Vec<usize>> for Shape {
    fn from(dims: Vec<usize>) -> Shape {
        Shape(SmallVec::from_vec(dims))
    }
}

impl From<usize> for Shape {
    fn from(length: usize) -> Shape {
        Shape::from([length])
    }
}

impl From<()> for Shape {
    fn from((): ()) -> Shape {
        Shape::scalar()
    }
}

impl From<&Shape> for Shape {
    fn from(shape: &Shape) -> Shape {
        shape.clone()
    }
}

impl fmt::Display for Shape {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("[")?;
        for (i, n) in self.0.iter().enumerate() {
            if i > 0 {
                f.write_str(", ")?;
            }
            write!(f, "{n}")?;
        }
        f.write_str("]")
    }
}

impl fmt::Debug for Shape {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn broadcast_follows_numpy() {
        let ok = |a: &[usize], b: &[usize], want: &[usize]| {
            assert_eq!(Shape::from(a).broadcast("t", &Shape::from(b)).unwrap(), Shape::from(want));
        };
        ok(&[], &[3], &[3]);
        ok(&[0], &[1], &[0]);
        ok(&[5, 1, 4], &[3, 1], &[5, 3, 4]);
        assert!(Shape::from([2]).broadcast("t", &Shape::from([3])).is_err());
        assert!(Shape::from([0]).broadcast("t", &Shape::from([2])).is_err());
    }

    #[test]
    fn sizes_that_overflow_saturate() {
        let huge = Shape::from([1 << 62, 8]);
        assert_eq!((huge.size(), huge.strides()[0]), (usize::MAX, 8));
        assert_eq!(Shape::from([8, 1 << 62]).strides()[0], 1 << 62);
        assert_eq!(Shape::from([2, usize::MAX]).strides()[0], isize::MAX);
        assert_eq!(Shape::from([1 << 62, 8, 0]).size(), 0);
    }

    #[test]
    fn sizes_that_overflow_are_errors() {
        assert!(Shape::checked("t", [usize::MAX, 2]).is_err());
        assert!(Shape::checked("t", [0, usize::MAX, 2]).is_err());
        assert!(Shape::checked("t", [1 << 31, 1 << 28]).is_err());
        assert!(Shape::checked("t", [1 << 20, 1 << 20]).is_ok());
    }

    #[test]
    fn axes_count_from_the_end_and_are_unique() {
        let shape = Shape::from([2, 3, 4]);
        assert_eq!(shape.axes("t", &[-1, 0]).unwrap().as_slice(), &[0, 2]);
        assert!(shape.axes("t", &[2, -1]).is_err());
        assert!(shape.axis("t", 3).is_err());
        assert!(Shape::scalar().axis("t", 0).is_err());
    }
}
