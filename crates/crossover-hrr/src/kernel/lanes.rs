//! Convolution of many rows on the CPU: as many rows as a vector has lanes are transformed at once, each in its own lane.
//!
//! A real row of d elements is d/2 complex numbers, z[n] = x[2n] + i·x[2n+1]. With S = Z(k) + conj(Z(-k)), D = Z(k) - conj(Z(-k)) and
//! w = exp(-2πik/(d/2)) the packed spectrum of the convolution of a and b is ½ S_a Z_b + ¼ D_a (S_b - w D_b), that of the correlation
//! ¼ S_a conj(S_b - w D_b) + ½ D_a conj(Z_b). Rows of very different size never meet in one transform, so small ones keep their precision.
//!
//! Transforms go from natural to digit-reversed order and back, so nothing is ever reordered; passes recurse into blocks, which stay in
//! the first-level cache. What always holds: a row's result does not depend on the number of threads, nor on its neighbours.

use pulp::{Arch, Simd, WithSimd};
use rayon::prelude::*;

use super::{
    convolve::{Task, parts},
    passes::{Complex, Plan, back, there},
    single, transpose,
};

/// Rows up to which one transform after the other is quicker.
const FEW: usize = 4;

/// A real number with the vectors that `pulp` has of it.
pub(crate) trait Real: single::Single + transpose::Transpose {
    /// A vector of them.
    type Vector<S: Simd>: Copy;
    fn view<S: Simd>(from: &[Self]) -> &[Self::Vector<S>];
    fn view_mut<S: Simd>(from: &mut [Self]) -> &mut [Self::Vector<S>];
    fn splat<S: Simd>(simd: S, value: Self) -> Self::Vector<S>;
    fn vadd<S: Simd>(simd: S, a: Self::Vector<S>, b: Self::Vector<S>) -> Self::Vector<S>;
    fn vsub<S: Simd>(simd: S, a: Self::Vector<S>, b: Self::Vector<S>) -> Self::Vector<S>;
    fn vmul<S: Simd>(simd: S, a: Self::Vector<S>, b: Self::Vector<S>) -> Self::Vector<S>;
    /// a·b + c
    fn fma<S: Simd>(simd: S, a: Self::Vector<S>, b: Self::Vector<S>, c: Self::Vector<S>) -> Self::Vector<S>;
    /// c - a·b
    fn fnma<S: Simd>(simd: S, a: Self::Vector<S>, b: Self::Vector<S>, c: Self::Vector<S>) -> Self::Vector<S>;
}

macro_rules! real {
    ($($t:ty, $vector:ident, $view:ident, $view_mut:ident, $splat:ident, $add:ident, $sub:ident, $mul:ident, $fma:ident, $fnma:ident;)*) => {$(
        impl Real for $t {
            type Vector<S: Simd> = S::$vector;
            #[inline(always)]
            fn view<S: Simd>(from: &[Self]) -> &[S::$vector] { S::$view(from).0 }
            #[inline(always)]
            fn view_mut<S: Simd>(from: &mut [Self]) -> &mut [S::$vector] { S::$view_mut(from).0 }
            #[inline(always)]
            fn splat<S: Simd>(simd: S, value: Self) -> S::$vector { simd.$splat(value) }
            #[inline(always)]
            fn vadd<S: Simd>(simd: S, a: S::$vector, b: S::$vector) -> S::$vector { simd.$add(a, b) }
            #[inline(always)]
            fn vsub<S: Simd>(simd: S, a: S::$vector, b: S::$vector) -> S::$vector { simd.$sub(a, b) }
            #[inline(always)]
            fn vmul<S: Simd>(simd: S, a: S::$vector, b: S::$vector) -> S::$vector { simd.$mul(a, b) }
            #[inline(always)]
            fn fma<S: Simd>(simd: S, a: S::$vector, b: S::$vector, c: S::$vector) -> S::$vector { simd.$fma(a, b, c) }
            #[inline(always)]
            fn fnma<S: Simd>(simd: S, a: S::$vector, b: S::$vector, c: S::$vector) -> S::$vector { simd.$fnma(a, b, c) }
        }
    )*};
}

real! {
    f32, f32s, as_simd_f32s, as_mut_simd_f32s, splat_f32s, add_f32s, sub_f32s, mul_f32s, mul_add_f32s, negate_mul_add_f32s;
    f64, f64s, as_simd_f64s, as_mut_simd_f64s, splat_f64s, add_f64s, sub_f64s, mul_f64s, mul_add_f64s, negate_mul_add_f64s;
}

/// Rows to be convolved.
pub(crate) struct Job<'a, T> {
    pub task: Task,
    pub a: &'a [T],
    /// As many rows as `a` has, or one.
    pub b: &'a [T],
}

impl<T: Real> Job<'_, T> {
    /// Does the work.
    pub fn run(&self, out: &mut [T]) {
        let (d, rows) = (self.task.d, self.a.len() / self.task.d);
        if rows == 0 {
            return out.fill(T::ZERO);
        }
        if rows <= FEW && !self.task.sum {
            for (row, (out, a)) in out.chunks_mut(d).zip(self.a.chunks(d)).enumerate() {
                let b = if self.b.len() == d { self.b } else { &self.b[row * d..][..d] };
                single::convolve(self.task, a, b, out);
            }
            return;
        }
        let plan = T::plan(d);
        Arch::new().dispatch(All { job: self, plan: &plan, out });
    }
}

/// All rows, with a vector width.
struct All<'a, 'b, T> {
    job: &'a Job<'b, T>,
    plan: &'a Plan<T>,
    out: &'a mut [T],
}

impl<T: Real> WithSimd for All<'_, '_, T> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        let All { job, plan, out } = self;
        let (d, lanes) = (job.task.d, size_of::<T::Vector<S>>() / size_of::<T>());
        let rows = job.a.len() / d;
        let fixed = (job.b.len() == d && rows != 1).then(|| {
            let mut room = vec![T::ZERO; d * lanes];
            for (to, &from) in room.chunks_mut(lanes).zip(job.b) {
                to.fill(from);
            }
            forward(simd, plan, &mut room);
            room
        });
        let fixed = fixed.as_deref();
        // Groups of rows are parallel: each is some microseconds.
        if job.task.sum {
            let each = rows.div_ceil(parts(d, rows));
            out.par_chunks_mut(d).enumerate().for_each(|(part, out)| {
                let first = (part * each).min(rows);
                simd.vectorize(Part { simd, job, plan, fixed, rows: (first, (first + each).min(rows)), out });
            });
        } else {
            out.par_chunks_mut(d * lanes).enumerate().for_each(|(group, out)| {
                let first = group * lanes;
                simd.vectorize(Part {
                    simd,
                    job,
                    plan,
                    fixed,
                    rows: (first, (first + lanes).min(rows)),
                    out,
                });
            });
        }
    }
}

#[inline(always)]
fn forward<T: Real, S: Simd>(simd: S, plan: &Plan<T>, room: &mut [T]) {
    simd.vectorize(Forward { simd, plan, room });
}

struct Forward<'a, T, S> {
    simd: S,
    plan: &'a Plan<T>,
    room: &'a mut [T],
}

impl<T: Real, S: Simd> pulp::NullaryFnOnce for Forward<'_, T, S> {
    type Output = ();

    #[inline(always)]
    fn call(self) {
        there(self.simd, &self.plan.stages, T::view_mut::<S>(self.room));
    }
}

/// Rows that one thread does: a group, or for sums a part.
struct Part<'a, 'b, T, S> {
    simd: S,
    job: &'a Job<'b, T>,
    plan: &'a Plan<T>,
    /// The spectrum of the one row of `b`.
    fixed: Option<&'a [T]>,
    rows: (usize, usize),
    out: &'a mut [T],
}

impl<T: Real, S: Simd> pulp::NullaryFnOnce for Part<'_, '_, T, S> {
    type Output = ();

    #[inline(always)]
    fn call(self) {
        let Part { simd, job, plan, fixed, rows: (first, end), out } = self;
        let (d, lanes) = (job.task.d, size_of::<T::Vector<S>>() / size_of::<T>());
        let mut room = vec![T::ZERO; d * lanes * if fixed.is_some() { 1 } else { 2 }];
        let mut sum = vec![T::ZERO; if job.task.sum { d * lanes } else { 0 }];
        for start in (first..end).step_by(lanes) {
            let range = start * d..(start + lanes).min(end) * d;
            let (a, b) = room.split_at_mut(d * lanes);
            transpose::columns(&job.a[range.clone()], d, lanes, a);
            there(simd, &plan.stages, T::view_mut::<S>(a));
            let b = match fixed {
                Some(fixed) => fixed,
                None => {
                    transpose::columns(&job.b[range], d, lanes, b);
                    there(simd, &plan.stages, T::view_mut::<S>(b));
                    b
                }
            };
            product(simd, plan, job.task.correlate, T::view_mut::<S>(a), T::view::<S>(b));
            if job.task.sum {
                for (sum, &a) in T::view_mut::<S>(&mut sum).iter_mut().zip(T::view::<S>(a)) {
                    *sum = T::vadd(simd, *sum, a);
                }
            }
        }
        let made = if job.task.sum { &mut sum[..] } else { &mut room[..d * lanes] };
        back(simd, &plan.stages, T::view_mut::<S>(made));
        if job.task.normalise {
            normalise::<T>(made, lanes);
        }
        if job.task.sum {
            for (to, from) in out.iter_mut().zip(made.chunks(lanes)) {
                *to = from.iter().fold(T::ZERO, |sum, &x| sum + x);
            }
        } else {
            transpose::rows(made, d, lanes, out);
        }
    }
}

/// Scales every lane to length 1; zero stays zero.
fn normalise<T: Real>(room: &mut [T], lanes: usize) {
    let mut squares = [T::ZERO; 64];
    let squares = &mut squares[..lanes];
    for column in room.chunks(lanes) {
        for (sum, &x) in squares.iter_mut().zip(column) {
            *sum += x * x;
        }
    }
    for sum in squares.iter_mut() {
        *sum = if *sum > T::ZERO { sum.inverse_root() } else { T::ZERO };
    }
    for column in room.chunks_mut(lanes) {
        for (x, &scale) in column.iter_mut().zip(&*squares) {
            *x *= scale;
        }
    }
}

/// The packed spectrum of the result in place of that of `a`, times 1/(d/2), which the way back wants.
#[inline(always)]
fn product<T: Real, S: Simd>(
    simd: S,
    plan: &Plan<T>,
    correlate: bool,
    a: &mut [T::Vector<S>],
    b: &[T::Vector<S>],
) {
    let m = plan.place.len();
    let half = T::splat(simd, plan.half);
    let quarter = T::splat(simd, plan.quarter);
    for k in 0..=m / 2 {
        let other = (m - k) % m;
        let (at, opposite) = (plan.place[k] as usize, plan.place[other] as usize);
        let (za, ya) = (Complex::<T, S>::load(a, at), Complex::load(a, opposite));
        let (zb, yb) = (Complex::<T, S>::load(b, at), Complex::load(b, opposite));
        let root = plan.roots[k];
        let (mine, theirs) = pair(simd, correlate, (za, ya), (zb, yb), root, (half, quarter));
        mine.store(a, at);
        theirs.store(a, opposite);
    }
}

/// The results at k and at -k.
#[inline(always)]
#[allow(clippy::type_complexity, reason = "pairs of pairs, used here only")]
fn pair<T: Real, S: Simd>(
    simd: S,
    correlate: bool,
    (za, ya): (Complex<T, S>, Complex<T, S>),
    (zb, yb): (Complex<T, S>, Complex<T, S>),
    root: (T, T),
    (half, quarter): (T::Vector<S>, T::Vector<S>),
) -> (Complex<T, S>, Complex<T, S>) {
    let (wr, wi) = (T::splat(simd, root.0), T::splat(simd, root.1));
    let (sa, da) = (za.plus_conj(simd, ya), za.minus_conj(simd, ya));
    let (sb, db) = (zb.plus_conj(simd, yb), zb.minus_conj(simd, yb));
    // S(-k) = conj(S(k)), D(-k) = -conj(D(k)), w(-k) = conj(w(k)): everything at -k follows.
    let turned = db.rotate(simd, wr, wi);
    let (minus, plus) = (sb.sub(simd, turned), sb.add(simd, turned));
    if correlate {
        let near = sa.mul_conj(simd, minus).scale(simd, quarter);
        let far = plus.mul_conj(simd, sa).scale(simd, quarter);
        (
            near.add(simd, da.mul_conj(simd, zb).scale(simd, half)),
            far.add(simd, da.mul(simd, yb).conj_neg(simd).scale(simd, half)),
        )
    } else {
        let near = sa.mul(simd, zb).scale(simd, half);
        let far = yb.mul_conj(simd, sa).scale(simd, half);
        (
            near.add(simd, da.mul(simd, minus).scale(simd, quarter)),
            far.add(simd, da.mul(simd, plus).conj_neg(simd).scale(simd, quarter)),
        )
    }
}
