//! x86-64 machine code for AVX-512 loops: just the encodings the compiler uses.
//!
//! Vector instructions are EVEX encoded (Intel's manual, volume 2, section 2.7), mask and BMI instructions VEX encoded.
//! Displacements are always 32 bits, which avoids the scaling of short ones.

/// A general register, by its number in encodings.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Gpr(pub u8);

pub const RAX: Gpr = Gpr(0);
pub const RCX: Gpr = Gpr(1);
pub const RDX: Gpr = Gpr(2);
pub const RSP: Gpr = Gpr(4);
pub const RBP: Gpr = Gpr(5);
pub const RSI: Gpr = Gpr(6);
pub const RDI: Gpr = Gpr(7);

/// A vector register, 0 to 31.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Vector(pub u8);

/// A mask register, 1 to 7; 0 as the mask of an instruction means none.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Mask(pub u8);

/// No mask.
pub const ALL: Mask = Mask(0);

/// The last operand of a vector instruction.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Operand {
    Register(Vector),
    /// `[base + index * scale + offset]`.
    Element {
        base: Gpr,
        index: Gpr,
        scale: u8,
        offset: i32,
    },
    /// `[base + offset]`.
    At(Gpr, i32),
    /// One element at `[base]`, repeated.
    Repeat(Gpr),
    /// One element of the constant pool, repeated.
    Constant(u32),
    /// The same place, for instructions that repeat by themselves.
    Pool(u32),
}

/// Opcode map.
#[derive(Debug, Clone, Copy)]
pub enum Map {
    X0F = 1,
    X0F38 = 2,
    X0F3A = 3,
}

/// Mandatory prefix.
#[derive(Debug, Clone, Copy)]
pub enum Prefix {
    None = 0,
    P66 = 1,
    PF3 = 2,
    PF2 = 3,
}

/// What identifies a vector instruction.
#[derive(Debug, Clone, Copy)]
pub struct Op {
    pub map: Map,
    pub prefix: Prefix,
    pub wide: bool,
    pub code: u8,
}

/// An instruction.
pub const fn op(map: Map, prefix: Prefix, wide: bool, code: u8) -> Op {
    Op { map, prefix, wide, code }
}

/// Bytes of a vector.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Width {
    B16 = 0,
    B32 = 1,
    B64 = 2,
}

impl Width {
    /// The narrowest that holds so many bytes.
    pub fn of(bytes: usize) -> Width {
        match bytes {
            0..=16 => Width::B16,
            17..=32 => Width::B32,
            _ => Width::B64,
        }
    }
}

/// Lanes that an instruction writes.
#[derive(Debug, Clone, Copy)]
pub struct Masking {
    pub mask: Mask,
    /// Whether the others become zero rather than stay.
    pub zero: bool,
}

/// All lanes.
pub const UNMASKED: Masking = Masking { mask: ALL, zero: false };

/// A place that jumps go to.
#[derive(Debug, Clone, Copy)]
pub struct Label(usize);

/// Conditions of jumps, by their number in encodings.
#[derive(Debug, Clone, Copy)]
pub enum Condition {
    AboveEqual = 3,
    Zero = 4,
    NotZero = 5,
    LessEqual = 14,
    Greater = 15,
}

/// Code being written.
#[derive(Debug, Default)]
pub struct Assembler {
    code: Vec<u8>,
    labels: Vec<Option<usize>>,
    /// Position of a 32-bit field, the end of its instruction, where it leads.
    jumps: Vec<(usize, Label)>,
    constants: Vec<u64>,
    /// Position of a 32-bit field, bytes of the instruction after it, the constant.
    references: Vec<(usize, usize, u32)>,
}

impl Assembler {
    /// Where a function could start now.
    pub fn position(&self) -> usize {
        self.code.len()
    }

    /// Takes back everything written since a copy of the lengths was made.
    pub fn rewind(&mut self, [code, labels, jumps, references]: [usize; 4]) {
        self.code.truncate(code);
        self.labels.truncate(labels);
        self.jumps.truncate(jumps);
        self.references.truncate(references);
    }

    /// Lengths for [`Assembler::rewind`].
    pub fn lengths(&self) -> [usize; 4] {
        [self.code.len(), self.labels.len(), self.jumps.len(), self.references.len()]
    }

    /// Aligns the next instruction.
    pub fn align(&mut self, to: usize) {
        while !self.code.len().is_multiple_of(to) {
            self.code.push(0x90);
        }
    }

    /// A constant of the pool; eight bytes each, so one place serves narrower elements too.
    pub fn constant(&mut self, bits: u64) -> u32 {
        let at = self.constants.iter().position(|&c| c == bits).unwrap_or_else(|| {
            self.constants.push(bits);
            self.constants.len() - 1
        });
        at as u32
    }

    pub fn label(&mut self) -> Label {
        self.labels.push(None);
        Label(self.labels.len() - 1)
    }

    pub fn bind(&mut self, label: Label) {
        self.labels[label.0] = Some(self.code.len());
    }

    pub fn jump_if(&mut self, condition: Condition, to: Label) {
        self.code.extend([0x0f, 0x80 | condition as u8]);
        self.jump_field(to);
    }

    pub fn jump(&mut self, to: Label) {
        self.code.push(0xe9);
        self.jump_field(to);
    }

    fn jump_field(&mut self, to: Label) {
        self.jumps.push((self.code.len(), to));
        self.code.extend([0; 4]);
    }

    /// The code with its constants behind it; `None` if something in it leads nowhere.
    pub fn finish(mut self) -> Option<Vec<u8>> {
        for &(at, label) in &self.jumps {
            let target = self.labels[label.0]?;
            let distance = target as i64 - (at as i64 + 4);
            self.code[at..at + 4].copy_from_slice(&i32::try_from(distance).ok()?.to_le_bytes());
        }
        while !self.code.len().is_multiple_of(64) {
            self.code.push(0xcc);
        }
        let pool = self.code.len();
        for &(at, after, constant) in &self.references {
            let distance = (pool + 8 * constant as usize) as i64 - (at + 4 + after) as i64;
            self.code[at..at + 4].copy_from_slice(&i32::try_from(distance).ok()?.to_le_bytes());
        }
        for constant in &self.constants {
            self.code.extend(constant.to_le_bytes());
        }
        Some(self.code)
    }

    // General registers, all 64 bits wide.

    fn rex(&mut self, reg: Gpr, base: Gpr) {
        self.code.push(0x48 | (reg.0 >> 3) << 2 | base.0 >> 3);
    }

    /// `code reg, rm` between registers.
    fn plain(&mut self, code: u8, reg: Gpr, rm: Gpr) {
        self.rex(reg, rm);
        self.code.extend([code, 0xc0 | (reg.0 & 7) << 3 | rm.0 & 7]);
    }

    pub fn move_from(&mut self, to: Gpr, from: Gpr) {
        self.plain(0x8b, to, from);
    }

    pub fn subtract(&mut self, to: Gpr, from: Gpr) {
        self.plain(0x2b, to, from);
    }

    pub fn compare(&mut self, a: Gpr, b: Gpr) {
        self.plain(0x3b, a, b);
    }

    /// `reg = -reg`.
    pub fn negate(&mut self, reg: Gpr) {
        self.rex(Gpr(0), reg);
        self.code.extend([0xf7, 0xd8 | reg.0 & 7]);
    }

    /// `reg = reg >> count`, without sign.
    pub fn shift_right(&mut self, reg: Gpr, count: u8) {
        self.rex(Gpr(0), reg);
        self.code.extend([0xc1, 0xe8 | reg.0 & 7, count]);
    }

    pub fn clear(&mut self, reg: Gpr) {
        self.plain(0x33, reg, reg);
    }

    /// `code /digit` with a 32-bit immediate.
    fn immediate(&mut self, code: u8, digit: u8, reg: Gpr, value: i32) {
        self.rex(Gpr(0), reg);
        self.code.extend([code, 0xc0 | digit << 3 | reg.0 & 7]);
        self.code.extend(value.to_le_bytes());
    }

    pub fn add_immediate(&mut self, reg: Gpr, value: i32) {
        self.immediate(0x81, 0, reg, value);
    }

    pub fn and_immediate(&mut self, reg: Gpr, value: i32) {
        self.immediate(0x81, 4, reg, value);
    }

    pub fn move_immediate(&mut self, reg: Gpr, value: i32) {
        self.immediate(0xc7, 0, reg, value);
    }

    pub fn test_immediate(&mut self, reg: Gpr, value: i32) {
        self.immediate(0xf7, 0, reg, value);
    }

    /// `reg = [base + offset]`.
    pub fn load(&mut self, reg: Gpr, base: Gpr, offset: i32) {
        self.rex(reg, base);
        self.code.push(0x8b);
        self.memory(reg.0 & 7, base, offset);
    }

    /// `[base + offset] = reg`.
    pub fn store(&mut self, base: Gpr, offset: i32, reg: Gpr) {
        self.rex(reg, base);
        self.code.push(0x89);
        self.memory(reg.0 & 7, base, offset);
    }

    /// `reg = reg + index * scale`.
    pub fn add_scaled(&mut self, reg: Gpr, index: Gpr, scale: usize) {
        self.code.push(0x48 | (reg.0 >> 3) << 2 | (index.0 >> 3) << 1 | reg.0 >> 3);
        self.code.extend([0x8d, 0x84 | (reg.0 & 7) << 3]);
        self.code.push((scale.trailing_zeros() as u8) << 6 | (index.0 & 7) << 3 | reg.0 & 7);
        self.code.extend([0; 4]);
    }

    pub fn push(&mut self, reg: Gpr) {
        self.code.extend([0x40 | reg.0 >> 3, 0x50 | reg.0 & 7]);
    }

    pub fn pop(&mut self, reg: Gpr) {
        self.code.extend([0x40 | reg.0 >> 3, 0x58 | reg.0 & 7]);
    }

    pub fn return_(&mut self) {
        // Leaving 512-bit state behind slows older code down.
        self.code.extend([0xc5, 0xf8, 0x77]);
        self.code.push(0xc3);
    }

    fn memory(&mut self, reg: u8, base: Gpr, offset: i32) {
        self.code.push(0x80 | reg << 3 | base.0 & 7);
        if base.0 & 7 == 4 {
            self.code.push(0x24);
        }
        self.code.extend(offset.to_le_bytes());
    }

    /// Asks for the line at `[base + index * scale + offset]`.
    pub fn prefetch(&mut self, base: Gpr, index: Gpr, scale: u8, offset: i32) {
        self.code.extend([0x40 | (index.0 >> 3) << 1 | base.0 >> 3, 0x0f, 0x18, 0x8c]);
        self.code.push((scale.trailing_zeros() as u8) << 6 | (index.0 & 7) << 3 | base.0 & 7);
        self.code.extend(offset.to_le_bytes());
    }

    // Masks.

    fn vex(
        &mut self,
        (reg, rm, vvvv): (u8, u8, u8),
        (map, prefix): (Map, Prefix),
        wide: bool,
        long: bool,
        code: u8,
    ) {
        self.code.push(0xc4);
        self.code.push((!(reg >> 3) & 1) << 7 | 1 << 6 | (!(rm >> 3) & 1) << 5 | map as u8);
        self.code.push((wide as u8) << 7 | (!vvvv & 15) << 3 | (long as u8) << 2 | prefix as u8);
        self.code.extend([code, 0xc0 | (reg & 7) << 3 | rm & 7]);
    }

    /// A mask from the low bits of a register.
    pub fn mask_from(&mut self, mask: Mask, from: Gpr) {
        self.vex((mask.0, from.0, 0), (Map::X0F, Prefix::PF2), true, false, 0x92);
    }

    pub fn mask_and(&mut self, to: Mask, a: Mask, b: Mask) {
        self.vex((to.0, b.0, a.0), (Map::X0F, Prefix::None), true, true, 0x41);
    }

    pub fn mask_or(&mut self, to: Mask, a: Mask, b: Mask) {
        self.vex((to.0, b.0, a.0), (Map::X0F, Prefix::None), true, true, 0x45);
    }

    pub fn mask_xor(&mut self, to: Mask, a: Mask, b: Mask) {
        self.vex((to.0, b.0, a.0), (Map::X0F, Prefix::None), true, true, 0x47);
    }

    pub fn mask_xnor(&mut self, to: Mask, a: Mask, b: Mask) {
        self.vex((to.0, b.0, a.0), (Map::X0F, Prefix::None), true, true, 0x46);
    }

    pub fn mask_not(&mut self, to: Mask, from: Mask) {
        self.vex((to.0, from.0, 0), (Map::X0F, Prefix::None), true, false, 0x44);
    }

    /// `to = from` with the bits from `count` on cleared (BZHI).
    pub fn low_bits(&mut self, to: Gpr, from: Gpr, count: Gpr) {
        self.vex((to.0, from.0, count.0), (Map::X0F38, Prefix::None), true, false, 0xf5);
    }

    // Vectors.

    /// `to = op(a, rm)`, or `op(rm)` with `a` unused; `imm` follows where the instruction has one.
    pub fn vector(
        &mut self,
        op: Op,
        width: Width,
        masking: Masking,
        (to, a, rm): (Vector, Vector, Operand),
        imm: Option<u8>,
    ) {
        let (x, b, repeat) = match rm {
            Operand::Register(r) => (r.0 >> 4 & 1, r.0 >> 3 & 1, false),
            Operand::Element { base, index, .. } => (index.0 >> 3, base.0 >> 3, false),
            Operand::At(base, _) => (0, base.0 >> 3, false),
            Operand::Repeat(base) => (0, base.0 >> 3, true),
            Operand::Constant(_) => (0, 0, true),
            Operand::Pool(_) => (0, 0, false),
        };
        let (r, high) = (to.0 >> 3 & 1, to.0 >> 4 & 1);
        self.code.push(0x62);
        self.code.push((r ^ 1) << 7 | (x ^ 1) << 6 | (b ^ 1) << 5 | (high ^ 1) << 4 | op.map as u8);
        self.code.push((op.wide as u8) << 7 | (!a.0 & 15) << 3 | 1 << 2 | op.prefix as u8);
        let v = (a.0 >> 4 & 1) ^ 1;
        let zero = masking.zero as u8;
        self.code.push(zero << 7 | (width as u8) << 5 | (repeat as u8) << 4 | v << 3 | masking.mask.0);
        self.code.push(op.code);
        let reg = to.0 & 7;
        match rm {
            Operand::Register(r) => self.code.push(0xc0 | reg << 3 | r.0 & 7),
            Operand::Element { base, index, scale, offset } => {
                // A base of rbp or r13 has no form without displacement.
                let form = if offset != 0 { 2 } else { (base.0 & 7 == 5) as u8 };
                self.code.push(form << 6 | reg << 3 | 4);
                self.code.push((scale.trailing_zeros() as u8) << 6 | (index.0 & 7) << 3 | base.0 & 7);
                match form {
                    0 => {}
                    1 => self.code.push(0),
                    _ => self.code.extend(offset.to_le_bytes()),
                }
            }
            Operand::At(base, offset) => self.memory(reg, base, offset),
            Operand::Repeat(base) => self.memory(reg, base, 0),
            Operand::Constant(constant) | Operand::Pool(constant) => {
                self.code.push(reg << 3 | 5);
                self.references.push((self.code.len(), imm.is_some() as usize, constant));
                self.code.extend([0; 4]);
            }
        }
        self.code.extend(imm);
    }

    /// As [`Assembler::vector`] with a mask as the result.
    pub fn vector_to_mask(&mut self, op: Op, width: Width, to: Mask, a: Vector, rm: Operand, imm: u8) {
        self.vector(op, width, UNMASKED, (Vector(to.0), a, rm), Some(imm));
    }

    /// A whole register moved.
    pub fn copy(&mut self, to: Vector, from: Vector) {
        let r#move = op(Map::X0F, Prefix::PF3, true, 0x6f);
        self.vector(r#move, Width::B64, UNMASKED, (to, Vector(0), Operand::Register(from)), None);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::native::select;
    use crossover_core::lane::{Primitive, Relation, Type};

    /// What GNU as makes of the same instructions.
    #[test]
    fn encodings_are_those_of_other_assemblers() {
        let check = |bytes: &[u8], write: &dyn Fn(&mut Assembler)| {
            let mut asm = Assembler::default();
            write(&mut asm);
            assert_eq!(asm.code, bytes);
        };
        let add = select::binary(select::Code::Primitive(Primitive::Add), Type::F32).unwrap().0;
        let (one, two, three) = (Vector(1), Vector(2), Operand::Register(Vector(3)));
        check(&[0x62, 0xf1, 0x6c, 0x48, 0x58, 0xcb], &|a| {
            a.vector(add, Width::B64, UNMASKED, (one, two, three), None);
        });
        let scale = select::binary(select::Code::Primitive(Primitive::TimesPower), Type::F32).unwrap().0;
        check(&[0x62, 0xf2, 0x6d, 0x48, 0x2c, 0xcb], &|a| {
            a.vector(scale, Width::B64, UNMASKED, (one, two, three), None);
        });
        let element = |base, scale| Operand::Element { base: Gpr(base), index: RAX, scale, offset: 0 };
        check(&[0x62, 0xe1, 0x7e, 0xcf, 0x6f, 0x0c, 0x82], &|a| {
            let masking = Masking { mask: Mask(7), zero: true };
            let operands = (Vector(17), Vector(0), element(2, 4));
            a.vector(select::transfer(4, false), Width::B64, masking, operands, None);
        });
        check(&[0x62, 0x12, 0xd5, 0x40, 0xa8, 0xce], &|a| {
            let op = select::fused(select::Code::Primitive(Primitive::Fma), Type::F64, false);
            let operands = (Vector(9), Vector(21), Operand::Register(Vector(30)));
            a.vector(op, Width::B64, UNMASKED, operands, None);
        });
        check(&[0x62, 0xd1, 0x7d, 0x48, 0xe7, 0x6c, 0x05, 0x00], &|a| {
            a.vector(select::STREAM, Width::B64, UNMASKED, (Vector(5), Vector(0), element(13, 1)), None);
        });
        check(&[0x62, 0xf1, 0x7e, 0x48, 0x6f, 0x8c, 0x82, 0x80, 0x00, 0x00, 0x00], &|a| {
            let from = Operand::Element { base: RDX, index: RAX, scale: 4, offset: 128 };
            a.vector(select::transfer(4, false), Width::B64, UNMASKED, (one, Vector(0), from), None);
        });
        check(&[0x62, 0xf1, 0x5c, 0x40, 0xc2, 0xdc, 0x11], &|a| {
            let (op, predicate) = select::comparison(Relation::Lt, Type::F32);
            let four = Operand::Register(Vector(4));
            a.vector_to_mask(op, Width::B64, Mask(3), Vector(20), four, predicate);
        });
        check(&[0x62, 0xb1, 0x35, 0x40, 0x72, 0xf2, 0x17], &|a| {
            let (op, digit) = select::shift(true, Type::U32).unwrap();
            let operands = (Vector(digit), Vector(25), Operand::Register(Vector(18)));
            a.vector(op, Width::B64, UNMASKED, operands, Some(23));
        });
        check(&[0xc4, 0xe1, 0xf4, 0x41, 0xda], &|a| a.mask_and(Mask(3), Mask(1), Mask(2)));
        check(&[0xc4, 0xe2, 0xc8, 0xf5, 0xc9], &|a| a.low_bits(RCX, RCX, RSI));
        check(&[0x48, 0xf7, 0xd9], &|a| a.negate(RCX));
        check(&[0x49, 0xc1, 0xe9, 0x02], &|a| a.shift_right(Gpr(9), 2));
        check(&[0x48, 0x89, 0xb5, 0xf8, 0xff, 0xff, 0xff], &|a| a.store(RBP, -8, RSI));
        check(&[0x4f, 0x8d, 0x94, 0x8a, 0, 0, 0, 0], &|a| a.add_scaled(Gpr(10), Gpr(9), 4));
        check(&[0x48, 0x8d, 0x9c, 0x8b, 0, 0, 0, 0], &|a| a.add_scaled(Gpr(3), RCX, 4));
        check(&[0x41, 0x0f, 0x18, 0x8c, 0x81, 0x00, 0x20, 0x00, 0x00], &|a| a.prefetch(Gpr(9), RAX, 4, 8192));
    }
}
