//! Host memory that a GPU reads at the speed of the bus.
#![allow(unsafe_code)]

use std::{
    fmt,
    marker::PhantomData,
    ops::{Deref, DerefMut},
    panic::Location,
    sync::Arc,
};

use crossover_core::{Element, Shape, graph::Type};
use crossover_runtime::{Buffer, Device, Error as RuntimeError, HostMemory};
use num_complex::Complex;

use crate::{Array, Error, Result, convert, runtime::Runtime};

/// Zeros in page-locked memory, to be filled by the caller and turned into an [`Array`].
///
/// Copies to the first GPU go straight from there, without a detour through staging memory. Where there is no GPU it
/// is ordinary memory. Page-locked memory is scarce and slow to reserve: keep it for data that is sent again and again.
///
/// ```
/// use crossover_array::{Array, Pinned};
/// let mut block: Pinned<f32> = Array::pinned([4])?;
/// block[3] = 2.0;
/// assert_eq!(Array::from(block).to_vec::<f32>()?, [0.0, 0.0, 0.0, 2.0]);
/// # Ok::<(), crossover_array::Error>(())
/// ```
pub struct Pinned<T> {
    /// `size` elements long.
    memory: Memory,
    shape: Shape,
    size: usize,
    location: &'static Location<'static>,
    element: PhantomData<T>,
}

enum Memory {
    Locked(Box<dyn HostMemory>),
    /// In words as wide as the widest element, so that every element is aligned.
    Ordinary(Vec<Complex<f64>>, usize),
}

impl AsRef<[u8]> for Memory {
    fn as_ref(&self) -> &[u8] {
        match self {
            Memory::Locked(memory) => memory.bytes(),
            // SAFETY: the words are initialised and at least as long as the bytes.
            Memory::Ordinary(words, bytes) => unsafe {
                std::slice::from_raw_parts(words.as_ptr().cast(), *bytes)
            },
        }
    }
}

impl Memory {
    fn bytes_mut(&mut self) -> &mut [u8] {
        match self {
            Memory::Locked(memory) => memory.bytes_mut(),
            // SAFETY: as in `as_ref`, and `self` is borrowed exclusively.
            Memory::Ordinary(words, bytes) => unsafe {
                std::slice::from_raw_parts_mut(words.as_mut_ptr().cast(), *bytes)
            },
        }
    }
}

impl Array {
    /// Page-locked host memory for an array of this shape, zeroed; see [`Pinned`].
    ///
    /// ```
    /// use crossover_array::{Array, Device};
    /// let mut block = Array::pinned::<f32>([2, 3])?;
    /// block.copy_from_slice(&[1.0, 2.0, 3.0, 4.0, 5.0, 6.0]);
    /// let x = Array::from(block);
    /// assert_eq!(x.sum(0).to_vec::<f32>()?, [5.0, 7.0, 9.0]);
    /// # Ok::<(), crossover_array::Error>(())
    /// ```
    #[track_caller]
    pub fn pinned<T: Element>(shape: impl Into<Shape>) -> Result<Pinned<T>> {
        let location = Location::caller();
        let shape =
            Shape::checked("pinned", shape.into().iter().copied()).map_err(|e| Error::new(e, location))?;
        // A checked shape is addressable with elements of any width.
        let (size, bytes) = (shape.size(), shape.size() * size_of::<T>());
        let runtime = Runtime::current();
        runtime.machine().admit(bytes).map_err(|e| Error::new(e, location))?;
        let gpu = runtime.machine().devices().nth(1).map(|device| runtime.machine().backend(device).clone());
        let locked = match gpu.filter(|gpu| gpu.check().is_ok()) {
            Some(gpu) => gpu.pinned(bytes).map_err(|e| Error::new(e, location))?,
            None => None,
        };
        let memory = match locked {
            Some(memory) => Memory::Locked(memory),
            None => {
                let words = convert::zeros(bytes.div_ceil(16)).map_err(|e| Error::new(e, location))?;
                Memory::Ordinary(words, bytes)
            }
        };
        Ok(Pinned { memory, shape, size, location, element: PhantomData })
    }
}

impl<T: Element> Deref for Pinned<T> {
    type Target = [T];

    fn deref(&self) -> &[T] {
        let bytes = self.memory.as_ref();
        // SAFETY: the memory is aligned as the widest element, `size` elements long and initialised: zeros are a value of
        // every element, and it is written through `&mut [T]` alone.
        unsafe { std::slice::from_raw_parts(bytes.as_ptr().cast(), self.size) }
    }
}

impl<T: Element> DerefMut for Pinned<T> {
    fn deref_mut(&mut self) -> &mut [T] {
        let size = self.size;
        // SAFETY: as in `deref`, and `self` is borrowed exclusively.
        unsafe { std::slice::from_raw_parts_mut(self.memory.bytes_mut().as_mut_ptr().cast(), size) }
    }
}

impl<T: Element> fmt::Debug for Pinned<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let locked = matches!(self.memory, Memory::Locked(_));
        write!(f, "Pinned({} of shape {}, page-locked: {locked})", T::DTYPE, self.shape)
    }
}

impl<T: Element> From<Pinned<T>> for Array {
    /// The values stay where they are; the memory is given back with the last array that uses it.
    fn from(block: Pinned<T>) -> Array {
        let Pinned { memory, shape, location, .. } = block;
        let ty = Type { dtype: T::DTYPE, shape };
        let runtime = Runtime::current();
        match Buffer::from_owner(runtime.machine(), Arc::new(memory), size_of::<T>()) {
            Some(buffer) => Array::from_buffer(buffer, ty, location),
            None => {
                let what = format!(
                    "page-locked memory of the host ({:?}) is not aligned for {}",
                    Device::HOST,
                    T::DTYPE
                );
                Array::failed(Error::new(RuntimeError::Internal(what), location))
            }
        }
    }
}
