//! Sinusoidal encodings, exact to a unit in the last place at any position.
//!
//! The angle of position p and frequency f is p·f radians, and its sine depends on where in its turn that ends. With `f32` products this is
//! off by 0.05 at position a million. Here frequencies are in half turns, each the sum of two numbers of together about 100 bits. The product
//! with the first is kept with its rounding error, to which the product with the second is added: two numbers say where the angle ends, and
//! `sinpi` and `cospi` take whole turns off their sum without rounding. One kernel computes each angle once, for a sine and a cosine.

use std::sync::{Arc, OnceLock};

use crossover_array::{Array, DType, Runtime};
use parking_lot::Mutex;

use crate::{
    Error, Result,
    double::{Double, HALF_TURNS},
};

/// The largest frequency, in radians per position.
const FASTEST: f64 = 32.0;

/// Where sines and cosines go.
///
/// ```
/// use crossover_array::{Array, DType};
/// use crossover_embed::{Layout, Sinusoid};
/// // The sine of 0 is 0, its cosine 1.
/// let wanted = [[0.0, 1.0, 0.0, 1.0], [0.0, 0.0, 1.0, 1.0], [1.0, 1.0, 0.0, 0.0]];
/// for (layout, wanted) in Layout::ALL.into_iter().zip(wanted) {
///     let first = Sinusoid::new(4)?.layout(layout).encode(&Array::from([0i64]), DType::F32)?;
///     assert_eq!(first.to_vec::<f32>()?, wanted);
/// }
/// assert_eq!(Layout::named("flipped"), Some(Layout::Flipped));
/// assert_eq!(Layout::ALL.map(Layout::name), ["interleaved", "concatenated", "flipped"]);
/// # Ok::<(), crossover_embed::Error>(())
/// ```
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
#[derive(Debug, Clone)]
pub struct Sinusoid {
    pub(crate) dimensions: usize,
    pub(crate) layout: Layout,
    pub(crate) base: f64,
    pub(crate) scale: f64,
    pub(crate) phase: f64,
    pub(crate) offset: i64,
    pub(crate) shift: f64,
    /// What follows from the frequencies alone; encodings that differ in the rest share it.
    known: Arc<Known>,
}

/// Frequencies, worked out once.
#[derive(Debug, Default)]
struct Known {
    half_turns: OnceLock<Vec<Double>>,
    /// Both parts of all of them, for the runtime they were last used under: a GPU that has them need not be sent them again.
    arrays: Mutex<Option<(usize, Array, Array)>>,
}

impl PartialEq for Sinusoid {
    fn eq(&self, other: &Sinusoid) -> bool {
        let all = |s: &Sinusoid| (s.dimensions, s.layout, s.base, s.scale, s.phase, s.offset, s.shift);
        all(self) == all(other)
    }
}

impl Sinusoid {
    /// An encoding of so many columns. Where the number is odd, the last is 0.
    pub fn new(dimensions: usize) -> Result<Sinusoid> {
        if dimensions == 0 {
            let wanted = "an encoding has at least one column";
            return Err(Error::Config { setting: "dimensions", given: "0".into(), wanted });
        }
        let layout = Layout::default();
        let known = Arc::default();
        Ok(Sinusoid {
            dimensions,
            layout,
            base: 10_000.0,
            scale: 1.0,
            phase: 0.0,
            offset: 0,
            shift: 0.0,
            known,
        })
    }

    /// Where sines and cosines go; interleaved without this.
    ///
    /// ```
    /// use crossover_array::{Array, DType};
    /// use crossover_embed::{Layout, Sinusoid};
    /// let encoding = Sinusoid::new(2)?.layout(Layout::Flipped).encode(&Array::from([1i64]), DType::F32)?;
    /// assert_eq!(encoding.to_vec::<f32>()?, [1f64.cos() as f32, 1f64.sin() as f32]);
    /// # Ok::<(), crossover_embed::Error>(())
    /// ```
    pub fn layout(mut self, layout: Layout) -> Sinusoid {
        self.layout = layout;
        self
    }

    /// What frequencies are powers of, above 0; 10000 without this. Below 1 frequencies grow, and none may exceed 32.
    ///
    /// ```
    /// use crossover_embed::Sinusoid;
    /// assert_eq!(Sinusoid::new(4)?.base(100.0)?.frequencies(), [1.0, 0.1]);
    /// let error = Sinusoid::new(4)?.base(-1.0).unwrap_err();
    /// assert_eq!(error.to_string(), "base is -1.0; it must be above 0");
    /// # Ok::<(), crossover_embed::Error>(())
    /// ```
    pub fn base(mut self, base: f64) -> Result<Sinusoid> {
        self.base = checked("base", base, base > 0.0, "it must be above 0")?;
        self.slow_enough("base", base)
    }

    /// What frequencies are multiplied by; at most 32 in absolute value, and 1 without this.
    ///
    /// ```
    /// use crossover_array::{Array, DType};
    /// use crossover_embed::Sinusoid;
    /// // Positions in degrees.
    /// let circle = Sinusoid::new(2)?.scale(std::f64::consts::PI / 180.0)?;
    /// let values = circle.encode(&Array::from([30i64, 90]), DType::F32)?.to_vec::<f32>()?;
    /// assert_eq!((values[0], values[2]), (0.5, 1.0));
    /// # Ok::<(), crossover_embed::Error>(())
    /// ```
    pub fn scale(mut self, scale: f64) -> Result<Sinusoid> {
        self.scale = checked("scale", scale, scale.abs() <= FASTEST, "it must lie between -32 and 32")?;
        self.slow_enough("scale", scale)
    }

    /// What is added to angles, in radians.
    ///
    /// ```
    /// use crossover_array::{Array, DType};
    /// use crossover_embed::Sinusoid;
    /// // A quarter of a turn makes cosines of sines.
    /// let turned = Sinusoid::new(2)?.phase(std::f64::consts::FRAC_PI_2)?;
    /// let values = turned.encode(&Array::from([0i64, 1]), DType::F32)?.to_vec::<f32>()?;
    /// assert_eq!((values[0], values[2]), (1.0, 1f64.cos() as f32));
    /// # Ok::<(), crossover_embed::Error>(())
    /// ```
    pub fn phase(mut self, phase: f64) -> Result<Sinusoid> {
        self.phase = checked("phase", phase, phase.abs() <= 1e6, "it must lie between -10^6 and 10^6")?;
        Ok(self)
    }

    /// What is added to positions.
    ///
    /// ```
    /// use crossover_array::{Array, DType};
    /// use crossover_embed::Sinusoid;
    /// let encoding = Sinusoid::new(8)?;
    /// let whole = encoding.encode(&Array::from([100i64, 101]), DType::F32)?;
    /// // A part of a text that begins at its hundredth token.
    /// let part = encoding.clone().offset(100).encode(&Array::arange(2), DType::F32)?;
    /// assert_eq!(part.to_vec::<f32>()?, whole.to_vec::<f32>()?);
    /// # Ok::<(), crossover_embed::Error>(())
    /// ```
    pub fn offset(mut self, offset: i64) -> Sinusoid {
        self.offset = offset;
        self
    }

    /// What is subtracted from the number of frequencies in the exponent: 1 makes the last frequency `scale / base`, as some
    /// libraries have it; 0 without this.
    ///
    /// ```
    /// use crossover_embed::Sinusoid;
    /// assert_eq!(Sinusoid::new(4)?.frequencies(), [1.0, 0.01]);
    /// assert_eq!(Sinusoid::new(4)?.shift(1.0)?.frequencies(), [1.0, 0.0001]);
    /// # Ok::<(), crossover_embed::Error>(())
    /// ```
    pub fn shift(mut self, shift: f64) -> Result<Sinusoid> {
        let half = (self.dimensions / 2) as f64;
        self.shift =
            checked("shift", shift, shift < half.max(1.0), "it must be below half the number of columns")?;
        self.slow_enough("shift", shift)
    }

    /// With a setting that frequencies depend on. Angles of faster ones end where the two parts of a frequency no longer tell.
    fn slow_enough(mut self, setting: &'static str, value: f64) -> Result<Sinusoid> {
        let last = (self.dimensions / 2).saturating_sub(1) as f64;
        let grown = if last > 0.0 { self.base.powf(-last / (last + 1.0 - self.shift)).max(1.0) } else { 1.0 };
        if self.scale.abs() * grown > FASTEST * (1.0 + 1e-9) {
            let given = format!("{value:?}");
            return Err(Error::Config {
                setting,
                given,
                wanted: "no frequency may exceed 32 radians per position",
            });
        }
        self.known = Arc::default();
        Ok(self)
    }

    /// Number of columns.
    ///
    /// ```
    /// use crossover_embed::Sinusoid;
    /// let odd = Sinusoid::new(5)?;
    /// // Two pairs of columns, and one that is 0.
    /// assert_eq!((odd.dimensions(), odd.frequencies().len()), (5, 2));
    /// # Ok::<(), crossover_embed::Error>(())
    /// ```
    pub fn dimensions(&self) -> usize {
        self.dimensions
    }

    /// The frequencies in radians per position, rounded to `f64`.
    ///
    /// ```
    /// use crossover_embed::Sinusoid;
    /// let frequencies = Sinusoid::new(8)?.frequencies();
    /// assert_eq!(frequencies, [1.0, 0.1, 0.01, 0.001]);
    /// // Positions after which a pair of columns repeats: from 6 to 6283.
    /// let periods: Vec<f64> = frequencies.iter().map(|f| (std::f64::consts::TAU / f).floor()).collect();
    /// assert_eq!(periods, [6.0, 62.0, 628.0, 6283.0]);
    /// # Ok::<(), crossover_embed::Error>(())
    /// ```
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
        let (sines, cosines) = self.pair(positions);
        let (sines, cosines) = (sines.astype(dtype), cosines.astype(dtype));
        let mut shape = positions.shape().dims().to_vec();
        shape.push(self.dimensions / 2 * 2);
        let both = match self.layout {
            Layout::Interleaved => Array::stack(&[&sines, &cosines], -1).reshape(shape.as_slice()),
            Layout::Concatenated => Array::concat(&[&sines, &cosines], -1),
            Layout::Flipped => Array::concat(&[&cosines, &sines], -1),
        };
        let out = match self.dimensions % 2 {
            0 => both,
            _ => {
                *shape.last_mut().expect("there is a last axis: it was pushed") = 1;
                Array::concat(&[&both, &Array::zeros_dtype(shape, dtype)], -1)
            }
        };
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
        let (high, low) = self.columns();
        let (whole, left) = self.angles(positions, &high, &low);
        (whole.sinpi(&left), whole.cospi(&left))
    }

    /// The encoding as an expression of each column by itself: it computes every angle twice, and can be part of another kernel, which two
    /// joined results cannot. The bits are those of [`encode`](Sinusoid::encode). `None` where a column is padding.
    pub(crate) fn by_column(&self, positions: &Array, dtype: DType) -> Option<Array> {
        let column = |column| self.layout.column(column, self.dimensions / 2);
        let columns: Vec<(usize, bool)> = (0..self.dimensions).map(column).collect::<Option<_>>()?;
        let (numbers, cosines): (Vec<usize>, Vec<bool>) = columns.into_iter().unzip();
        let half_turns = self.half_turns();
        let part = |part: fn(&Double) -> f64| {
            Array::from_vec(
                numbers.iter().map(|&i| part(&half_turns[i])).collect::<Vec<_>>(),
                [self.dimensions],
            )
        };
        let (whole, left) = self.angles(positions, &part(|turns| turns.high), &part(|turns| turns.low));
        let cosines = Array::from_vec(cosines, [self.dimensions]);
        Some(cosines.where_(whole.cospi(&left), whole.sinpi(&left)).astype(dtype))
    }

    fn half_turns(&self) -> &[Double] {
        let all = || (0..self.dimensions / 2).map(|i| self.frequency(i).times(HALF_TURNS)).collect();
        self.known.half_turns.get_or_init(all)
    }

    /// Both parts of all frequencies, in half turns per position.
    fn columns(&self) -> (Array, Array) {
        // Arrays belong to the machine that they were made under, and keep it alive: no other has its address.
        let machine = Arc::as_ptr(Runtime::current().executor().machine()) as usize;
        let mut arrays = self.known.arrays.lock();
        if let Some((_, high, low)) = arrays.as_ref().filter(|(on, ..)| *on == machine) {
            return (high.clone(), low.clone());
        }
        let half_turns = self.half_turns();
        let part = |part: fn(&Double) -> f64| {
            Array::from_vec(half_turns.iter().map(part).collect::<Vec<f64>>(), [half_turns.len()])
        };
        let (high, low) = (part(|turns| turns.high), part(|turns| turns.low));
        *arrays = Some((machine, high.clone(), low.clone()));
        (high, low)
    }

    /// Angles of positions at frequencies, in half turns: products, and what their rounding left out.
    fn angles(&self, positions: &Array, high: &Array, low: &Array) -> (Array, Array) {
        let at = (positions.astype(DType::F64) + self.offset as f64).expand_dims(-1);
        let whole = &at * high;
        let left = at.fma(low, at.fma(high, -&whole));
        if self.phase == 0.0 {
            return (whole, left);
        }
        let phase = Double::new(self.phase).times(HALF_TURNS);
        let ahead = phase.high - 2.0 * (phase.high / 2.0).round();
        // The exact sum of two numbers, whichever is larger.
        let sum = &whole + ahead;
        let part = &sum - &whole;
        let lost = (&whole - (&sum - &part)) + (ahead - &part);
        (sum, left + (lost + phase.low))
    }
}

fn checked(setting: &'static str, value: f64, holds: bool, wanted: &'static str) -> Result<f64> {
    if value.is_finite() && holds {
        return Ok(value);
    }
    Err(Error::Config { setting, given: format!("{value:?}"), wanted })
}
