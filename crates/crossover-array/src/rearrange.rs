//! The same elements elsewhere: rolled, repeated, padded, cut along a diagonal, spread to a common shape.

use std::panic::Location;

use crossover_core::{
    DType, Error as CoreError, Shape,
    compose::{self, Padding},
};

use crate::{Array, Axes, Error, Index, Result, Shifts};

/// Rearrangement.
impl Array {
    /// Elements moved along axes, those pushed out coming in at the other end: by one shift per axis, or by one for all;
    /// `()` moves them in row-major order.
    ///
    /// ```
    /// # use crossover_array::Array;
    /// let x = Array::from([[1, 2, 3], [4, 5, 6]]);
    /// assert_eq!(x.roll(1, 1).to_vec::<i32>()?, [3, 1, 2, 6, 4, 5]);
    /// assert_eq!(x.roll(-1, ()).to_vec::<i32>()?, [2, 3, 4, 5, 6, 1]);
    /// assert_eq!(x.roll([1, -1], [0, 1]).to_vec::<i32>()?, [5, 6, 4, 2, 3, 1]);
    /// # Ok::<(), crossover_array::Error>(())
    /// ```
    #[track_caller]
    pub fn roll(&self, shifts: impl Into<Shifts>, axes: impl Into<Axes>) -> Array {
        let (shifts, axes) = (shifts.into().0, axes.into().axes);
        Array::build([self], |b, [x]| compose::roll(b, x, &shifts, &axes))
    }

    /// Each entry along an axis `count` times in a row; without an axis, each element of the flattened array.
    ///
    /// ```
    /// # use crossover_array::Array;
    /// let x = Array::from([[1, 2], [3, 4]]);
    /// assert_eq!(x.repeat(2, Some(1)).to_vec::<i32>()?, [1, 1, 2, 2, 3, 3, 4, 4]);
    /// assert_eq!(x.repeat(2, None).shape().dims(), [8]);
    /// # Ok::<(), crossover_array::Error>(())
    /// ```
    #[track_caller]
    pub fn repeat(&self, count: usize, axis: Option<i64>) -> Array {
        Array::build([self], |b, [x]| compose::repeat(b, x, count, axis))
    }

    /// Each entry along an axis as often as `counts` says, which is evaluated at once: one count per entry.
    ///
    /// ```
    /// # use crossover_array::Array;
    /// let x = Array::from([10, 20, 30]);
    /// assert_eq!(x.repeat_each(&Array::from([2, 0, 1]), 0).to_vec::<i32>()?, [10, 10, 30]);
    /// # Ok::<(), crossover_array::Error>(())
    /// ```
    #[track_caller]
    pub fn repeat_each(&self, counts: &Array, axis: i64) -> Array {
        let location = Location::caller();
        match self.repeated_entries(counts, axis, location) {
            Ok(entries) => self.take(&entries, axis),
            Err(error) => Array::failed(error),
        }
    }

    /// For every entry of the result, the entry it repeats.
    fn repeated_entries(
        &self,
        counts: &Array,
        axis: i64,
        location: &'static Location<'static>,
    ) -> Result<Array> {
        let op = "repeat_each";
        let wrap = |e: CoreError| Error::new(e, location);
        self.check()?;
        counts.check()?;
        let at = self.shape().axis(op, axis).map_err(wrap)?;
        if !counts.dtype().is_int() {
            let supported = crossover_core::DTypeSet::INT.to_string();
            return Err(wrap(CoreError::DType { op, dtype: counts.dtype(), supported }));
        }
        if counts.shape().dims() != [self.shape()[at]] {
            let (left, right) = (self.shape().clone(), counts.shape().clone());
            return Err(wrap(CoreError::Shape { op, left, right, why: "there is one count per entry" }));
        }
        let counts = counts.astype(DType::I64).to_vec::<i64>()?;
        let mut entries = Vec::new();
        for (entry, &count) in counts.iter().enumerate() {
            let Ok(count) = usize::try_from(count) else {
                let what = format!("entry {entry} is to be repeated {count} times");
                return Err(wrap(CoreError::Value { op, what }));
            };
            let length = entries.len().saturating_add(count);
            Shape::checked(op, [length]).map_err(wrap)?;
            if entries.try_reserve(count).is_err() {
                return Err(wrap(CoreError::TooLarge { op, shape: format!("[{length}]") }));
            }
            entries.resize(length, entry as i64);
        }
        let length = entries.len();
        Ok(Array::from_vec(entries, [length]))
    }

    /// The whole array several times along each axis, counted from the last; missing axes are new.
    ///
    /// ```
    /// # use crossover_array::Array;
    /// let x = Array::from([1, 2]);
    /// assert_eq!(x.tile(&[2]).to_vec::<i32>()?, [1, 2, 1, 2]);
    /// assert_eq!(x.tile(&[2, 1]).shape().dims(), [2, 2]);
    /// # Ok::<(), crossover_array::Error>(())
    /// ```
    #[track_caller]
    pub fn tile(&self, counts: &[usize]) -> Array {
        Array::build([self], |b, [x]| compose::tile(b, x, counts))
    }

    /// Elements put before and after each axis: one pair of widths per axis, or one for all.
    ///
    /// ```
    /// # use crossover_array::{Array, Padding};
    /// let x = Array::from([1, 2, 3]);
    /// let zeros = Padding::Constant(0.into());
    /// assert_eq!(x.pad(&[(1, 2)], zeros).to_vec::<i32>()?, [0, 1, 2, 3, 0, 0]);
    /// assert_eq!(x.pad(&[(2, 2)], Padding::Edge).to_vec::<i32>()?, [1, 1, 1, 2, 3, 3, 3]);
    /// assert_eq!(x.pad(&[(2, 2)], Padding::Reflect).to_vec::<i32>()?, [3, 2, 1, 2, 3, 2, 1]);
    /// assert_eq!(x.pad(&[(2, 2)], Padding::Wrap).to_vec::<i32>()?, [2, 3, 1, 2, 3, 1, 2]);
    /// # Ok::<(), crossover_array::Error>(())
    /// ```
    #[track_caller]
    pub fn pad(&self, widths: &[(usize, usize)], padding: Padding) -> Array {
        Array::build([self], |b, [x]| compose::pad(b, x, widths, padding))
    }

    /// Elements on and below a diagonal of the last two axes, zeros above; a positive `offset` moves the diagonal to
    /// the right.
    ///
    /// ```
    /// # use crossover_array::Array;
    /// let x = Array::from([[1, 2, 3], [4, 5, 6]]);
    /// assert_eq!(x.tril(0).to_vec::<i32>()?, [1, 0, 0, 4, 5, 0]);
    /// # Ok::<(), crossover_array::Error>(())
    /// ```
    #[track_caller]
    pub fn tril(&self, offset: i64) -> Array {
        Array::build([self], |b, [x]| compose::tril(b, x, offset))
    }

    /// Elements on and above a diagonal of the last two axes, zeros below; a positive `offset` moves the diagonal to
    /// the right.
    ///
    /// ```
    /// # use crossover_array::Array;
    /// let x = Array::from([[1, 2, 3], [4, 5, 6]]);
    /// assert_eq!(x.triu(1).to_vec::<i32>()?, [0, 2, 3, 0, 0, 6]);
    /// # Ok::<(), crossover_array::Error>(())
    /// ```
    #[track_caller]
    pub fn triu(&self, offset: i64) -> Array {
        Array::build([self], |b, [x]| compose::triu(b, x, offset))
    }

    /// Axes moved to other positions, the first of `from` to the first of `to` and so on; the others keep their order. A
    /// view.
    ///
    /// ```
    /// # use crossover_array::Array;
    /// let x = Array::zeros::<f32>([2, 3, 4]);
    /// assert_eq!(x.move_axis(0, -1).shape().dims(), [3, 4, 2]);
    /// assert_eq!(x.move_axis([0, 1], [-1, -2]).shape().dims(), [4, 3, 2]);
    /// ```
    #[track_caller]
    pub fn move_axis(&self, from: impl Into<Axes>, to: impl Into<Axes>) -> Array {
        let location = Location::caller();
        if let Some(error) = self.failure() {
            return Array::failed(error);
        }
        match moved_order(self.shape(), &from.into().axes, &to.into().axes) {
            Ok(order) => self.permute(order),
            Err(error) => Array::wrong(error, location),
        }
    }

    /// `count` axes from `from` on, moved so that the first of them is axis `to` of the result.
    #[track_caller]
    pub(crate) fn move_axes(&self, from: usize, count: usize, to: usize) -> Array {
        let moved = from..from + count;
        let mut order: Vec<i64> =
            (0..self.ndim()).filter(|axis| !moved.contains(axis)).map(|axis| axis as i64).collect();
        order.splice(to..to, moved.map(|axis| axis as i64));
        self.permute(order)
    }

    /// The entries along an axis, one array each. Views.
    ///
    /// ```
    /// # use crossover_array::Array;
    /// let columns = Array::from([[1, 2], [3, 4]]).unstack(1)?;
    /// assert_eq!(columns[1].to_vec::<i32>()?, [2, 4]);
    /// # Ok::<(), crossover_array::Error>(())
    /// ```
    #[track_caller]
    pub fn unstack(&self, axis: i64) -> Result<Vec<Array>> {
        let location = Location::caller();
        self.check()?;
        let axis = self.shape().axis("unstack", axis).map_err(|e| Error::new(e, location))?;
        let entry = |at: usize| {
            let mut indices: Vec<Index> = vec![Index::from(..); axis];
            indices.push(Index::from(at));
            self.slice(indices)
        };
        let count = self.shape()[axis];
        // Each is an array and a window.
        let bytes = count.saturating_mul(size_of::<Array>() + size_of::<crossover_core::Layout>());
        let runtime = crate::runtime::Runtime::current();
        runtime.machine().admit(bytes).map_err(|e| Error::new(e, location))?;
        Ok((0..count).map(entry).collect())
    }

    /// Arrays spread to the shape that all of them broadcast to. Views.
    ///
    /// ```
    /// # use crossover_array::Array;
    /// let (a, b) = (Array::from([[1], [2]]), Array::from([3, 4, 5]));
    /// let spread = Array::broadcast_arrays(&[&a, &b])?;
    /// assert_eq!(spread[0].to_vec::<i32>()?, [1, 1, 1, 2, 2, 2]);
    /// assert_eq!(spread[1].shape().dims(), [2, 3]);
    /// # Ok::<(), crossover_array::Error>(())
    /// ```
    #[track_caller]
    pub fn broadcast_arrays(arrays: &[&Array]) -> Result<Vec<Array>> {
        let location = Location::caller();
        let mut shape = Shape::scalar();
        for array in arrays {
            array.check()?;
            shape =
                shape.broadcast("broadcast_arrays", array.shape()).map_err(|e| Error::new(e, location))?;
        }
        Ok(arrays.iter().map(|array| array.broadcast_to(shape.clone())).collect())
    }

    /// Coordinates of a grid from the coordinates along its axes: array i of the result varies along axis i only. Views.
    ///
    /// This is NumPy's `indexing="ij"`; [`meshgrid_xy`](Array::meshgrid_xy) is its default.
    ///
    /// ```
    /// # use crossover_array::Array;
    /// let grid = Array::meshgrid(&[&Array::from([1, 2]), &Array::from([10, 20, 30])])?;
    /// assert_eq!(grid[0].to_vec::<i32>()?, [1, 1, 1, 2, 2, 2]);
    /// assert_eq!(grid[1].to_vec::<i32>()?, [10, 20, 30, 10, 20, 30]);
    /// # Ok::<(), crossover_array::Error>(())
    /// ```
    #[track_caller]
    pub fn meshgrid(arrays: &[&Array]) -> Result<Vec<Array>> {
        let location = Location::caller();
        let mut lengths = Vec::with_capacity(arrays.len());
        for array in arrays {
            array.check()?;
            if array.ndim() > 1 {
                let what = format!("coordinates have one axis, {} given", array.shape());
                return Err(Error::new(CoreError::Value { op: "meshgrid", what }, location));
            }
            lengths.push(array.size());
        }
        let shape =
            Shape::checked("meshgrid", lengths.iter().copied()).map_err(|e| Error::new(e, location))?;
        let along = |(axis, array): (usize, &&Array)| {
            let line: Shape = (0..lengths.len()).map(|i| if i == axis { lengths[axis] } else { 1 }).collect();
            array.reshape(line).broadcast_to(shape.clone())
        };
        Ok(arrays.iter().enumerate().map(along).collect())
    }

    /// As [`meshgrid`](Array::meshgrid) with the first two axes exchanged, as pictures have them: rows are y, columns are
    /// x. This is NumPy's default, `indexing="xy"`.
    ///
    /// ```
    /// # use crossover_array::Array;
    /// let grid = Array::meshgrid_xy(&[&Array::from([1, 2]), &Array::from([10, 20, 30])])?;
    /// assert_eq!(grid[0].to_vec::<i32>()?, [1, 2, 1, 2, 1, 2]);
    /// assert_eq!(grid[1].shape().dims(), [3, 2]);
    /// # Ok::<(), crossover_array::Error>(())
    /// ```
    #[track_caller]
    pub fn meshgrid_xy(arrays: &[&Array]) -> Result<Vec<Array>> {
        let grid = Array::meshgrid(arrays)?;
        Ok(if arrays.len() < 2 { grid } else { grid.iter().map(|x| x.swap_axes(0, 1)).collect() })
    }
}

/// Which axis comes at each place once those of `from` are at the places `to`.
fn moved_order(shape: &Shape, from: &[i64], to: &[i64]) -> crossover_core::Result<Vec<i64>> {
    let op = "move_axis";
    if from.len() != to.len() {
        let what = format!("{} axes are to move to {} places; give one place per axis", from.len(), to.len());
        return Err(CoreError::Value { op, what });
    }
    // Each is there, and none twice; the order is the caller's.
    shape.axes(op, from)?;
    shape.axes(op, to)?;
    let resolved =
        |axes: &[i64]| axes.iter().map(|&axis| shape.axis(op, axis)).collect::<Result<Vec<_>, _>>();
    let (from, to) = (resolved(from)?, resolved(to)?);
    let mut others = (0..shape.rank()).filter(|axis| !from.contains(axis));
    let place = |at| to.iter().position(|&place| place == at).map(|i| from[i]);
    Ok((0..shape.rank())
        .filter_map(|at| place(at).or_else(|| others.next()))
        .map(|axis| axis as i64)
        .collect())
}
