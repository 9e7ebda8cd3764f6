//! Reductions of rows in machine code: lanes are added up in registers and combined there.
//!
//! The order is that of [`crossover_core::canonical`]: element `i` goes to lane `i` modulo [`LANES`], adjacent quads of
//! lanes combine first, then quads by halving. Lanes without an element hold the identity, which changes nothing.

use crossover_core::{
    DType, Scalar,
    canonical::LANES,
    lane::{Recorder, Type},
    ops::{reduce::ReduceOp, type_of},
};

use super::{
    arrange,
    assembler::{
        Assembler, Condition, Gpr, Map, Op, Operand, Prefix, RAX, RCX, RSI, UNMASKED, Vector, Width, op,
    },
    body::{Body, Input, Loop, Pass, TAIL, repeated, whole_mask},
    select,
};
use crate::program::Reg;

/// The reduction that ends a run.
#[derive(Debug, Clone, Copy)]
pub struct Fold {
    pub op: ReduceOp,
    pub dtype: DType,
    /// The recorded argument that stands for what was combined so far.
    pub accumulator: u32,
    /// The recorded combination.
    pub value: u32,
    /// Where the result goes.
    pub out: Reg,
}

/// Registers that hold all lanes, when a register holds so many.
pub const fn registers(lanes: usize) -> usize {
    LANES / lanes
}

/// Instructions of all passes of a loop beyond which code would be too long.
const LONGEST: usize = 3000;

/// A [`Fold`] in terms of the loop.
pub struct Folding<'a> {
    fold: &'a Fold,
    accumulator: u32,
    pub value: u32,
    out: Gpr,
    ty: Type,
    join: Join,
}

impl<'a> Folding<'a> {
    /// `None` where elements are too small for the shuffles here.
    pub fn new(fold: &'a Fold, values: &[u32], out: Gpr) -> Option<Folding<'a>> {
        let ty = type_of(fold.dtype)?;
        let at = |recorded: u32| values[recorded as usize];
        let join = Join::new(fold.op, fold.dtype)?;
        let (accumulator, value) = (at(fold.accumulator), at(fold.value));
        matches!(ty.size(), 4 | 8).then_some(Folding { fold, accumulator, value, out, ty, join })
    }

    /// The loop over a row, the tree over its lanes, and the store of the result.
    pub fn write(&self, asm: &mut Assembler, work: &Loop) -> Option<()> {
        let lanes = work.lanes;
        let count = registers(lanes);
        if lanes * self.ty.size() != 64 || 3 * count * work.order.len() > LONGEST {
            return None;
        }
        let sums: Vec<Vector> = (0..count as u8).map(|i| Vector(31 - i)).collect();
        let mut body = Body::new(asm, work);
        body.reserve(self.accumulator, self.value, &sums);
        body.asm.move_immediate(RCX, whole_mask(lanes));
        body.asm.mask_from(TAIL, RCX);
        body.fixed()?;
        let identity = body.asm.constant(repeated(identity(self.fold.op, self.fold.dtype)?, self.ty.size()));
        let broadcast = select::broadcast(self.ty.size());
        for &sum in &sums {
            body.asm.vector(broadcast, Width::B64, UNMASKED, (sum, Vector(0), Operand::Pool(identity)), None);
        }
        body.asm.clear(RAX);
        self.elements(&mut body, &sums)?;
        let fits = body.registers.slots <= super::SLOTS as u32;
        self.tree(asm, &sums)?;
        let store = op(Map::X0F, Prefix::P66, self.ty.size() == 8, 0x7e);
        asm.vector(store, Width::B16, UNMASKED, (sums[0], Vector(0), Operand::At(self.out, 0)), None);
        fits.then_some(())
    }

    /// All elements of a row.
    fn elements(&self, body: &mut Body<'_>, sums: &[Vector]) -> Option<()> {
        let lanes = body.work.lanes as i32;
        let (rest, done) = (body.asm.label(), body.asm.label());
        body.asm.move_from(RCX, RSI);
        body.asm.add_immediate(RCX, -(LANES as i32));
        body.asm.compare(RAX, RCX);
        body.asm.jump_if(Condition::Greater, rest);
        self.groups(body, sums)?;
        body.asm.bind(rest);
        // A pass over no lanes would still make the tree wait for the line behind the row.
        body.asm.compare(RAX, RSI);
        body.asm.jump_if(Condition::AboveEqual, done);
        body.asm.move_from(RCX, RSI);
        body.asm.add_immediate(RCX, -lanes);
        let mut tails = Vec::new();
        for &sum in sums {
            let tail = body.asm.label();
            body.asm.compare(RAX, RCX);
            body.asm.jump_if(Condition::Greater, tail);
            body.fold(Pass::Whole, sum)?;
            body.asm.add_immediate(RAX, lanes);
            tails.push((tail, sum));
        }
        body.asm.jump(done);
        for (tail, sum) in tails {
            body.asm.bind(tail);
            body.asm.move_immediate(RCX, -1);
            body.asm.subtract(RSI, RAX);
            body.asm.low_bits(RCX, RCX, RSI);
            body.asm.mask_from(TAIL, RCX);
            body.fold(Pass::Tail, sum)?;
            body.asm.jump(done);
        }
        body.asm.bind(done);
        Some(())
    }

    /// Elements that fill all lanes, while their first is not behind the limit in RCX.
    fn groups(&self, body: &mut Body<'_>, sums: &[Vector]) -> Option<()> {
        let again = body.asm.label();
        body.asm.align(32);
        body.asm.bind(again);
        for &sum in sums {
            body.fold(Pass::Whole, sum)?;
            body.asm.add_immediate(RAX, body.work.lanes as i32);
        }
        body.asm.compare(RAX, RCX);
        body.asm.jump_if(Condition::LessEqual, again);
        Some(())
    }

    /// Combines the lanes of all registers into the first element of the first.
    fn tree(&self, asm: &mut Assembler, sums: &[Vector]) -> Option<()> {
        if self.ty.size() == 4 {
            // Pairs, then quads: from then on, element `a` of block `k` is quad `4a + k` of its sixteen.
            for i in (0..8).step_by(2) {
                self.interleaved(asm, SHUFFLE, (0x88, 0xdd), sums, (i, i + 1))?;
            }
            for i in (0..8).step_by(4) {
                self.interleaved(asm, SHUFFLE, (0x88, 0xdd), sums, (i, i + 2))?;
            }
            self.join.write(asm, sums[0], sums[4], sums)?;
            for (op, imm) in [(SHUFFLE, 0x4e), (SHUFFLE, 0xb1), (BLOCKS, 0x4e), (BLOCKS, 0xb1)] {
                self.halved(asm, op, imm, sums)?;
            }
        } else {
            for i in (0..16).step_by(2) {
                self.interleaved(asm, SHUFFLE_WIDE, (0x00, 0xff), sums, (i, i + 1))?;
            }
            // A quad is two neighbouring blocks.
            for i in (0..16).step_by(4) {
                self.interleaved(asm, BLOCKS_WIDE, (0x88, 0xdd), sums, (i, i + 2))?;
            }
            for (a, b) in [(0, 8), (4, 12), (0, 4)] {
                self.join.write(asm, sums[a], sums[b], sums)?;
            }
            for (op, imm) in [(BLOCKS_WIDE, 0x4e), (SHUFFLE_WIDE, 0x55), (BLOCKS_WIDE, 0xb1)] {
                self.halved(asm, op, imm, sums)?;
            }
        }
        Some(())
    }

    /// Combines what two shuffles of a pair of registers give, into the first of them.
    fn interleaved(
        &self,
        asm: &mut Assembler,
        op: Op,
        (even, odd): (u8, u8),
        sums: &[Vector],
        (a, b): (usize, usize),
    ) -> Option<()> {
        let (a, b) = (sums[a], Operand::Register(sums[b]));
        asm.vector(op, Width::B64, UNMASKED, (SPARE, a, b), Some(odd));
        asm.vector(op, Width::B64, UNMASKED, (a, a, b), Some(even));
        self.join.write(asm, a, SPARE, sums)
    }

    /// Combines the first register with a shuffle of itself.
    fn halved(&self, asm: &mut Assembler, op: Op, imm: u8, sums: &[Vector]) -> Option<()> {
        asm.vector(op, Width::B64, UNMASKED, (SPARE, sums[0], Operand::Register(sums[0])), Some(imm));
        self.join.write(asm, sums[0], SPARE, sums)
    }
}

/// A register that holds no lanes.
const SPARE: Vector = Vector(0);
/// Two elements of each operand, within blocks of 16 bytes.
const SHUFFLE: Op = op(Map::X0F, Prefix::None, false, 0xc6);
/// One element of each operand, within blocks.
const SHUFFLE_WIDE: Op = op(Map::X0F, Prefix::P66, true, 0xc6);
/// Two blocks of each operand.
const BLOCKS: Op = op(Map::X0F3A, Prefix::P66, false, 0x23);
const BLOCKS_WIDE: Op = op(Map::X0F3A, Prefix::P66, true, 0x23);

/// The combination of two registers.
struct Join {
    work: Loop,
    a: u32,
    b: u32,
    value: u32,
}

impl Join {
    fn new(op: ReduceOp, dtype: DType) -> Option<Join> {
        let ty = type_of(dtype)?;
        let mut recorder = Recorder::default();
        let (a, b) = (recorder.input(ty), recorder.input(ty));
        let value = recorder.map(op.combine(), dtype, &[a, b])?;
        let (insts, values) = select::lower(recorder.nodes());
        let [a, b, value] = [a, b, value].map(|recorded| values[recorded as usize]);
        // Both arguments are put into registers, so nothing is read through a pointer.
        let input = Input { base: RAX, one: false, ahead: 0, shift: 0 };
        let work = arrange(insts, vec![input; 2], Vec::new(), Some(value))?;
        Some(Join { work, a, b, value })
    }

    /// `a = combine(a, b)`; `live` registers are left alone.
    fn write(&self, asm: &mut Assembler, a: Vector, b: Vector, live: &[Vector]) -> Option<()> {
        let mut body = Body::new(asm, &self.work);
        body.reserve(self.a, self.value, live);
        body.put(self.b, b);
        body.fixed()?;
        body.fold(Pass::Whole, a)
    }
}

/// Bits that combine with any value to that value; `None` where elements are too small for the loops here.
pub fn identity(op: ReduceOp, dtype: DType) -> Option<u64> {
    type_of(dtype).filter(|ty| matches!(ty.size(), 4 | 8))?;
    let mut bytes = [0u8; 16];
    match (op, dtype.is_float()) {
        // Zero with the sign that keeps the other one's.
        (ReduceOp::Sum, true) => return Some(1 << (8 * dtype.size() - 1)),
        (ReduceOp::Sum, false) => return Some(0),
        (ReduceOp::Prod, _) => Scalar::one(dtype).write_to(&mut bytes),
        _ => return extreme(op, dtype),
    };
    Some(u64::from_le_bytes(bytes[..8].try_into().ok()?))
}

/// Fills a row with what combines with any value to that value.
///
/// # Safety
/// `to` has room for `n` elements of a dtype that [`identity`] knows.
#[allow(unsafe_code)]
pub unsafe fn fill_identity(op: ReduceOp, dtype: DType, to: *mut u8, n: usize) {
    let bits = identity(op, dtype).unwrap_or(0);
    // SAFETY: the caller's contract; places of reductions are aligned for their elements.
    unsafe {
        if dtype.size() == 4 {
            std::slice::from_raw_parts_mut(to.cast::<u32>(), n).fill(bits as u32);
        } else {
            std::slice::from_raw_parts_mut(to.cast::<u64>(), n).fill(bits);
        }
    }
}

/// What every value is at least (or at most) as large as.
fn extreme(op: ReduceOp, dtype: DType) -> Option<u64> {
    let largest = op == ReduceOp::Max;
    let ty = type_of(dtype)?;
    let bits = 8 * ty.size() as u32;
    Some(match (ty, largest) {
        (Type::F32, true) => f32::NEG_INFINITY.to_bits() as u64,
        (Type::F32, false) => f32::INFINITY.to_bits() as u64,
        (Type::F64, true) => f64::NEG_INFINITY.to_bits(),
        (Type::F64, false) => f64::INFINITY.to_bits(),
        (ty, true) if ty.is_signed() => 1 << (bits - 1),
        (ty, false) if ty.is_signed() => (1 << (bits - 1)) - 1,
        (_, true) => 0,
        (_, false) => u64::MAX >> (64 - bits),
    })
}
