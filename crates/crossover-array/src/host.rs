//! Elements as bytes in the host's memory, for neighbours who look at memory themselves: NumPy, DLPack.
//!
//! What is shown to a neighbour never changes: an assignment to an array whose [`HostView`] somebody holds goes to a copy.
//! What is taken from a neighbour is copied, since it may change it whenever it likes, unless it promises not to
//! ([`Array::borrow_bytes`]).

use std::{panic::Location, sync::Arc};

use crossover_core::{DType, Error as CoreError, Layout, Shape, graph::Type};
use crossover_runtime::Buffer;

use crate::{Array, Error, Result, convert, runtime::Runtime};

/// The elements of an array in the host's memory, as they were when it was asked for; made by [`Array::host_view`].
///
/// The memory stays where it is and as it is for as long as the view exists.
///
/// ```
/// use crossover_array::Array;
/// let view = Array::from([[1u8, 2], [3, 4]]).t().host_view()?;
/// assert_eq!((view.shape().dims(), view.strides()), (&[2, 2][..], vec![1, 2]));
/// assert!(!view.is_contiguous() && view.bytes()?.is_none());
/// # Ok::<(), crossover_array::Error>(())
/// ```
#[derive(Debug, Clone)]
pub struct HostView {
    buffer: Arc<Buffer>,
    dtype: DType,
    layout: Layout,
}

impl HostView {
    /// Type of the elements.
    ///
    /// ```
    /// use crossover_array::{Array, DType};
    /// assert_eq!(Array::from([1u8]).host_view()?.dtype(), DType::U8);
    /// # Ok::<(), crossover_array::Error>(())
    /// ```
    pub fn dtype(&self) -> DType {
        self.dtype
    }

    /// Lengths of the axes.
    ///
    /// ```
    /// use crossover_array::Array;
    /// assert_eq!(Array::from([[1, 2, 3]]).host_view()?.shape().dims(), [1, 3]);
    /// # Ok::<(), crossover_array::Error>(())
    /// ```
    pub fn shape(&self) -> &Shape {
        &self.layout.shape
    }

    /// Bytes from one entry of an axis to the next, for each axis.
    ///
    /// ```
    /// use crossover_array::Array;
    /// let x = Array::from([[1.0f32, 2.0, 3.0], [4.0, 5.0, 6.0]]);
    /// assert_eq!(x.t().host_view()?.strides(), [4, 12]);
    /// # Ok::<(), crossover_array::Error>(())
    /// ```
    pub fn strides(&self) -> Vec<isize> {
        let size = self.dtype.size() as isize;
        self.layout.strides.iter().map(|stride| stride * size).collect()
    }

    /// Whether the elements lie one after the other in row-major order.
    ///
    /// ```
    /// use crossover_array::Array;
    /// let x = Array::from([[1, 2], [3, 4]]);
    /// assert!(x.host_view()?.is_contiguous() && !x.t().host_view()?.is_contiguous());
    /// # Ok::<(), crossover_array::Error>(())
    /// ```
    pub fn is_contiguous(&self) -> bool {
        self.layout.is_contiguous()
    }

    /// Where the element at index 0 of every axis is.
    ///
    /// ```
    /// use crossover_array::Array;
    /// let x = Array::from([1u8, 2, 3]);
    /// let (all, tail) = (x.host_view()?, x.slice(1..).host_view()?);
    /// assert_eq!(tail.as_ptr()? as usize, all.as_ptr()? as usize + 1); // the same memory
    /// # Ok::<(), crossover_array::Error>(())
    /// ```
    #[track_caller]
    pub fn as_ptr(&self) -> Result<*const u8> {
        let location = Location::caller();
        let bytes = self.buffer.host_bytes().map_err(|e| Error::new(e, location))?;
        // A view of nothing may begin behind the end.
        let start = (self.layout.offset * self.dtype.size()).min(bytes.len());
        Ok(bytes[start..].as_ptr())
    }

    /// The bytes, if the elements lie one after the other in row-major order.
    ///
    /// ```
    /// use crossover_array::Array;
    /// assert_eq!(Array::from([1u8, 2, 3]).slice(1..).host_view()?.bytes()?, Some(&[2, 3][..]));
    /// # Ok::<(), crossover_array::Error>(())
    /// ```
    #[track_caller]
    pub fn bytes(&self) -> Result<Option<&[u8]>> {
        let location = Location::caller();
        if !self.is_contiguous() {
            return Ok(None);
        }
        let (size, bytes) =
            (self.dtype.size(), self.buffer.host_bytes().map_err(|e| Error::new(e, location))?);
        let length = self.layout.shape.size() * size;
        let start = if length == 0 { 0 } else { self.layout.offset * size };
        Ok(Some(&bytes[start..start + length]))
    }
}

/// The elements of an array in memory that nobody else has any more: its holder may write to it. Made by [`Array::into_host_memory`].
///
/// ```
/// use crossover_array::Array;
/// let memory = (Array::from([1u8, 2]) * 10).into_host_memory()?;
/// assert_eq!(memory.view().bytes()?, Some(&[10, 20][..]));
/// # Ok::<(), crossover_array::Error>(())
/// ```
#[derive(Debug)]
pub struct HostMemory {
    view: HostView,
}

impl HostMemory {
    /// The memory, as a view.
    pub fn view(&self) -> &HostView {
        &self.view
    }
}

/// Bytes of the host.
impl Array {
    /// An array of elements that stay where they are, in row-major order without gaps, and belong to `owner`: nothing is copied.
    ///
    /// The bytes must not change as long as `owner` is held here: until all arrays that show them, and everything pending that reads them,
    /// are gone or [detached](Array::detach). An assignment to such an array goes to a copy. `None` if the memory is not aligned for
    /// the elements, or booleans are asked for, whose bytes somebody else may have written.
    ///
    /// ```
    /// use crossover_array::{Array, DType};
    /// use std::sync::Arc;
    /// let owner: Arc<Vec<u8>> = Arc::new(vec![1, 2, 3]);
    /// let x = Array::borrow_bytes(owner.clone(), DType::U8, [3]).expect("bytes are always aligned");
    /// assert_eq!(x.host_view()?.as_ptr()?, owner.as_ptr());
    /// x.fill(0)?;
    /// assert_eq!(*owner, [1, 2, 3]);
    /// # Ok::<(), crossover_array::Error>(())
    /// ```
    #[track_caller]
    pub fn borrow_bytes(
        owner: Arc<dyn AsRef<[u8]> + Send + Sync>,
        dtype: DType,
        shape: impl Into<Shape>,
    ) -> Option<Array> {
        let (location, shape) = (Location::caller(), shape.into());
        let fits = Shape::checked("borrow_bytes", shape.iter().copied())
            .is_ok_and(|shape| shape.size() * dtype.size() == (*owner).as_ref().len());
        if !fits || dtype == DType::Bool {
            return None;
        }
        let buffer = Buffer::from_owner(Runtime::current().machine(), owner, dtype.size())?;
        Some(Array::from_buffer(buffer, Type { dtype, shape }, location))
    }

    /// Gives an array of [borrowed](Array::borrow_bytes) memory memory of its own, if anybody else still looks at it: other arrays, and
    /// whatever is pending, show the same values, and the owner may change its memory again.
    ///
    /// ```
    /// use crossover_array::{Array, DType};
    /// use std::sync::Arc;
    /// let owner: Arc<Vec<u8>> = Arc::new(vec![1, 2, 3]);
    /// let x = Array::borrow_bytes(owner.clone(), DType::U8, [3]).expect("bytes are always aligned");
    /// let pending = &x + 1;
    /// x.detach()?;
    /// drop(x);
    /// assert_eq!(Arc::strong_count(&owner), 1);
    /// assert_eq!(pending.to_vec::<u8>()?, [2, 3, 4]);
    /// # Ok::<(), crossover_array::Error>(())
    /// ```
    #[track_caller]
    pub fn detach(&self) -> Result<()> {
        let (location, node) = (Location::caller(), self.version());
        // This array's cell and the variable above hold it; whoever else does may ask for it later.
        if Arc::strong_count(&node) <= 2 && self.is_only() {
            return Ok(());
        }
        node.renew(|buffer| Buffer::from_bytes(buffer.machine(), buffer.host_bytes()?))
            .map_err(|e| Error::new(e, location))
    }

    /// The elements in memory of the host that nobody else has, computed and brought there if they are not yet: the array's own, if this was
    /// the last that showed it, else a copy.
    ///
    /// ```
    /// use crossover_array::Array;
    /// let x = Array::from([1u8, 2, 3]);
    /// let y = (&x + 1).into_host_memory()?;
    /// assert_eq!(y.view().bytes()?, Some(&[2, 3, 4][..]));
    /// # Ok::<(), crossover_array::Error>(())
    /// ```
    #[track_caller]
    pub fn into_host_memory(self) -> Result<HostMemory> {
        let location = Location::caller();
        let (dtype, layout) = (self.dtype(), self.layout());
        let whole = layout.is_contiguous() && self.is_whole();
        let mut view = self.host_view()?;
        drop(self);
        let own = |buffer: &mut Arc<Buffer>| {
            // To be written on the host: memory there is the buffer's own after that, and copies elsewhere are given up.
            Buffer::exclusive(buffer).is_some_and(|buffer| buffer.host_bytes_mut().is_ok())
        };
        if !whole || !own(&mut view.buffer) {
            let shape = layout.shape.clone();
            let target = Layout::contiguous(shape.clone());
            let bytes = view.buffer.host_bytes().map_err(|e| Error::new(e, location))?;
            let length = shape.size() * dtype.size();
            let copy = Buffer::from_fill(view.buffer.machine(), length, |to| {
                if length > 0 {
                    convert::copy(bytes, &layout, to, &target, dtype.size());
                }
            });
            view = HostView { buffer: copy.map_err(|e| Error::new(e, location))?, dtype, layout: target };
        }
        Ok(HostMemory { view })
    }

    /// The elements in the host's memory, computed and brought there if they are not yet. Nothing is copied on the host.
    ///
    /// ```
    /// use crossover_array::Array;
    /// let x = Array::from([1u8, 2, 3]);
    /// let seen = x.host_view()?;
    /// x.fill(0)?;
    /// assert_eq!(seen.bytes()?, Some(&[1, 2, 3][..]));
    /// # Ok::<(), crossover_array::Error>(())
    /// ```
    pub fn host_view(&self) -> Result<HostView> {
        let (buffer, layout) = self.contents()?;
        Ok(HostView { buffer, dtype: self.dtype(), layout })
    }

    /// An array of a copy of elements in memory. `first` is where the element at index 0 of every axis is, and `strides` how far it
    /// is from one entry of an axis to the next, all in bytes; `None` is row-major order. Booleans are true unless they are 0.
    ///
    /// ```
    /// use crossover_array::{Array, DType};
    /// let columns = Array::from_bytes(&[1, 2, 3, 4, 5, 6], DType::U8, [3, 2], Some(&[1, 3]), 0);
    /// assert_eq!(columns.to_vec::<u8>()?, [1, 4, 2, 5, 3, 6]);
    /// assert!(Array::from_bytes(&[1, 2], DType::F32, [1], None, 0).check().is_err());
    /// # Ok::<(), crossover_array::Error>(())
    /// ```
    #[track_caller]
    pub fn from_bytes(
        bytes: &[u8],
        dtype: DType,
        shape: impl Into<Shape>,
        strides: Option<&[isize]>,
        first: usize,
    ) -> Array {
        let location = Location::caller();
        match copied(bytes, dtype, &shape.into(), strides, first) {
            Ok((buffer, ty)) => Array::from_buffer(buffer, ty, location),
            Err(error) => Array::wrong(error, location),
        }
    }
}

fn copied(
    bytes: &[u8],
    dtype: DType,
    shape: &Shape,
    strides: Option<&[isize]>,
    first: usize,
) -> crossover_runtime::Result<(Arc<Buffer>, Type)> {
    let op = "from_bytes";
    let wrong = |what: String| CoreError::Value { op, what };
    let shape = Shape::checked(op, shape.iter().copied())?;
    let size = dtype.size();
    let mut source = Layout::contiguous(shape.clone());
    if let Some(strides) = strides {
        if strides.len() != shape.rank() || strides.iter().any(|stride| stride % size as isize != 0) {
            let what = format!(
                "strides {strides:?} do not suit {shape} of {dtype}: one per axis, in whole elements"
            );
            return Err(wrong(what).into());
        }
        source.strides = strides.iter().map(|stride| stride / size as isize).collect();
    }
    // In elements from `first` on; walking backwards leads before it.
    let reach = |towards: fn(isize) -> bool| -> Option<isize> {
        let steps = shape.iter().zip(&source.strides).filter(|&(_, &stride)| towards(stride));
        steps
            .map(|(&n, &stride)| stride.checked_mul(n as isize - 1))
            .try_fold(0isize, |sum, step| sum.checked_add(step?))
    };
    if shape.size() > 0 {
        let (low, high) = (reach(|stride| stride < 0), reach(|stride| stride > 0));
        let inside = low.zip(high).is_some_and(|(low, high)| {
            let before = low.unsigned_abs().checked_mul(size);
            let after = (high as usize + 1).checked_mul(size).and_then(|after| after.checked_add(first));
            before.is_some_and(|before| before <= first) && after.is_some_and(|after| after <= bytes.len())
        });
        if !inside {
            return Err(wrong(format!(
                "{shape} of {dtype} from byte {first} on leaves the {} bytes given",
                bytes.len()
            ))
            .into());
        }
    }
    let (length, ty) = (shape.size() * size, Type { dtype, shape: shape.clone() });
    if source.is_contiguous() && dtype != DType::Bool {
        let from = if length == 0 { &[] } else { &bytes[first..first + length] };
        return Ok((Buffer::from_bytes(Runtime::current().machine(), from)?, ty));
    }
    let target = Layout::contiguous(shape.clone());
    // Positions count whole elements from the start of the slice; what lies before the first whole one is cut off.
    let (skip, offset) = (first % size, first / size);
    source.offset = offset;
    let buffer = Buffer::from_fill(Runtime::current().machine(), length, |to| {
        if length > 0 {
            convert::copy(&bytes[skip..], &source, to, &target, size);
        }
        if dtype == DType::Bool {
            // Other bytes than 0 and 1 are no booleans.
            to.iter_mut().for_each(|byte| *byte = (*byte != 0) as u8);
        }
    })?;
    Ok((buffer, ty))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn strides_of_any_sign_are_followed_and_never_leave_the_bytes() {
        let bytes: Vec<u8> = (0..12).collect();
        let backwards = Array::from_bytes(&bytes, DType::U8, [3], Some(&[-2]), 5);
        assert_eq!(backwards.to_vec::<u8>().unwrap(), [5, 3, 1]);
        let repeated = Array::from_bytes(&bytes, DType::U8, [2, 2], Some(&[0, 1]), 10);
        assert_eq!(repeated.to_vec::<u8>().unwrap(), [10, 11, 10, 11]);
        let shifted = Array::from_bytes(&bytes, DType::U16, [2], None, 3);
        assert_eq!(shifted.to_vec::<u16>().unwrap(), [0x0403, 0x0605]);
        for (strides, first) in [([-2], 3), ([5], 2), ([isize::MAX], 0), ([isize::MIN + 1], 0)] {
            assert!(
                Array::from_bytes(&bytes, DType::U8, [3], Some(&strides), first).check().is_err(),
                "{strides:?}"
            );
        }
        assert!(Array::from_bytes(&bytes, DType::U16, [3], Some(&[3]), 0).check().is_err());
        assert_eq!(Array::from_bytes(&[], DType::F64, [0, 7], None, 0).size(), 0);
    }

    #[test]
    fn booleans_are_zero_or_one_whatever_the_bytes_are() {
        let mask = Array::from_bytes(&[0, 1, 2, 255], DType::Bool, [4], None, 0);
        assert_eq!(mask.to_vec::<bool>().unwrap(), [false, true, true, true]);
    }
}
