//! Sinusoidal encodings, exact to a unit in the last place at any position.
//!
//! The angle of position p and frequency f is p·f radians, and its sine depends on where in its turn that ends. With `f32` products this is
//! off by 0.05 at position a million. Here the frequencies, in turns, are three numbers whose sum has more than 100 bits: the products of
//! the first two with p are exact, and so is taking whole turns off; the third adds what is left. One elementwise kernel does it, a sine
//! per element: a cosine is a sine a quarter of a turn ahead, and the quarter is added where adding is exact.

use crossover_array::{Array, DType};

use crate::{
    Error, Result,
    double::{Double, TURN},
};

/// Where sines and cosines go.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
#[non_exhaustive]
pub enum Layout {
    /// sin, cos, sin, cos, …
    #[default]
    Interleaved,
    /// All sines, then all cosines.
    Concatenated,
    /// All cosines, then all sines.
    Flipped,
}

impl Layout {
    /// All of them.
    pub const ALL: [Layout; 3] = [Layout::Interleaved, Layout::Concatenated, Layout::Flipped];

    /// The name in files and in Python.
    pub fn name(self) -> &'static str {
        match self {
            Layout::Interleaved => "interleaved",
            Layout::Concatenated => "concatenated",
            Layout::Flipped => "flipped",
        }
    }

    /// The layout of this name.
    pub fn named(name: &str) -> Option<Layout> {
        Layout::ALL.into_iter().find(|layout| layout.name() == name)
    }

    /// For a column, its frequency and whether it is a cosine; `None` for the column that pads an odd width.
    fn column(self, column: usize, half: usize) -> Option<(usize, bool)> {
        if column >= 2 * half {
            return None;
        }
        Some(match self {
            Layout::Interleaved => (column / 2, column % 2 == 1),
            Layout::Concatenated => (column % half, column >= half),
            Layout::Flipped => (column % half, column < half),
        })
    }
}

/// A sinusoidal encoding: frequencies `scale · base^(-i / (d/2 - shift))` for i below d/2, at angles `position · frequency + phase`.
///
/// Whole positions up to 2²⁶ in either direction are exact to a unit in the last place of `f32`, `f16` and `bf16`, wherever they are computed.
///
/// ```
/// use crossover_array::{Array, DType};
/// use crossover_embed::Sinusoid;
/// let encoding = Sinusoid::new(4)?.encode(&Array::from([0i64, 9_999_999]), DType::F32)?;
/// assert_eq!(encoding.shape().dims(), [2, 4]);
/// let values = encoding.to_vec::<f32>()?;
/// assert_eq!(&values[..4], [0.0, 1.0, 0.0, 1.0]);
/// assert_eq!(values[4], (9_999_999f64).sin() as f32);
/// # Ok::<(), crossover_embed::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct Sinusoid {
    pub(crate) dimensions: usize,
    pub(crate) layout: Layout,
    pub(crate) base: f64,
    pub(crate) scale: f64,
    pub(crate) phase: f64,
    pub(crate) offset: i64,
    pub(crate) shift: f64,
}

impl Sinusoid {
    /// An encoding of so many columns. Where the number is odd, the last is 0.
    pub fn new(dimensions: usize) -> Result<Sinusoid> {
        if dimensions == 0 {
            let wanted = "an encoding has at least one column";
            return Err(Error::Config { setting: "dimensions", given: "0".into(), wanted });
        }
        let layout = Layout::default();
        Ok(Sinusoid { dimensions, layout, base: 10_000.0, scale: 1.0, phase: 0.0, offset: 0, shift: 0.0 })
    }

    /// Where sines and cosines go; interleaved without this.
    pub fn layout(mut self, layout: Layout) -> Sinusoid {
        self.layout = layout;
        self
    }

    /// What frequencies are powers of, above 0; 10000 without this.
    pub fn base(mut self, base: f64) -> Result<Sinusoid> {
        self.base = checked("base", base, base > 0.0, "it is above 0")?;
        Ok(self)
    }

    /// What frequencies are multiplied by; at most 32 in absolute value, and 1 without this.
    pub fn scale(mut self, scale: f64) -> Result<Sinusoid> {
        self.scale = checked("scale", scale, scale.abs() <= 32.0, "it lies between -32 and 32")?;
        Ok(self)
    }

    /// What is added to angles, in radians.
    pub fn phase(mut self, phase: f64) -> Result<Sinusoid> {
        self.phase = checked("phase", phase, phase.abs() <= 1e6, "it lies between -10^6 and 10^6")?;
        Ok(self)
    }

    /// What is added to positions.
    pub fn offset(mut self, offset: i64) -> Sinusoid {
        self.offset = offset;
        self
    }

    /// What is subtracted from the number of frequencies in the exponent: 1 makes the last frequency `scale / base`, as some
    /// libraries have it; 0 without this.
    pub fn shift(mut self, shift: f64) -> Result<Sinusoid> {
        let half = (self.dimensions / 2) as f64;
        self.shift =
            checked("shift", shift, shift < half.max(1.0), "it is below half the number of columns")?;
        Ok(self)
    }

    /// Number of columns.
    pub fn dimensions(&self) -> usize {
        self.dimensions
    }

    /// The frequencies in radians per position, rounded to `f64`.
    pub fn frequencies(&self) -> Vec<f64> {
        (0..self.dimensions / 2).map(|i| self.frequency(i).high).collect()
    }

    fn frequency(&self, number: usize) -> Double {
        let half = (self.dimensions / 2) as f64;
        // One frequency alone has exponent 0 whatever the shift.
        let exponent = Double::ln(self.base).times(Double::new(-(number as f64)));
        let exponent = if number == 0 { Double::new(0.0) } else { exponent.over(half - self.shift) };
        exponent.exp().times(Double::new(self.scale))
    }

    /// The encoding of positions: one more axis, of as many columns as there are dimensions.
    pub fn encode(&self, positions: &Array, dtype: DType) -> Result<Array> {
        positions.check()?;
        if !dtype.is_float() {
            let what = format!("{dtype} cannot hold sines; ask for a floating-point dtype");
            return Err(Error::Operand { op: "encode", what });
        }
        let columns: Vec<Option<(usize, bool)>> =
            (0..self.dimensions).map(|column| self.layout.column(column, self.dimensions / 2)).collect();
        let out = self.sines(positions, &columns).astype(dtype);
        out.check()?;
        Ok(out)
    }

    /// The encoding of positions 0 to `length - 1`.
    ///
    /// ```
    /// use crossover_array::DType;
    /// use crossover_embed::{Layout, Sinusoid};
    /// let encoding = Sinusoid::new(5)?.layout(Layout::Concatenated).range(3, DType::F64)?;
    /// assert_eq!(encoding.shape().dims(), [3, 5]);
    /// assert_eq!(encoding.to_vec::<f64>()?[..5], [0.0, 0.0, 1.0, 1.0, 0.0]);
    /// # Ok::<(), crossover_embed::Error>(())
    /// ```
    pub fn range(&self, length: usize, dtype: DType) -> Result<Array> {
        self.encode(&Array::arange(length as i64), dtype)
    }

    /// The encoding of a grid: `[rows, columns, 2·dimensions]`, that of the row beside that of the column.
    ///
    /// ```
    /// use crossover_array::DType;
    /// use crossover_embed::Sinusoid;
    /// let grid = Sinusoid::new(4)?.grid(3, 5, DType::F32)?;
    /// assert_eq!(grid.shape().dims(), [3, 5, 8]);
    /// # Ok::<(), crossover_embed::Error>(())
    /// ```
    pub fn grid(&self, rows: usize, columns: usize, dtype: DType) -> Result<Array> {
        let down = self.range(rows, dtype)?.expand_dims(1).broadcast_to([rows, columns, self.dimensions]);
        let along = self.range(columns, dtype)?.broadcast_to([rows, columns, self.dimensions]);
        Ok(Array::concat(&[&down, &along], 2))
    }

    /// Sines and cosines of all frequencies, `f64`, each with one more axis of half as many columns.
    pub(crate) fn pair(&self, positions: &Array) -> (Array, Array) {
        let columns = |cosine| (0..self.dimensions / 2).map(|i| Some((i, cosine))).collect::<Vec<_>>();
        (self.sines(positions, &columns(false)), self.sines(positions, &columns(true)))
    }

    /// `f64` sines of the columns given by frequency and whether they are a quarter of a turn ahead.
    fn sines(&self, positions: &Array, columns: &[Option<(usize, bool)>]) -> Array {
        let mut parts: [Vec<f64>; 5] = Default::default();
        let frequencies: Vec<[f64; 3]> =
            (0..self.dimensions / 2).map(|i| split(self.frequency(i).times(TURN))).collect();
        let ahead = split(Double::new(self.phase).times(TURN));
        for column in columns {
            // A padding column has frequency and phase 0: its sine is 0.
            let (turns, start, rest) = match column {
                Some((i, cosine)) => {
                    let quarter = if *cosine { 0.25 } else { 0.0 };
                    (frequencies[*i], (ahead[0] - ahead[0].round()) + ahead[1] + quarter, ahead[2])
                }
                None => ([0.0; 3], 0.0, 0.0),
            };
            for (part, value) in parts.iter_mut().zip([turns[0], turns[1], turns[2], start, rest]) {
                part.push(value);
            }
        }
        let [first, second, third, start, rest] = parts.map(|part| Array::from_vec(part, [columns.len()]));
        let at = (positions.astype(DType::F64) + self.offset as f64).expand_dims(-1);
        let turns = &at * &first;
        // Exact: all of these are multiples of 2^-52 below 2.
        let within = (&turns - turns.round()) + &at * &second + &start;
        let halves = (&within * 2.0).round();
        let left = &within - &halves * 0.5;
        let odd = (&halves - (&halves * 0.5).round() * 2.0).abs();
        let angle = (left + (&at * &third + &rest)) * std::f64::consts::TAU;
        angle.sin() * (1.0 - odd * 2.0)
    }
}

/// A number of turns as multiples of 2^-26 and of 2^-52, and the rest.
fn split(turns: Double) -> [f64; 3] {
    let cut = |value: f64, unit: f64| (value / unit).floor() * unit;
    let first = cut(turns.high, 2f64.powi(-26));
    let left = Double::sum(turns.high - first, turns.low);
    let second = cut(left.high, 2f64.powi(-52));
    [first, second, (left.high - second) + left.low]
}

fn checked(setting: &'static str, value: f64, holds: bool, wanted: &'static str) -> Result<f64> {
    if value.is_finite() && holds {
        return Ok(value);
    }
    Err(Error::Config { setting, given: value.to_string(), wanted })
}
