//! NumPy's indexing: integers, ranges, new axes, index arrays and masks in one list, read with `get` and written with
//! `set`.
//!
//! Without arrays in the list, `get` is a view. With them it is a copy, and the rules are NumPy's: index arrays
//! broadcast against each other; a mask stands for the indices at which it is true; the broadcast axes take the place
//! of the indexed ones if those are neighbours (integers count as arrays here), and come first otherwise.

use std::panic::Location;

use crossover_core::{DType, Error as CoreError, Layout, Shape};
use smallvec::SmallVec;

use crate::{
    Array, Error, Index, Indices, Operand, Result,
    assign::{check_writable, repeated},
    convert,
    index::position,
    lookup::Places,
    mask::check_mask,
    views::sliced,
};

/// Indexing.
impl Array {
    /// Part of the array: integers, ranges, [`Index::NewAxis`], [`Index::Ellipsis`], index arrays and masks, in one list
    /// from [`s!`](crate::s).
    ///
    /// Without arrays in the list the result is a view, as from [`slice`](Array::slice); with them it is a copy, made by
    /// NumPy's rules. Index arrays and masks are evaluated at once.
    ///
    /// ```
    /// use crossover_array::{Array, s};
    /// let x = Array::arange(12).reshape([3, 4]);
    /// let rows = Array::from([2, 0]);
    /// assert_eq!(x.get(s![&rows, 1]).to_vec::<i64>()?, [9, 1]);
    /// assert_eq!(x.get(s![&rows, 1..3]).to_vec::<i64>()?, [9, 10, 1, 2]);
    /// assert_eq!(x.get(s![.., &Array::from([-1])]).to_vec::<i64>()?, [3, 7, 11]);
    /// assert_eq!(x.get(&x.greater(8)).to_vec::<i64>()?, [9, 10, 11]);
    /// assert_eq!(x.get(Array::from(true)).shape().dims(), [1, 3, 4]);
    /// assert!(x.get(&Array::from([3])).check().is_err());
    /// # Ok::<(), crossover_array::Error>(())
    /// ```
    #[track_caller]
    pub fn get(&self, indices: impl Into<Indices>) -> Array {
        let location = Location::caller();
        let indices = indices.into();
        if self.failure().is_some() || !indices.has_arrays() {
            return self.slice(indices);
        }
        if let [Index::Array(mask)] = indices.0.as_slice()
            && mask.dtype() == DType::Bool
        {
            return mask.failure().map_or_else(|| self.masked("get", mask, location), Array::failed);
        }
        match Selection::new(self, &indices.0, "get", location) {
            Ok(selection) => selection.read(),
            Err(error) => Array::failed(error),
        }
    }

    /// Writes `value`, converted and broadcast, into the part of the array that [`get`](Array::get) would return. Where
    /// indices repeat an element, the last value in row-major order stays.
    ///
    /// Like [`assign`](Array::assign), this shows in every view and clone.
    ///
    /// ```
    /// use crossover_array::{Array, s};
    /// let x = Array::arange(6).reshape([2, 3]);
    /// x.set(s![&Array::from([1, 0, 1]), 0], &Array::from([7, 8, 9]))?;
    /// assert_eq!(x.to_vec::<i64>()?, [8, 1, 2, 9, 4, 5]);
    /// x.set(&x.less(5), -1)?;
    /// assert_eq!(x.to_vec::<i64>()?, [8, -1, -1, 9, -1, 5]);
    /// x.set(s![.., 2], 0)?;
    /// assert_eq!(x.to_vec::<i64>()?, [8, -1, 0, 9, -1, 0]);
    /// # Ok::<(), crossover_array::Error>(())
    /// ```
    #[track_caller]
    pub fn set<'a>(&self, indices: impl Into<Indices>, value: impl Into<Operand<'a>>) -> Result<()> {
        let location = Location::caller();
        self.check()?;
        let (indices, value) = (indices.into(), value.into());
        if !indices.has_arrays() {
            return self.slice(indices).assign(value);
        }
        let value = self.converted("set", value, location)?;
        if let [Index::Array(mask)] = indices.0.as_slice()
            && mask.dtype() == DType::Bool
            && mask.shape() == self.shape()
            && value.size() == 1
            && value.ndim() <= 1
        {
            // One value for all: chosen element by element, when somebody needs them.
            mask.check()?;
            return self.assign(mask.where_(value.reshape(()), self));
        }
        let selection = Selection::new(self, &indices.0, "set", location)?;
        selection.write(self, &value, location)
    }
}

/// A list of indices with arrays in it, applied to an array.
struct Selection {
    /// The array after all integers and ranges.
    view: Array,
    /// Axes of the view that are indexed by arrays, and the arrays, checked.
    indexed: Vec<(usize, Array)>,
    /// Shape that the arrays broadcast to.
    common: Shape,
    /// Where its axes are in the result.
    place: usize,
}

impl Selection {
    fn new(
        array: &Array,
        indices: &[Index],
        op: &'static str,
        location: &'static Location<'static>,
    ) -> Result<Selection> {
        let wrap = |e: CoreError| Error::new(e, location);
        let rank = array.ndim();
        let used: usize = indices.iter().map(Index::covers).sum();
        let rests = indices.iter().filter(|i| matches!(i, Index::Ellipsis)).count();
        if used > rank || rests > 1 {
            let what =
                format!("{used} indices and {rests} ellipses for the {rank} axes of {}", array.shape());
            return Err(wrap(CoreError::Value { op, what }));
        }
        let mut plain: Vec<Index> = Vec::new();
        let mut indexed = Vec::new();
        // Axes of the base and of the view that the items so far cover.
        let (mut axis, mut seen) = (0, 0);
        // Where the first array (or integer) and everything after the last one are, in items and in axes of the view.
        let mut arrays = Neighbours::default();
        for (item, index) in indices.iter().enumerate() {
            match index {
                Index::Array(at) if at.dtype() == DType::Bool && at.ndim() == 0 => {
                    // Everything once or not at all: entry 0 of a new axis as often as the mask is true.
                    arrays.add(item, seen - indexed.len());
                    at.check()?;
                    indexed.push((seen, Array::zeros::<i64>([at.count_true()?])));
                    plain.push(Index::NewAxis);
                    seen += 1;
                }
                Index::Array(at) => {
                    arrays.add(item, seen - indexed.len());
                    let covered = index.covers();
                    for (i, at) in coordinates(array, at, axis, op, location)?.into_iter().enumerate() {
                        indexed.push((seen + i, at));
                    }
                    plain.extend(std::iter::repeat_n(Index::from(..), covered));
                    (axis, seen) = (axis + covered, seen + covered);
                }
                Index::At(at) => {
                    arrays.add(item, seen - indexed.len());
                    // An integer outside the axis is an error of this call, not of `slice`.
                    position(op, *at, axis, array.shape()[axis]).map_err(wrap)?;
                    plain.push(index.clone());
                    axis += 1;
                }
                Index::Ellipsis => {
                    plain.push(Index::Ellipsis);
                    (axis, seen) = (axis + rank - used, seen + rank - used);
                }
                Index::NewAxis => {
                    plain.push(Index::NewAxis);
                    seen += 1;
                }
                Index::Range { .. } => {
                    plain.push(index.clone());
                    (axis, seen) = (axis + 1, seen + 1);
                }
            }
        }
        let mut common = Shape::scalar();
        for (_, at) in &indexed {
            common = common.broadcast(op, at.shape()).map_err(wrap)?;
        }
        let view = array.with_layout(sliced(&array.layout(), &plain).map_err(wrap)?);
        Ok(Selection { view, indexed, common, place: arrays.place() })
    }

    /// Axes of the view that no array indexes.
    fn rest(&self) -> Vec<usize> {
        (0..self.view.ndim()).filter(|axis| self.indexed.iter().all(|(at, _)| at != axis)).collect()
    }

    fn read(&self) -> Array {
        if let [(axis, at)] = self.indexed.as_slice() {
            let taken = self.view.take(at, *axis as i64);
            if taken.failure().is_some() || *axis == self.place {
                return taken;
            }
            return taken.move_axes(*axis, self.common.rank(), self.place);
        }
        let order: Vec<i64> =
            self.indexed.iter().map(|(axis, _)| *axis).chain(self.rest()).map(|axis| axis as i64).collect();
        let arrays: Vec<&Array> = self.indexed.iter().map(|(_, at)| at).collect();
        let gathered = self.view.permute(order).gather(&arrays);
        if gathered.failure().is_some() || self.place == 0 {
            return gathered;
        }
        gathered.move_axes(0, self.common.rank(), self.place)
    }

    /// Writes through the selection into the cell of `array`.
    fn write(&self, array: &Array, value: &Array, location: &'static Location<'static>) -> Result<()> {
        let wrap = |e: CoreError| Error::new(e, location);
        let (rest, view) = (self.rest(), self.view.layout());
        let part = |axes: &[usize]| Layout {
            shape: axes.iter().map(|&a| view.shape[a]).collect(),
            strides: axes.iter().map(|&a| view.strides[a]).collect(),
            offset: view.offset,
        };
        let target = part(&rest);
        check_writable(&view).map_err(wrap)?;
        let offsets = self.offsets(&view, location)?;
        let (before, after) = target.shape.dims().split_at(self.place.min(target.shape.rank()));
        let whole: Shape = before.iter().chain(self.common.iter()).chain(after).copied().collect();
        let (buffer, layout) = value.contents()?;
        let source = repeated("set", layout, &whole).map_err(wrap)?;
        // The indexed axes first, the others in their order.
        let (start, count) = (before.len(), self.common.rank());
        let (first, others): (Vec<usize>, Vec<usize>) =
            (0..whole.rank()).partition(|axis| (start..start + count).contains(axis));
        let bytes = buffer.host_bytes().map_err(|e| Error::new(e, location))?;
        let size = array.dtype().size();
        let (outer, inner) = (source.permute(&first), source.permute(&others));
        array.update(location, |to| {
            for (at, offset) in outer.positions().zip(&offsets) {
                let from = Layout { offset: at, ..inner.clone() };
                let place = Layout { offset: target.offset.wrapping_add_signed(*offset), ..target.clone() };
                convert::copy(bytes, &from, to, &place, size);
            }
        })
    }

    /// For every index of the common shape, in row-major order, how far into the view it points, in elements.
    fn offsets(&self, view: &Layout, location: &'static Location<'static>) -> Result<Vec<isize>> {
        let mut offsets = convert::room(self.common.size()).map_err(|e| Error::new(e, location))?;
        offsets.resize(self.common.size(), 0isize);
        for (axis, at) in &self.indexed {
            let (length, stride) = (view.shape[*axis] as i64, view.strides[*axis]);
            let values = at.astype(DType::I64).broadcast_to(self.common.clone()).to_vec::<i64>()?;
            for (offset, index) in offsets.iter_mut().zip(values) {
                let index = if index < 0 { index + length } else { index };
                *offset += index as isize * stride;
            }
        }
        Ok(offsets)
    }
}

/// The index arrays that an index array or a mask stands for, checked against their axes.
fn coordinates(
    array: &Array,
    at: &Array,
    axis: usize,
    op: &'static str,
    location: &'static Location<'static>,
) -> Result<SmallVec<[Array; 2]>> {
    at.check()?;
    if at.dtype() == DType::Bool {
        check_mask(op, at, array.shape(), axis).map_err(|e| Error::new(e, location))?;
        return Ok(at.nonzero()?.into());
    }
    Places::new(op, at, axis, array.shape()[axis], location)?;
    Ok(SmallVec::from_iter([at.clone()]))
}

/// Which items of a list are arrays or integers.
#[derive(Default)]
struct Neighbours {
    /// Position in the result of the first.
    first: Option<usize>,
    last: usize,
    apart: bool,
}

impl Neighbours {
    fn add(&mut self, item: usize, position: usize) {
        match self.first {
            None => self.first = Some(position),
            Some(_) => self.apart |= item != self.last + 1,
        }
        self.last = item;
    }

    fn place(&self) -> usize {
        if self.apart { 0 } else { self.first.unwrap_or(0) }
    }
}
