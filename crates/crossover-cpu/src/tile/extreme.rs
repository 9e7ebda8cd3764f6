//! The smallest or largest of rows of floats.
//!
//! `minimum` and `maximum` choose by a total order once NaN is set aside, so the order of combination cannot show, and floats can
//! be compared as whole numbers: three instructions per vector, where the operation itself takes eight. The other end of the
//! order is kept too, because NaNs of either sign lie beyond the infinities.
#![allow(unsafe_code)]

use crossover_core::{canonical::LANES, ops::Apply2};

use super::{
    body::{input, output},
    reduction::{chunk, fetch},
};

/// A float as a whole number of the same order: NaNs of negative sign, minus infinity, …, -0, +0, …, infinity, NaNs.
pub trait Keyed: Copy {
    /// The whole number.
    type Key: Copy + Ord;
    /// The number of infinity; larger ones are NaN.
    const HIGHEST: Self::Key;
    /// The number of minus infinity; smaller ones are NaN.
    const LOWEST: Self::Key;
    /// The NaN that operations give.
    const NAN: Self;
    /// The number of a float.
    fn key(self) -> Self::Key;
    /// The float of a number.
    fn value(key: Self::Key) -> Self;
}

/// Turns all bits but the sign where that is set; twice is nothing.
macro_rules! ordered {
    ($bits:expr, $signed:ty, $unsigned:ty) => {{
        let bits = $bits as $signed;
        bits ^ ((bits >> (<$signed>::BITS - 1)) as $unsigned >> 1) as $signed
    }};
}

macro_rules! keyed {
    ($($float:ty, $signed:ty, $bits:ty, $nan:expr;)*) => {$(
        impl Keyed for $float {
            type Key = $signed;
            const HIGHEST: $signed = ordered!(<$float>::INFINITY.to_bits(), $signed, $bits);
            const LOWEST: $signed = ordered!(<$float>::NEG_INFINITY.to_bits(), $signed, $bits);
            const NAN: $float = <$float>::from_bits($nan);
            #[inline(always)]
            fn key(self) -> $signed { ordered!(self.to_bits(), $signed, $bits) }
            #[inline(always)]
            fn value(key: $signed) -> $float { <$float>::from_bits(ordered!(key, $signed, $bits) as $bits) }
        }
    )*};
}

keyed! {
    f32, i32, u32, 0x7fc0_0000;
    f64, i64, u64, 0x7ff8_0000_0000_0000;
}

/// `rows` rows of `n` elements, each reduced to its smallest or largest by `O`, which must be `minimum` or `maximum`.
///
/// # Safety
/// As [`super::reduction::rows`].
#[inline(always)]
pub unsafe fn rows<O: Apply2<T>, T: Keyed, const MAX: bool, const VECTOR: usize>(
    from: *const u8,
    out: *mut u8,
    rows: usize,
    n: usize,
    ahead: usize,
) {
    // SAFETY: the caller's contract.
    let (values, out) = unsafe { (input::<T>(from, rows * n), output::<T>(out, rows)) };
    for (slot, row) in out.iter_mut().zip(values.chunks_exact(n)) {
        slot.write(match (row.len() <= LANES, VECTOR / size_of::<T>()) {
            (true, _) => chunk::<O, T, VECTOR>(row, ahead),
            (_, 16) => extreme::<T, MAX, 64>(row, ahead),
            (_, 4) => extreme::<T, MAX, 16>(row, ahead),
            _ => extreme::<T, MAX, 32>(row, ahead),
        });
    }
}

/// The extreme of a row of at least two elements, in `W` lanes: as many as stay in registers twice.
#[inline(always)]
fn extreme<T: Keyed, const MAX: bool, const W: usize>(row: &[T], ahead: usize) -> T {
    let first = row[0].key();
    let (mut low, mut high) = ([first; W], [first; W]);
    let (blocks, rest) = row.as_chunks::<W>();
    for block in blocks {
        fetch(block, ahead);
        for j in 0..W {
            let key = block[j].key();
            low[j] = low[j].min(key);
            high[j] = high[j].max(key);
        }
    }
    for (j, x) in rest.iter().enumerate() {
        low[j] = low[j].min(x.key());
        high[j] = high[j].max(x.key());
    }
    let low = low.into_iter().fold(first, T::Key::min);
    let high = high.into_iter().fold(first, T::Key::max);
    if low < T::LOWEST || high > T::HIGHEST {
        return T::NAN;
    }
    T::value(if MAX { high } else { low })
}

#[cfg(test)]
mod tests {
    use crossover_core::{
        canonical,
        ops::{maximum::Maximum, minimum::Minimum},
    };

    use super::*;

    fn check<T: Keyed + std::fmt::Debug>(rows_of: impl Fn(&mut dyn FnMut(&[T])), same: impl Fn(T, T) -> bool)
    where
        Maximum: Apply2<T>,
        Minimum: Apply2<T>,
    {
        rows_of(&mut |row| {
            let want = [
                canonical::row(row, <Minimum as Apply2<T>>::apply),
                canonical::row(row, <Maximum as Apply2<T>>::apply),
            ];
            let got = [extreme::<T, false, 32>(row, 0), extreme::<T, true, 32>(row, 0)];
            for (got, want) in got.into_iter().zip(want) {
                assert!(want.is_some_and(|want| same(got, want)), "{got:?}, expected {want:?} of {row:?}");
            }
        });
    }

    /// Rows with zeros of both signs, infinities, and NaNs of either sign and any payload.
    fn rows_of<T: Copy>(special: &[T], plain: impl Fn(u64) -> T, see: &mut dyn FnMut(&[T])) {
        let mut state = 7u64;
        let mut next = || {
            state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            state >> 33
        };
        for n in [2, 3, 31, 32, 33, 129, 500, 1024] {
            for mix in 0..40 {
                let row: Vec<T> = (0..n)
                    .map(|_| match next() % 8 < mix % 4 {
                        true => special[next() as usize % (1 + mix as usize % special.len())],
                        false => plain(next()),
                    })
                    .collect();
                see(&row);
            }
        }
    }

    #[test]
    fn extremes_are_those_of_the_operations() {
        let single = [0.0, -0.0, f32::INFINITY, f32::NEG_INFINITY, f32::NAN, f32::from_bits(0xff80_0001)];
        let halves = |x: u64| (x % 9) as f32 - 4.0;
        check::<f32>(|see| rows_of(&single, halves, see), |a, b| a.to_bits() == b.to_bits());
        check::<f32>(|see| rows_of(&single, |_| -0.0, see), |a, b| a.to_bits() == b.to_bits());
        let double =
            [0.0, -0.0, f64::INFINITY, f64::NEG_INFINITY, -f64::NAN, f64::from_bits(0x7ff0 << 48 | 1)];
        check::<f64>(|see| rows_of(&double, |x| x as f64 - 1e9, see), |a, b| a.to_bits() == b.to_bits());
    }
}
