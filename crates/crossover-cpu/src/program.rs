//! A fused kernel made ready: instructions over registers.
//!
//! A register is a pointer. Most stand for a place in the thread's frame; a *stream* register follows a window
//! through memory from tile to tile, so contiguous operands and results are used in place. Instructions run in
//! order; none writes a register it reads.

use crossover_core::{
    DType,
    ops::{MapOp, cast, reduce::ReduceOp},
};
use smallvec::SmallVec;

use crate::{
    geometry::Geometry,
    native::{Code, NativeFn, NativeRowsFn},
    tile::{
        ArgColumnsFn, ArgRowsFn, ColumnsFn, GatherFn, IndexFn, InterleaveFn, RandomFn, ReduceFn, RowsFn,
        ScatterFn, TileFn,
    },
    window::View,
};

/// A register, by position.
pub type Reg = u16;

/// Where a register points.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Home {
    /// A fixed place in the frame, in bytes from its start.
    Frame(usize),
    /// A window of memory.
    Stream { access: u16, step: Step },
    /// A value kept for all positions of a unit: place in the frame, bytes of an element.
    Kept(usize, usize),
}

/// How a stream moves with the tile.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Step {
    /// Only from line to line.
    Line,
    /// With the position in the flat part; bytes of an element.
    Full(usize),
    /// With the position among reduced values; bytes of an element.
    Reduced(usize),
}

/// How many elements an instruction works on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Count {
    One,
    Reduced,
    Full,
}

/// Memory that an access refers to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Source {
    Input(u16),
    Output(u16),
    /// No memory: the window gives row-major positions.
    Position,
}

/// A window onto memory, as tiles see it.
#[derive(Debug, Clone)]
pub struct Access {
    pub source: Source,
    /// Bytes of an element; 1 for positions.
    pub size: usize,
    /// Bytes from the start of the memory.
    pub offset: isize,
    /// Bytes per step of each line axis.
    pub line: SmallVec<[isize; 4]>,
    /// The flat part, in elements.
    pub flat: View,
}

/// What an elementwise instruction computes, for those who do several at once. Bit i of `ones` says that operand i is
/// one element for all.
#[derive(Debug, Clone, Copy)]
pub enum What {
    Map { op: MapOp, dtype: DType, ones: u8 },
    Cast(cast::Step),
    Canonical(DType),
    Select { dtype: DType, ones: u8 },
    Other,
}

/// The rows of a tile in memory, each side by side, for those who can follow them there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Rows {
    /// Points at the first.
    pub reg: Reg,
    /// Bytes from one to the next.
    pub pitch: i32,
    /// Bytes of an element.
    pub size: usize,
}

/// One instruction.
#[derive(Debug, Clone)]
pub enum Instr {
    Apply {
        f: TileFn,
        what: What,
        a: Reg,
        b: Reg,
        c: Reg,
        out: Reg,
        count: Count,
    },
    Gather {
        f: GatherFn,
        access: u16,
        out: Reg,
        count: Count,
        rows: Option<Rows>,
    },
    Scatter {
        f: ScatterFn,
        access: u16,
        from: Reg,
        count: Count,
        rows: Option<Rows>,
    },
    /// Two values that are written every second element, in turn: the first where the access says, the other behind it.
    Interleave {
        f: InterleaveFn,
        access: u16,
        from: [Reg; 2],
        count: Count,
    },
    Index {
        f: IndexFn,
        access: u16,
        divisor: i64,
        modulus: i64,
        out: Reg,
        count: Count,
    },
    Random {
        f: RandomFn,
        access: u16,
        key: u16,
        stream: u32,
        out: Reg,
        count: Count,
    },
    /// Several elementwise instructions as one loop of machine code.
    Native {
        f: NativeFn,
        count: Count,
    },
    /// The same for every row of a tile.
    NativeRows {
        f: NativeRowsFn,
    },
    /// Repeats reduced values to meet full ones.
    Rows {
        f: RowsFn,
        size: usize,
        from: Reg,
        out: Reg,
    },
    /// Reduces the rows of a tile.
    Reduce {
        f: ReduceFn,
        op: ReduceOp,
        dtype: DType,
        from: Reg,
        out: Reg,
    },
    /// Combines the rows of a tile, which lie apart where there is a pitch, with the one row of `into`. Stands only at the
    /// end of a list that becomes machine code.
    Accumulate {
        op: ReduceOp,
        dtype: DType,
        from: Reg,
        pitch: Option<i32>,
        into: Reg,
    },
    /// Positions of extremes of the rows of a tile; `best` is scratch for their values.
    ArgRows {
        f: ArgRowsFn,
        from: Reg,
        best: Reg,
        out: Reg,
    },
}

impl Instr {
    /// Registers it reads. A loop of machine code stands for instructions that have been looked at before.
    pub fn reads(&self) -> SmallVec<[Reg; 3]> {
        match *self {
            Instr::Apply { a, b, c, .. } => SmallVec::from_buf([a, b, c]),
            Instr::Rows { from, .. }
            | Instr::Reduce { from, .. }
            | Instr::Accumulate { from, .. }
            | Instr::ArgRows { from, .. }
            | Instr::Scatter { from, .. } => SmallVec::from_slice(&[from]),
            Instr::Interleave { from, .. } => SmallVec::from_slice(&from),
            Instr::Gather { .. }
            | Instr::Index { .. }
            | Instr::Random { .. }
            | Instr::Native { .. }
            | Instr::NativeRows { .. } => SmallVec::new(),
        }
    }

    /// The register it writes all of.
    pub fn writes(&self) -> Option<Reg> {
        match *self {
            Instr::Apply { out, .. }
            | Instr::Rows { out, .. }
            | Instr::Reduce { out, .. }
            | Instr::ArgRows { out, .. }
            | Instr::Gather { out, .. }
            | Instr::Index { out, .. }
            | Instr::Random { out, .. } => Some(out),
            Instr::Accumulate { .. }
            | Instr::Scatter { .. }
            | Instr::Interleave { .. }
            | Instr::Native { .. }
            | Instr::NativeRows { .. } => None,
        }
    }
}

/// How a reduction combines across tiles.
#[derive(Debug, Clone, Copy)]
pub enum Combine {
    /// By the canonical order: reduces a chunk of a row; adds rows to a column.
    Ordered { rows: ReduceFn, columns: ColumnsFn },
    /// By value and position: of a chunk, and its value alone; of a row against the best so far; of two candidates.
    Arg { rows: ArgRowsFn, value: ReduceFn, row: ArgColumnsFn, merge: ArgColumnsFn },
}

/// A reduction over all tiles of a unit.
#[derive(Debug, Clone)]
pub struct Reduction {
    pub op: ReduceOp,
    /// Dtype of what is reduced.
    pub dtype: DType,
    pub combine: Combine,
    pub from: Reg,
    /// Bytes from row to row of the tile, where it is read in place; otherwise rows follow each other.
    pub pitch: Option<isize>,
    pub out: Reg,
    /// Where the body of the stage can reduce a tile by itself; it does where that is `from`. Of a row it puts there what the
    /// tile reduces to; rows of a column it combines with what is there, which whoever walks the tiles provides.
    pub partial: Option<Reg>,
    /// Reduces chunks of a row that follow each other: a table of where they are and where their results go, how
    /// many, the elements of each.
    pub chunks: Option<NativeRowsFn>,
}

impl Reduction {
    /// Whether the body of the stage reduces each tile by itself.
    pub fn is_folded(&self) -> bool {
        self.partial == Some(self.from)
    }

    /// The byte of a boolean that decides: any is true once one is, all is false once one is not. The first of those is the extreme.
    pub fn decisive(&self) -> Option<u8> {
        match (self.op, self.dtype) {
            (ReduceOp::Max | ReduceOp::ArgMax, DType::Bool) => Some(1),
            (ReduceOp::Min | ReduceOp::ArgMin, DType::Bool) => Some(0),
            _ => None,
        }
    }
}

/// One pass over a unit.
#[derive(Debug, Default)]
pub struct Stage {
    /// On reduced values, once per unit before the pass.
    pub setup: Vec<Instr>,
    /// On every tile.
    pub body: Vec<Instr>,
    /// Finished after the pass.
    pub reductions: Vec<Reduction>,
    /// Whether the pass only reduces rows that lie in memory from front to back: it needs no tiles.
    pub direct: bool,
    /// Whether the pass only finds out something that one element may decide: what comes after that may be left out.
    pub decides: bool,
}

/// Where a host scalar goes.
#[derive(Debug, Clone, Copy)]
pub struct ScalarSlot {
    pub slot: u16,
    pub reg: Reg,
    pub dtype: DType,
}

/// A register that changes from tile to tile.
#[derive(Debug, Clone, Copy)]
pub struct Moving {
    pub reg: Reg,
    pub access: u16,
    pub step: Step,
}

/// Places in the frame, in bytes.
#[derive(Debug, Clone, Copy, Default)]
pub struct FrameLayout {
    /// Current address of every access.
    pub cursors: usize,
    /// Start and length of what outlives a tile and is the same for all threads of a unit.
    pub persistent: (usize, usize),
    /// Start of the accumulators.
    pub accumulators: usize,
    /// Whole frame.
    pub bytes: usize,
}

/// The program.
#[derive(Debug)]
pub struct Program {
    pub geometry: Geometry,
    pub regs: Vec<Home>,
    pub accesses: Vec<Access>,
    pub scalars: Vec<ScalarSlot>,
    pub moving: Vec<Moving>,
    pub kept: Vec<(Reg, usize, usize)>,
    /// On uniform values, once per thread.
    pub prologue: Vec<Instr>,
    /// Inline kernels have exactly one, without setup and reductions.
    pub stages: Vec<Stage>,
    pub frame: FrameLayout,
    /// Whether the rows of a unit are spread over threads, with a barrier after each stage.
    pub split: bool,
    /// Estimated time of the whole kernel on one thread, in nanoseconds.
    pub cost: f64,
    /// What the machine-code instructions point into.
    #[cfg_attr(
        not(target_arch = "x86_64"),
        expect(dead_code, reason = "machine code is made for x86-64 only")
    )]
    pub code: Option<Code>,
    /// Whether machine code writes a result past the caches.
    pub streams: bool,
}
