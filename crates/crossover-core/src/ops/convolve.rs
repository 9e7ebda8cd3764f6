//! `convolve`: direct n-dimensional convolution.
//!
//! The operand is first extended by its boundary; an element of the result is then the sum, over the window in row-major
//! order, of element times flipped kernel, starting from 0, every term added by one fused multiply-add. Complex terms
//! add re·re, then -im·im to the real part, and re·im, then im·re to the imaginary one. Integers wrap. This order
//! belongs to the definition: every device gives the same bits.

use crate::{DTypeSet, Error, Result, Shape, graph::Type};

/// Which part of the result is returned, as SciPy names them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum ConvolveMode {
    /// Wherever operand and kernel overlap: n + k - 1 per axis.
    #[default]
    Full,
    /// The centre of the full result, with the shape of the operand.
    Same,
    /// Where the kernel lies inside the operand: n - k + 1 per axis.
    Valid,
}

/// What lies outside the operand, under the names of `scipy.signal`. Those of `scipy.ndimage` are `constant` for fill and
/// `reflect` for symm; the other three are the same.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Boundary {
    /// One value everywhere.
    #[default]
    Fill,
    /// The operand again, as on a torus.
    Wrap,
    /// The operand mirrored, its edge repeated: `2 1 | 1 2 3 | 3 2`.
    Symm,
    /// The nearest element: `1 1 | 1 2 3 | 3 3`.
    Nearest,
    /// The operand mirrored at its first and last elements, which are not repeated: `3 2 | 1 2 3 | 2 1`.
    Mirror,
}

impl ConvolveMode {
    /// Every mode.
    pub const ALL: [ConvolveMode; 3] = [ConvolveMode::Full, ConvolveMode::Same, ConvolveMode::Valid];

    /// Name in text.
    pub const fn name(self) -> &'static str {
        match self {
            ConvolveMode::Full => "full",
            ConvolveMode::Same => "same",
            ConvolveMode::Valid => "valid",
        }
    }

    /// Length of the result along an axis of `n` under a kernel of `k`, and how many positions the extended operand
    /// starts before the operand itself.
    pub const fn extent(self, n: usize, k: usize) -> (usize, usize) {
        match self {
            ConvolveMode::Full => (n + k - 1, k - 1),
            ConvolveMode::Same => (n, k / 2),
            ConvolveMode::Valid => (n + 1 - k, 0),
        }
    }
}

impl Boundary {
    /// Every boundary.
    pub const ALL: [Boundary; 5] =
        [Boundary::Fill, Boundary::Wrap, Boundary::Symm, Boundary::Nearest, Boundary::Mirror];

    /// Name in text.
    pub const fn name(self) -> &'static str {
        match self {
            Boundary::Fill => "fill",
            Boundary::Wrap => "wrap",
            Boundary::Symm => "symm",
            Boundary::Nearest => "nearest",
            Boundary::Mirror => "mirror",
        }
    }

    /// The index, along an axis of length `n` above 0, that position `at` of the extended operand shows; `None` is the
    /// fill value.
    pub const fn source(self, at: isize, n: usize) -> Option<usize> {
        if 0 <= at && (at as usize) < n {
            return Some(at as usize);
        }
        match self {
            Boundary::Fill => None,
            Boundary::Wrap => Some(at.rem_euclid(n as isize) as usize),
            Boundary::Symm => {
                let at = at.rem_euclid(2 * n as isize) as usize;
                Some(if at < n { at } else { 2 * n - 1 - at })
            }
            Boundary::Nearest => Some(if at < 0 { 0 } else { n - 1 }),
            Boundary::Mirror if n == 1 => Some(0),
            Boundary::Mirror => {
                let period = 2 * n - 2;
                let at = at.rem_euclid(period as isize) as usize;
                Some(if at < n { at } else { period - at })
            }
        }
    }
}

/// The type of the result. Operands: values, kernel, and the fill value without axes.
pub(crate) fn infer(mode: ConvolveMode, args: &[&Type]) -> Result<Type> {
    let op = "convolve";
    let [x, kernel, fill] = args else {
        return Err(Error::Value { op, what: format!("takes 3 operands, {} given", args.len()) });
    };
    for other in [kernel, fill] {
        if other.dtype != x.dtype {
            return Err(Error::Mixed { op, left: x.dtype, right: other.dtype });
        }
    }
    if x.dtype.is_half() || !DTypeSet::NUMBER.contains(x.dtype) {
        let supported = DTypeSet::NUMBER.iter().filter(|d| !d.is_half()).map(|d| d.name());
        let supported = supported.collect::<Vec<_>>().join(", ");
        return Err(Error::DType { op, dtype: x.dtype, supported });
    }
    let wrong = |why| Error::Shape { op, left: x.shape.clone(), right: kernel.shape.clone(), why };
    if x.shape.rank() != kernel.shape.rank() || x.shape.rank() == 0 {
        return Err(wrong("operand and kernel have the same number of axes, at least one"));
    }
    if fill.shape.rank() != 0 {
        return Err(Error::Value { op, what: format!("the fill value has axes {}", fill.shape) });
    }
    if x.shape.size() == 0 || kernel.shape.size() == 0 {
        return Err(wrong("neither may be empty"));
    }
    let inside = x.shape.iter().zip(kernel.shape.iter()).all(|(n, k)| k <= n);
    if mode == ConvolveMode::Valid && !inside {
        return Err(wrong("for mode valid no axis of the kernel is longer than the operand's"));
    }
    // The extended operand must be addressable too.
    Shape::checked(op, x.shape.iter().zip(kernel.shape.iter()).map(|(&n, &k)| n.saturating_add(2 * k)))?;
    let dims = x.shape.iter().zip(kernel.shape.iter()).map(|(&n, &k)| mode.extent(n, k).0);
    Ok(Type { dtype: x.dtype, shape: Shape::checked(op, dims)? })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn boundaries_extend_as_scipy_does() {
        let seen = |boundary: Boundary| (-4..7).map(|at| boundary.source(at, 3)).collect::<Vec<_>>();
        let some = |values: [usize; 11]| values.map(Some).to_vec();
        assert_eq!(seen(Boundary::Wrap), some([2, 0, 1, 2, 0, 1, 2, 0, 1, 2, 0]));
        assert_eq!(seen(Boundary::Symm), some([2, 2, 1, 0, 0, 1, 2, 2, 1, 0, 0]));
        assert_eq!(seen(Boundary::Nearest), some([0, 0, 0, 0, 0, 1, 2, 2, 2, 2, 2]));
        assert_eq!(seen(Boundary::Mirror), some([0, 1, 2, 1, 0, 1, 2, 1, 0, 1, 2]));
        for boundary in [Boundary::Wrap, Boundary::Symm, Boundary::Nearest, Boundary::Mirror] {
            assert_eq!([-3, -1, 0, 1, 5].map(|at| boundary.source(at, 1)), [Some(0); 5], "{boundary:?}");
        }
        assert_eq!(Boundary::Fill.source(-1, 3), None);
        assert_eq!(Boundary::Fill.source(2, 3), Some(2));
    }
}
