//! What a CPU closure sees: elements of its operands, and room for its result.
#![allow(unsafe_code)]

use crate::{DType, Element, Error, Result, Shape};

/// Elements in memory, row-major without gaps.
///
/// ```
/// use crossover_core::{DType, Shape, custom::{Room, Values}};
/// let (shape, room) = (Shape::from([2]), Room::new(&[1, 0, 2, 0]));
/// let x = Values::new(DType::I16, &shape, room.bytes());
/// # let _ = x;
/// ```
#[derive(Debug, Clone, Copy)]
pub struct Values<'a> {
    dtype: DType,
    shape: &'a Shape,
    bytes: &'a [u8],
}

impl<'a> Values<'a> {
    /// Elements of a dtype, aligned as its Rust type is.
    pub fn new(dtype: DType, shape: &'a Shape, bytes: &'a [u8]) -> Values<'a> {
        Values { dtype, shape, bytes }
    }
}

/// The operands of a closure.
///
/// ```
/// use crossover_core::{DType, Shape, custom::CustomKernel};
/// let sums = CustomKernel::builder("row_sums")
///     .input("x", DType::F64)
///     .output("out", DType::F64)
///     .shape(|shapes| Ok(Shape::from(&shapes[0].dims()[..1])))
///     .cpu(|inputs, output| {
///         assert!(inputs.len() == 1 && !inputs.is_empty());
///         let columns = inputs.shape(0).dims()[1];
///         let rows = inputs.slice::<f64>(0)?.chunks(columns);
///         for (out, row) in output.slice::<f64>()?.iter_mut().zip(rows) {
///             *out = row.iter().sum();
///         }
///         Ok(())
///     })
///     .build()?;
/// assert_eq!(sums.name(), "row_sums");
/// # Ok::<(), crossover_core::Error>(())
/// ```
#[derive(Debug)]
pub struct Inputs<'a> {
    pub(super) op: &'static str,
    pub(super) values: &'a [Values<'a>],
}

impl<'a> Inputs<'a> {
    /// Number of operands.
    pub fn len(&self) -> usize {
        self.values.len()
    }

    /// Whether there are none; kernels have at least one.
    pub fn is_empty(&self) -> bool {
        self.values.is_empty()
    }

    /// The shape of an operand; without axes for one that does not exist.
    pub fn shape(&self, operand: usize) -> Shape {
        self.values.get(operand).map_or_else(Shape::scalar, |v| v.shape.clone())
    }

    /// The elements of an operand, row-major.
    pub fn slice<T: Element>(&self, operand: usize) -> Result<&'a [T]> {
        let wrong = |what: String| Error::Kernel { op: self.op, part: "CPU closure", what };
        let Some(values) = self.values.get(operand) else {
            return Err(wrong(format!("asked for operand {operand} of {}", self.values.len())));
        };
        if values.dtype != T::DTYPE {
            return Err(wrong(format!(
                "operand {operand} is {}, and {} was asked for",
                values.dtype,
                T::DTYPE
            )));
        }
        if T::DTYPE == DType::Bool && values.bytes.iter().any(|&b| b > 1) {
            return Err(wrong(format!("operand {operand} is bool and holds a byte other than 0 and 1")));
        }
        // SAFETY: `Element` is sealed; its types are plain values without padding for which every bit pattern is valid,
        // but for `bool`, which was looked at above.
        match unsafe { values.bytes.align_to::<T>() } {
            ([], elements, []) => Ok(elements),
            _ => Err(wrong(format!("operand {operand} is not aligned for {}", T::DTYPE))),
        }
    }
}

/// The result of a closure.
///
/// ```
/// use crossover_core::{DType, Shape, custom::CustomKernel};
/// let ramp = CustomKernel::builder("ramp")
///     .input("like", DType::F32)
///     .output("out", DType::I64)
///     .shape(|shapes| Ok(shapes[0].clone()))
///     .pieces(|_, _| 1024)
///     .cpu(|_, output| {
///         // Where this piece lies in all of the result.
///         let (start, end) = (output.start(), output.shape().size());
///         for (i, out) in output.slice::<i64>()?.iter_mut().enumerate() {
///             *out = (end - 1 - start - i) as i64;
///         }
///         Ok(())
///     })
///     .build()?;
/// assert_eq!(ramp.piece(&[&Shape::from([9])], &Shape::from([9]))?, Some(1024));
/// # Ok::<(), crossover_core::Error>(())
/// ```
#[derive(Debug)]
pub struct Output<'a> {
    pub(super) op: &'static str,
    pub(super) dtype: DType,
    pub(super) shape: &'a Shape,
    pub(super) start: usize,
    pub(super) bytes: &'a mut [u8],
}

impl Output<'_> {
    /// The position, row-major, of the first element of [`slice`](Output::slice): 0 unless the kernel works in
    /// [pieces](super::Builder::pieces).
    pub fn start(&self) -> usize {
        self.start
    }

    /// The shape, as the shape rule gave it.
    pub fn shape(&self) -> &Shape {
        self.shape
    }

    /// The elements, row-major; of a kernel that works in pieces, those of the piece. They hold anything before they are written, unless the kernel is
    /// [zeroed](super::Builder::zeroed).
    pub fn slice<T: Element>(&mut self) -> Result<&mut [T]> {
        let (op, dtype) = (self.op, self.dtype);
        let wrong = |what: String| Error::Kernel { op, part: "CPU closure", what };
        if dtype != T::DTYPE {
            return Err(wrong(format!("the result is {dtype}, and {} was asked for", T::DTYPE)));
        }
        if dtype == DType::Bool {
            self.bytes.iter_mut().for_each(|b| *b &= 1);
        }
        // SAFETY: as for operands; bytes of `bool` have just been made 0 or 1.
        match unsafe { self.bytes.align_to_mut::<T>() } {
            ([], elements, []) => Ok(elements),
            _ => Err(wrong(format!("the result is not aligned for {dtype}"))),
        }
    }
}

/// Bytes that are aligned for every dtype.
///
/// ```
/// use crossover_core::custom::Room;
/// let mut room = Room::new(&[1, 2, 3]);
/// room.resize(5);
/// room.bytes_mut()[4] = 9;
/// assert_eq!(room.bytes(), [1, 2, 3, 0, 9]);
/// ```
#[derive(Debug, Default)]
pub struct Room {
    words: Vec<u64>,
    bytes: usize,
}

impl Room {
    /// With a copy of these bytes.
    pub fn new(bytes: &[u8]) -> Room {
        let mut room = Room::default();
        room.resize(bytes.len());
        room.bytes_mut().copy_from_slice(bytes);
        room
    }

    /// Makes it so long; new bytes are zero.
    pub fn resize(&mut self, bytes: usize) {
        self.words.resize(bytes.div_ceil(8), 0);
        self.bytes = bytes;
    }

    /// The bytes.
    pub fn bytes(&self) -> &[u8] {
        // SAFETY: the words are initialised and at least as long; bytes need no alignment.
        unsafe { std::slice::from_raw_parts(self.words.as_ptr().cast(), self.bytes) }
    }

    /// The bytes, to be written.
    pub fn bytes_mut(&mut self) -> &mut [u8] {
        // SAFETY: as in `bytes`; any bytes are valid words, and `self` is borrowed exclusively.
        unsafe { std::slice::from_raw_parts_mut(self.words.as_mut_ptr().cast(), self.bytes) }
    }
}
