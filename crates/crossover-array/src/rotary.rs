//! Pairs of elements turned together, as rotary position encodings do.

use crate::{Array, DType};

/// Which elements along the last axis are a pair.
///
/// ```
/// use crossover_array::{Array, Rotary};
/// // Half a turn changes every sign, whichever elements are pairs.
/// let (sin, cos) = (Array::from([0.0f32]), Array::from([-1.0f32]));
/// for pairs in [Rotary::Halves, Rotary::Neighbours] {
///     assert_eq!(Array::from([1.0f32, 2.0]).turn_pairs(&sin, &cos, pairs).to_vec::<f32>()?, [-1.0, -2.0]);
/// }
/// # Ok::<(), crossover_array::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Rotary {
    /// One of the first half and the one at the same place of the second: GPT-NeoX, and Llama as Transformers has it.
    #[default]
    Halves,
    /// Neighbours: the paper, GPT-J, and Llama as Meta has it.
    Neighbours,
}

impl Array {
    /// Turns pairs of elements along the last axis by angles whose sines and cosines are given, a pair of them for each pair of
    /// elements. 16-bit floats are turned in `f32` and rounded once.
    ///
    /// ```
    /// use crossover_array::{Array, Rotary};
    /// // A quarter of a circle.
    /// let (sin, cos) = (Array::from([1.0f32, 1.0]), Array::from([0.0f32, 0.0]));
    /// let x = Array::from([1.0f32, 2.0, 3.0, 4.0]);
    /// assert_eq!(x.turn_pairs(&sin, &cos, Rotary::Halves).to_vec::<f32>()?, [-3.0, -4.0, 1.0, 2.0]);
    /// assert_eq!(x.turn_pairs(&sin, &cos, Rotary::Neighbours).to_vec::<f32>()?, [-2.0, 1.0, -4.0, 3.0]);
    /// # Ok::<(), crossover_array::Error>(())
    /// ```
    #[track_caller]
    pub fn turn_pairs(&self, sin: &Array, cos: &Array, pairs: Rotary) -> Array {
        let size = match self.shape().dims() {
            [.., size] if size.is_multiple_of(2) => *size as i64,
            _ => {
                let what = format!("has the shape {}; pairs need an even number of elements", self.shape());
                return Array::refused("turn_pairs", what);
            }
        };
        let wide = if self.dtype() == DType::F64 { DType::F64 } else { DType::F32 };
        let (sin, cos) = (sin.astype(wide), cos.astype(wide));
        // The two elements of each pair along an axis of their own, in front.
        let dims: Vec<i64> = self.shape().dims()[..self.ndim() - 1].iter().map(|&n| n as i64).collect();
        let (last, axis) = match pairs {
            Rotary::Halves => ([2, size / 2], -2),
            Rotary::Neighbours => ([size / 2, 2], -1),
        };
        let parts = self.astype(wide).reshape([&dims[..], &last].concat()).move_axis(axis, 0);
        let (first, second) = (parts.index(0), parts.index(1));
        let turned = [&first * &cos - &second * &sin, &first * &sin + &second * &cos];
        let joined = Array::stack(&[&turned[0], &turned[1]], axis);
        joined.reshape([&dims[..], &[size]].concat()).astype(self.dtype())
    }
}
