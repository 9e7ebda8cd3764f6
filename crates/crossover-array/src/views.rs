//! Views: the same storage seen through other strides.
//!
//! A view costs nothing and shares its elements with its base. Only `reshape` may have to copy, where strides
//! cannot say what is asked for; its result is then an array of its own, as in NumPy.

use std::panic::Location;

use crossover_core::{
    Error, Layout, Result as CoreResult, Shape, Span,
    compose::Build,
    graph::{Axes as Positions, Op},
};
use smallvec::SmallVec;

use crate::{
    Array, Axes,
    axes::Dims,
    index::{Index, Indices, position, span},
};

impl Array {
    /// The same elements in row-major order under another shape; one length may be -1.
    ///
    /// ```
    /// # use crossover_array::Array;
    /// let x = Array::arange(6).reshape([2, -1]);
    /// assert_eq!(x.shape().dims(), [2, 3]);
    /// assert!(x.reshape([4]).check().is_err());
    /// ```
    #[track_caller]
    pub fn reshape(&self, shape: impl Into<Dims>) -> Array {
        let shape = shape.into();
        self.viewed(|from| shape.resolve("reshape", from).map(Op::Reshape))
    }

    /// All elements along one axis.
    ///
    /// ```
    /// # use crossover_array::Array;
    /// assert_eq!(Array::from([[1, 2], [3, 4]]).flatten().to_vec::<i32>()?, [1, 2, 3, 4]);
    /// # Ok::<(), crossover_array::Error>(())
    /// ```
    #[track_caller]
    pub fn flatten(&self) -> Array {
        self.viewed(|from| Ok(Op::Reshape(Shape::from([from.size()]))))
    }

    /// Axes reordered: axis i of the result is axis `axes[i]` of this.
    ///
    /// ```
    /// # use crossover_array::Array;
    /// assert_eq!(Array::zeros::<f32>([2, 3, 4]).permute([2, 0, -2]).shape().dims(), [4, 2, 3]);
    /// ```
    #[track_caller]
    pub fn permute(&self, axes: impl Into<Axes>) -> Array {
        let axes = axes.into().axes;
        self.viewed(|from| {
            let positions: CoreResult<Positions> = axes.iter().map(|&a| from.axis("permute", a)).collect();
            positions.map(Op::Permute)
        })
    }

    /// All axes in reverse order: the transpose of a matrix.
    ///
    /// ```
    /// # use crossover_array::Array;
    /// assert_eq!(Array::from([[1, 2], [3, 4]]).t().to_vec::<i32>()?, [1, 3, 2, 4]);
    /// # Ok::<(), crossover_array::Error>(())
    /// ```
    #[track_caller]
    pub fn t(&self) -> Array {
        self.viewed(|from| Ok(Op::Permute((0..from.rank()).rev().collect())))
    }

    /// Two axes exchanged.
    ///
    /// ```
    /// # use crossover_array::Array;
    /// assert_eq!(Array::zeros::<f32>([2, 3, 4]).swap_axes(0, -1).shape().dims(), [4, 3, 2]);
    /// ```
    #[track_caller]
    pub fn swap_axes(&self, first: i64, second: i64) -> Array {
        self.viewed(|from| {
            let mut axes: Positions = (0..from.rank()).collect();
            axes.swap(from.axis("swap_axes", first)?, from.axis("swap_axes", second)?);
            Ok(Op::Permute(axes))
        })
    }

    /// A new axis of length 1 at a position of the result.
    ///
    /// ```
    /// # use crossover_array::Array;
    /// assert_eq!(Array::zeros::<f32>([2, 3]).expand_dims(1).shape().dims(), [2, 1, 3]);
    /// assert_eq!(Array::zeros::<f32>([2, 3]).expand_dims(-1).shape().dims(), [2, 3, 1]);
    /// ```
    #[track_caller]
    pub fn expand_dims(&self, axis: i64) -> Array {
        self.viewed(|from| {
            let rank = from.rank() as i64 + 1;
            if !(-rank..rank).contains(&axis) {
                return Err(Error::Axis { op: "expand_dims", axis, shape: from.clone() });
            }
            let at = (if axis < 0 { axis + rank } else { axis }) as usize;
            let mut dims = from.dims().to_vec();
            dims.insert(at, 1);
            Ok(Op::Reshape(Shape::from(dims)))
        })
    }

    /// Axes of length 1 removed: the given ones, or all of them for `()`.
    ///
    /// ```
    /// # use crossover_array::Array;
    /// let x = Array::zeros::<f32>([1, 3, 1]);
    /// assert_eq!(x.squeeze(()).shape().dims(), [3]);
    /// assert_eq!(x.squeeze(0).shape().dims(), [3, 1]);
    /// assert!(x.squeeze(1).check().is_err());
    /// ```
    #[track_caller]
    pub fn squeeze(&self, axes: impl Into<Axes>) -> Array {
        let given = axes.into().axes;
        self.viewed(|from| {
            let axes = if given.is_empty() {
                (0..from.rank()).filter(|&a| from[a] == 1).collect()
            } else {
                from.axes("squeeze", &given)?
            };
            if let Some(long) = axes.iter().find(|&&a| from[a] != 1) {
                let what = format!("axis {long} of {from} has length {}, not 1", from[*long]);
                return Err(Error::Value { op: "squeeze", what });
            }
            Ok(Op::Reshape(from.reduced(&axes, false)))
        })
    }

    /// Axes of length 1 and new leading axes repeated until the shape is `shape`.
    ///
    /// ```
    /// # use crossover_array::Array;
    /// assert_eq!(Array::from([1, 2]).broadcast_to([2, 2]).to_vec::<i32>()?, [1, 2, 1, 2]);
    /// # Ok::<(), crossover_array::Error>(())
    /// ```
    #[track_caller]
    pub fn broadcast_to(&self, shape: impl Into<Shape>) -> Array {
        let shape = shape.into();
        self.viewed(|_| Ok(Op::Expand(shape)))
    }

    /// Axes reversed: the given ones, or all of them for `()`.
    ///
    /// ```
    /// # use crossover_array::Array;
    /// assert_eq!(Array::from([1, 2, 3]).flip(0).to_vec::<i32>()?, [3, 2, 1]);
    /// # Ok::<(), crossover_array::Error>(())
    /// ```
    #[track_caller]
    pub fn flip(&self, axes: impl Into<Axes>) -> Array {
        let given = axes.into().axes;
        self.viewed(|from| {
            let all = given.is_empty();
            let axes = if all { (0..from.rank()).collect() } else { from.axes("flip", &given)? };
            Ok(Op::Flip(axes))
        })
    }

    /// One entry along the first axis, which goes away.
    ///
    /// ```
    /// # use crossover_array::Array;
    /// assert_eq!(Array::from([[1, 2], [3, 4]]).index(-1).to_vec::<i32>()?, [3, 4]);
    /// assert!(Array::from([1, 2]).index(2).check().is_err());
    /// # Ok::<(), crossover_array::Error>(())
    /// ```
    #[track_caller]
    pub fn index(&self, at: i64) -> Array {
        self.slice(Index::At(at))
    }

    /// Part of the array: an index or a range per axis; axes not named are taken whole. See [`Index`] and
    /// [`s!`](crate::s).
    ///
    /// ```
    /// # use crossover_array::{Array, s};
    /// let x = Array::from([[1, 2, 3], [4, 5, 6]]);
    /// assert_eq!(x.slice(s![.., 1..]).to_vec::<i32>()?, [2, 3, 5, 6]);
    /// assert_eq!(x.slice(1).to_vec::<i32>()?, [4, 5, 6]);
    /// # Ok::<(), crossover_array::Error>(())
    /// ```
    #[track_caller]
    pub fn slice(&self, indices: impl Into<Indices>) -> Array {
        let location = Location::caller();
        if self.failure().is_some() {
            return self.clone();
        }
        match sliced(&self.layout(), &indices.into().0) {
            Ok(layout) => self.with_layout(layout),
            Err(error) => Array::wrong(error, location),
        }
    }

    /// A view of the same cell where strides can express it, a copy otherwise.
    #[track_caller]
    fn viewed(&self, op: impl FnOnce(&Shape) -> CoreResult<Op>) -> Array {
        let location = Location::caller();
        if self.failure().is_some() {
            return self.clone();
        }
        let op = match op(self.shape()).and_then(|op| op.infer(&[&self.ty()]).map(|_| op)) {
            Ok(op) => op,
            Err(error) => return Array::wrong(error, location),
        };
        match op.view(&self.layout()) {
            Some(layout) => self.with_layout(layout),
            None => Array::build([self], |b, [x]| b.push(op, &[x])),
        }
    }
}

/// The layout of a slice.
pub(crate) fn sliced(base: &Layout, indices: &[Index]) -> CoreResult<Layout> {
    let rank = base.shape.rank();
    let used: usize = indices.iter().map(Index::covers).sum();
    let rests = indices.iter().filter(|i| matches!(i, Index::Ellipsis)).count();
    if used > rank || rests > 1 {
        let what = format!("{used} indices and {rests} ellipses for the {rank} axes of {}", base.shape);
        return Err(Error::Value { op: "slice", what });
    }
    let whole = |axis: usize| Span { start: 0, step: 1, length: base.shape[axis] };
    let mut spans: SmallVec<[Span; 4]> = SmallVec::new();
    // For every axis of the result, the axis of the base it comes from; new axes come from none.
    let mut kept: SmallVec<[Option<usize>; 4]> = SmallVec::new();
    for index in indices {
        let axis = spans.len();
        match *index {
            Index::Array(_) => {
                let what = "index arrays and masks make no view; use get or set".to_string();
                return Err(Error::Value { op: "slice", what });
            }
            Index::At(at) => {
                spans.push(Span {
                    start: position("slice", at, axis, base.shape[axis])?,
                    step: 1,
                    length: 1,
                });
            }
            Index::Range { start, stop, step } => {
                spans.push(span(start, stop, step, base.shape[axis])?);
                kept.push(Some(axis));
            }
            Index::NewAxis => kept.push(None),
            Index::Ellipsis => {
                for axis in axis..axis + rank - used {
                    spans.push(whole(axis));
                    kept.push(Some(axis));
                }
            }
        }
    }
    for axis in spans.len()..rank {
        spans.push(whole(axis));
        kept.push(Some(axis));
    }
    let cut = base.slice(&spans);
    Ok(Layout {
        shape: kept.iter().map(|axis| axis.map_or(1, |a| cut.shape[a])).collect(),
        strides: kept.iter().map(|axis| axis.map_or(0, |a| cut.strides[a])).collect(),
        offset: cut.offset,
    })
}
