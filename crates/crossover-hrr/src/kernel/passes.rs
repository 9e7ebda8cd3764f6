//! Passes of a transform over vectors: every number is a vector with one row in each lane, real and imaginary parts after each other.

use std::f64::consts::TAU;

use pulp::Simd;

use super::lanes::Real;

/// A complex number in every lane.
pub(super) struct Complex<T: Real, S: Simd> {
    re: T::Vector<S>,
    im: T::Vector<S>,
}

impl<T: Real, S: Simd> Clone for Complex<T, S> {
    #[inline(always)]
    fn clone(&self) -> Self {
        *self
    }
}

impl<T: Real, S: Simd> Copy for Complex<T, S> {}

impl<T: Real, S: Simd> Complex<T, S> {
    #[inline(always)]
    pub fn load(from: &[T::Vector<S>], at: usize) -> Self {
        Complex { re: from[2 * at], im: from[2 * at + 1] }
    }

    #[inline(always)]
    pub fn store(self, to: &mut [T::Vector<S>], at: usize) {
        to[2 * at] = self.re;
        to[2 * at + 1] = self.im;
    }

    #[inline(always)]
    pub fn add(self, s: S, o: Self) -> Self {
        Complex { re: T::vadd(s, self.re, o.re), im: T::vadd(s, self.im, o.im) }
    }

    #[inline(always)]
    pub fn sub(self, s: S, o: Self) -> Self {
        Complex { re: T::vsub(s, self.re, o.re), im: T::vsub(s, self.im, o.im) }
    }

    /// self + conj(o)
    #[inline(always)]
    pub fn plus_conj(self, s: S, o: Self) -> Self {
        Complex { re: T::vadd(s, self.re, o.re), im: T::vsub(s, self.im, o.im) }
    }

    /// self - conj(o)
    #[inline(always)]
    pub fn minus_conj(self, s: S, o: Self) -> Self {
        Complex { re: T::vsub(s, self.re, o.re), im: T::vadd(s, self.im, o.im) }
    }

    /// -conj(self)
    #[inline(always)]
    pub fn conj_neg(self, s: S) -> Self {
        let zero = T::splat(s, T::ZERO);
        Complex { re: T::vsub(s, zero, self.re), im: self.im }
    }

    #[inline(always)]
    pub fn mul(self, s: S, o: Self) -> Self {
        self.rotate(s, o.re, o.im)
    }

    /// self·conj(o)
    #[inline(always)]
    pub fn mul_conj(self, s: S, o: Self) -> Self {
        self.rotate_back(s, o.re, o.im)
    }

    /// self·(re + i·im)
    #[inline(always)]
    pub fn rotate(self, s: S, re: T::Vector<S>, im: T::Vector<S>) -> Self {
        Complex {
            re: T::fnma(s, self.im, im, T::vmul(s, self.re, re)),
            im: T::fma(s, self.im, re, T::vmul(s, self.re, im)),
        }
    }

    /// self·(re - i·im)
    #[inline(always)]
    pub fn rotate_back(self, s: S, re: T::Vector<S>, im: T::Vector<S>) -> Self {
        Complex {
            re: T::fma(s, self.im, im, T::vmul(s, self.re, re)),
            im: T::fnma(s, self.re, im, T::vmul(s, self.im, re)),
        }
    }

    #[inline(always)]
    pub fn scale(self, s: S, by: T::Vector<S>) -> Self {
        Complex { re: T::vmul(s, self.re, by), im: T::vmul(s, self.im, by) }
    }

    /// self + by·o
    #[inline(always)]
    fn plus(self, s: S, by: T::Vector<S>, o: Self) -> Self {
        Complex { re: T::fma(s, by, o.re, self.re), im: T::fma(s, by, o.im, self.im) }
    }

    /// self + i·o, and self - i·o
    #[inline(always)]
    fn both_turns(self, s: S, o: Self) -> (Self, Self) {
        (
            Complex { re: T::vsub(s, self.re, o.im), im: T::vadd(s, self.im, o.re) },
            Complex { re: T::vadd(s, self.re, o.im), im: T::vsub(s, self.im, o.re) },
        )
    }
}

/// One pass: blocks of `radix` times `roots.len()` numbers.
pub(super) struct Stage<T> {
    radix: usize,
    /// For every place of a block the first `radix - 1` powers of its root.
    roots: Vec<(T, T)>,
    /// cos and sin of 2πj/radix.
    turns: Vec<(T, T)>,
}

/// What transforms of d/2 complex numbers need.
pub(crate) struct Plan<T> {
    pub(super) stages: Vec<Stage<T>>,
    /// Where the way there leaves each frequency.
    pub(super) place: Vec<u32>,
    /// exp(-2πik/(d/2))
    pub(super) roots: Vec<(T, T)>,
    /// ½ and ¼, divided by the length.
    pub(super) half: T,
    pub(super) quarter: T,
}

/// Radices whose product is `n`; fours last, since the last stage has the cheapest form for them.
fn radices(mut n: usize) -> Vec<usize> {
    let mut found = Vec::new();
    for radix in [4, 2, 3, 5, 7] {
        while n.is_multiple_of(radix) {
            found.push(radix);
            n /= radix;
        }
    }
    debug_assert_eq!(n, 1, "lengths with other factors do not come here");
    found.reverse();
    found
}

impl<T: Real> Plan<T> {
    /// For real rows of `d` elements.
    pub fn new(d: usize) -> Plan<T> {
        let m = d / 2;
        let root = |part: usize, whole: usize| {
            let (sin, cos) = (TAU * (part % whole) as f64 / whole as f64).sin_cos();
            (T::of(cos), T::of(-sin))
        };
        let (mut stages, mut length) = (Vec::new(), m);
        let all = radices(m);
        for &radix in &all {
            let sub = length / radix;
            let roots =
                (0..sub).flat_map(|j| (1..radix).map(move |q| (j * q, length))).map(|(p, w)| root(p, w));
            let turns = (0..radix).map(|j| {
                let (sin, cos) = (TAU * j as f64 / radix as f64).sin_cos();
                (T::of(cos), T::of(sin))
            });
            stages.push(Stage { radix, roots: roots.collect(), turns: turns.collect() });
            length = sub;
        }
        let place = (0..m).map(|k| {
            let (mut left, mut span, mut at) = (k, m, 0);
            for &radix in &all {
                span /= radix;
                at += left % radix * span;
                left /= radix;
            }
            at as u32
        });
        let place = place.collect();
        let by = 1.0 / m as f64;
        Plan {
            stages,
            place,
            roots: (0..m).map(|k| root(k, m)).collect(),
            half: T::of(0.5 * by),
            quarter: T::of(0.25 * by),
        }
    }
}

/// The transform from natural to digit-reversed order.
#[inline(always)]
pub(super) fn there<T: Real, S: Simd>(simd: S, stages: &[Stage<T>], x: &mut [T::Vector<S>]) {
    walk::<T, S, false>(simd, stages, x);
}

/// The transform back, from digit-reversed to natural order, times the length.
#[inline(always)]
pub(super) fn back<T: Real, S: Simd>(simd: S, stages: &[Stage<T>], x: &mut [T::Vector<S>]) {
    walk::<T, S, true>(simd, stages, x);
}

/// Blocks from the largest to the smallest, or from the smallest to the largest; a block's parts follow each other, so that they stay in
/// the cache.
#[inline(always)]
fn walk<T: Real, S: Simd, const BACK: bool>(simd: S, stages: &[Stage<T>], x: &mut [T::Vector<S>]) {
    // Blocks of the first stage that is not done are counted through in the order of a recursion, without one: a call could not be
    // inlined into the function that has the vector instructions.
    let (total, depth) = (x.len(), stages.len());
    if depth == 0 {
        return;
    }
    // Lengths of blocks at every depth, in vectors.
    let mut lengths = [0usize; 64];
    let mut length = total;
    for (to, stage) in lengths.iter_mut().zip(stages) {
        *to = length;
        length /= stage.radix;
    }
    // The last stage has blocks of one butterfly each: all of those inside a block of the stage before go together.
    let inner = depth.saturating_sub(2);
    let smallest = lengths[inner];
    for index in 0..total / smallest {
        let at = index * smallest;
        let block = at..at + smallest;
        if BACK {
            last::<T, S, BACK>(simd, &stages[depth - 1], &mut x[block.clone()]);
            // The smallest block, then all larger ones that end where it ends.
            for level in (0..depth - 1).rev() {
                if block.end.is_multiple_of(lengths[level]) {
                    pass::<T, S, BACK>(simd, &stages[level], &mut x[block.end - lengths[level]..block.end]);
                }
            }
        } else {
            for level in 0..depth - 1 {
                if at.is_multiple_of(lengths[level]) {
                    pass::<T, S, BACK>(simd, &stages[level], &mut x[at..at + lengths[level]]);
                }
            }
            last::<T, S, BACK>(simd, &stages[depth - 1], &mut x[block]);
        }
    }
}

/// The last stage on some of its blocks, which are one butterfly each and have no roots but 1.
#[inline(always)]
fn last<T: Real, S: Simd, const BACK: bool>(simd: S, stage: &Stage<T>, x: &mut [T::Vector<S>]) {
    if stage.radix != 4 {
        for block in x.chunks_exact_mut(2 * stage.radix) {
            pass::<T, S, BACK>(simd, stage, block);
        }
        return;
    }
    for block in x.chunks_exact_mut(8) {
        let (a, b) = (Complex::<T, S>::load(block, 0), Complex::<T, S>::load(block, 1));
        let (c, d) = (Complex::<T, S>::load(block, 2), Complex::<T, S>::load(block, 3));
        let (even, odd) = (a.add(simd, c), a.sub(simd, c));
        let (sum, difference) = (b.add(simd, d), b.sub(simd, d));
        let (up, down) = odd.both_turns(simd, difference);
        even.add(simd, sum).store(block, 0);
        even.sub(simd, sum).store(block, 2);
        let (b, d) = if BACK { (up, down) } else { (down, up) };
        b.store(block, 1);
        d.store(block, 3);
    }
}

/// One pass over one block.
#[inline(always)]
fn pass<T: Real, S: Simd, const BACK: bool>(simd: S, stage: &Stage<T>, x: &mut [T::Vector<S>]) {
    match stage.radix {
        4 => four::<T, S, BACK>(simd, stage, x),
        2 => two::<T, S, BACK>(simd, stage, x),
        3 => odd::<T, S, 3, BACK>(simd, stage, x),
        5 => odd::<T, S, 5, BACK>(simd, stage, x),
        _ => odd::<T, S, 7, BACK>(simd, stage, x),
    }
}

#[inline(always)]
fn turned<T: Real, S: Simd, const BACK: bool>(simd: S, z: Complex<T, S>, root: (T, T)) -> Complex<T, S> {
    let (re, im) = (T::splat(simd, root.0), T::splat(simd, root.1));
    if BACK { z.rotate_back(simd, re, im) } else { z.rotate(simd, re, im) }
}

#[inline(always)]
fn two<T: Real, S: Simd, const BACK: bool>(simd: S, stage: &Stage<T>, x: &mut [T::Vector<S>]) {
    let sub = x.len() / 4;
    let (first, second) = x.split_at_mut(2 * sub);
    for (j, &root) in stage.roots[..sub].iter().enumerate() {
        let a = Complex::<T, S>::load(first, j);
        let b = Complex::load(second, j);
        if BACK {
            let b = turned::<T, S, BACK>(simd, b, root);
            a.add(simd, b).store(first, j);
            a.sub(simd, b).store(second, j);
        } else {
            a.add(simd, b).store(first, j);
            turned::<T, S, BACK>(simd, a.sub(simd, b), root).store(second, j);
        }
    }
}

#[inline(always)]
fn four<T: Real, S: Simd, const BACK: bool>(simd: S, stage: &Stage<T>, x: &mut [T::Vector<S>]) {
    let sub = x.len() / 8;
    let (lower, upper) = x.split_at_mut(4 * sub);
    let ((x0, x1), (x2, x3)) = (lower.split_at_mut(2 * sub), upper.split_at_mut(2 * sub));
    for (j, roots) in stage.roots.chunks_exact(3).enumerate().take(sub) {
        let (mut a, mut b) = (Complex::<T, S>::load(x0, j), Complex::<T, S>::load(x1, j));
        let (mut c, mut d) = (Complex::<T, S>::load(x2, j), Complex::<T, S>::load(x3, j));
        if BACK {
            b = turned::<T, S, BACK>(simd, b, roots[0]);
            c = turned::<T, S, BACK>(simd, c, roots[1]);
            d = turned::<T, S, BACK>(simd, d, roots[2]);
        }
        let (even, odd) = (a.add(simd, c), a.sub(simd, c));
        let (sum, difference) = (b.add(simd, d), b.sub(simd, d));
        a = even.add(simd, sum);
        c = even.sub(simd, sum);
        let (up, down) = odd.both_turns(simd, difference);
        (b, d) = if BACK { (up, down) } else { (down, up) };
        if !BACK {
            b = turned::<T, S, BACK>(simd, b, roots[0]);
            c = turned::<T, S, BACK>(simd, c, roots[1]);
            d = turned::<T, S, BACK>(simd, d, roots[2]);
        }
        a.store(x0, j);
        b.store(x1, j);
        c.store(x2, j);
        d.store(x3, j);
    }
}

/// An odd prime: cosines of sums and sines of differences of opposite elements.
#[inline(always)]
fn odd<T: Real, S: Simd, const R: usize, const BACK: bool>(
    simd: S,
    stage: &Stage<T>,
    x: &mut [T::Vector<S>],
) {
    let sub = x.len() / (2 * R);
    for j in 0..sub {
        let roots = &stage.roots[j * (R - 1)..][..R - 1];
        let mut v: [Complex<T, S>; R] = std::array::from_fn(|q| Complex::load(x, j + q * sub));
        if BACK {
            for q in 1..R {
                v[q] = turned::<T, S, BACK>(simd, v[q], roots[q - 1]);
            }
        }
        let mut total = v[0];
        for value in &v[1..] {
            total = total.add(simd, *value);
        }
        let mut out = v;
        out[0] = total;
        for k in 1..=R / 2 {
            let (mut even, zero) = (v[0], T::splat(simd, T::ZERO));
            let mut sines = Complex::<T, S> { re: zero, im: zero };
            for q in 1..=R / 2 {
                let (cos, sin) = stage.turns[q * k % R];
                even = even.plus(simd, T::splat(simd, cos), v[q].add(simd, v[R - q]));
                sines = sines.plus(simd, T::splat(simd, sin), v[q].sub(simd, v[R - q]));
            }
            let (up, down) = even.both_turns(simd, sines);
            (out[k], out[R - k]) = if BACK { (up, down) } else { (down, up) };
        }
        if !BACK {
            for q in 1..R {
                out[q] = turned::<T, S, BACK>(simd, out[q], roots[q - 1]);
            }
        }
        for (q, value) in out.into_iter().enumerate() {
            value.store(x, j + q * sub);
        }
    }
}
