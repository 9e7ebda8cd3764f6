//! Memory of a GPU that is shared with neighbours: PyTorch, CuPy, JAX, by DLPack or CUDA's array interface.
//!
//! What is shown never changes: an assignment to an array whose [`DeviceView`] somebody holds goes to a copy. What is taken is copied, on the
//! device, since its owner may change it whenever it likes.
#![allow(unsafe_code)]

use std::{panic::Location, sync::Arc};

use crossover_core::{DType, Error as CoreError, Layout, Shape, graph::Type};
use crossover_runtime::{Address, Block, Buffer, Device as Place, Hold, trace};

use crate::{Array, Device, Error, Result, device::resolve, eval, runtime::Runtime, with_device};

/// The elements of an array in the memory of a GPU, as they were when it was asked for; made by [`Array::device_view`].
///
/// They are complete, and the memory stays where it is and as it is for as long as the view exists. When it goes, everything on the GPU is
/// waited for: a neighbour may have queued work that reads the memory.
///
/// ```
/// use crossover_array::{Array, DType};
/// if let Ok(view) = Array::from([[1.0f32, 2.0]]).device_view(0) {
///     assert_eq!((view.dtype(), view.shape().dims(), view.strides()), (DType::F32, &[1, 2][..], &[2, 1][..]));
///     println!("{:#x} on GPU {}, in a row: {}", view.address(), view.ordinal(), view.is_contiguous());
/// }
/// ```
#[derive(Debug)]
pub struct DeviceView {
    /// `None` while it is being dropped.
    held: Option<(Arc<Buffer>, Hold)>,
    device: Place,
    address: u64,
    dtype: DType,
    layout: Layout,
}

impl DeviceView {
    /// Type of the elements.
    pub fn dtype(&self) -> DType {
        self.dtype
    }

    /// Lengths of the axes.
    pub fn shape(&self) -> &Shape {
        &self.layout.shape
    }

    /// Elements from one entry of an axis to the next, for each axis.
    pub fn strides(&self) -> &[isize] {
        &self.layout.strides
    }

    /// Whether the elements lie one after the other in row-major order.
    pub fn is_contiguous(&self) -> bool {
        self.layout.is_contiguous()
    }

    /// Where the element at index 0 of every axis is, in the memory of the GPU.
    pub fn address(&self) -> u64 {
        self.address + (self.layout.offset * self.dtype.size()) as u64
    }

    /// The number of the GPU.
    pub fn ordinal(&self) -> usize {
        self.device.0 - 1
    }
}

impl Drop for DeviceView {
    fn drop(&mut self) {
        if let Some((buffer, hold)) = self.held.take() {
            // A device that fails here has nothing left to wait for; whoever uses it next is told.
            let _ = buffer.machine().backend(self.device).finish_all();
            drop(hold);
        }
    }
}

/// Memory that neighbours look at themselves.
impl Array {
    /// The elements in the memory of a GPU, computed and brought there if they are not yet.
    ///
    /// ```
    /// use crossover_array::{Array, Device};
    /// let x = Array::from([1.0f32, 2.0]);
    /// match x.device_view(0) {
    ///     Ok(view) => println!("{} elements at {:#x}", view.shape().size(), view.address()),
    ///     Err(error) => println!("{error}"), // there is no GPU
    /// }
    /// ```
    #[track_caller]
    pub fn device_view(&self, ordinal: usize) -> Result<DeviceView> {
        let location = Location::caller();
        let _asked = trace::asked(location);
        let wrap = |error| Error::new(error, location);
        self.check()?;
        let (runtime, device) = (Runtime::current(), Device::Cuda(ordinal));
        let target = resolve(device, runtime.machine()).map_err(wrap)?;
        let computed = with_device(device, || eval::node(&self.version()))?;
        let buffer = runtime.adopt(computed, location)?;
        let (block, hold) = buffer.hold_on(target).map_err(wrap)?;
        runtime.machine().tell(target);
        runtime.machine().backend(target).finish().map_err(wrap)?;
        let (address, dtype, layout) = (block.address.0, self.dtype(), self.layout());
        Ok(DeviceView { held: Some((buffer, hold)), device: target, address, dtype, layout })
    }

    /// An array on a GPU with a copy of elements in its memory. `address` is where the element at index 0 of every axis is, `strides` how
    /// many elements it is from one entry of an axis to the next; `None` is row-major order. The copy is complete when this returns.
    ///
    /// # Safety
    ///
    /// The elements that shape and strides lead to are readable memory of that GPU, in this process's primary context, and what was queued to
    /// write them is in order before [`gpu_queue`], or has passed.
    ///
    /// ```
    /// use crossover_array::{Array, DType};
    /// if let Ok(view) = Array::from([1.0f32, 2.0]).device_view(0) {
    ///     // SAFETY: the view keeps its two elements where they are, and they are complete.
    ///     let copy = unsafe { Array::from_device(0, view.address(), DType::F32, [2], None)? };
    ///     assert_eq!(copy.to_vec::<f32>()?, [1.0, 2.0]);
    /// }
    /// # Ok::<(), crossover_array::Error>(())
    /// ```
    #[track_caller]
    pub unsafe fn from_device(
        ordinal: usize,
        address: u64,
        dtype: DType,
        shape: impl Into<Shape>,
        strides: Option<&[isize]>,
    ) -> Result<Array> {
        let location = Location::caller();
        let wrap = |error: crossover_runtime::Error| Error::new(error, location);
        let runtime = Runtime::current();
        let target = resolve(Device::Cuda(ordinal), runtime.machine()).map_err(wrap)?;
        let (first, layout) = span(shape.into(), strides).map_err(|error| wrap(error.into()))?;
        let elements = if layout.shape.size() == 0 { 0 } else { layout.extent().1 };
        let start = address.wrapping_sub((first * dtype.size()) as u64);
        let from = Block { address: Address(start), bytes: elements * dtype.size() };
        let buffer = Buffer::from_neighbour(runtime.machine(), target, from).map_err(wrap)?;
        runtime.machine().tell(target);
        let whole = Array::from_buffer(buffer, Type { dtype, shape: Shape::from([elements]) }, location);
        Ok(if layout.is_contiguous() && layout.offset == 0 {
            whole.reshape(&layout.shape)
        } else {
            whole.with_layout(layout)
        })
    }
}

/// How many elements lie before the first, and the layout of all of them from the lowest on.
fn span(shape: Shape, strides: Option<&[isize]>) -> crossover_core::Result<(usize, Layout)> {
    let op = "from_device";
    let shape = Shape::checked(op, shape.iter().copied())?;
    let mut layout = Layout::contiguous(shape);
    if let Some(strides) = strides {
        if strides.len() != layout.shape.rank() {
            let what = format!("strides {strides:?} do not suit {}: one per axis", layout.shape);
            return Err(CoreError::Value { op, what });
        }
        layout.strides = strides.iter().copied().collect();
    }
    if layout.shape.size() == 0 {
        return Ok((0, Layout::contiguous(layout.shape)));
    }
    let steps = layout.shape.iter().zip(&layout.strides).filter(|(_, stride)| **stride < 0);
    let before: usize = steps.map(|(&n, &stride)| stride.unsigned_abs() * (n - 1)).sum();
    layout.offset = before;
    Ok((before, layout))
}

/// The stream of CUDA on which a GPU's kernels run, by its address, for neighbours who put their own work in order with it. Opens the GPU.
///
/// ```
/// match crossover_array::gpu_queue(0) {
///     Ok(stream) => println!("kernels run on the stream at {stream:#x}"),
///     Err(error) => println!("{error}"), // there is no GPU
/// }
/// ```
#[track_caller]
pub fn gpu_queue(ordinal: usize) -> Result<u64> {
    let location = Location::caller();
    let wrap = |error| Error::new(error, location);
    let runtime = Runtime::current();
    let target = resolve(Device::Cuda(ordinal), runtime.machine()).map_err(wrap)?;
    let queue = runtime.machine().backend(target).queue().map_err(wrap)?;
    // 0 is CUDA's own way to say that there is nothing to put in order.
    Ok(queue.unwrap_or(0))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn strides_of_any_sign_are_spanned_from_the_lowest_element() {
        let (before, layout) = span(Shape::from([3, 2]), Some(&[-2, 5])).unwrap();
        assert_eq!((before, layout.offset, layout.extent().1), (4, 4, 10));
        let (before, layout) = span(Shape::from([2, 3]), None).unwrap();
        assert!(before == 0 && layout.is_contiguous() && layout.extent().1 == 6);
        assert_eq!(span(Shape::from([0, 3]), Some(&[-7, 1])).unwrap().0, 0);
        assert!(span(Shape::from([2, 3]), Some(&[1])).is_err());
    }

    #[test]
    fn without_a_gpu_there_is_nothing_to_share() {
        let here = Runtime::builder().gpu(false).build().unwrap();
        here.scope(|| {
            assert!(Array::from([1.0f32]).device_view(0).unwrap_err().to_string().contains("cuda:0"));
            assert!(gpu_queue(0).is_err());
        });
    }
}
