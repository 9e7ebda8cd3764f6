//! Assignment, with NumPy's aliasing.
//!
//! Assigning through an array makes a new version of its storage, which its base and every other view and clone
//! show from then on. Arrays computed before, even if nobody has asked for their bytes yet, keep the values they
//! were made from. A buffer that nobody else holds is changed in place.

use std::panic::Location;

use crossover_core::{Error as CoreError, Layout, Shape, compose::Build};
use crossover_runtime::Device;

use crate::{Array, Error, Operand, Result, convert, creation::fitting, eval, node::State};

impl Array {
    /// Writes `value`, converted and broadcast, into this array's elements.
    ///
    /// ```
    /// # use crossover_array::Array;
    /// let x = Array::from([1, 2, 3, 4]);
    /// let before = &x + 0;
    /// x.slice(..2).assign(&Array::from([7, 8]))?;
    /// assert_eq!(x.to_vec::<i32>()?, [7, 8, 3, 4]);
    /// assert_eq!(before.to_vec::<i32>()?, [1, 2, 3, 4]);
    /// x.slice(1..).assign(&x.slice(..-1))?; // overlapping: the old values are read first
    /// assert_eq!(x.to_vec::<i32>()?, [7, 7, 8, 3]);
    /// # Ok::<(), crossover_array::Error>(())
    /// ```
    #[track_caller]
    pub fn assign<'a>(&self, value: impl Into<Operand<'a>>) -> Result<()> {
        let location = Location::caller();
        self.check()?;
        let value = self.converted("assign", value.into(), location)?;
        if self.view().is_none() && value.view().is_none() && value.shape() == self.shape() {
            // All elements: the value's node is the new version, computed or not. Buffers that two cells share are
            // copied before either changes them.
            self.replace(value.version());
            return Ok(());
        }
        let target = self.layout();
        if value.shape() == self.shape() && target.offset == 0 && target.is_contiguous() && self.is_whole() {
            // All elements under another shape: as above.
            self.replace(value.reshape(&self.version().ty.shape).node());
            return Ok(());
        }
        check_writable(&target).map_err(|e| Error::new(e, location))?;
        if self.assign_away(&value, &target, location)? {
            return Ok(());
        }
        // The value is computed, and kept, before anything is written.
        let (buffer, layout) = value.contents()?;
        let source = repeated("assign", layout, &target.shape).map_err(|e| Error::new(e, location))?;
        let bytes = buffer.host_bytes().map_err(|e| Error::new(e, location))?;
        let size = self.dtype().size();
        self.update(location, |to| convert::copy(bytes, &source, to, &target, size))
    }

    /// Writes a value to elements in a row that are on an accelerator alone, so that they stay there; false, with nothing done, if
    /// they are anywhere else or the device cannot.
    fn assign_away(
        &self,
        value: &Array,
        target: &Layout,
        location: &'static Location<'static>,
    ) -> Result<bool> {
        let Some(device) = self.away() else { return Ok(false) };
        if !target.is_contiguous() || target.shape.size() == 0 {
            return Ok(false);
        }
        let wrap = |e: crossover_runtime::Error| Error::new(e, location);
        let layout =
            repeated("assign", value.layout(), &target.shape).map_err(|e| Error::new(e, location))?;
        // The value is computed, kept and brought there before anything is written.
        let (source, start) = if layout.is_contiguous() {
            (eval::node(&value.version())?, layout.offset)
        } else {
            let extra = value.ndim().saturating_sub(target.shape.rank());
            let value = value.reshape(&value.shape().dims()[extra..]);
            (eval::node(&value.broadcast_to(&target.shape).node())?, 0)
        };
        match source.on(device) {
            // The host has room.
            Err(crossover_runtime::Error::OutOfMemory { .. }) => return Ok(false),
            brought => brought.map_err(wrap)?,
        };
        let size = self.dtype().size();
        let (at, bytes) = (target.offset * size, start * size..(start + target.shape.size()) * size);
        self.update_on(device, location, |buffer| buffer.overwrite(device, at, &source, bytes))
    }

    /// The accelerator that alone has the values of the array's storage.
    fn away(&self) -> Option<Device> {
        let version = self.version();
        if version.is_pending() {
            return None;
        }
        let State::Ready(buffer) = &*version.state() else { return None };
        match buffer.valid_on().as_slice() {
            [only] if *only != Device::HOST => Some(*only),
            _ => None,
        }
    }

    /// A value to be written, in the dtype of this array.
    pub(crate) fn converted(
        &self,
        op: &'static str,
        value: Operand<'_>,
        location: &'static Location<'static>,
    ) -> Result<Array> {
        let value = match value {
            Operand::Array(array) => {
                array.check()?;
                if array.dtype() == self.dtype() { array.into_owned() } else { array.astype(self.dtype()) }
            }
            Operand::Number(number) => {
                let scalar = fitting(op, number, self.dtype()).map_err(|e| Error::new(e, location))?;
                Array::build([], |b, []| Ok(b.scalar(scalar)))
            }
        };
        value.check()?;
        Ok(value)
    }

    /// Writes one number into every element; short for [`assign`](Array::assign).
    ///
    /// ```
    /// # use crossover_array::{Array, s};
    /// let x = Array::zeros::<f32>([2, 2]);
    /// x.slice(s![.., 1]).fill(5)?;
    /// assert_eq!(x.to_vec::<f32>()?, [0.0, 5.0, 0.0, 5.0]);
    /// # Ok::<(), crossover_array::Error>(())
    /// ```
    #[track_caller]
    pub fn fill(&self, value: impl Into<crossover_core::Number>) -> Result<()> {
        self.assign(Operand::Number(value.into()))
    }

    /// The same elements in an array of its own: assignments to one do not show in the other.
    ///
    /// ```
    /// # use crossover_array::Array;
    /// let x = Array::from([1, 2]);
    /// let (alias, copy) = (x.clone(), x.copy());
    /// x.fill(0)?;
    /// assert_eq!(alias.to_vec::<i32>()?, [0, 0]);
    /// assert_eq!(copy.to_vec::<i32>()?, [1, 2]);
    /// # Ok::<(), crossover_array::Error>(())
    /// ```
    pub fn copy(&self) -> Array {
        self.snapshot()
    }
}

/// Writing through a repeated element would depend on the order of writing.
pub(crate) fn check_writable(target: &Layout) -> crossover_core::Result<()> {
    let repeats = target.shape.iter().zip(&target.strides).any(|(&n, &stride)| n > 1 && stride == 0);
    if !repeats || target.shape.size() == 0 {
        return Ok(());
    }
    let what = format!("a view of shape {} repeats elements (broadcast) and cannot be written", target.shape);
    Err(CoreError::Value { op: "assign", what })
}

/// The value's layout repeated to the target's shape; extra leading axes of length 1 go, as in NumPy.
pub(crate) fn repeated(
    op: &'static str,
    mut layout: Layout,
    shape: &Shape,
) -> crossover_core::Result<Layout> {
    let whole = layout.shape.clone();
    while layout.shape.rank() > shape.rank() && layout.shape[0] == 1 {
        layout.shape = layout.shape.dims()[1..].into();
        layout.strides.remove(0);
    }
    layout.expand(shape).map_err(|_| CoreError::Shape {
        op,
        left: shape.clone(),
        right: whole,
        why: "the value must broadcast to the shape it is written to",
    })
}
