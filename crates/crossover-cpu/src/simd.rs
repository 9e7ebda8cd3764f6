//! The vector instructions that tile loops use, found at run time.

use std::fmt;

/// A set of vector instructions. Results never depend on it.
///
/// ```
/// use crossover_cpu::Simd;
/// assert!(Simd::detect().is_available() && Simd::available().any(|simd| simd == Simd::Scalar));
/// println!("{}", Simd::detect().name());
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Simd {
    /// What every processor of the target has, without fused multiply-add on x86-64.
    Scalar,
    /// 256-bit vectors with FMA (x86-64).
    Avx2,
    /// 512-bit vectors (x86-64).
    Avx512,
    /// 128-bit vectors, the baseline of aarch64.
    Neon,
}

impl Simd {
    /// Whether large kernels become machine code of their own at this level: with AVX-512, where the system allows
    /// memory to be made executable.
    ///
    /// ```
    /// assert!(!crossover_cpu::Simd::Scalar.makes_code());
    /// ```
    pub fn makes_code(self) -> bool {
        self == Simd::Avx512 && self.is_available() && crate::native::is_available()
    }

    /// The widest level this processor has.
    pub fn detect() -> Simd {
        #[cfg(target_arch = "x86_64")]
        {
            use std::arch::is_x86_feature_detected as has;
            let avx2 = has!("avx2")
                && has!("fma")
                && has!("f16c")
                && has!("bmi1")
                && has!("bmi2")
                && has!("popcnt")
                && has!("lzcnt");
            let avx512 = has!("avx512f")
                && has!("avx512vl")
                && has!("avx512dq")
                && has!("avx512bw")
                && has!("avx512cd");
            match (avx2, avx512) {
                (true, true) => Simd::Avx512,
                (true, false) => Simd::Avx2,
                _ => Simd::Scalar,
            }
        }
        #[cfg(target_arch = "aarch64")]
        {
            Simd::Neon
        }
        #[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
        {
            Simd::Scalar
        }
    }

    /// Whether this processor can run the level.
    pub fn is_available(self) -> bool {
        let best = Simd::detect();
        match self {
            Simd::Scalar => true,
            Simd::Neon => best == Simd::Neon,
            Simd::Avx2 => matches!(best, Simd::Avx2 | Simd::Avx512),
            Simd::Avx512 => best == Simd::Avx512,
        }
    }

    /// Every level this processor can run, narrowest first.
    pub fn available() -> impl Iterator<Item = Simd> {
        [Simd::Scalar, Simd::Neon, Simd::Avx2, Simd::Avx512].into_iter().filter(|s| s.is_available())
    }

    /// Name for people.
    pub const fn name(self) -> &'static str {
        match self {
            Simd::Scalar => "scalar",
            Simd::Avx2 => "AVX2",
            Simd::Avx512 => "AVX-512",
            Simd::Neon => "NEON",
        }
    }
}

impl fmt::Display for Simd {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}
