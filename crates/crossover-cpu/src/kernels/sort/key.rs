//! Numbers whose unsigned order is the order of sorting.
//!
//! A *rank* is equal for elements that are equal in the order: both zeros, all NaNs. A *code* tells every bit
//! pattern apart, so that elements can be sorted as codes and decoded again. Both put NaN last, whichever way the
//! order goes.

use std::mem::MaybeUninit;

use num_complex::Complex;

use crate::{
    kernels::scan::{BF16, F16},
    threads::Threads,
};

/// Sorts words where they are, with a spare place of the same length.
pub type SortFn<W> = fn(&mut [W], &mut [MaybeUninit<W>], Option<&Threads>);

/// An element that has a place in the order.
pub trait Ranked: Copy + Send + Sync {
    /// What is compared.
    type Rank: Ord + Copy;
    /// The place of this element.
    fn rank(self, descending: bool) -> Self::Rank;
}

/// A rank that radix passes can take apart.
pub trait Word: Ord + Copy + Send + Sync {
    /// The sort with 512-bit vectors, where a processor of this kind may have them and vectors hold several words.
    const BY_VECTORS: Option<SortFn<Self>>;
    /// `bits` bits from bit `shift` on.
    fn digit(self, shift: u32, bits: u32) -> usize;
}

#[cfg(target_arch = "x86_64")]
macro_rules! by_vectors {
    (u128) => {
        None
    };
    ($word:ident) => {
        Some(super::vector::sort::<$word>)
    };
}

#[cfg(not(target_arch = "x86_64"))]
macro_rules! by_vectors {
    ($word:ident) => {
        None
    };
}

macro_rules! words {
    ($($word:ident)*) => {$(
        impl Word for $word {
            const BY_VECTORS: Option<SortFn<$word>> = by_vectors!($word);
            #[inline(always)]
            fn digit(self, shift: u32, bits: u32) -> usize { (self >> shift) as usize & ((1 << bits) - 1) }
        }
    )*};
}

words!(u32 u64 u128);

/// A rank beside the index of its element: equal ranks are ordered by index, so any sort of these is stable.
pub trait Tagged: Word {
    /// The word that holds both.
    type Pair: Word;
    /// Bit at which the rank starts.
    const SHIFT: u32;
    /// Puts them together.
    fn pair(self, index: usize) -> Self::Pair;
    /// The index of a pair.
    fn index(pair: Self::Pair) -> i64;
    /// The rank of a pair.
    fn of(pair: Self::Pair) -> Self;
}

impl Tagged for u32 {
    type Pair = u64;
    const SHIFT: u32 = 32;
    #[inline(always)]
    fn pair(self, index: usize) -> u64 {
        (self as u64) << 32 | index as u64
    }
    #[inline(always)]
    fn index(pair: u64) -> i64 {
        (pair & 0xffff_ffff) as i64
    }
    #[inline(always)]
    fn of(pair: u64) -> u32 {
        (pair >> 32) as u32
    }
}

impl Tagged for u64 {
    type Pair = u128;
    const SHIFT: u32 = 64;
    #[inline(always)]
    fn pair(self, index: usize) -> u128 {
        (self as u128) << 64 | index as u128
    }
    #[inline(always)]
    fn index(pair: u128) -> i64 {
        pair as i64
    }
    #[inline(always)]
    fn of(pair: u128) -> u64 {
        (pair >> 64) as u64
    }
}

/// An element that can be sorted as a number.
pub trait Coded: Ranked<Rank: Tagged> {
    /// Bits of a code, and of a rank.
    const BITS: u32;
    /// The number that stands for exactly this bit pattern.
    fn code(self, descending: bool) -> Self::Rank;
    /// The element of a code.
    fn decode(code: Self::Rank, descending: bool) -> Self;
    /// Whether another bit pattern is equal in the order.
    fn is_ambiguous(self) -> bool;
}

macro_rules! integers {
    ($($type:ty, $bits:ty, $word:ty, $flip:expr;)*) => {$(
        impl Ranked for $type {
            type Rank = $word;
            #[inline(always)]
            fn rank(self, descending: bool) -> $word { self.code(descending) }
        }
        impl Coded for $type {
            const BITS: u32 = <$bits>::BITS;
            #[inline(always)]
            fn code(self, descending: bool) -> $word {
                let turn = if descending { <$bits>::MAX } else { 0 };
                (self as $bits ^ $flip ^ turn) as $word
            }
            #[inline(always)]
            fn decode(code: $word, descending: bool) -> $type {
                let turn = if descending { <$bits>::MAX } else { 0 };
                (code as $bits ^ $flip ^ turn) as $type
            }
            #[inline(always)]
            fn is_ambiguous(self) -> bool { false }
        }
    )*};
}

integers! {
    i8, u8, u32, 1 << 7; i16, u16, u32, 1 << 15; i32, u32, u32, 1 << 31; i64, u64, u64, 1 << 63;
    u8, u8, u32, 0; u16, u16, u32, 0; u32, u32, u32, 0; u64, u64, u64, 0;
}

/// The rules of floats, on their bits: `$infinity` is the exponent field, below a sign.
macro_rules! floats {
    ($($type:ty, $bits:ty, $word:ty, $infinity:expr, $to:expr, $from:expr;)*) => {$(
        impl Ranked for $type {
            type Rank = $word;
            #[inline(always)]
            fn rank(self, descending: bool) -> $word {
                const SIGN: $bits = 1 << (<$bits>::BITS - 1);
                let to: fn($type) -> $bits = $to;
                let from: fn($bits) -> $type = $from;
                let size = to(self) & !SIGN;
                let plain = if size == 0 { from(0) } else { self };
                if size > $infinity { <$bits>::MAX as $word } else { plain.code(descending) }
            }
        }
        impl Coded for $type {
            const BITS: u32 = <$bits>::BITS;
            #[inline(always)]
            fn code(self, descending: bool) -> $word {
                const SIGN: $bits = 1 << (<$bits>::BITS - 1);
                // Patterns of NaN of one sign; without them, minus infinity would be 0 and infinity this.
                const NANS: $bits = SIGN - 1 - $infinity;
                const TOP: $bits = (SIGN | $infinity) - NANS;
                let to: fn($type) -> $bits = $to;
                let bits = to(self);
                let ordered = if bits & SIGN != 0 { !bits } else { bits | SIGN };
                // Negative NaNs, the lowest so far, wrap to the top.
                let code = ordered.wrapping_sub(NANS);
                (if descending && code <= TOP { TOP - code } else { code }) as $word
            }
            #[inline(always)]
            fn decode(code: $word, descending: bool) -> $type {
                const SIGN: $bits = 1 << (<$bits>::BITS - 1);
                const NANS: $bits = SIGN - 1 - $infinity;
                const TOP: $bits = (SIGN | $infinity) - NANS;
                let code = code as $bits;
                let code = if descending && code <= TOP { TOP - code } else { code };
                let ordered = code.wrapping_add(NANS);
                let from: fn($bits) -> $type = $from;
                from(if ordered & SIGN != 0 { ordered & !SIGN } else { !ordered })
            }
            #[inline(always)]
            fn is_ambiguous(self) -> bool {
                const SIGN: $bits = 1 << (<$bits>::BITS - 1);
                let to: fn($type) -> $bits = $to;
                let size = to(self) & !SIGN;
                size == 0 || size > $infinity
            }
        }
    )*};
}

floats! {
    F16, u16, u32, 0x7c00, |x| x.0, F16;
    BF16, u16, u32, 0x7f80, |x| x.0, BF16;
    f32, u32, u32, 0x7f80_0000, |x| x.to_bits(), f32::from_bits;
    f64, u64, u64, 0x7ff0_0000_0000_0000, |x| x.to_bits(), f64::from_bits;
}

macro_rules! complex {
    ($($float:ty)*) => {$(
        impl Ranked for Complex<$float> {
            /// Which parts are NaN, then the parts.
            type Rank = (bool, bool, <$float as Ranked>::Rank, <$float as Ranked>::Rank);
            #[inline(always)]
            fn rank(self, descending: bool) -> Self::Rank {
                (self.re.is_nan(), self.im.is_nan(), self.re.rank(descending), self.im.rank(descending))
            }
        }
    )*};
}

complex!(f32 f64);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_of_all_half_floats_decode_and_are_in_order() {
        for descending in [false, true] {
            let mut codes: Vec<(u32, u16)> =
                (0..=u16::MAX).map(|bits| (F16(bits).code(descending), bits)).collect();
            assert!(codes.iter().all(|&(code, bits)| F16::decode(code, descending).0 == bits));
            codes.sort_unstable();
            assert!(codes.windows(2).all(|w| w[0].0 < w[1].0 && w[0].0 <= 0xffff));
            let values: Vec<f32> =
                codes.iter().map(|&(_, bits)| half::f16::from_bits(bits).to_f32()).collect();
            let numbers = values.iter().position(|v| v.is_nan()).unwrap_or(values.len());
            assert!(values[numbers..].iter().all(|v| v.is_nan()));
            let in_order = |w: &[f32]| if descending { w[0] >= w[1] } else { w[0] <= w[1] };
            assert!(values[..numbers].windows(2).all(in_order));
        }
    }

    #[test]
    fn zeros_share_a_rank_and_nans_the_last_one() {
        for descending in [false, true] {
            assert_eq!((-0.0f32).rank(descending), 0.0f32.rank(descending));
            assert_eq!(f64::NAN.rank(descending), u64::MAX);
            assert_eq!(f64::from_bits(u64::MAX).rank(descending), u64::MAX);
            assert!(f32::INFINITY.rank(descending) < u32::MAX);
        }
        assert!((-5i8).rank(false) < 3i8.rank(false) && (-5i8).rank(true) > 3i8.rank(true));
    }
}
