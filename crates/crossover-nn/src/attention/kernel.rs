//! Attention as a kernel of a plan: made once for each kind of call, and kept.

use std::sync::LazyLock;

use crossover_core::{
    DType,
    custom::{Builder, CustomKernel, Work},
};
use parking_lot::Mutex;
use rustc_hash::FxHashMap;

use super::{
    cpu::{self, Bias, Settings},
    shape::{Band, Dims, Layout, check_bias},
    text::{self, Form, Shape4, Text},
};

/// Everything that the kernel of a call depends on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct Kind {
    pub(super) what: Shape4,
    pub(super) layout: Layout,
    pub(super) band: Band,
    /// Bits of the scale.
    pub(super) scale: u32,
    /// Keys of a block on the CPU.
    pub(super) keys: usize,
    pub(super) head_size: usize,
    /// Rows of the tiles that fit.
    pub(super) tiles: Tiles,
}

/// How many queries a tile of 16-bit elements has.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum Tiles {
    /// As many as Hopper's own instructions want.
    Large,
    /// 128, where sequences are too short for those.
    Tall,
    /// 64, where there are few queries or heads, or where heads are wide.
    Low,
}

/// Queries, or keys that one sees, below which Hopper's large tiles do not pay.
const FEW: usize = 512;
/// Tall tiles that keep a large device busy.
const BUSY: usize = 132;

impl Tiles {
    pub(super) fn new(dims: &Dims, band: Band) -> Tiles {
        let blocks = dims.batch * dims.heads * dims.queries.div_ceil(128);
        if dims.queries >= FEW && dims.seen(band) >= FEW {
            Tiles::Large
        } else if dims.queries > 64 && dims.head_size <= 64 && blocks >= BUSY {
            Tiles::Tall
        } else {
            Tiles::Low
        }
    }
}

/// Kernels kept at most; a call whose kernel is not there makes it again.
const KEPT: usize = 512;

/// The kernel of a kind of call.
pub(super) fn kernel(kind: &Kind) -> crossover_core::Result<CustomKernel> {
    static KNOWN: LazyLock<Mutex<FxHashMap<Kind, CustomKernel>>> = LazyLock::new(Mutex::default);
    let mut known = KNOWN.lock();
    if let Some(kernel) = known.get(kind) {
        return Ok(kernel.clone());
    }
    if known.len() >= KEPT {
        known.clear();
    }
    let kernel = make(*kind)?;
    known.insert(*kind, kernel.clone());
    Ok(kernel)
}

fn make(kind: Kind) -> crossover_core::Result<CustomKernel> {
    let Kind { what, layout, band, .. } = kind;
    let settings = Settings {
        scale: f32::from_bits(kind.scale),
        layout,
        band,
        keys: kind.keys,
        packed: what.packed,
        bias: what.bias,
        lengths: what.lengths,
    };
    let mut builder = CustomKernel::builder(text::NAME)
        .input("q", what.dtype)
        .input("k", what.dtype)
        .input("v", what.dtype)
        .output("out", if what.packed { DType::F32 } else { what.dtype });
    match what.bias {
        Bias::None => {}
        Bias::Added => builder = builder.input("bias", DType::F32),
        Bias::Mask => builder = builder.input("mask", DType::Bool),
    }
    if what.lengths {
        builder = builder.input("lengths", DType::I32);
    }
    let builder = builder
        .shape(move |shapes| {
            let dims = Dims::new(layout, shapes[0], shapes[1], shapes[2])?;
            match what.bias {
                Bias::None => {}
                Bias::Added => check_bias("bias", shapes[3], &dims)?,
                Bias::Mask => check_bias("mask", shapes[3], &dims)?,
            }
            Ok(dims.result(layout, dims.head_size + usize::from(what.packed)))
        })
        .pieces(move |_, out| match (layout, out.dims()) {
            (Layout::Heads, &[batch, heads, queries, width]) => {
                cpu::queries(batch * heads, queries) * width.max(1)
            }
            // All heads of a few queries lie together.
            (Layout::Rows(_), &[batch, queries, heads, width]) => {
                cpu::queries(batch, queries) * (heads * width).max(1)
            }
            _ => out.size().max(1),
        })
        .work(move |inputs, _| {
            let Ok(dims) = Dims::new(layout, inputs[0], inputs[1], inputs[2]) else {
                return Work::default();
            };
            let scores = (dims.rows() * dims.seen(band)) as u64;
            Work { products: 4 * scores * dims.head_size as u64, functions: scores, ..Work::default() }
        })
        .cpu(move |inputs, output| cpu::attend(inputs, output, &settings, what.dtype));
    sources(&kind)
        .into_iter()
        .fold(builder, |builder, (since, text)| variant(builder, since, text, kind))
        .build()
}

fn variant(builder: Builder, since: u32, text: Text, kind: Kind) -> Builder {
    let scale = f32::from_bits(kind.scale);
    builder.cuda_since(since, &text.source(), move |inputs, _| {
        // Shapes have been looked at by the shape rule. Were they wrong all the same, no threads would be an error, where no blocks
        // would leave the result unwritten.
        match Dims::new(kind.layout, inputs[0], inputs[1], inputs[2]) {
            Ok(dims) => text.launches(inputs, &dims, kind.band, scale),
            Err(_) => crossover_core::custom::Grid::new([1, 1, 1], [0, 1, 1]).into(),
        }
    })
}

/// Bytes of shared memory that a block can have, by compute capability.
const ROOM: [(u32, usize); 4] = [(75, 64 << 10), (80, 99 << 10), (90, 227 << 10), (120, 99 << 10)];

/// The texts for devices, by the capability from which each is used.
pub(super) fn sources(kind: &Kind) -> Vec<(u32, Text)> {
    let what = kind.what;
    let mut out = Vec::new();
    for (since, room) in ROOM {
        let on_hopper = since == 90 && what.dtype != DType::F32 && what.bias == Bias::None && !what.lengths;
        let hopper = Form::Hopper { consumers: if kind.head_size <= 64 { 3 } else { 2 } };
        let own = (on_hopper && !what.splits && kind.tiles == Tiles::Large).then_some(hopper);
        let others: &[Form] = match what.dtype {
            DType::F32 if !what.tf32 => exact_forms(kind.head_size),
            _ if since < 80 => &[],
            DType::F32 if kind.head_size > 128 => {
                &[Form::Mma { warps: 4, tall: 1, keys: 32 }, Form::Mma { warps: 2, tall: 1, keys: 16 }]
            }
            DType::F32 if kind.head_size > 64 => &[
                Form::Mma { warps: 8, tall: 2, keys: 32 },
                Form::Mma { warps: 4, tall: 1, keys: 32 },
                Form::Mma { warps: 2, tall: 1, keys: 16 },
            ],
            DType::F32 => &[
                Form::Mma { warps: 4, tall: 2, keys: 64 },
                Form::Mma { warps: 4, tall: 2, keys: 32 },
                Form::Mma { warps: 4, tall: 1, keys: 32 },
                Form::Mma { warps: 2, tall: 1, keys: 16 },
            ],
            _ if kind.head_size > 128 => &[Form::Mma { warps: 4, tall: 1, keys: 32 }],
            _ if kind.tiles == Tiles::Low => {
                &[Form::Mma { warps: 4, tall: 1, keys: 64 }, Form::Mma { warps: 4, tall: 1, keys: 32 }]
            }
            _ => &[Form::Mma { warps: 4, tall: 2, keys: 64 }, Form::Mma { warps: 4, tall: 1, keys: 32 }],
        };
        let forms = own.into_iter().chain(others.iter().copied());
        let fitting =
            forms.filter_map(|form| Text::new(what, form, kind.head_size)).find(|t| t.shared() <= room);
        // On chips after Hopper its own instructions are gone.
        if own.is_some() {
            let later = others.iter().filter_map(|&form| Text::new(what, form, kind.head_size));
            out.extend(later.into_iter().find(|t| t.shared() <= room).map(|text| (100, text)));
        }
        out.extend(fitting.map(|text| (since, text)));
    }
    out
}

fn exact_forms(head_size: usize) -> &'static [Form] {
    match head_size {
        ..=64 => &[
            Form::Exact { lanes: 8, each: 8, keys: 64 },
            Form::Exact { lanes: 16, each: 4, keys: 32 },
            Form::Exact { lanes: 16, each: 2, keys: 32 },
        ],
        65..=128 => &[
            Form::Exact { lanes: 16, each: 8, keys: 64 },
            Form::Exact { lanes: 16, each: 4, keys: 32 },
            Form::Exact { lanes: 16, each: 2, keys: 32 },
        ],
        _ => &[Form::Exact { lanes: 16, each: 4, keys: 32 }, Form::Exact { lanes: 16, each: 2, keys: 16 }],
    }
}
