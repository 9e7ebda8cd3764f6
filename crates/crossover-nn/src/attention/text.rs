//! The CUDA texts of attention and how they are launched.
//!
//! A text is constants, the files in `kernels/`, and entry points whose parameters follow the operands of the call.

use crossover_core::{
    DType, Shape,
    custom::{Grid, Launches, Part, Swizzle, TensorMap},
};

use super::{
    cpu::{Bias, strides},
    shape::{Band, Dims, Lines},
};

const SHARED: &str = include_str!("../kernels/shared.cuh");
const MMA: &str = include_str!("../kernels/mma.cu");
const EXACT: &str = include_str!("../kernels/exact.cu");
const WGMMA: &str = include_str!("../kernels/wgmma.cuh");
const HOPPER: &str = include_str!("../kernels/hopper.cu");
const JOIN: &str = include_str!("../kernels/join.cu");

/// The name of the kernel and of its first entry point.
pub(super) const NAME: &str = "attention";
const JOIN_NAME: &str = "attention_join";

/// Parameters of every entry point after the pointers, and how they make a `Problem`.
const PARAMETERS: &str = "long long rows, long long heads, long long group, long long queries, long long keys, \
    long long head_size,\n    long long left, long long right, long long splits, long long bias_batch, long long bias_head, \
    long long bias_query,\n    long long bias_key, long long q_batch, long long q_head, long long q_step, long long k_batch, \
    long long k_head,\n    long long k_step, long long k_first, long long v_first, long long out_batch, long long out_head, \
    long long out_step,\n    float scale";

/// What a text depends on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct Shape4 {
    pub(super) dtype: DType,
    /// Whether `f32` may be rounded to TF32.
    pub(super) tf32: bool,
    pub(super) packed: bool,
    pub(super) bias: Bias,
    pub(super) lengths: bool,
    /// Whether the keys of a query are cut into parts.
    pub(super) splits: bool,
}

/// Which kernel, with its tiles.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Form {
    /// Tensor cores by `mma.sync`: warps, tiles of 16 rows of each, keys of a block.
    Mma { warps: usize, tall: usize, keys: usize },
    /// Float arithmetic: lanes of a row, rows of a thread, keys of a block.
    Exact { lanes: usize, each: usize, keys: usize },
    /// Hopper's own: warpgroups that compute.
    Hopper { consumers: usize },
}

/// Columns of tiles for a head size; `None` where no kernel has so many.
fn columns(head_size: usize, form: &Form) -> Option<usize> {
    let sizes: &[usize] = match form {
        Form::Hopper { .. } => &[64, 128],
        _ => &[32, 64, 96, 128, 192, 256],
    };
    sizes.iter().copied().find(|&n| n >= head_size)
}

/// A kernel for a call on devices of one kind.
#[derive(Debug, Clone, Copy)]
pub(super) struct Text {
    pub(super) what: Shape4,
    pub(super) form: Form,
    head: usize,
}

impl Text {
    pub(super) fn new(what: Shape4, form: Form, head_size: usize) -> Option<Text> {
        Some(Text { what, form, head: columns(head_size, &form)? })
    }

    /// Threads of a block.
    fn threads(&self) -> usize {
        match self.form {
            Form::Mma { warps, .. } => 32 * warps,
            Form::Exact { lanes, .. } => 16 * lanes,
            Form::Hopper { consumers } => 128 * (consumers + 1),
        }
    }

    /// Queries of a block.
    fn rows(&self) -> usize {
        match self.form {
            Form::Mma { warps, tall, .. } => 16 * tall * warps,
            Form::Exact { each, .. } => 16 * each,
            Form::Hopper { consumers } => 64 * consumers,
        }
    }

    /// Bytes of shared memory of a block.
    pub(super) fn shared(&self) -> usize {
        let head = self.head;
        match self.form {
            Form::Mma { keys, .. } => {
                let row = if self.what.dtype == DType::F32 { 4 * (head + 4) } else { 2 * (head + 8) };
                (self.rows() + 4 * keys) * row
            }
            Form::Exact { each, keys, .. } => {
                4 * ((16 * each + 2 * keys) * (head + 4) + 16 * each * (keys + 8))
            }
            Form::Hopper { consumers } => {
                let rows = self.rows();
                let out = if self.what.packed { 16 * consumers * head / 64 } else { 2 * rows * head };
                // Two blocks of 128 keys and values; barriers; room to start at a multiple of 1024.
                2 * rows * head + 4 * 128 * 2 * head + out + 256 + 1024
            }
        }
    }

    /// The source.
    pub(super) fn source(&self) -> String {
        let what = &self.what;
        let bias = match what.bias {
            Bias::None => 0,
            Bias::Added => 1,
            Bias::Mask => 2,
        };
        let mut out = format!(
            "constexpr int HEAD = {};\nconstexpr bool PACKED = {};\nconstexpr int BIAS = {bias};\n",
            self.head, what.packed
        );
        let brain = what.dtype == DType::BF16;
        let kind = match what.dtype {
            DType::F32 => "Tf32".to_string(),
            _ => format!("Sixteen<{brain}>"),
        };
        let (files, call): (&[&str], String) = match self.form {
            Form::Mma { warps, tall, keys } => {
                out += &format!(
                    "constexpr int WARPS = {warps};\nconstexpr int TALL = {tall};\nconstexpr int KEYS = {keys};\n"
                );
                (&[SHARED, MMA], format!("attend<{kind}>({}, shared)", self.problem()))
            }
            Form::Exact { lanes, each, keys } => {
                out += &format!(
                    "constexpr int LANES = {lanes};\nconstexpr int EACH = {each};\nconstexpr int KEYS = {keys};\n"
                );
                (&[SHARED, EXACT], format!("attend({}, shared)", self.problem()))
            }
            Form::Hopper { consumers } => {
                let name = if brain { "bf16" } else { "f16" };
                out += &format!(
                    "constexpr int CONSUMERS = {consumers};\nconstexpr bool BRAIN = {brain};\n#define KIND \"{name}\"\n"
                );
                (
                    &[SHARED, WGMMA, HOPPER],
                    format!("attend({}, shared, q_map, k_map, v_map, out_map)", self.problem()),
                )
            }
        };
        files.iter().for_each(|file| out.push_str(file));
        let maps = match self.form {
            Form::Hopper { .. } => ["q", "k", "v", "out"]
                .map(|name| format!(",\n    const __grid_constant__ xo_tensor_map {name}_map"))
                .concat(),
            _ => String::new(),
        };
        let (threads, pointers) = (self.threads(), self.pointers());
        out += &format!(
            "\nextern \"C\" __global__ void __launch_bounds__({threads}, {}) {NAME}(\n    {pointers}{PARAMETERS}{maps})\n{{\n    \
             extern __shared__ unsigned char shared[];\n    {call};\n}}\n",
            self.together()
        );
        if what.splits {
            let store = match what.dtype {
                DType::F16 | DType::BF16 if !what.packed => format!("{kind}::store(p.out, at, low, high)"),
                _ => "((float*)p.out)[at] = low, ((float*)p.out)[at + 1] = high".to_string(),
            };
            out += JOIN;
            out += &format!(
                "\nextern \"C\" __global__ void __launch_bounds__(128) {JOIN_NAME}(\n    {pointers}{PARAMETERS})\n{{\n    \
                 const Problem p = {};\n    \
                 join(p, [&](const long long at, const float low, const float high) {{ {store}; }});\n}}\n",
                self.problem()
            );
        }
        out
    }

    /// Blocks that are to fit on a multiprocessor together, as far as registers decide.
    fn together(&self) -> usize {
        match self.form {
            Form::Exact { .. } if self.shared() <= 112 << 10 => 2,
            // All tiles of a batch of short sequences run at once then.
            Form::Mma { warps: 4, tall: 2, .. }
                if self.what.dtype != DType::F32 && self.what.bias == Bias::None && self.head <= 64 =>
            {
                3
            }
            _ => 1,
        }
    }

    fn pointers(&self) -> String {
        let what = &self.what;
        let element = if what.dtype == DType::F32 { "float" } else { "unsigned short" };
        let mut out = ["q", "k", "v"].map(|name| format!("const {element}* {name}, ")).concat();
        out += match what.bias {
            Bias::None => "",
            Bias::Added => "const float* bias, ",
            Bias::Mask => "const unsigned char* bias, ",
        };
        if what.lengths {
            out += "const int* lengths, ";
        }
        out += &format!("{}* out, ", if what.packed { "float" } else { element });
        if what.splits {
            out += "unsigned char* scratch, ";
        }
        out + "\n    "
    }

    fn problem(&self) -> String {
        let what = &self.what;
        let bias = if what.bias == Bias::None { "nullptr" } else { "bias" };
        let lengths = if what.lengths { "lengths" } else { "nullptr" };
        let parts = if what.splits { "(float*)scratch" } else { "nullptr" };
        format!(
            "Problem{{q, k, v, {bias}, {lengths}, out, {parts}, rows, (int)heads, (int)group, (int)queries, (int)keys,\n        \
             (int)head_size, (int)left, (int)right, bias_batch, bias_head, bias_query, bias_key,\n        \
             {{q_batch, q_head, q_step}}, {{k_batch, k_head, k_step}}, {{out_batch, out_head, out_step}}, k_first, v_first,\n        \
             (int)splits, scale}}"
        )
    }

    /// How it is launched.
    pub(super) fn launches(&self, inputs: &[&Shape], dims: &Dims, band: Band, scale: f32) -> Launches {
        let tiles = dims.queries.div_ceil(self.rows()) * dims.batch * dims.heads;
        let splits = if self.what.splits { splits(dims, band) } else { 1 };
        let strides = match self.what.bias {
            Bias::None => [0; 4],
            _ => inputs.get(3).map_or([0; 4], |shape| strides(shape.dims())),
        };
        let side = |side: Option<usize>| side.map_or(-1, |n| n.min(1 << 30) as i64);
        let arguments = |grid: Grid| {
            let sizes = [dims.rows(), dims.heads, dims.group, dims.queries, dims.keys, dims.head_size];
            let grid = sizes.into_iter().fold(grid, Grid::size);
            let grid = grid.argument(side(band.left)).argument(side(band.right)).size(splits);
            let grid = strides.into_iter().fold(grid, Grid::size);
            let steps = |grid: Grid, lines: Lines| grid.size(lines.batch).size(lines.head).size(lines.step);
            // k and v lie alike, and q starts at the first row.
            let grid = steps(steps(grid, dims.q), dims.k).size(dims.k.first).size(dims.v.first);
            steps(grid, dims.out).float(scale * std::f32::consts::LOG2_E)
        };
        let grid = |blocks: usize| {
            arguments(Grid::new([blocks, 1, 1], [self.threads(), 1, 1]).shared(self.shared()))
        };
        match self.form {
            Form::Hopper { .. } => {
                // Axes in the same order wherever rows lie: batch, place, head of all parts, element.
                let map = |part, lines: Lines, length: usize, rows: usize| {
                    let strides = [lines.batch, lines.step, lines.head].map(|rows| rows * dims.head_size);
                    let axes = [dims.batch, length, lines.heads, dims.head_size];
                    TensorMap::new(part, self.what.dtype, &axes, &[1, rows, 1, 64])
                        .strides(&strides)
                        .swizzle(Swizzle::Bytes128)
                };
                // Results that are followed by log-sum-exps are not written by the copy engine.
                let out =
                    if self.what.packed { (Part::Operand(0), dims.q) } else { (Part::Result, dims.out) };
                Launches::from(
                    grid(tiles)
                        .resident(1)
                        .map(map(Part::Operand(0), dims.q, dims.queries, self.rows()))
                        .map(map(Part::Operand(1), dims.k, dims.keys, 128))
                        .map(map(Part::Operand(2), dims.v, dims.keys, 128))
                        .map(map(out.0, out.1, dims.queries, 64)),
                )
            }
            _ if self.what.splits => {
                let join = Grid::new([dims.rows().div_ceil(4), 1, 1], [128, 1, 1]).entry(JOIN_NAME);
                let scratch = 4 * splits * dims.rows() * (dims.head_size + 1);
                Launches::from(grid(tiles * splits)).then(arguments(join)).scratch(scratch)
            }
            _ => Launches::from(grid(tiles)),
        }
    }
}

/// Blocks that keep a large device busy.
const BUSY: usize = 264;
/// Keys that a part has at least.
const PART: usize = 256;
/// Queries above which a head has tiles enough of its own.
const MANY: usize = 256;

/// Parts that the keys of a query are cut into, so that there is work for a whole device. The same everywhere: it decides bits.
pub(super) fn splits(dims: &Dims, band: Band) -> usize {
    let blocks = dims.queries.div_ceil(64) * dims.batch * dims.heads;
    let parts = dims.seen(band) / PART;
    if blocks == 0 || 2 * blocks > BUSY || dims.queries > MANY {
        1
    } else {
        (BUSY / blocks).min(parts).clamp(1, 64)
    }
}
