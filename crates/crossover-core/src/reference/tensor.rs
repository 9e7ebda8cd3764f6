//! A value of the interpreter: dtype, shape and row-major bytes.

use std::fmt;

use crate::{DType, Element, Error, Result, Scalar, Shape, graph::Type};

/// An array in its memory form, row-major without gaps. Equality is equality of bits.
///
/// ```
/// use crossover_core::{Shape, reference::Tensor};
/// let x = Tensor::from_slice(Shape::from([2, 2]), &[1.0f32, 2.0, 3.0, 4.0])?;
/// assert_eq!(x.to_vec::<f32>()?, [1.0, 2.0, 3.0, 4.0]);
/// # Ok::<(), crossover_core::Error>(())
/// ```
#[derive(Clone, PartialEq, Eq)]
pub struct Tensor {
    /// Type of the elements.
    pub dtype: DType,
    /// Lengths of the axes.
    pub shape: Shape,
    /// The elements as memory has them, little-endian.
    pub bytes: Vec<u8>,
}

impl Tensor {
    /// A tensor of values of one dtype, in row-major order.
    pub fn from_scalars(
        dtype: DType,
        shape: Shape,
        values: impl IntoIterator<Item = Scalar>,
    ) -> Result<Tensor> {
        let size = dtype.size();
        let values = values.into_iter();
        let mut bytes = Vec::with_capacity(values.size_hint().0.saturating_mul(size));
        for value in values {
            if value.dtype() != dtype {
                return Err(Error::Mixed { op: "tensor", left: dtype, right: value.dtype() });
            }
            let at = bytes.len();
            bytes.resize(at + size, 0);
            value.write_to(&mut bytes[at..]);
        }
        let tensor = Tensor { dtype, shape, bytes };
        tensor.check()?;
        Ok(tensor)
    }

    /// A tensor of Rust values, in row-major order.
    pub fn from_slice<T: Element>(shape: impl Into<Shape>, values: &[T]) -> Result<Tensor> {
        Tensor::from_scalars(T::DTYPE, shape.into(), values.iter().map(|v| v.to_scalar()))
    }

    /// Whether there are as many bytes as dtype and shape say.
    pub fn check(&self) -> Result<()> {
        let shape = Shape::checked("tensor", self.shape.iter().copied())?;
        let wanted = shape.size() * self.dtype.size();
        if self.bytes.len() == wanted {
            return Ok(());
        }
        let what = format!("{}{shape} takes {wanted} bytes, {} given", self.dtype, self.bytes.len());
        Err(Error::Value { op: "tensor", what })
    }

    /// Number of elements.
    pub fn len(&self) -> usize {
        self.bytes.len() / self.dtype.size()
    }

    /// Whether there are no elements.
    pub fn is_empty(&self) -> bool {
        self.bytes.is_empty()
    }

    /// The type.
    pub fn ty(&self) -> Type {
        Type { dtype: self.dtype, shape: self.shape.clone() }
    }

    /// The element at a row-major position.
    pub fn at(&self, position: usize) -> Scalar {
        let size = self.dtype.size();
        Scalar::read_from(self.dtype, &self.bytes[position * size..(position + 1) * size])
    }

    /// The elements in row-major order.
    pub fn scalars(&self) -> impl ExactSizeIterator<Item = Scalar> + '_ {
        self.bytes.chunks_exact(self.dtype.size()).map(|bytes| Scalar::read_from(self.dtype, bytes))
    }

    /// The elements as Rust values of exactly this dtype.
    pub fn to_vec<T: Element>(&self) -> Result<Vec<T>> {
        if self.dtype != T::DTYPE {
            return Err(Error::Mixed { op: "to_vec", left: self.dtype, right: T::DTYPE });
        }
        Ok(self.scalars().map(T::from_scalar).collect())
    }
}

/// Type and values; long tensors are cut.
impl fmt::Debug for Tensor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        const SHOWN: usize = 32;
        let values: Vec<_> = self.scalars().take(SHOWN).map(crate::graph::literal::write).collect();
        let more = if self.len() > SHOWN { ", …" } else { "" };
        write!(f, "{} [{}{more}]", self.ty(), values.join(", "))
    }
}
