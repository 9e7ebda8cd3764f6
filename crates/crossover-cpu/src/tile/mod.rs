//! Loops over tiles, compiled once per level of [`Simd`] and reached through function pointers.
//!
//! A tile function exists for exactly the combinations of op and dtype that the op table allows; [`Tiles`] answers
//! `None` for the others. Symbols carry level, op and type in their name, so that the vectorisation check can find
//! them: `crossover_cpu::tile::avx512::unary::<Exp, f32>`.
#![allow(unsafe_code)]

mod body;
mod extreme;
#[macro_use]
mod level;
pub mod movement;
mod reduction;
mod sequence;

use crossover_core::{
    DType,
    ops::{MapOp, cast, reduce::ReduceOp},
};

use crate::Simd;

/// Which operands of a binary op are scalars.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Form {
    /// None.
    Vectors,
    /// The second.
    ScalarRight,
    /// The first.
    ScalarLeft,
}

/// An elementwise loop: three operands (unused ones are ignored), the output, the number of elements.
pub type TileFn = unsafe fn(*const u8, *const u8, *const u8, *mut u8, usize);
/// Gathers: source, stride in elements, output, count.
pub type GatherFn = unsafe fn(*const u8, isize, *mut u8, usize);
/// Scatters: source, output, stride in elements, count.
pub type ScatterFn = unsafe fn(*const u8, *mut u8, isize, usize);
/// Interleaves: two sources, output, elements of each source.
pub type InterleaveFn = unsafe fn(*const u8, *const u8, *mut u8, usize);
/// Works on rows: source, output, rows, elements of a row.
pub type RowsFn = unsafe fn(*const u8, *mut u8, usize, usize);
/// Reduces rows: source, output, rows, elements of a row.
pub type ReduceFn = unsafe fn(*const u8, *mut u8, usize, usize);
/// Adds rows to accumulators: source, elements from row to row, accumulators, rows, elements of a row.
pub type ColumnsFn = unsafe fn(*const u8, isize, *mut u8, usize, usize);
/// Finds extremes of rows: source, values, positions, rows, elements of a row.
pub type ArgRowsFn = unsafe fn(*const u8, *mut u8, *mut i64, usize, usize);
/// Merges candidates: values, positions, best values, their positions, count.
pub type ArgColumnsFn = unsafe fn(*const u8, *const i64, *mut u8, *mut i64, usize);
/// Indices: start, step, divisor, modulus, output, count.
pub type IndexFn = unsafe fn(i64, i64, i64, i64, *mut u8, usize);
/// Random bits: start, step, stream, key, output, count.
pub type RandomFn = unsafe fn(u64, i64, u32, *const u32, *mut u8, usize);

/// The tile functions of one level.
#[derive(Debug, Clone, Copy)]
pub struct Tiles {
    /// An elementwise op on a dtype.
    pub map: fn(MapOp, DType, Form) -> Option<TileFn>,
    /// The same with every NaN canonical, for cheap ops on floats whose NaNs are not.
    pub visible: fn(MapOp, DType, Form) -> Option<TileFn>,
    /// Division of a float by one number; whether every NaN is canonical.
    pub divide_by: fn(DType, bool) -> Option<TileFn>,
    /// A primitive conversion.
    pub cast: fn(cast::Step) -> Option<TileFn>,
    /// Reads (true) or writes (false) a 16-bit float dtype.
    pub half: fn(DType, bool) -> Option<TileFn>,
    /// Canonical NaNs of a float or complex dtype.
    pub canonical: fn(DType) -> Option<TileFn>,
    /// Selection by element size; whether each of the two values is a scalar.
    pub select: fn(usize, bool, bool) -> TileFn,
    /// Repeats one element, by its size.
    pub fill: fn(usize) -> TileFn,
    /// Copies elements of a size.
    pub copy: fn(usize) -> TileFn,
    /// Gathers by element size.
    pub gather: fn(usize) -> GatherFn,
    /// Scatters by element size.
    pub scatter: fn(usize) -> ScatterFn,
    /// Interleaves by element size.
    pub interleave: fn(usize) -> InterleaveFn,
    /// Repeats each of some elements along a row.
    pub repeat_each: fn(usize) -> RowsFn,
    /// Repeats a row.
    pub repeat_all: fn(usize) -> RowsFn,
    /// Reduces rows of at most one chunk; the last argument is the most elements they have.
    pub rows: fn(ReduceOp, DType, usize) -> Option<ReduceFn>,
    /// Adds rows to accumulators in order.
    pub columns: fn(ReduceOp, DType) -> Option<ColumnsFn>,
    /// Extremes of rows with their positions.
    pub arg_rows: fn(ReduceOp, DType) -> Option<ArgRowsFn>,
    /// Merges candidates; whether all have the same position.
    pub arg_columns: fn(ReduceOp, DType, bool) -> Option<ArgColumnsFn>,
    /// Index tiles.
    pub index: IndexFn,
    /// Random tiles.
    pub random: RandomFn,
}

impl Tiles {
    /// The functions of a level, which the processor must have.
    pub fn of(level: Simd) -> &'static Tiles {
        match level {
            #[cfg(target_arch = "x86_64")]
            Simd::Avx2 => &avx2::TILES,
            #[cfg(target_arch = "x86_64")]
            Simd::Avx512 => &avx512::TILES,
            #[cfg(target_arch = "aarch64")]
            Simd::Neon => &neon::TILES,
            _ => &scalar::TILES,
        }
    }
}

/// The baseline of the target.
#[cfg(not(target_arch = "aarch64"))]
pub mod scalar {
    level!(16);
}

/// On aarch64 the baseline has NEON: the two levels are the same code.
#[cfg(target_arch = "aarch64")]
pub use neon as scalar;

/// 128-bit vectors of aarch64.
#[cfg(target_arch = "aarch64")]
pub mod neon {
    level!(16);
}

/// 256-bit vectors with FMA.
#[cfg(target_arch = "x86_64")]
pub mod avx2 {
    level!(32 #[target_feature(enable = "avx2,fma,f16c,bmi1,bmi2,popcnt,lzcnt")]);
}

/// 512-bit vectors.
#[cfg(target_arch = "x86_64")]
pub mod avx512 {
    level!(64 #[target_feature(
        enable = "avx512f,avx512vl,avx512dq,avx512bw,avx512cd,avx2,fma,f16c,bmi1,bmi2,popcnt,lzcnt"
    )]);
}
