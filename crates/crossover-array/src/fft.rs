//! Discrete Fourier transforms: any length, any axes, real and complex.
//!
//! Names, lengths and normalisation are NumPy's. `f32` and 16-bit floats give `c64`, everything else `c128`. A length cuts
//! an axis or fills it up with zeros. Transforms are lazy like all operations; one over several axes is one kernel. The
//! error is bounded, see [`crossover_core::ops::fft`]; bits do not depend on threads.
//!
//! ```
//! use crossover_array::{Array, Complex, fft};
//! let x = Array::from([1.0f64, 0.0, -1.0, 0.0]);
//! let spectrum = fft::fft(&x);
//! assert_eq!(spectrum.real().to_vec::<f64>()?, [0.0, 2.0, 0.0, 2.0]);
//! assert_eq!(fft::ifft(&spectrum).real().to_vec::<f64>()?, [1.0, 0.0, -1.0, 0.0]);
//! # Ok::<(), crossover_array::Error>(())
//! ```

use crossover_core::{DType, compose};

pub use crossover_core::compose::FftNorm as Norm;

use crate::{Array, Axes};

/// Axes, lengths and normalisation of a transform; [`Options::default`] is NumPy's.
///
/// ```
/// use crossover_array::{Array, fft::{self, Norm, Options}};
/// let x = Array::ones::<f32>([3, 5]);
/// let columns = fft::fft_with(&x, Options::new().axis(0).length(4).norm(Norm::Ortho));
/// assert_eq!(columns.shape().dims(), [4, 5]);
/// ```
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Options {
    axes: Option<Vec<i64>>,
    lengths: Vec<usize>,
    norm: Norm,
}

impl Options {
    /// NumPy's defaults: the last axis (all axes for the n-dimensional transforms), its own length, and a division by the
    /// number of points in the inverse.
    ///
    /// ```
    /// use crossover_array::fft::Options;
    /// assert_eq!(Options::new(), Options::default());
    /// ```
    pub fn new() -> Options {
        Options::default()
    }

    /// The axis; negative counts from the last.
    ///
    /// ```
    /// use crossover_array::{Array, fft::{self, Options}};
    /// assert_eq!(fft::rfft_with(&Array::ones::<f32>([4, 3]), Options::new().axis(0)).shape().dims(), [3, 3]);
    /// ```
    pub fn axis(mut self, axis: i64) -> Options {
        self.axes = Some(vec![axis]);
        self
    }

    /// The axes of an n-dimensional transform; the last one is the real one of real transforms.
    ///
    /// ```
    /// use crossover_array::{Array, fft::{self, Options}};
    /// let x = Array::ones::<f32>([2, 3, 4]);
    /// assert_eq!(fft::rfftn_with(&x, Options::new().axes([2, 0])).shape().dims(), [2, 3, 4]);
    /// ```
    pub fn axes(mut self, axes: impl Into<Axes>) -> Options {
        self.axes = Some(axes.into().axes.to_vec());
        self
    }

    /// The length that the axis is cut or filled up to, or the length of the result of `irfft` and `hfft`.
    ///
    /// ```
    /// use crossover_array::{Array, fft::{self, Options}};
    /// let half = fft::rfft(&Array::from([1.0f64, 2.0, 4.0]));
    /// assert_eq!(fft::irfft_with(&half, Options::new().length(3)).shape().dims(), [3]);
    /// ```
    pub fn length(mut self, length: usize) -> Options {
        self.lengths = vec![length];
        self
    }

    /// One length per axis.
    ///
    /// ```
    /// use crossover_array::{Array, fft::{self, Options}};
    /// let x = Array::ones::<f32>([2, 3]);
    /// assert_eq!(fft::fftn_with(&x, Options::new().lengths([4, 2])).shape().dims(), [4, 2]);
    /// ```
    pub fn lengths(mut self, lengths: impl Into<Vec<usize>>) -> Options {
        self.lengths = lengths.into();
        self
    }

    /// Where the number of points is divided by.
    ///
    /// ```
    /// use crossover_array::{Array, fft::{self, Norm, Options}};
    /// let x = fft::fft_with(&Array::ones::<f64>([4]), Options::new().norm(Norm::Forward));
    /// assert_eq!(x.real().to_vec::<f64>()?, [1.0, 0.0, 0.0, 0.0]);
    /// # Ok::<(), crossover_array::Error>(())
    /// ```
    pub fn norm(mut self, norm: Norm) -> Options {
        self.norm = norm;
        self
    }

    /// The axes of a transform of one axis.
    fn one(&self) -> Vec<i64> {
        self.axes.clone().unwrap_or_else(|| vec![-1])
    }

    /// The axes of a transform of two.
    fn two(mut self) -> Options {
        self.axes.get_or_insert_with(|| vec![-2, -1]);
        self
    }

    fn many(&self) -> &[i64] {
        self.axes.as_deref().unwrap_or(&[])
    }
}

macro_rules! pairs {
    ($($name:ident $with:ident $doc:literal $example:literal |$x:ident, $options:ident| $body:expr;)*) => {$(
        #[doc = $doc]
        ///
        /// ```
        /// use crossover_array::{Array, fft};
        #[doc = $example]
        /// # Ok::<(), crossover_array::Error>(())
        /// ```
        #[track_caller]
        pub fn $name(x: &Array) -> Array {
            $with(x, Options::default())
        }

        #[doc = concat!("As [`", stringify!($name), "`], with [`Options`].")]
        ///
        /// ```
        /// use crossover_array::{Array, fft::{self, Options}};
        /// let x = Array::ones::<f64>([4, 6]);
        #[doc = concat!("assert!(fft::", stringify!($with), "(&x, Options::new()).check().is_ok());")]
        /// ```
        #[track_caller]
        pub fn $with($x: &Array, $options: Options) -> Array {
            $body
        }
    )*};
}

pairs! {
    fft fft_with "Transform along one axis, the last by default."
        "assert_eq!(fft::fft(&Array::ones::<f64>([2])).real().to_vec::<f64>()?, [2.0, 0.0]);"
        |x, o| Array::build([x], |b, [x]| compose::fftn(b, x, &o.lengths, &o.one(), false, o.norm));
    ifft ifft_with "Inverse of [`fft`]."
        "assert_eq!(fft::ifft(&Array::from([2.0f64, 0.0])).real().to_vec::<f64>()?, [1.0, 1.0]);"
        |x, o| Array::build([x], |b, [x]| compose::fftn(b, x, &o.lengths, &o.one(), true, o.norm));
    fft2 fft2_with "Transform over the last two axes."
        "assert_eq!(fft::fft2(&Array::ones::<f64>([2, 2])).real().to_vec::<f64>()?, [4.0, 0.0, 0.0, 0.0]);"
        |x, o| fftn_with(x, o.two());
    ifft2 ifft2_with "Inverse of [`fft2`]."
        "assert_eq!(fft::ifft2(&Array::ones::<f64>([2, 2])).real().to_vec::<f64>()?, [1.0, 0.0, 0.0, 0.0]);"
        |x, o| ifftn_with(x, o.two());
    fftn fftn_with "Transform over several axes, all by default."
        "assert_eq!(fft::fftn(&Array::ones::<f32>([2, 2, 2])).real().sum(()).item::<f32>()?, 8.0);"
        |x, o| Array::build([x], |b, [x]| compose::fftn(b, x, &o.lengths, o.many(), false, o.norm));
    ifftn ifftn_with "Inverse of [`fftn`]."
        "assert_eq!(fft::ifftn(&Array::ones::<f32>([2, 2])).real().to_vec::<f32>()?, [1.0, 0.0, 0.0, 0.0]);"
        |x, o| Array::build([x], |b, [x]| compose::fftn(b, x, &o.lengths, o.many(), true, o.norm));
    rfft rfft_with "The first n/2 + 1 values of the transform of real numbers; the others are their conjugates."
        "assert_eq!(fft::rfft(&Array::ones::<f64>([4])).real().to_vec::<f64>()?, [4.0, 0.0, 0.0]);"
        |x, o| Array::build([x], |b, [x]| compose::rfftn(b, x, &o.lengths, &o.one(), o.norm));
    irfft irfft_with "Inverse of [`rfft`]: 2(n - 1) real numbers; for an odd number of them give the length."
        "assert_eq!(fft::irfft(&Array::from([4.0f64, 0.0, 0.0])).to_vec::<f64>()?, [1.0; 4]);"
        |x, o| Array::build([x], |b, [x]| compose::irfftn(b, x, &o.lengths, &o.one(), o.norm));
    rfft2 rfft2_with "Real transform over the last two axes."
        "assert_eq!(fft::rfft2(&Array::ones::<f64>([2, 4])).shape().dims(), [2, 3]);"
        |x, o| rfftn_with(x, o.two());
    irfft2 irfft2_with "Inverse of [`rfft2`]."
        "assert_eq!(fft::irfft2(&fft::rfft2(&Array::ones::<f64>([2, 4]))).to_vec::<f64>()?, [1.0; 8]);"
        |x, o| irfftn_with(x, o.two());
    rfftn rfftn_with "Real transform over the last of several axes, complex ones over the others."
        "assert_eq!(fft::rfftn(&Array::ones::<f32>([2, 2, 4])).shape().dims(), [2, 2, 3]);"
        |x, o| Array::build([x], |b, [x]| compose::rfftn(b, x, &o.lengths, o.many(), o.norm));
    irfftn irfftn_with "Inverse of [`rfftn`]."
        "assert_eq!(fft::irfftn(&fft::rfftn(&Array::ones::<f32>([2, 4]))).to_vec::<f32>()?, [1.0; 8]);"
        |x, o| Array::build([x], |b, [x]| compose::irfftn(b, x, &o.lengths, o.many(), o.norm));
    hfft hfft_with "Transform of a signal that is its own mirrored conjugate, of which half is given; the result is real."
        "assert_eq!(fft::hfft(&Array::from([1.0f64, 0.0, 0.0])).to_vec::<f64>()?, [1.0; 4]);"
        |x, o| {
            let (length, axis) = (o.lengths.first().copied(), *o.one().last().unwrap_or(&-1));
            Array::build([x], |b, [x]| compose::hfft(b, x, length, axis, o.norm))
        };
    ihfft ihfft_with "Inverse of [`hfft`]."
        "assert_eq!(fft::ihfft(&Array::ones::<f64>([4])).real().to_vec::<f64>()?, [1.0, 0.0, 0.0]);"
        |x, o| {
            let (length, axis) = (o.lengths.first().copied(), *o.one().last().unwrap_or(&-1));
            Array::build([x], |b, [x]| compose::ihfft(b, x, length, axis, o.norm))
        };
}

/// Frequencies of the values of [`fft`] of `n` points at distance `step`, as `f64`.
///
/// ```
/// use crossover_array::fft;
/// assert_eq!(fft::fftfreq(4, 0.5).to_vec::<f64>()?, [0.0, 0.5, -1.0, -0.5]);
/// # Ok::<(), crossover_array::Error>(())
/// ```
#[track_caller]
pub fn fftfreq(n: usize, step: f64) -> Array {
    Array::build([], |b, []| compose::fftfreq(b, n, step, DType::F64))
}

/// Frequencies of the values of [`rfft`] of `n` points at distance `step`, as `f64`.
///
/// ```
/// use crossover_array::fft;
/// assert_eq!(fft::rfftfreq(5, 1.0).to_vec::<f64>()?, [0.0, 0.2, 0.4]);
/// # Ok::<(), crossover_array::Error>(())
/// ```
#[track_caller]
pub fn rfftfreq(n: usize, step: f64) -> Array {
    Array::build([], |b, []| compose::rfftfreq(b, n, step, DType::F64))
}

/// Zero frequency to the middle, along axes; `()` means all.
///
/// ```
/// use crossover_array::{Array, fft};
/// assert_eq!(fft::fftshift(&Array::from([0, 1, 2, -2, -1]), ()).to_vec::<i32>()?, [-2, -1, 0, 1, 2]);
/// # Ok::<(), crossover_array::Error>(())
/// ```
#[track_caller]
pub fn fftshift(x: &Array, axes: impl Into<Axes>) -> Array {
    let axes = axes.into().axes;
    Array::build([x], |b, [x]| compose::fftshift(b, x, &axes, false))
}

/// Undoes [`fftshift`].
///
/// ```
/// use crossover_array::{Array, fft};
/// assert_eq!(fft::ifftshift(&Array::from([-2, -1, 0, 1, 2]), ()).to_vec::<i32>()?, [0, 1, 2, -2, -1]);
/// # Ok::<(), crossover_array::Error>(())
/// ```
#[track_caller]
pub fn ifftshift(x: &Array, axes: impl Into<Axes>) -> Array {
    let axes = axes.into().axes;
    Array::build([x], |b, [x]| compose::fftshift(b, x, &axes, true))
}
