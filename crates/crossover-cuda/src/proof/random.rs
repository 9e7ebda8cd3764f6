//! Random bits for tests: reproducible from a seed, and hard on floating point where asked.

use crossover_core::{DType, Scalar};

/// SplitMix64.
#[derive(Debug, Clone)]
pub struct Random(u64);

impl Random {
    /// A generator with this seed.
    pub fn new(seed: u64) -> Random {
        Random(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ 0x5851_f42d_4c95_7f2d)
    }

    /// The next 64 bits.
    pub fn bits(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        mix(self.0)
    }

    /// A number below `limit`, which is not 0.
    pub fn below(&mut self, limit: usize) -> usize {
        (self.bits() % limit as u64) as usize
    }

    /// True in so many of a hundred cases.
    pub fn chance(&mut self, percent: usize) -> bool {
        self.below(100) < percent
    }
}

/// The finaliser of SplitMix64: a bijection that scatters bits.
#[inline(always)]
pub fn mix(mut z: u64) -> u64 {
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

/// Edges of every width, as bits: zeros, ones, extremes, infinities, NaNs with payloads, subnormals, and the
/// neighbourhoods of powers of two where conversions saturate.
fn edge(dtype: DType, r: u64) -> u64 {
    let pick = |list: &[u64]| list[(r >> 8) as usize % list.len()];
    let sign = (r & 1) << (dtype.size() * 8 - 1);
    match dtype {
        DType::F16 => pick(&[0, 1, 0x3ff, 0x400, 0x3c00, 0x7bff, 0x7c00, 0x7e00, 0x7d01]) ^ sign,
        DType::BF16 => {
            pick(&[0, 1, 0x7f, 0x80, 0x3f80, 0x7f7f, 0x7f80, 0x7fc0, 0x7f81, 0x4f00, 0x5f00]) ^ sign
        }
        DType::F32 => {
            pick(&[
                0,
                1,
                0x7f_ffff,
                0x80_0000,
                0x3f80_0000,
                0x3f00_0000,
                0x7f7f_ffff,
                0x7f80_0000,
                0x7fc0_0000,
                0x7f80_0001,
                0x7fab_cdef,
                0x4f00_0000,
                0x4eff_ffff,
                0x4f80_0000,
                0x5f00_0000,
                0x5f80_0000,
                0x4300_0000,
                0x4700_0000,
                0x477f_f000,
                0x3300_0000,
                0x3300_0001,
                0x4b00_0001,
            ]) ^ sign
        }
        DType::F64 => {
            pick(&[
                0,
                1,
                0x000f_ffff_ffff_ffff,
                0x0010_0000_0000_0000,
                0x3ff0_0000_0000_0000,
                0x3fe0_0000_0000_0000,
                0x7fef_ffff_ffff_ffff,
                0x7ff0_0000_0000_0000,
                0x7ff8_0000_0000_0000,
                0x7ff0_0000_0000_0001,
                0x7ffa_bcde_f012_3456,
                0x43e0_0000_0000_0000,
                0x43df_ffff_ffff_ffff,
                0x43f0_0000_0000_0000,
                0x41e0_0000_0000_0000,
                0x41df_ffff_ffc0_0000,
                0x41f0_0000_0000_0000,
                0x47ef_ffff_f000_0000,
                0x3690_0000_0000_0000,
                0x40ef_fff0_0000_0000,
            ]) ^ sign
        }
        _ => {
            pick(&[
                0,
                1,
                2,
                3,
                u64::MAX,
                u64::MAX - 1,
                i64::MAX as u64,
                i64::MIN as u64,
                0x7f,
                0x80,
                0x7fff,
                0x8000,
                0x7fff_ffff,
                0x8000_0000,
            ]) ^ if r & 2 == 0 { 0 } else { sign }
        }
    }
}

/// The bits of one real value of `dtype` (its real part, for complex dtypes) from 64 random bits.
pub fn real_bits(dtype: DType, r: u64, tame: bool) -> u64 {
    let (choice, bits) = ((r >> 56) as u8, mix(r));
    match dtype {
        DType::Bool => bits & 1,
        _ if choice < 16 && !tame => edge(dtype, bits),
        DType::F16 | DType::BF16 | DType::F32 | DType::F64 if tame || choice < 100 => {
            // Between -4 and 4, with a few zeros of either sign.
            let x = if choice < 4 { -0.0 } else { (bits >> 11) as f64 * 2f64.powi(-50) - 4.0 };
            Scalar::from_bits(DType::F64, [x.to_bits(), 0]).cast(dtype).bits()[0]
        }
        _ if tame => (bits % 17).wrapping_sub(if dtype.is_signed_int() { 8 } else { 0 }),
        _ => bits,
    }
}

/// Fills a buffer with values of `dtype`. Tame ones are small; others include any bit pattern and many edges.
pub fn fill(bytes: &mut [u8], dtype: DType, seed: u64, tame: bool) {
    let part = dtype.real();
    for (i, chunk) in bytes.chunks_exact_mut(part.size()).enumerate() {
        let bits = real_bits(part, mix(seed ^ mix(i as u64 + 1)), tame);
        chunk.copy_from_slice(&bits.to_le_bytes()[..part.size()]);
    }
}
