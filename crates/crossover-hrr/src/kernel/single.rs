//! Convolution of one pair of rows, for few of them, and what is kept between calls.

use std::{
    cell::RefCell,
    ops::{AddAssign, Mul, MulAssign},
    sync::{Arc, LazyLock, Mutex, PoisonError},
};

use num_complex::Complex;
use realfft::{ComplexToReal, FftNum, RealFftPlanner, RealToComplex};
use rustc_hash::FxHashMap;

use super::{convolve::Task, lanes::Real, passes::Plan};

/// Transforms of one length, with room for them.
pub(crate) struct Pair<T> {
    there: Arc<dyn RealToComplex<T>>,
    back: Arc<dyn ComplexToReal<T>>,
    input: Vec<T>,
    spectra: [Vec<Complex<T>>; 2],
    scratch: Vec<Complex<T>>,
}

/// A real number that a single transform can have.
pub(crate) trait Single:
    FftNum + AddAssign + MulAssign + Mul<Output = Self> + PartialOrd + Default + 'static
{
    const ZERO: Self;
    fn of(value: f64) -> Self;
    fn inverse_root(self) -> Self;
    /// Calls a function with this thread's transforms of a length.
    fn with_pair<R>(d: usize, body: impl FnOnce(&mut Pair<Self>) -> R) -> R;
    /// What transforms across lanes need; made once per length.
    fn plan(d: usize) -> Arc<Plan<Self>>;
}

/// Lengths whose transforms a thread keeps.
const KEPT: usize = 8;

macro_rules! single {
    ($($t:ty),*) => {$(
        impl Single for $t {
            const ZERO: Self = 0.0;
            fn of(value: f64) -> Self { value as $t }
            fn inverse_root(self) -> Self { 1.0 / self.sqrt() }
            fn with_pair<R>(d: usize, body: impl FnOnce(&mut Pair<Self>) -> R) -> R {
                thread_local! {
                    static PAIRS: RefCell<Vec<(usize, Pair<$t>)>> = const { RefCell::new(Vec::new()) };
                }
                PAIRS.with_borrow_mut(|pairs| {
                    let at = pairs.iter().position(|(length, _)| *length == d).unwrap_or_else(|| {
                        // The oldest goes.
                        if pairs.len() == KEPT {
                            pairs.remove(0);
                        }
                        pairs.push((d, Pair::new(d)));
                        pairs.len() - 1
                    });
                    body(&mut pairs[at].1)
                })
            }
            fn plan(d: usize) -> Arc<Plan<Self>> {
                static PLANS: LazyLock<Mutex<FxHashMap<usize, Arc<Plan<$t>>>>> = LazyLock::new(Mutex::default);
                let mut plans = PLANS.lock().unwrap_or_else(PoisonError::into_inner);
                plans.entry(d).or_insert_with(|| Arc::new(Plan::new(d))).clone()
            }
        }
    )*};
}

single!(f32, f64);

impl<T: Single> Pair<T> {
    fn new(d: usize) -> Pair<T> {
        let mut planner = RealFftPlanner::new();
        let (there, back) = (planner.plan_fft_forward(d), planner.plan_fft_inverse(d));
        let scratch = there.get_scratch_len().max(back.get_scratch_len());
        let zero = Complex { re: T::ZERO, im: T::ZERO };
        Pair {
            spectra: [there.make_output_vec(), there.make_output_vec()],
            input: there.make_input_vec(),
            there,
            back,
            scratch: vec![zero; scratch],
        }
    }
}

/// One row with one row.
pub(super) fn convolve<T: Real>(task: Task, a: &[T], b: &[T], out: &mut [T]) {
    T::with_pair(task.d, |pair| {
        for (row, spectrum) in [a, b].into_iter().zip(&mut pair.spectra) {
            pair.input.copy_from_slice(row);
            let done = pair.there.process_with_scratch(&mut pair.input, spectrum, &mut pair.scratch);
            debug_assert!(done.is_ok(), "lengths are those that the transform was made for");
        }
        let [x, y] = &mut pair.spectra;
        let scale = T::of(1.0 / task.d as f64);
        for (x, y) in x.iter_mut().zip(y.iter()) {
            let y = if task.correlate { y.conj() } else { *y };
            *x = (*x * y).scale(scale);
        }
        // Real by definition; rounding may have left something.
        if let Some(first) = x.first_mut() {
            first.im = T::ZERO;
        }
        if task.d.is_multiple_of(2)
            && let Some(last) = x.last_mut()
        {
            last.im = T::ZERO;
        }
        let done = pair.back.process_with_scratch(x, out, &mut pair.scratch);
        debug_assert!(done.is_ok(), "lengths are those that the transform was made for");
    });
    if task.normalise {
        let mut sum = T::ZERO;
        for &x in out.iter() {
            sum += x * x;
        }
        let scale = if sum > T::ZERO { sum.inverse_root() } else { T::ZERO };
        out.iter_mut().for_each(|x| *x *= scale);
    }
}
