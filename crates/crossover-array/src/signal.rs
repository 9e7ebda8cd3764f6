//! Convolution and correlation in any number of dimensions, with SciPy's modes and boundaries.
//!
//! ```
//! use crossover_array::{Array, signal};
//! let smooth = signal::convolve(&Array::from([0.0f32, 4.0, 0.0]), &Array::from([0.25f32, 0.5, 0.25]));
//! assert_eq!(smooth.to_vec::<f32>()?, [0.0, 1.0, 2.0, 1.0, 0.0]);
//! # Ok::<(), crossover_array::Error>(())
//! ```

use crossover_core::{Number, compose};

pub use crossover_core::{
    compose::ConvolveMethod as Method,
    ops::convolve::{Boundary, ConvolveMode as Mode},
};

use crate::Array;

/// Which part is returned, what lies outside, and how it is computed; the default is SciPy's: the full result, zeros
/// outside, the cheaper method.
///
/// ```
/// use crossover_array::{Array, signal::{self, Boundary, Mode, Options}};
/// let x = Array::from([1.0f64, 2.0, 3.0]);
/// let sums = signal::convolve_with(&x, &Array::ones::<f64>([3]), Options::new().mode(Mode::Same).boundary(Boundary::Wrap));
/// assert_eq!(sums.to_vec::<f64>()?, [6.0, 6.0, 6.0]);
/// # Ok::<(), crossover_array::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Options {
    mode: Mode,
    boundary: Boundary,
    fill: Number,
    method: Method,
}

impl Default for Options {
    fn default() -> Options {
        Options { mode: Mode::Full, boundary: Boundary::Fill, fill: Number::Int(0), method: Method::Auto }
    }
}

impl Options {
    /// SciPy's defaults.
    ///
    /// ```
    /// use crossover_array::signal::Options;
    /// assert_eq!(Options::new(), Options::default());
    /// ```
    pub fn new() -> Options {
        Options::default()
    }

    /// Which part of the result is returned.
    ///
    /// ```
    /// use crossover_array::{Array, signal::{self, Mode, Options}};
    /// let x = Array::ones::<f32>([5]);
    /// let inside = signal::convolve_with(&x, &Array::ones::<f32>([2]), Options::new().mode(Mode::Valid));
    /// assert_eq!(inside.to_vec::<f32>()?, [2.0; 4]);
    /// # Ok::<(), crossover_array::Error>(())
    /// ```
    pub fn mode(mut self, mode: Mode) -> Options {
        self.mode = mode;
        self
    }

    /// What lies outside the array.
    ///
    /// ```
    /// use crossover_array::{Array, signal::{self, Boundary, Mode, Options}};
    /// let x = Array::from([1.0f32, 0.0, 0.0, 5.0]);
    /// let options = Options::new().mode(Mode::Same).boundary(Boundary::Symm);
    /// let sums = signal::convolve_with(&x, &Array::ones::<f32>([3]), options);
    /// assert_eq!(sums.to_vec::<f32>()?, [2.0, 1.0, 5.0, 10.0]);
    /// # Ok::<(), crossover_array::Error>(())
    /// ```
    pub fn boundary(mut self, boundary: Boundary) -> Options {
        self.boundary = boundary;
        self
    }

    /// The value outside, for [`Boundary::Fill`].
    ///
    /// ```
    /// use crossover_array::{Array, signal::{self, Options}};
    /// let sums = signal::convolve_with(&Array::from([1i32]), &Array::from([1i32, 1]), Options::new().fill(9));
    /// assert_eq!(sums.to_vec::<i32>()?, [10, 10]);
    /// # Ok::<(), crossover_array::Error>(())
    /// ```
    pub fn fill(mut self, value: impl Into<Number>) -> Options {
        self.fill = value.into();
        self
    }

    /// How it is computed.
    ///
    /// ```
    /// use crossover_array::{Array, signal::{self, Method, Options}};
    /// let x = Array::ones::<f64>([4]);
    /// let direct = signal::convolve_with(&x, &x, Options::new().method(Method::Direct));
    /// assert_eq!(direct.to_vec::<f64>()?, [1.0, 2.0, 3.0, 4.0, 3.0, 2.0, 1.0]);
    /// # Ok::<(), crossover_array::Error>(())
    /// ```
    pub fn method(mut self, method: Method) -> Options {
        self.method = method;
        self
    }
}

/// The full convolution of an array with a kernel of as many axes; zeros lie outside.
///
/// ```
/// use crossover_array::{Array, signal};
/// let x = signal::convolve(&Array::from([1, 2, 3]), &Array::from([0, 1]));
/// assert_eq!(x.to_vec::<i32>()?, [0, 1, 2, 3]);
/// # Ok::<(), crossover_array::Error>(())
/// ```
#[track_caller]
pub fn convolve(x: &Array, kernel: &Array) -> Array {
    convolve_with(x, kernel, Options::default())
}

/// As [`convolve`], with [`Options`].
///
/// ```
/// use crossover_array::{Array, signal::{self, Mode, Options}};
/// let image = Array::ones::<f32>([4, 4]);
/// let blurred = signal::convolve_with(&image, &Array::ones::<f32>([3, 3]), Options::new().mode(Mode::Same));
/// assert_eq!(blurred.index(1).to_vec::<f32>()?, [6.0, 9.0, 9.0, 6.0]);
/// # Ok::<(), crossover_array::Error>(())
/// ```
#[track_caller]
pub fn convolve_with(x: &Array, kernel: &Array, options: Options) -> Array {
    let Options { mode, boundary, fill, method } = options;
    Array::build([x, kernel], |b, [x, k]| compose::convolve(b, x, k, mode, boundary, fill, method))
}

/// The full cross-correlation: convolution with the kernel flipped along every axis and conjugated.
///
/// ```
/// use crossover_array::{Array, signal};
/// let x = signal::correlate(&Array::from([1, 2, 3]), &Array::from([0, 1]));
/// assert_eq!(x.to_vec::<i32>()?, [1, 2, 3, 0]);
/// # Ok::<(), crossover_array::Error>(())
/// ```
#[track_caller]
pub fn correlate(x: &Array, kernel: &Array) -> Array {
    correlate_with(x, kernel, Options::default())
}

/// As [`correlate`], with [`Options`].
///
/// ```
/// use crossover_array::{Array, signal::{self, Mode, Options}};
/// let x = Array::from([1.0f32, 2.0, 4.0, 8.0]);
/// let steps = signal::correlate_with(&x, &Array::from([-1.0f32, 1.0]), Options::new().mode(Mode::Valid));
/// assert_eq!(steps.to_vec::<f32>()?, [1.0, 2.0, 4.0]);
/// # Ok::<(), crossover_array::Error>(())
/// ```
#[track_caller]
pub fn correlate_with(x: &Array, kernel: &Array, options: Options) -> Array {
    let Options { mode, boundary, fill, method } = options;
    Array::build([x, kernel], |b, [x, k]| compose::correlate(b, x, k, mode, boundary, fill, method))
}
