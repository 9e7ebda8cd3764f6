//! From recorded operations to those the machine has, and which instruction each is.

use crossover_core::lane::{Node, Primitive, Relation, Type};

use super::assembler::{Map, Op, Prefix, op};

/// What an instruction of the loop does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Code {
    Primitive(Primitive),
    /// `c - a * b`, rounded once.
    NegativeFma,
    /// `a * b - c`, rounded once.
    FmaMinus,
    /// `-(a * b) - c`, rounded once.
    NegativeFmaMinus,
    /// `a < b ? a : b`.
    Lesser,
    /// `a > b ? a : b`.
    Greater,
    /// The smaller of two numbers, -0 before +0; nothing in particular for NaN.
    Least,
    /// The larger of two numbers, +0 after -0; nothing in particular for NaN.
    Most,
    /// A mask: whether one of two is NaN.
    Unordered,
}

/// An operation of the loop; operands come before their users.
#[derive(Debug, Clone, Copy)]
pub struct Inst {
    pub code: Code,
    pub ty: Type,
    args: [u32; 3],
    arity: u8,
}

impl Inst {
    pub fn args(&self) -> &[u32] {
        &self.args[..self.arity as usize]
    }

    /// The same with other operands.
    pub fn with_args(&self, other: impl Fn(u32) -> u32) -> Inst {
        let mut inst = *self;
        inst.args[..self.arity as usize].iter_mut().for_each(|arg| *arg = other(*arg));
        inst
    }

    pub fn result(&self) -> Type {
        match self.code {
            Code::Primitive(Primitive::Compare(_)) | Code::Unordered => Type::Mask,
            _ => self.ty,
        }
    }

    pub fn constant(&self) -> Option<u64> {
        match self.code {
            Code::Primitive(Primitive::Constant(bits)) => Some(bits),
            _ => None,
        }
    }
}

/// Whether the machine can do a recorded operation.
pub fn supported(node: &Node) -> bool {
    let size = node.ty.size();
    match node.op {
        Primitive::Quotient | Primitive::Modulo => false,
        Primitive::Mul | Primitive::Shl(_) | Primitive::Shr(_) | Primitive::ShlLane | Primitive::ShrLane => {
            size > 1
        }
        Primitive::Convert(from) => conversion(from, node.ty).is_some(),
        _ => true,
    }
}

/// The operations of the loop, and which of them holds each recorded value.
pub fn lower(nodes: &[Node]) -> (Vec<Inst>, Vec<u32>) {
    let mut insts: Vec<Inst> = Vec::with_capacity(nodes.len());
    let mut value: Vec<u32> = Vec::with_capacity(nodes.len());
    for node in nodes {
        let mut args = [0; 3];
        for (to, &from) in args.iter_mut().zip(node.args()) {
            *to = value[from as usize];
        }
        let arity = node.args().len() as u8;
        let mut inst = Inst { code: Code::Primitive(node.op), ty: node.ty, args, arity };
        if let Primitive::Convert(from) = node.op {
            let way = conversion(from, node.ty).unwrap_or(Conversion::Same);
            match way {
                Conversion::Same => {
                    value.push(args[0]);
                    continue;
                }
                Conversion::Through(middle) => {
                    insts.push(Inst { code: Code::Primitive(Primitive::Convert(from)), ty: middle, ..inst });
                    inst.args[0] = (insts.len() - 1) as u32;
                    inst.code = Code::Primitive(Primitive::Convert(middle));
                }
                Conversion::Direct(..) => {}
            }
        }
        simplify(&mut inst, &insts);
        if let Some((code, [a, b])) = extreme(&inst, &insts) {
            let two = |code| Inst { code, args: [a, b, 0], arity: 2, ..inst };
            insts.extend([two(Code::Unordered), two(code)]);
            let at = insts.len() as u32;
            inst.args = [at - 2, inst.args[1], at - 1];
        }
        insts.push(inst);
        value.push((insts.len() - 1) as u32);
    }
    (insts, value)
}

/// Uses the instructions that do two operations at once, with the same result.
fn simplify(inst: &mut Inst, insts: &[Inst]) {
    let negated = |at: u32| match insts[at as usize] {
        Inst { code: Code::Primitive(Primitive::Neg), args, ty, .. } if ty.is_float() => Some(args[0]),
        _ => None,
    };
    let [a, b, c] = inst.args;
    match inst.code {
        Code::Primitive(Primitive::Fma) => {
            let first = negated(a).map(|a| (a, b)).or_else(|| negated(b).map(|b| (a, b)));
            let third = negated(c);
            inst.code = match (first, third) {
                (None, None) => return,
                (Some(_), None) => Code::NegativeFma,
                (None, Some(_)) => Code::FmaMinus,
                (Some(_), Some(_)) => Code::NegativeFmaMinus,
            };
            let (a, b) = first.unwrap_or((a, b));
            inst.args = [a, b, third.unwrap_or(c)];
        }
        Code::Primitive(Primitive::Select) if inst.ty.is_float() => {
            let test = insts[a as usize];
            let Code::Primitive(Primitive::Compare(relation)) = test.code else { return };
            if test.ty != inst.ty {
                return;
            }
            let [x, y, _] = test.args;
            // What these return for NaN and for equal operands is their second one, as the selection does.
            inst.code = match (relation, (b, c) == (x, y), (b, c) == (y, x)) {
                (Relation::Lt, true, _) | (Relation::Gt, _, true) => Code::Lesser,
                (Relation::Gt, true, _) | (Relation::Lt, _, true) => Code::Greater,
                _ => return,
            };
            inst.args = [b, c, 0];
            inst.arity = 2;
        }
        _ => {}
    }
}

/// The operands of a minimum or maximum that NaN wins and in which zeros have their order: the machine finds the value
/// in one instruction, and whether there is a NaN in another.
fn extreme(inst: &Inst, insts: &[Inst]) -> Option<(Code, [u32; 2])> {
    let parts = |at: u32, primitive: Primitive| {
        let inst = &insts[at as usize];
        (inst.code == Code::Primitive(primitive)).then_some(inst.args)
    };
    let compare = |at: u32, relation| parts(at, Primitive::Compare(relation));
    if inst.code != Code::Primitive(Primitive::Select) || !inst.ty.is_float() {
        return None;
    }
    let [is_nan, _, best] = inst.args;
    let [first, second, _] = parts(is_nan, Primitive::Or)?;
    let (a, b) = (compare(first, Relation::Ne)?, compare(second, Relation::Ne)?);
    let ([a, a2, _], [b, b2, _]) = (a, b);
    let [wins, won, lost] = parts(best, Primitive::Select)?;
    let [equal, tie, other] = parts(lost, Primitive::Select)?;
    let code = match (compare(wins, Relation::Gt), parts(tie, Primitive::And)) {
        (Some([x, y, _]), Some([p, q, _])) if [x, y, p, q] == [a, b, a, b] => Code::Most,
        _ => {
            let ([x, y, _], [p, q, _]) = (compare(wins, Relation::Lt)?, parts(tie, Primitive::Or)?);
            ([x, y, p, q] == [a, b, a, b]).then_some(Code::Least)?
        }
    };
    let [x, y, _] = compare(equal, Relation::Eq)?;
    ([a2, b2, won, other, x, y] == [a, b, a, b, a, b]).then_some((code, [a, b]))
}

/// The instruction of [`Code::Least`] and [`Code::Most`], with its immediate.
pub fn range(code: Code, ty: Type) -> (Op, u8) {
    (op(Map::X0F3A, Prefix::P66, ty.size() == 8, 0x50), if code == Code::Most { 5 } else { 4 })
}

/// The comparison that holds if an operand is NaN, with its immediate.
pub fn unordered(ty: Type) -> (Op, u8) {
    let (op, _) = comparison(Relation::Eq, ty);
    (op, 3)
}

/// How a conversion is done.
#[derive(Debug, Clone, Copy)]
pub enum Conversion {
    /// Bits stay.
    Same,
    /// By way of another type.
    Through(Type),
    /// By one instruction, as long as its operand or its result, whichever is longer; a truncation names its source
    /// where others name their result.
    Direct(Op, Shape),
}

/// How the registers of a conversion are named.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Shape {
    Usual,
    Truncation,
}

/// The way from one type to another, if there is one.
pub fn conversion(from: Type, to: Type) -> Option<Conversion> {
    use Conversion::{Direct, Same, Through};
    use Map::{X0F, X0F38};
    use Prefix::{None as P, P66, PF2, PF3};
    let (a, b) = (from.size(), to.size());
    let usual = |map, prefix, wide, code| Some(Direct(op(map, prefix, wide, code), Shape::Usual));
    match (from.is_float(), to.is_float()) {
        (false, false) if a == b => Some(Same),
        (false, false) if a < b => {
            let step = match (a, b) {
                (1, 2) => 0,
                (1, 4) => 1,
                (1, _) => 2,
                (2, 4) => 3,
                (2, _) => 4,
                _ => 5,
            };
            usual(X0F38, P66, false, if from.is_signed() { 0x20 } else { 0x30 } + step)
        }
        (false, false) => {
            let step = match (a, b) {
                (2, 1) => 0,
                (4, 1) => 1,
                (8, 1) => 2,
                (4, 2) => 3,
                (8, 2) => 4,
                _ => 5,
            };
            Some(Direct(op(X0F38, PF3, false, 0x30 + step), Shape::Truncation))
        }
        (false, true) if a < 4 => Some(Through(Type::I32)),
        (false, true) => match (from, to) {
            (Type::I32, Type::F32) => usual(X0F, P, false, 0x5b),
            (Type::U32, Type::F32) => usual(X0F, PF2, false, 0x7a),
            (Type::I64, Type::F32) => usual(X0F, P, true, 0x5b),
            (Type::U64, Type::F32) => usual(X0F, PF2, true, 0x7a),
            (Type::I32, _) => usual(X0F, PF3, false, 0xe6),
            (Type::U32, _) => usual(X0F, PF3, false, 0x7a),
            (Type::I64, _) => usual(X0F, PF3, true, 0xe6),
            _ => usual(X0F, PF3, true, 0x7a),
        },
        (true, true) if a == b => Some(Same),
        (true, true) if a < b => usual(X0F, P, false, 0x5a),
        (true, true) => usual(X0F, P66, true, 0x5a),
        (true, false) => match (from, to) {
            (Type::F32, Type::I32) => usual(X0F, PF3, false, 0x5b),
            (Type::F64, Type::I64) => usual(X0F, P66, true, 0x7a),
            _ => None,
        },
    }
}

/// The instruction of a two-operand operation, and whether its operands may be swapped.
pub fn binary(code: Code, ty: Type) -> Option<(Op, bool)> {
    use Map::{X0F, X0F38};
    use Prefix::P66;
    let wide = ty.size() == 8;
    let prefix = if wide { P66 } else { Prefix::None };
    let float = |code, swaps| Some((op(X0F, prefix, wide, code), swaps));
    let by_size = |codes: [u8; 4]| op(X0F, P66, wide, codes[ty.size().trailing_zeros() as usize]);
    match (code, ty.is_float()) {
        (Code::Primitive(Primitive::Add), true) => float(0x58, true),
        (Code::Primitive(Primitive::Mul), true) => float(0x59, true),
        (Code::Primitive(Primitive::Sub), true) => float(0x5c, false),
        (Code::Primitive(Primitive::Div), true) => float(0x5e, false),
        (Code::Primitive(Primitive::TimesPower), true) => Some((op(X0F38, P66, wide, 0x2c), false)),
        (Code::Lesser, true) => float(0x5d, false),
        (Code::Greater, true) => float(0x5f, false),
        (Code::Primitive(Primitive::Add), false) => Some((by_size([0xfc, 0xfd, 0xfe, 0xd4]), true)),
        (Code::Primitive(Primitive::Sub), false) => Some((by_size([0xf8, 0xf9, 0xfa, 0xfb]), false)),
        (Code::Primitive(Primitive::Mul), false) => match ty.size() {
            2 => Some((op(X0F, P66, false, 0xd5), true)),
            4 => Some((op(X0F38, P66, false, 0x40), true)),
            8 => Some((op(X0F38, P66, true, 0x40), true)),
            _ => None,
        },
        (Code::Primitive(Primitive::And), _) => Some((op(X0F, P66, wide, 0xdb), true)),
        (Code::Primitive(Primitive::Or), _) => Some((op(X0F, P66, wide, 0xeb), true)),
        (Code::Primitive(Primitive::Xor), _) => Some((op(X0F, P66, wide, 0xef), true)),
        (Code::Primitive(Primitive::ShlLane), false) => lane_shift(ty, 0x47, 0x12),
        (Code::Primitive(Primitive::ShrLane), false) if ty.is_signed() => lane_shift(ty, 0x46, 0x11),
        (Code::Primitive(Primitive::ShrLane), false) => lane_shift(ty, 0x45, 0x10),
        _ => None,
    }
}

fn lane_shift(ty: Type, code: u8, words: u8) -> Option<(Op, bool)> {
    match ty.size() {
        2 => Some((op(Map::X0F38, Prefix::P66, true, words), false)),
        4 => Some((op(Map::X0F38, Prefix::P66, false, code), false)),
        8 => Some((op(Map::X0F38, Prefix::P66, true, code), false)),
        _ => None,
    }
}

/// The instruction of a one-operand float operation, with its immediate.
pub fn unary(primitive: Primitive, ty: Type) -> Option<(Op, Option<u8>)> {
    let wide = ty.size() == 8;
    let round = |mode: u8| {
        // Bit 3 keeps the inexact flag quiet.
        Some((op(Map::X0F3A, Prefix::P66, wide, if wide { 0x09 } else { 0x08 }), Some(8 | mode)))
    };
    match primitive {
        Primitive::Sqrt => {
            Some((op(Map::X0F, if wide { Prefix::P66 } else { Prefix::None }, wide, 0x51), None))
        }
        Primitive::Round => round(0),
        Primitive::Floor => round(1),
        Primitive::Ceil => round(2),
        Primitive::Trunc => round(3),
        _ => None,
    }
}

/// The instruction of a shift by a constant: with the digit that its register field holds.
pub fn shift(left: bool, ty: Type) -> Option<(Op, u8)> {
    let arithmetic = !left && ty.is_signed();
    let digit = match (left, arithmetic) {
        (true, _) => 6,
        (false, true) => 4,
        (false, false) => 2,
    };
    let code = match (ty.size(), arithmetic) {
        (2, _) => 0x71,
        (4, _) | (8, true) => 0x72,
        (8, false) => 0x73,
        _ => return None,
    };
    Some((op(Map::X0F, Prefix::P66, ty.size() == 8, code), digit))
}

/// The comparison of a type, with the immediate of a relation.
pub fn comparison(relation: Relation, ty: Type) -> (Op, u8) {
    let wide = ty.size() == 8;
    if ty.is_float() {
        let prefix = if wide { Prefix::P66 } else { Prefix::None };
        let predicate = match relation {
            Relation::Eq => 0x00,
            Relation::Ne => 0x04,
            Relation::Lt => 0x11,
            Relation::Le => 0x12,
            Relation::Ge => 0x1d,
            Relation::Gt => 0x1e,
        };
        return (op(Map::X0F, prefix, wide, 0xc2), predicate);
    }
    let predicate = match relation {
        Relation::Eq => 0,
        Relation::Lt => 1,
        Relation::Le => 2,
        Relation::Ne => 4,
        Relation::Ge => 5,
        Relation::Gt => 6,
    };
    let small = if ty.size() < 4 { 0x20 } else { 0 };
    let wide = matches!(ty.size(), 2 | 8);
    (op(Map::X0F3A, Prefix::P66, wide, small | if ty.is_signed() { 0x1f } else { 0x1e }), predicate)
}

/// The relation that holds when the operands are swapped.
pub fn mirrored(relation: Relation) -> Relation {
    match relation {
        Relation::Lt => Relation::Gt,
        Relation::Le => Relation::Ge,
        Relation::Gt => Relation::Lt,
        Relation::Ge => Relation::Le,
        same => same,
    }
}

/// `to = mask ? rm : a`, by element size.
pub fn blend(size: usize) -> Op {
    match size {
        1 => op(Map::X0F38, Prefix::P66, false, 0x66),
        2 => op(Map::X0F38, Prefix::P66, true, 0x66),
        4 => op(Map::X0F38, Prefix::P66, false, 0x64),
        _ => op(Map::X0F38, Prefix::P66, true, 0x64),
    }
}

/// Loads (or moves between registers) and stores, by element size.
pub fn transfer(size: usize, store: bool) -> Op {
    let code = if store { 0x7f } else { 0x6f };
    match size {
        1 => op(Map::X0F, Prefix::PF2, false, code),
        2 => op(Map::X0F, Prefix::PF2, true, code),
        4 => op(Map::X0F, Prefix::PF3, false, code),
        _ => op(Map::X0F, Prefix::PF3, true, code),
    }
}

/// Repeats one element of memory, by its size.
pub fn broadcast(size: usize) -> Op {
    match size {
        1 => op(Map::X0F38, Prefix::P66, false, 0x78),
        2 => op(Map::X0F38, Prefix::P66, false, 0x79),
        4 => op(Map::X0F38, Prefix::P66, false, 0x58),
        _ => op(Map::X0F38, Prefix::P66, true, 0x59),
    }
}

/// A store past the caches.
pub const STREAM: Op = op(Map::X0F, Prefix::P66, false, 0xe7);

/// Any logic of three operands, by a table in the immediate.
pub const TERNARY: Op = op(Map::X0F3A, Prefix::P66, false, 0x25);

/// Fused multiply-add: `to = a * to + rm` (multiplies) or `to = a * rm + to` (adds).
pub fn fused(code: Code, ty: Type, adds: bool) -> Op {
    let base = match code {
        Code::FmaMinus => 0xaa,
        Code::NegativeFma => 0xac,
        Code::NegativeFmaMinus => 0xae,
        _ => 0xa8,
    };
    op(Map::X0F38, Prefix::P66, ty.size() == 8, base + if adds { 0x10 } else { 0 })
}
