//! Rotary encodings: pairs of elements turned by an angle that grows with the position.

use crossover_array::{Array, Rotary};

use crate::{Error, Result, Sinusoid};

impl Sinusoid {
    /// Turns pairs of elements along the last axis by `position · frequency`, a position per entry of the axis before it. The length of
    /// the last axis is the number of columns of this encoding, and even. 16-bit floats are computed in `f32` and rounded once.
    ///
    /// ```
    /// use crossover_array::Array;
    /// use crossover_embed::{Rotary, Sinusoid};
    /// let x = Array::from([[1.0f32, 0.0], [1.0, 0.0]]);
    /// let turned = Sinusoid::new(2)?.rotate(&x, &Array::arange(2), Rotary::Neighbours)?;
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
        let (sin, cos) = self.pair(positions);
        let out = x.turn_pairs(&sin, &cos, pairs);
        out.check()?;
        Ok(out)
    }
}
