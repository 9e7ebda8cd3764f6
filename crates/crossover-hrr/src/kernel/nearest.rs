//! The nearest item of every query as one kernel for both devices: scores are never written as a whole.
//!
//! What always holds: winners are those of exact arithmetic. The CPU's part is in [`search`]. On a GPU tensor cores multiply
//! vectors that were rounded to f16 and keep the best of every 64 items; then those groups are scored again, in f64, that could hold the
//! winner: a rounded score is off by at most [`margin`], so the winner's group is within twice that of the largest. Few queries are
//! scored in f32 instead, since rounding all items for them would take longer than reading them.
//!
//! Vectors that are in 16 bits already are multiplied as they are: nothing is rounded, and a score is off by what adding up on tensor cores costs. Their text
//! is that of vectors in f32 with other operands, see [`Form::kept_text`].

use std::sync::OnceLock;

use crossover_array::{
    Array, CustomKernel, DType, Element, Grid, KernelInputs, KernelOutput, Padding, Shape,
};
use crossover_core::custom::{Launches, Part, Swizzle, TensorMap, Work};
use half::{bf16, f16};

use super::winners::{Number, Rows, winners as search};
use crate::Result;

const ORDERED: &str = include_str!("ordered.cuh");
const ROUND: &str = include_str!("round.cu");
const NEAREST: &str = include_str!("nearest.cu");
const NEAREST_HOPPER: &str = include_str!("nearest_hopper.cu");
const SCAN: &str = include_str!("scan.cu");
const RESCORE: &str = include_str!("rescore.cu");

/// Items of a tile, and groups that their scores are kept by.
const TILE: usize = 256;
const GROUPS: usize = 4;
/// Queries of a tile.
const ACROSS: usize = 128;
/// Bytes of a stage of operands in shared memory, and room to align the stages.
const STAGE: usize = 48 * 1024;
const ALIGN: usize = 1024;
/// Queries up to which items are read as they are.
const FEW: usize = 8;
/// Rows are whole pieces of 16 bytes, in f16 too.
pub(crate) const MULTIPLE: usize = 8;

/// How far a score of vectors of length at most 1, rounded to f16 or TF32, is from the true one: 2⁻¹¹ for each operand and its rounding, and
/// 2⁻²² for each of `k` additions.
pub(crate) fn margin(k: usize) -> f32 {
    (2f64.powi(-10) * 1.01 + k as f64 * 2f64.powi(-22)) as f32
}

/// As [`margin`], of vectors that are not rounded.
fn kept_margin(k: usize) -> f32 {
    // Rounded vectors may be longer than 1 by 2⁻⁸.
    (k as f64 * 2f64.powi(-22) * 1.02) as f32
}

/// The winners of queries among items, lazily: `u64` entries of a score and an index. Both operands are [comparable](crate::Space::comparable) and
/// [prepared], in f32 or both in f16 or bf16.
pub(crate) fn winners(queries: &Array, items: &Array) -> Result<Array> {
    Ok(kernel(items.dtype())?.call(&[queries, items]))
}

/// Indices and similarities of the nearest items; where nothing is alike, because everything is NaN, the index is `u32::MAX`.
pub(crate) fn nearest(queries: &Array, items: &Array) -> Result<(Vec<u32>, Vec<f32>)> {
    if queries.shape().dims()[0] == 0 {
        return Ok((Vec::new(), Vec::new()));
    }
    let found = winners(queries, items)?.to_vec::<u64>()?;
    Ok(found.into_iter().map(unpacked).unzip())
}

/// The indices of winners, lazily, as `i64`; -1 where nothing is alike.
pub(crate) fn indices(winners: &Array) -> Array {
    let lower = !winners & Array::full((), u64::from(u32::MAX));
    let none = lower.equal(Array::full((), u64::from(u32::MAX)));
    none.where_(Array::full((), -1i64), lower.astype(DType::I64))
}

/// As f32, with zeros up to a [multiple](MULTIPLE) of numbers that the kernels want; they change no score.
pub(crate) fn prepared(x: &Array) -> Array {
    let x = if x.dtype() == DType::F32 { x.clone() } else { x.astype(DType::F32) };
    match x.shape().dims()[1] % MULTIPLE {
        0 => x.clone(),
        over => x.pad(&[(0, 0), (0, MULTIPLE - over)], Padding::Constant(0.0.into())),
    }
}

/// A score and an index as one number that is larger for a larger score, then for a smaller index.
pub(super) const fn packed(score: f32, index: u32) -> u64 {
    let bits = score.to_bits();
    let monotone = if bits >> 31 == 1 { !bits } else { bits | 1 << 31 };
    (monotone as u64) << 32 | !index as u64
}

pub(super) fn unpacked(entry: u64) -> (u32, f32) {
    let bits = (entry >> 32) as u32;
    let score = f32::from_bits(if bits >> 31 == 1 { bits & !(1 << 31) } else { !bits });
    (!(entry as u32), score)
}

/// How queries and items are multiplied.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Form {
    /// By warps, which fetch for themselves.
    Warps,
    /// By groups of warps, for which the copy engine fetches.
    Hopper,
}

impl Form {
    fn stages(self) -> usize {
        match self {
            // 99 KiB of shared memory at least.
            Form::Warps => 2,
            Form::Hopper => 4,
        }
    }

    fn product(self) -> String {
        match self {
            Form::Warps => format!("constexpr int AHEAD = 1;\n{NEAREST}"),
            Form::Hopper => NEAREST_HOPPER.to_string(),
        }
    }

    /// The CUDA text.
    pub(super) fn text(self) -> String {
        let product = self.product();
        format!("constexpr int STAGES = {};\n{ORDERED}{ROUND}{product}{SCAN}{RESCORE}", self.stages())
    }

    /// The CUDA text for operands in this dtype of 16 bits: the same product and the same search of groups, of the operands as they are given.
    pub(super) fn kept_text(self, dtype: DType) -> String {
        let name = if dtype == DType::F16 { "f16" } else { "bf16" };
        // Hopper's product takes its operands from tensor maps of these names.
        let operands = match self {
            Form::Warps => "const unsigned short* queries, const unsigned short* items,",
            Form::Hopper => "const unsigned short*, const unsigned short*,",
        };
        let mut product = replaced(self.product(), "const float*, const float*,", operands);
        product = replaced(product, "f32.f16.f16", &format!("f32.{name}.{name}"));
        if self == Form::Warps {
            for line in [
                "    const unsigned short* queries = rounded_queries(scratch, Q, N);\n",
                "    const unsigned short* items = rounded_items(scratch, Q, N, K);\n",
            ] {
                product = replaced(product, line, "");
            }
        }
        let mut rescore = RESCORE.to_string();
        for (from, to) in [
            (
                "const float* queries, const float* items",
                "const unsigned short* queries, const unsigned short* items",
            ),
            ("const float* query", "const unsigned short* query"),
            (
                "const float4* from = (const float4*)(items + item * K)",
                "const unsigned short* from = items + item * K",
            ),
            ("((const float4*)query)[k], y = from[k]", "four(query, k), y = four(from, k)"),
        ] {
            rescore = replaced(rescore, from, to);
        }
        let four = KEPT.replace("WIDEN", &format!("xo_widen_{name}"));
        format!("constexpr int STAGES = {};\n{ORDERED}{product}{four}{rescore}", self.stages())
    }
}

/// Four numbers of a row of 16-bit ones.
const KEPT: &str = "
__device__ __forceinline__ float4 four(const unsigned short* row, const int k)
{
    const uint2 both = ((const uint2*)row)[k];
    return {WIDEN((unsigned short)both.x), WIDEN((unsigned short)(both.x >> 16)), WIDEN((unsigned short)both.y), WIDEN((unsigned short)(both.y >> 16))};
}

";

/// A text with another one in place of a part that it has.
fn replaced(text: String, from: &str, to: &str) -> String {
    debug_assert!(text.contains(from), "the text has {from:?}");
    text.replace(from, to)
}

/// The launches for these operands. Scratch memory holds the best of every group, then, where there are many queries, both operands in f16.
fn launches(queries: &Shape, items: &Shape, form: Form) -> Launches {
    let (q, n, k) = (queries[0], items[0], queries[1]);
    let tiles = n.div_ceil(TILE);
    let groups = (q * GROUPS * tiles * 8).next_multiple_of(256);
    let rounded_queries = (q * k * 2).next_multiple_of(256);
    let sized = |grid: Grid| grid.size(q).size(n).size(k);
    let rescore = sized(Grid::new([q, 1, 1], [256, 1, 1]).entry("hrr_rescore")).float(margin(k));
    if q <= FEW {
        let scan = sized(Grid::new([tiles, 1, 1], [256, 1, 1]).entry("hrr_scan"));
        return Launches::from(scan).then(rescore).scratch(groups);
    }
    // Eight numbers for each thread.
    let round = Grid::covering((q + n) * k / 8, 256).entry("hrr_round").resident(16);
    let across = q.div_ceil(ACROSS);
    let nearest = match form {
        Form::Warps => sized(Grid::new([across * tiles, 1, 1], [256, 1, 1])),
        Form::Hopper => {
            let map = |at, rows, tile| {
                TensorMap::new(Part::Scratch(at), DType::F16, &[rows, k], &[tile, 64])
                    .swizzle(Swizzle::Bytes128)
            };
            let grid = sized(Grid::new([across * tiles, 1, 1], [288, 1, 1]));
            grid.map(map(groups, q, ACROSS)).map(map(groups + rounded_queries, n, TILE))
        }
    };
    let nearest = nearest.resident(1).shared(form.stages() * STAGE + ALIGN);
    let total = groups + rounded_queries + n * k * 2;
    Launches::from(sized(round)).then(nearest).then(rescore).scratch(total)
}

/// As [`launches`], of operands that are in 16 bits. Scratch memory holds the best of every group.
fn kept_launches(queries: &Shape, items: &Shape, dtype: DType, form: Form) -> Launches {
    let (q, n, k) = (queries[0], items[0], queries[1]);
    let (tiles, across) = (n.div_ceil(TILE), q.div_ceil(ACROSS));
    let sized = |grid: Grid| grid.size(q).size(n).size(k);
    let threads = if form == Form::Warps { 256 } else { 288 };
    let grid = Grid::new([across * tiles, 1, 1], [threads, 1, 1]).entry("hrr_nearest");
    let mut nearest = sized(grid).resident(1).shared(form.stages() * STAGE + ALIGN);
    if form == Form::Hopper {
        for (at, rows, tile) in [(0, q, ACROSS), (1, n, TILE)] {
            let map = TensorMap::new(Part::Operand(at), dtype, &[rows, k], &[tile, 64]);
            nearest = nearest.map(map.swizzle(Swizzle::Bytes128));
        }
    }
    let rescore = sized(Grid::new([q, 1, 1], [256, 1, 1]).entry("hrr_rescore")).float(kept_margin(k));
    Launches::from(nearest).then(rescore).scratch((q * GROUPS * tiles * 8).next_multiple_of(256))
}

/// By compute capability.
const FORMS: [(u32, Form); 3] = [(80, Form::Warps), (90, Form::Hopper), (100, Form::Warps)];

/// The kernel for operands in a dtype, f32 where it is none of 16 bits; each is built once.
pub(super) fn kernel(dtype: DType) -> Result<&'static CustomKernel> {
    static MADE: [OnceLock<CustomKernel>; 3] = [const { OnceLock::new() }; 3];
    let (at, name) = match dtype {
        DType::F16 => (1, "hrr_nearest_f16"),
        DType::BF16 => (2, "hrr_nearest_bf16"),
        _ => (0, "hrr_nearest"),
    };
    if let Some(made) = MADE[at].get() {
        return Ok(made);
    }
    let dtype = [DType::F32, DType::F16, DType::BF16][at];
    let mut builder = CustomKernel::builder(name)
        .input("queries", dtype)
        .input("items", dtype)
        .output("winner", DType::U64)
        .shape(|shapes| {
            rows_of(shapes[0], shapes[1])?;
            Ok(Shape::from([shapes[0][0]]))
        })
        .work(|inputs, _| {
            let items = inputs[1].dims().first().map_or(0, |&n| n as u64);
            let products = (inputs[0].size() as u64).saturating_mul(2).saturating_mul(items);
            Work { products, ..Work::default() }
        })
        .cpu(move |inputs, output| match dtype {
            DType::F16 => run::<f16>(inputs, output),
            DType::BF16 => run::<bf16>(inputs, output),
            _ => run::<f32>(inputs, output),
        });
    for (capability, form) in FORMS {
        builder = match dtype {
            DType::F32 => builder
                .cuda_since(capability, &form.text(), move |inputs, _| launches(inputs[0], inputs[1], form)),
            _ => builder.cuda_since(capability, &form.kept_text(dtype), move |inputs, _| {
                kept_launches(inputs[0], inputs[1], dtype, form)
            }),
        };
    }
    let made = builder.build()?;
    Ok(MADE[at].get_or_init(|| made))
}

fn run<T: Number + Element>(
    inputs: &KernelInputs<'_>,
    output: &mut KernelOutput<'_>,
) -> crossover_core::Result<()> {
    let k = inputs.shape(0)[1];
    let rows = |at| Ok::<_, crossover_core::Error>(Rows { numbers: inputs.slice::<T>(at)?, k });
    search(rows(0)?, rows(1)?, output.slice::<u64>()?);
    Ok(())
}

fn rows_of(queries: &Shape, items: &Shape) -> Result<(), String> {
    match (queries.dims(), items.dims()) {
        ([_, k], [n, other]) if k == other && k.is_multiple_of(MULTIPLE) && *k > 0 && *n > 0 => Ok(()),
        (q, n) => {
            Err(format!("wants [q, k] and [n, k] with k a multiple of {MULTIPLE}, not {q:?} and {n:?}"))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn packed_scores_are_ordered_as_scores_are() {
        let scores = [f32::NEG_INFINITY, -2.0, -0.5, -0.0, 0.0, 1e-30, 0.25, 1.0, f32::INFINITY];
        for pair in scores.windows(2) {
            assert!(packed(pair[0], 0) < packed(pair[1], 9), "{pair:?}");
        }
        assert!(packed(0.5, 3) > packed(0.5, 4));
        assert_eq!(unpacked(packed(-0.75, 12)), (12, -0.75));
    }

    #[test]
    fn the_margin_covers_rounding_to_f16() {
        // Worst directions: every element at the largest relative rounding error, all of one sign.
        let k = 1024;
        let x: Vec<f32> = (0..k)
            .map(|i| (1.0 / 32.0) * (1.0 + 2f32.powi(-11) * 0.999 * (1 + i % 2) as f32 / 2.0))
            .collect();
        let exact: f64 = x.iter().map(|&x| f64::from(x) * f64::from(x)).sum();
        let rounded: f64 = x.iter().map(|&x| f64::from(f16::from_f32(x).to_f32()).powi(2)).sum();
        assert!((exact - rounded).abs() / exact < f64::from(margin(k)), "{exact} {rounded}");
    }

    #[test]
    fn launches_ask_for_what_devices_have() {
        let (items, many, few) = (Shape::from([1000, 72]), Shape::from([300, 72]), Shape::from([3, 72]));
        for (_, form) in FORMS {
            let launches = launches(&many, &items, form);
            assert_eq!(launches.grids().len(), 3);
            // Groups of 64 items, both operands in f16.
            assert_eq!(
                launches.scratch_bytes(),
                (300usize * 16 * 8).next_multiple_of(256)
                    + (300usize * 72 * 2).next_multiple_of(256)
                    + 1000 * 72 * 2
            );
        }
        // 99 KiB is the least that a block can have since 8.0.
        assert!(Form::Warps.stages() * STAGE + ALIGN <= 99 * 1024);
        assert!(Form::Hopper.stages() * STAGE + ALIGN <= 226 * 1024);
        for (_, form) in FORMS {
            let launches = kept_launches(&few, &items, DType::BF16, form);
            let entries: Vec<_> = launches.grids().iter().map(|grid| grid.entry_name()).collect();
            assert_eq!(entries, [Some("hrr_nearest"), Some("hrr_rescore")]);
            assert_eq!(launches.scratch_bytes(), (3usize * 16 * 8).next_multiple_of(256));
        }
        let launches = launches(&few, &items, Form::Hopper);
        let entries: Vec<_> = launches.grids().iter().map(|grid| grid.entry_name()).collect();
        assert_eq!(entries, [Some("hrr_scan"), Some("hrr_rescore")]);
    }
}
