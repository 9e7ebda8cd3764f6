//! One pass of a loop: instructions with registers.
//!
//! Registers are given out in the order of the instructions. A value leaves its register after its last use; when none
//! is free, the one whose next use is furthest away makes room. Constants, repeated elements and loads are then
//! simply made again; everything else goes to the stack, once.

use crossover_core::lane::{Primitive, Type};

use super::{
    assembler::{Assembler, Gpr, Mask, Masking, Operand, RAX, RSP, UNMASKED, Vector, Width},
    select::{self, Code, Conversion, Inst, Shape},
};

/// An argument of a loop.
#[derive(Debug, Clone, Copy)]
pub struct Input {
    pub base: Gpr,
    /// One element for all positions.
    pub one: bool,
    /// How many bytes ahead lines are fetched; 0 for none.
    pub ahead: i32,
    /// Elements from where the pass begins.
    pub shift: usize,
}

/// A result of a loop.
#[derive(Debug, Clone, Copy)]
pub struct Output {
    pub value: u32,
    pub base: Gpr,
    pub size: usize,
    /// Position in the order after which it is stored: its value is known, and what was at its place has been read.
    pub after: u32,
    /// Whether it goes past the caches when that is possible.
    pub stream: bool,
    /// Elements from where the pass begins.
    pub shift: usize,
}

/// What a loop computes.
#[derive(Debug)]
pub struct Loop {
    pub insts: Vec<Inst>,
    pub inputs: Vec<Input>,
    pub outputs: Vec<Output>,
    /// Elements that an instruction works on.
    pub lanes: usize,
    /// Elements per pass: as many for each copy of the instructions ([`super::interleave`]).
    pub step: usize,
    /// Instructions in use, in order; those before the first `fixed` are the same for all positions.
    pub order: Vec<u32>,
    pub fixed: usize,
    /// Constants and repeated elements that stay in registers.
    pub preload: Vec<u32>,
}

/// Which pass is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Pass {
    /// All lanes; results go past the caches.
    Streaming,
    /// All lanes.
    Whole,
    /// The lanes of [`TAIL`].
    Tail,
}

/// Vector registers.
pub const VECTORS: usize = 32;
/// The mask of the lanes that exist.
pub const TAIL: Mask = Mask(7);

/// Registers and where values are.
#[derive(Debug, Clone)]
pub struct Registers {
    vectors: [Option<u32>; VECTORS],
    masks: [Option<u32>; 8],
    /// Register (or mask) of each value.
    place: Vec<Option<u8>>,
    /// Stack slot of each value that was moved out.
    spilled: Vec<Option<u32>>,
    /// Slots used so far.
    pub slots: u32,
    /// Values that stay where they are.
    pinned: Vec<bool>,
}

/// Writes passes.
pub struct Body<'a> {
    pub asm: &'a mut Assembler,
    pub work: &'a Loop,
    pub registers: Registers,
    /// Positions in the order at which each value is used, last first.
    uses: Vec<Vec<u32>>,
    busy: Vec<u8>,
    /// What the passes add up, if they do.
    folding: Option<Folding>,
}

/// A value that passes combine into registers that stay.
#[derive(Debug, Clone, Copy)]
struct Folding {
    /// The argument that stands for what was combined so far.
    accumulator: u32,
    /// Both combined.
    value: u32,
    /// The register of this pass.
    into: Vector,
    /// Whether all its lanes are written.
    whole: bool,
}

impl<'a> Body<'a> {
    pub fn new(asm: &'a mut Assembler, work: &'a Loop) -> Body<'a> {
        let n = work.insts.len();
        let registers = Registers {
            vectors: [None; VECTORS],
            masks: [None; 8],
            place: vec![None; n],
            spilled: vec![None; n],
            slots: 0,
            pinned: vec![false; n],
        };
        let mut uses = vec![Vec::new(); n];
        for (at, &i) in work.order.iter().enumerate().rev() {
            for output in work.outputs.iter().filter(|o| o.after == at as u32 && o.value != i) {
                uses[output.value as usize].push(at as u32);
            }
            for &arg in work.insts[i as usize].args() {
                if uses[arg as usize].last() != Some(&(at as u32)) {
                    uses[arg as usize].push(at as u32);
                }
            }
        }
        Body { asm, work, registers, uses, busy: Vec::new(), folding: None }
    }

    /// Sets registers aside in which `value` is combined with `accumulator`.
    pub fn reserve(&mut self, accumulator: u32, value: u32, registers: &[Vector]) {
        for register in registers {
            self.registers.vectors[register.0 as usize] = Some(accumulator);
        }
        self.registers.pinned[accumulator as usize] = true;
        self.uses[value as usize].insert(0, self.work.order.len() as u32);
        let into = registers.first().copied().unwrap_or(Vector(0));
        self.folding = Some(Folding { accumulator, value, into, whole: true });
    }

    /// Puts an argument into a register for good.
    pub fn put(&mut self, value: u32, register: Vector) {
        self.registers.vectors[register.0 as usize] = Some(value);
        self.registers.place[value as usize] = Some(register.0);
        self.registers.pinned[value as usize] = true;
    }

    /// One pass whose value is combined into a register.
    pub fn fold(&mut self, pass: Pass, into: Vector) -> Option<()> {
        let folding = self.folding.as_mut()?;
        folding.into = into;
        folding.whole = pass != Pass::Tail;
        let accumulator = folding.accumulator as usize;
        self.registers.place[accumulator] = Some(into.0);
        self.pass(pass)
    }

    /// Values that do not change from pass to pass, in registers for good.
    pub fn fixed(&mut self) -> Option<()> {
        for at in 0..self.work.fixed {
            self.step(at, Pass::Whole)?;
            let i = self.work.order[at] as usize;
            self.registers.pinned[i] = self.registers.place[i].is_some();
        }
        for &value in &self.work.preload {
            self.busy.clear();
            self.register(value, 0, Pass::Whole)?;
            self.registers.pinned[value as usize] = true;
        }
        // What else is in a register would be gone after the first pass.
        for register in &mut self.registers.vectors {
            if let Some(value) = *register
                && !self.registers.pinned[value as usize]
            {
                self.registers.place[value as usize] = None;
                *register = None;
            }
        }
        Some(())
    }

    /// One pass over all lanes or the remaining ones.
    pub fn pass(&mut self, pass: Pass) -> Option<()> {
        let before = self.registers.clone();
        for at in self.work.fixed..self.work.order.len() {
            self.step(at, pass)?;
        }
        if let Some(Folding { value, into, .. }) = self.folding {
            self.busy.clear();
            let from = self.register(value, self.work.order.len() as u32, pass)?;
            if from != into {
                let size = self.inst(value).ty.size();
                let operands = (into, Vector(0), Operand::Register(from));
                let masking = self.masking(size, pass, false);
                self.asm.vector(select::transfer(size, false), self.width(size), masking, operands, None);
            }
        }
        let slots = self.registers.slots;
        self.registers = Registers { slots, ..before };
        Some(())
    }

    fn inst(&self, i: u32) -> &'a Inst {
        &self.work.insts[i as usize]
    }

    fn width(&self, size: usize) -> Width {
        Width::of(self.work.lanes * size)
    }

    fn step(&mut self, at: usize, pass: Pass) -> Option<()> {
        let i = self.work.order[at];
        self.busy.clear();
        self.emit(i, at as u32, pass)?;
        for o in 0..self.work.outputs.len() {
            let output = self.work.outputs[o];
            if output.after == at as u32 {
                self.store(output, at as u32, pass)?;
                self.retire(output.value, at as u32);
            }
        }
        self.retire(i, at as u32);
        for a in 0..self.inst(i).args().len() {
            self.retire(self.inst(i).args()[a], at as u32);
        }
        Some(())
    }

    /// The next use of a value after a position.
    fn next(&self, value: u32, at: u32) -> Option<u32> {
        // Few uses each: the last ones are first in the list.
        self.uses[value as usize].iter().copied().rev().find(|&u| u > at)
    }

    /// Frees the register of a value that nothing reads any more.
    fn retire(&mut self, value: u32, at: u32) {
        if self.registers.pinned[value as usize] || self.next(value, at).is_some() {
            return;
        }
        if let Some(place) = self.registers.place[value as usize].take() {
            if self.inst(value).result() == Type::Mask {
                self.registers.masks[place as usize] = None;
            } else {
                self.registers.vectors[place as usize] = None;
            }
        }
    }

    /// A free vector register for a value, which need not be there yet.
    fn claim(&mut self, value: u32, at: u32) -> Option<Vector> {
        if let Some(folding) = self.folding
            && folding.value == value
            && folding.whole
        {
            self.registers.place[value as usize] = Some(folding.into.0);
            return Some(folding.into);
        }
        let free =
            (0..VECTORS).find(|&r| self.registers.vectors[r].is_none() && !self.busy.contains(&(r as u8)));
        let register = match free {
            Some(register) => register,
            None => self.evict(at)?,
        };
        self.registers.vectors[register] = Some(value);
        self.registers.place[value as usize] = Some(register as u8);
        self.busy.push(register as u8);
        Some(Vector(register as u8))
    }

    /// Empties the register whose value is needed last.
    fn evict(&mut self, at: u32) -> Option<usize> {
        let candidates = (0..VECTORS).filter_map(|r| {
            let value = self.registers.vectors[r]?;
            let stays = self.registers.pinned[value as usize] || self.busy.contains(&(r as u8));
            (!stays).then(|| (self.next(value, at).unwrap_or(u32::MAX), r, value))
        });
        let (next, register, value) = candidates.max()?;
        self.registers.place[value as usize] = None;
        self.registers.vectors[register] = None;
        let again =
            matches!(self.inst(value).code, Code::Primitive(Primitive::Input(_) | Primitive::Constant(_)));
        if next != u32::MAX && !again && self.registers.spilled[value as usize].is_none() {
            let slot = self.registers.slots;
            self.registers.slots += 1;
            self.registers.spilled[value as usize] = Some(slot);
            let to = Operand::At(RSP, 64 * slot as i32);
            let from = Vector(register as u8);
            self.asm.vector(select::transfer(8, true), Width::B64, UNMASKED, (from, Vector(0), to), None);
        }
        Some(register)
    }

    /// A mask register for a value. There is no way out when all are taken.
    fn claim_mask(&mut self, value: u32) -> Option<Mask> {
        let register = (1..TAIL.0 as usize).find(|&k| self.registers.masks[k].is_none())?;
        self.registers.masks[register] = Some(value);
        self.registers.place[value as usize] = Some(register as u8);
        Some(Mask(register as u8))
    }

    fn mask(&self, value: u32) -> Option<Mask> {
        self.registers.place[value as usize].map(Mask)
    }

    /// A value in a register, made again or fetched from the stack if need be.
    fn register(&mut self, value: u32, at: u32, pass: Pass) -> Option<Vector> {
        if let Some(place) = self.registers.place[value as usize] {
            self.busy.push(place);
            return Some(Vector(place));
        }
        let inst = self.inst(value);
        let size = inst.ty.size();
        let width = self.width(size);
        let to = self.claim(value, at)?;
        let (op, masking, from) = match inst.code {
            Code::Primitive(Primitive::Constant(bits)) => {
                (select::broadcast(size), UNMASKED, Operand::Pool(self.asm.constant(repeated(bits, size))))
            }
            Code::Primitive(Primitive::Input(n)) => {
                let input = self.work.inputs[n as usize];
                if input.one {
                    (select::broadcast(size), UNMASKED, Operand::At(input.base, 0))
                } else {
                    let from = element(input.base, size, input.shift);
                    (select::transfer(size, false), self.masking(size, pass, true), from)
                }
            }
            _ => {
                let slot = self.registers.spilled[value as usize]?;
                (select::transfer(8, false), UNMASKED, Operand::At(RSP, 64 * slot as i32))
            }
        };
        if let Code::Primitive(Primitive::Input(n)) = inst.code
            && pass != Pass::Tail
            && self.work.inputs[n as usize].ahead != 0
        {
            let input = self.work.inputs[n as usize];
            self.asm.prefetch(input.base, RAX, size as u8, input.ahead + (size * input.shift) as i32);
        }
        let width = if self.registers.spilled[value as usize].is_some() { Width::B64 } else { width };
        self.asm.vector(op, width, masking, (to, Vector(0), from), None);
        Some(to)
    }

    /// Lanes of memory that may be touched.
    fn masking(&self, size: usize, pass: Pass, zero: bool) -> Masking {
        if pass == Pass::Tail || self.work.lanes * size < 16 {
            Masking { mask: TAIL, zero }
        } else {
            UNMASKED
        }
    }

    /// Whether a value can be the last operand of an instruction straight from memory.
    fn repeats(&self, value: u32) -> bool {
        if self.registers.place[value as usize].is_some() || self.inst(value).ty.size() < 4 {
            return false;
        }
        match self.inst(value).code {
            Code::Primitive(Primitive::Constant(_)) => true,
            Code::Primitive(Primitive::Input(n)) => self.work.inputs[n as usize].one,
            _ => false,
        }
    }

    /// A value as the last operand.
    fn operand(&mut self, value: u32, at: u32, pass: Pass) -> Option<Operand> {
        if !self.repeats(value) {
            return self.register(value, at, pass).map(Operand::Register);
        }
        let inst = self.inst(value);
        Some(match inst.code {
            Code::Primitive(Primitive::Input(n)) => Operand::Repeat(self.work.inputs[n as usize].base),
            _ => Operand::Constant(self.asm.constant(repeated(inst.constant()?, inst.ty.size()))),
        })
    }

    /// The register of a result. Operands used for the last time give theirs back first.
    fn result(&mut self, i: u32, at: u32) -> Option<Vector> {
        for a in 0..self.inst(i).args().len() {
            let arg = self.inst(i).args()[a];
            if let Some(place) = self.registers.place[arg as usize]
                && self.inst(arg).result() != Type::Mask
                && self.next(arg, at).is_none()
                && !self.registers.pinned[arg as usize]
            {
                self.registers.place[arg as usize] = None;
                self.registers.vectors[place as usize] = None;
                self.busy.retain(|&b| b != place);
            }
        }
        self.claim(i, at)
    }

    fn store(&mut self, output: Output, at: u32, pass: Pass) -> Option<()> {
        let from = self.register(output.value, at, pass)?;
        let to = element(output.base, output.size, output.shift);
        let stream = pass == Pass::Streaming && output.stream;
        let op = if stream { select::STREAM } else { select::transfer(output.size, true) };
        let masking = self.masking(output.size, pass, false);
        self.asm.vector(op, self.width(output.size), masking, (from, Vector(0), to), None);
        Some(())
    }

    fn emit(&mut self, i: u32, at: u32, pass: Pass) -> Option<()> {
        let inst = self.inst(i);
        let ty = inst.ty;
        let size = ty.size();
        let width = self.width(size.max(1));
        let args = inst.args();
        match inst.code {
            // Made where they are used; results that are plain copies are stored from there.
            Code::Primitive(Primitive::Input(_)) => {}
            Code::Primitive(Primitive::Constant(bits)) if ty == Type::Mask => {
                let to = self.claim_mask(i)?;
                if bits == 0 { self.asm.mask_xor(to, to, to) } else { self.asm.mask_xnor(to, to, to) }
            }
            Code::Primitive(Primitive::Constant(_)) => {}
            Code::Primitive(p @ (Primitive::And | Primitive::Or | Primitive::Xor)) if ty == Type::Mask => {
                let (a, b) = (self.mask(args[0])?, self.mask(args[1])?);
                let to = self.claim_mask(i)?;
                match p {
                    Primitive::And => self.asm.mask_and(to, a, b),
                    Primitive::Or => self.asm.mask_or(to, a, b),
                    _ => self.asm.mask_xor(to, a, b),
                }
            }
            Code::Primitive(Primitive::Not) if ty == Type::Mask => {
                let a = self.mask(args[0])?;
                let to = self.claim_mask(i)?;
                self.asm.mask_not(to, a);
            }
            Code::Primitive(Primitive::Not) => {
                let a = self.register(args[0], at, pass)?;
                let to = self.result(i, at)?;
                self.asm.vector(select::TERNARY, width, UNMASKED, (to, a, Operand::Register(a)), Some(0x55));
            }
            Code::Primitive(Primitive::Neg) => {
                let a = self.register(args[0], at, pass)?;
                let sign = self.asm.constant(repeated(1 << (8 * size - 1), size));
                let (op, _) = select::binary(Code::Primitive(Primitive::Xor), ty)?;
                let to = self.result(i, at)?;
                self.asm.vector(op, width, UNMASKED, (to, a, Operand::Constant(sign)), None);
            }
            Code::Primitive(Primitive::Compare(relation)) => {
                let swap = self.repeats(args[0]) && !self.repeats(args[1]);
                let (first, second) = if swap { (args[1], args[0]) } else { (args[0], args[1]) };
                let relation = if swap { select::mirrored(relation) } else { relation };
                let a = self.register(first, at, pass)?;
                let b = self.operand(second, at, pass)?;
                let (op, predicate) = select::comparison(relation, ty);
                let to = self.claim_mask(i)?;
                self.asm.vector_to_mask(op, width, to, a, b, predicate);
            }
            Code::Unordered => {
                let a = self.register(args[0], at, pass)?;
                let b = self.operand(args[1], at, pass)?;
                let (op, predicate) = select::unordered(ty);
                let to = self.claim_mask(i)?;
                self.asm.vector_to_mask(op, width, to, a, b, predicate);
            }
            code @ (Code::Least | Code::Most) => {
                let a = self.register(args[0], at, pass)?;
                let b = self.operand(args[1], at, pass)?;
                let (op, imm) = select::range(code, ty);
                let to = self.result(i, at)?;
                self.asm.vector(op, width, UNMASKED, (to, a, b), Some(imm));
            }
            Code::Primitive(Primitive::Select) => self.select(i, at, pass)?,
            Code::Primitive(p @ (Primitive::Shl(count) | Primitive::Shr(count))) => {
                let (op, digit) = select::shift(matches!(p, Primitive::Shl(_)), ty)?;
                let a = self.register(args[0], at, pass)?;
                let to = self.result(i, at)?;
                let operands = (Vector(digit), to, Operand::Register(a));
                self.asm.vector(op, width, UNMASKED, operands, Some(count as u8));
            }
            Code::Primitive(Primitive::ShlLane | Primitive::ShrLane) => self.lane_shift(i, at, pass)?,
            Code::Primitive(Primitive::Convert(from)) => self.convert(i, from, at, pass)?,
            Code::Primitive(Primitive::Fma) | Code::NegativeFma | Code::FmaMinus | Code::NegativeFmaMinus => {
                self.fused(i, at, pass)?;
            }
            Code::Primitive(
                p @ (Primitive::Sqrt
                | Primitive::Floor
                | Primitive::Ceil
                | Primitive::Trunc
                | Primitive::Round),
            ) => {
                let (op, imm) = select::unary(p, ty)?;
                let a = self.operand(args[0], at, pass)?;
                let to = self.result(i, at)?;
                self.asm.vector(op, width, UNMASKED, (to, Vector(0), a), imm);
            }
            code => {
                let (op, swaps) = select::binary(code, ty)?;
                let swap = swaps && self.repeats(args[0]) && !self.repeats(args[1]);
                let (first, second) = if swap { (args[1], args[0]) } else { (args[0], args[1]) };
                let a = self.register(first, at, pass)?;
                let b = self.operand(second, at, pass)?;
                let to = self.result(i, at)?;
                self.asm.vector(op, width, UNMASKED, (to, a, b), None);
            }
        }
        Some(())
    }

    fn select(&mut self, i: u32, at: u32, pass: Pass) -> Option<()> {
        let (args, size) = (self.inst(i).args(), self.inst(i).ty.size());
        let width = self.width(size);
        let mask = self.mask(args[0])?;
        if self.inst(args[2]).constant() == Some(0) {
            let yes = self.register(args[1], at, pass)?;
            let to = self.result(i, at)?;
            let operands = (to, Vector(0), Operand::Register(yes));
            self.asm.vector(
                select::transfer(size, false),
                width,
                Masking { mask, zero: true },
                operands,
                None,
            );
            return Some(());
        }
        let no = self.register(args[2], at, pass)?;
        let yes = self.operand(args[1], at, pass)?;
        let to = self.result(i, at)?;
        self.asm.vector(select::blend(size), width, Masking { mask, zero: false }, (to, no, yes), None);
        Some(())
    }

    /// Shift counts are taken modulo the width; the machine would shift everything out.
    fn lane_shift(&mut self, i: u32, at: u32, pass: Pass) -> Option<()> {
        let inst = self.inst(i);
        let size = inst.ty.size();
        let width = self.width(size);
        let (op, _) = select::binary(inst.code, inst.ty)?;
        let value = self.register(inst.args()[0], at, pass)?;
        let count = self.register(inst.args()[1], at, pass)?;
        let to = self.claim(i, at)?;
        let element = if size == 8 { Type::U64 } else { Type::U32 };
        let (and, _) = select::binary(Code::Primitive(Primitive::And), element)?;
        let limit = self.asm.constant(repeated(8 * size as u64 - 1, size));
        self.asm.vector(and, width, UNMASKED, (to, count, Operand::Constant(limit)), None);
        self.asm.vector(op, width, UNMASKED, (to, value, Operand::Register(to)), None);
        Some(())
    }

    fn convert(&mut self, i: u32, from: Type, at: u32, pass: Pass) -> Option<()> {
        let inst = self.inst(i);
        let a = self.register(inst.args()[0], at, pass)?;
        let Conversion::Direct(op, shape) = select::conversion(from, inst.ty)? else { return None };
        let width = self.width(from.size().max(inst.ty.size()));
        let to = self.result(i, at)?;
        let operands = match shape {
            Shape::Usual => (to, Vector(0), Operand::Register(a)),
            Shape::Truncation => (a, Vector(0), Operand::Register(to)),
        };
        self.asm.vector(op, width, UNMASKED, operands, None);
        Some(())
    }

    /// The instruction overwrites one of its operands: one that is not needed again, or a copy.
    fn fused(&mut self, i: u32, at: u32, pass: Pass) -> Option<()> {
        let inst = self.inst(i);
        let width = self.width(inst.ty.size());
        let [mut a, mut b, c] = *inst.args() else { return None };
        let dies = |body: &Self, v: u32| {
            body.registers.place[v as usize].is_some()
                && body.next(v, at).is_none()
                && !body.registers.pinned[v as usize]
        };
        // Constants sit best in the last operand.
        if self.repeats(a) || (!self.repeats(b) && dies(self, b) && !dies(self, a)) {
            std::mem::swap(&mut a, &mut b);
        }
        let adds = dies(self, c) && c != a && c != b;
        let over = if adds { c } else { a };
        let from = self.register(over, at, pass)?;
        let first = if adds { a } else { b };
        let last = if adds { b } else { c };
        let first = self.register(first, at, pass)?;
        let last = self.operand(last, at, pass)?;
        let reuse = dies(self, over) && (adds || (over != b && over != c));
        let to = if reuse {
            self.registers.place[over as usize] = None;
            self.registers.vectors[from.0 as usize] = Some(i);
            self.registers.place[i as usize] = Some(from.0);
            from
        } else {
            let to = self.claim(i, at)?;
            self.asm.copy(to, from);
            to
        };
        self.asm.vector(select::fused(inst.code, inst.ty, adds), width, UNMASKED, (to, first, last), None);
        Some(())
    }
}

/// Where the element of this size is that lies so many elements behind the first of the pass.
fn element(base: Gpr, size: usize, shift: usize) -> Operand {
    Operand::Element { base, index: RAX, scale: size as u8, offset: (size * shift) as i32 }
}

/// An element repeated to eight bytes.
pub fn repeated(bits: u64, size: usize) -> u64 {
    match size {
        1 => (bits & 0xff) * 0x0101_0101_0101_0101,
        2 => (bits & 0xffff) * 0x0001_0001_0001_0001,
        4 => (bits & 0xffff_ffff) * 0x0000_0001_0000_0001,
        _ => bits,
    }
}

/// The mask of all lanes of a loop, as an immediate where it fits one.
pub const fn whole_mask(lanes: usize) -> i32 {
    if lanes >= 31 { -1 } else { (1 << lanes) - 1 }
}
