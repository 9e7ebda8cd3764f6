//! Rotary encodings: pairs of elements turned by an angle that grows with the position.

use crossover_array::{Array, DType};

use crate::{Error, Result, Sinusoid};

/// Which elements are a pair.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
#[non_exhaustive]
pub enum Rotary {
    /// Neighbours: 0 and 1, 2 and 3, …
    #[default]
    Interleaved,
    /// An element of the first half and the one at the same place of the second.
    RotateHalf,
}

impl Sinusoid {
    /// Turns pairs of elements along the last axis by `position · frequency`, a position per entry of the axis before it. The length of
    /// the last axis is the number of columns of this encoding, and even. 16-bit floats are computed in `f32` and rounded once.
    ///
    /// ```
    /// use crossover_array::Array;
    /// use crossover_embed::{Rotary, Sinusoid};
    /// let x = Array::from([[1.0f32, 0.0], [1.0, 0.0]]);
    /// let turned = Sinusoid::new(2)?.rotate(&x, &Array::arange(2), Rotary::Interleaved)?;
    /// assert_eq!(turned.to_vec::<f32>()?, [1.0, 0.0, 1f64.cos() as f32, 1f64.sin() as f32]);
    /// # Ok::<(), crossover_embed::Error>(())
    /// ```
    pub fn rotate(&self, x: &Array, positions: &Array, pairs: Rotary) -> Result<Array> {
        x.check()?;
        positions.check()?;
        let dims = x.shape().dims().to_vec();
        let wrong = |what: String| Err(Error::Operand { op: "rotate", what });
        let [.., length, width] = dims[..] else {
            return wrong(format!("{} has fewer than two axes", x.shape()));
        };
        if width != self.dimensions || width % 2 == 1 {
            return wrong(format!(
                "the last axis of {} must be even and have {} elements",
                x.shape(),
                self.dimensions
            ));
        }
        if positions.shape().dims() != [length] || !x.dtype().is_float() {
            return wrong(format!(
                "{}{} and positions {}: floating-point values and a position per entry of the last axis but one are needed",
                x.dtype(),
                x.shape(),
                positions.shape()
            ));
        }
        let wide = if x.dtype() == DType::F64 { DType::F64 } else { DType::F32 };
        let (sin, cos) = self.pair(positions);
        let (sin, cos, half) = (sin.astype(wide), cos.astype(wide), width / 2);
        let values = x.astype(wide);
        let (mut parted, joint) = (dims.clone(), dims.len() as i64 - 1);
        parted.pop();
        let axis = match pairs {
            Rotary::Interleaved => {
                parted.extend([half, 2]);
                joint + 1
            }
            Rotary::RotateHalf => {
                parted.extend([2, half]);
                joint
            }
        };
        let parted = values.reshape(parted);
        let part = |at: i64| parted.take(&Array::from([at]), axis).squeeze(axis);
        let (a, b) = (part(0), part(1));
        let (first, second) = (&a * &cos - &b * &sin, &a * &sin + &b * &cos);
        let out = Array::stack(&[&first, &second], axis).reshape(dims).astype(x.dtype());
        out.check()?;
        Ok(out)
    }
}
