//! Lanes that record a body as primitive operations in single assignment form.
//!
//! A [`Recorded`] value is the position of an operation in the list being made on this thread. Whoever turns bodies
//! into machine code reads that list; equal operations are recorded once. Types say how an operation works; a value
//! itself is bits of some width, so reinterpreting it costs nothing and is not recorded.

use std::{
    cell::RefCell,
    marker::PhantomData,
    ops::{Add, BitAnd, BitOr, BitXor, Div, Mul, Neg, Not, Sub},
};

use rustc_hash::FxHashMap;

use super::{Arith, F32Lane, F64Lane, FloatLane, IntLane, Lane, Mask};

/// The type an operation works in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[allow(missing_docs)]
pub enum Type {
    Mask,
    I8,
    I16,
    I32,
    I64,
    U8,
    U16,
    U32,
    U64,
    F32,
    F64,
}

impl Type {
    /// Bytes of an element; a mask has none.
    pub const fn size(self) -> usize {
        match self {
            Type::Mask => 0,
            Type::I8 | Type::U8 => 1,
            Type::I16 | Type::U16 => 2,
            Type::I32 | Type::U32 | Type::F32 => 4,
            Type::I64 | Type::U64 | Type::F64 => 8,
        }
    }

    /// Whether it is a float.
    pub const fn is_float(self) -> bool {
        matches!(self, Type::F32 | Type::F64)
    }

    /// Whether it is a signed integer.
    pub const fn is_signed(self) -> bool {
        matches!(self, Type::I8 | Type::I16 | Type::I32 | Type::I64)
    }
}

/// A comparison; only `Ne` holds for NaN.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[allow(missing_docs)]
pub enum Relation {
    Eq,
    Ne,
    Lt,
    Le,
    Gt,
    Ge,
}

/// What an operation does.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[allow(missing_docs)]
pub enum Primitive {
    /// An argument from outside, by number.
    Input(u32),
    /// The same bits everywhere.
    Constant(u64),
    Add,
    Sub,
    Mul,
    Div,
    Neg,
    /// First times second plus third, rounded once.
    Fma,
    /// First times two to the power of the second, a whole number; rounded once.
    TimesPower,
    Sqrt,
    Floor,
    Ceil,
    Trunc,
    /// To the nearest whole number, ties to even.
    Round,
    And,
    Or,
    Xor,
    Not,
    Shl(u32),
    Shr(u32),
    /// By the second operand, modulo the width.
    ShlLane,
    /// By the second operand, modulo the width.
    ShrLane,
    Quotient,
    Modulo,
    /// A mask from two values of the type.
    Compare(Relation),
    /// Second where the first (a mask) holds, else third.
    Select,
    /// Converts a value of another type: integers wrap, floats round; a float becomes an integer by truncation and
    /// must fit.
    Convert(Type),
}

/// One operation: what, in which type, on which earlier ones. Unused operands are 0.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Node {
    /// What it does.
    pub op: Primitive,
    /// The type it works in: that of the operands for a comparison, else that of the result.
    pub ty: Type,
    /// Operands, by position.
    pub args: [u32; 3],
}

impl Node {
    /// The operands in use.
    pub fn args(&self) -> &[u32] {
        let count = match self.op {
            Primitive::Input(_) | Primitive::Constant(_) => 0,
            Primitive::Neg
            | Primitive::Sqrt
            | Primitive::Floor
            | Primitive::Ceil
            | Primitive::Trunc
            | Primitive::Round
            | Primitive::Not
            | Primitive::Shl(_)
            | Primitive::Shr(_)
            | Primitive::Convert(_) => 1,
            Primitive::Fma | Primitive::Select => 3,
            _ => 2,
        };
        &self.args[..count]
    }

    /// Type of the result.
    pub fn result(&self) -> Type {
        if matches!(self.op, Primitive::Compare(_)) { Type::Mask } else { self.ty }
    }
}

/// A list of operations being recorded.
///
/// ```
/// use crossover_core::{DType, lane::{Recorder, Type}, ops::MapOp};
/// let mut recorder = Recorder::default();
/// let (x, y) = (recorder.input(Type::F32), recorder.input(Type::F32));
/// let sum = recorder.map(MapOp::Add, DType::F32, &[x, y]).unwrap();
/// assert_eq!(recorder.nodes()[sum as usize].args(), [x, y]);
/// ```
#[derive(Debug, Default)]
pub struct Recorder {
    nodes: Vec<Node>,
    seen: FxHashMap<Node, u32>,
    inputs: u32,
}

thread_local! {
    static OPEN: RefCell<Recorder> = RefCell::new(Recorder::default());
}

impl Recorder {
    /// Operations so far, operands before their users.
    pub fn nodes(&self) -> &[Node] {
        &self.nodes
    }

    /// A new argument.
    pub fn input(&mut self, ty: Type) -> u32 {
        self.inputs += 1;
        self.push(Primitive::Input(self.inputs - 1), ty, [0; 3])
    }

    /// Forgets everything after the first `len` operations.
    pub fn truncate(&mut self, len: usize) {
        for node in self.nodes.drain(len..) {
            self.seen.remove(&node);
            self.inputs -= matches!(node.op, Primitive::Input(_)) as u32;
        }
    }

    /// Runs a body on lanes of this recording.
    pub(crate) fn with<R>(&mut self, body: impl FnOnce() -> R) -> R {
        OPEN.with_borrow_mut(|open| std::mem::swap(open, self));
        let result = body();
        OPEN.with_borrow_mut(|open| std::mem::swap(open, self));
        result
    }

    fn push(&mut self, op: Primitive, ty: Type, args: [u32; 3]) -> u32 {
        if let Some(known) = self.known(op, &args) {
            return known;
        }
        let node = Node { op, ty, args };
        *self.seen.entry(node).or_insert_with(|| {
            self.nodes.push(node);
            (self.nodes.len() - 1) as u32
        })
    }

    /// A value already there that equals the operation: booleans in memory are 0 or 1, and reading one back from a
    /// selection of 1 and 0 gives the mask that was selected by.
    fn known(&self, op: Primitive, args: &[u32; 3]) -> Option<u32> {
        let constant = |at: u32| match self.nodes[at as usize].op {
            Primitive::Constant(bits) => Some(bits),
            _ => None,
        };
        let (Primitive::Compare(Relation::Ne), &[value, zero, _]) = (op, args) else { return None };
        let node = self.nodes[value as usize];
        let truth = node.op == Primitive::Select && !node.ty.is_float();
        let is = |at: u32, bits: u64| constant(at) == Some(bits);
        (truth && is(zero, 0) && is(node.args[1], 1) && is(node.args[2], 0)).then_some(node.args[0])
    }
}

fn push(op: Primitive, ty: Type, args: [u32; 3]) -> u32 {
    OPEN.with_borrow_mut(|open| open.push(op, ty, args))
}

/// The value of one operation of the open recording.
#[derive(Debug)]
pub struct Recorded<T>(pub(crate) u32, PhantomData<T>);

impl<T> Clone for Recorded<T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T> Copy for Recorded<T> {}

/// A machine type that is recorded.
pub trait RecordType: Copy + 'static {
    /// Its name at run time.
    const TYPE: Type;
}

impl<T: RecordType> Recorded<T> {
    /// The value of an operation.
    pub(crate) fn at(node: u32) -> Self {
        Recorded(node, PhantomData)
    }
    /// All bits clear.
    pub(crate) fn zero() -> Self {
        Self::new(Primitive::Constant(0), [0; 3])
    }
    fn new(op: Primitive, args: [u32; 3]) -> Self {
        Self::at(push(op, T::TYPE, args))
    }
    fn one(self, op: Primitive) -> Self {
        Self::new(op, [self.0, 0, 0])
    }
    fn two(self, op: Primitive, other: Self) -> Self {
        Self::new(op, [self.0, other.0, 0])
    }
    fn compare(self, relation: Relation, other: Self) -> Recorded<bool> {
        Recorded::at(push(Primitive::Compare(relation), T::TYPE, [self.0, other.0, 0]))
    }
    /// Conversion by the rules of [`Primitive::Convert`].
    pub(crate) fn convert<R: RecordType>(self) -> Recorded<R> {
        Recorded::<R>::new(Primitive::Convert(T::TYPE), [self.0, 0, 0])
    }
    fn reinterpret<R: RecordType>(self) -> Recorded<R> {
        Recorded::at(self.0)
    }
}

macro_rules! record_type {
    ($($type:ty, $name:ident;)*) => {$(
        impl RecordType for $type {
            const TYPE: Type = Type::$name;
        }
    )*};
}

record_type! {
    bool, Mask; i8, I8; i16, I16; i32, I32; i64, I64; u8, U8; u16, U16; u32, U32; u64, U64; f32, F32; f64, F64;
}

impl Mask for Recorded<bool> {
    fn constant(value: bool) -> Self {
        Self::new(Primitive::Constant(value as u64), [0; 3])
    }
}

macro_rules! operators {
    ($type:ty: $($trait:ident $method:ident $op:ident;)*) => {$(
        impl $trait for Recorded<$type> {
            type Output = Self;
            fn $method(self, other: Self) -> Self {
                self.two(Primitive::$op, other)
            }
        }
    )*};
}

operators! { bool: BitAnd bitand And; BitOr bitor Or; BitXor bitxor Xor; }
operators! { f32: Add add Add; Sub sub Sub; Mul mul Mul; Div div Div; }
operators! { f64: Add add Add; Sub sub Sub; Mul mul Mul; Div div Div; }

impl Not for Recorded<bool> {
    type Output = Self;
    fn not(self) -> Self {
        self.one(Primitive::Not)
    }
}

impl<T: RecordType> Lane for Recorded<T> {
    type Mask = Recorded<bool>;
    fn is_eq(self, other: Self) -> Recorded<bool> {
        self.compare(Relation::Eq, other)
    }
    fn is_ne(self, other: Self) -> Recorded<bool> {
        self.compare(Relation::Ne, other)
    }
    fn is_lt(self, other: Self) -> Recorded<bool> {
        self.compare(Relation::Lt, other)
    }
    fn is_le(self, other: Self) -> Recorded<bool> {
        self.compare(Relation::Le, other)
    }
    fn is_gt(self, other: Self) -> Recorded<bool> {
        self.compare(Relation::Gt, other)
    }
    fn is_ge(self, other: Self) -> Recorded<bool> {
        self.compare(Relation::Ge, other)
    }
    fn select(mask: Recorded<bool>, yes: Self, no: Self) -> Self {
        if yes.0 == no.0 { yes } else { Self::new(Primitive::Select, [mask.0, yes.0, no.0]) }
    }
}

macro_rules! int_record {
    ($($type:ty, $signed:literal;)*) => {$(
        impl Arith for Recorded<$type> {
            fn plus(self, other: Self) -> Self { self.two(Primitive::Add, other) }
            fn minus(self, other: Self) -> Self { self.two(Primitive::Sub, other) }
            fn times(self, other: Self) -> Self { self.two(Primitive::Mul, other) }
            fn whole(value: i32) -> Self { Self::int(value as i64) }
        }

        impl IntLane for Recorded<$type> {
            const BITS: u32 = <$type>::BITS;
            const SIGNED: bool = $signed;
            fn int(value: i64) -> Self {
                let bits = (value as u64) & (u64::MAX >> (64 - <$type>::BITS));
                Self::new(Primitive::Constant(bits), [0; 3])
            }
            fn and(self, other: Self) -> Self { self.two(Primitive::And, other) }
            fn or(self, other: Self) -> Self { self.two(Primitive::Or, other) }
            fn xor(self, other: Self) -> Self { self.two(Primitive::Xor, other) }
            fn invert(self) -> Self { self.one(Primitive::Not) }
            fn shl(self, count: u32) -> Self { self.one(Primitive::Shl(count)) }
            fn shr(self, count: u32) -> Self { self.one(Primitive::Shr(count)) }
            fn shl_lane(self, count: Self) -> Self { self.two(Primitive::ShlLane, count) }
            fn shr_lane(self, count: Self) -> Self { self.two(Primitive::ShrLane, count) }
            fn quotient(self, other: Self) -> Self { self.two(Primitive::Quotient, other) }
            fn modulo(self, other: Self) -> Self { self.two(Primitive::Modulo, other) }
        }
    )*};
}

int_record! {
    i8, true; i16, true; i32, true; i64, true;
    u8, false; u16, false; u32, false; u64, false;
}

macro_rules! float_record {
    ($float:ty, $bits:ty, $int:ty, $digits:literal, $nan:literal) => {
        impl Neg for Recorded<$float> {
            type Output = Self;
            fn neg(self) -> Self {
                self.one(Primitive::Neg)
            }
        }
        impl Arith for Recorded<$float> {
            fn plus(self, other: Self) -> Self {
                self + other
            }
            fn minus(self, other: Self) -> Self {
                self - other
            }
            fn times(self, other: Self) -> Self {
                self * other
            }
            fn whole(value: i32) -> Self {
                Self::real(value as f64)
            }
        }
        impl FloatLane for Recorded<$float> {
            type Bits = Recorded<$bits>;
            type Int = Recorded<$int>;
            type Double = Recorded<f64>;
            const DIGITS: u32 = $digits;
            fn nan() -> Self {
                Self::new(Primitive::Constant($nan), [0; 3])
            }
            fn real(value: f64) -> Self {
                Self::new(Primitive::Constant((value as $float).to_bits() as u64), [0; 3])
            }
            fn fma(self, b: Self, c: Self) -> Self {
                Self::new(Primitive::Fma, [self.0, b.0, c.0])
            }
            fn times_power(self, n: impl FnOnce() -> Self, _: impl FnOnce(Self) -> Self) -> Self {
                self.two(Primitive::TimesPower, n())
            }
            fn sqrt(self) -> Self {
                self.one(Primitive::Sqrt)
            }
            fn floor(self) -> Self {
                self.one(Primitive::Floor)
            }
            fn ceil(self) -> Self {
                self.one(Primitive::Ceil)
            }
            fn trunc(self) -> Self {
                self.one(Primitive::Trunc)
            }
            fn round(self) -> Self {
                self.one(Primitive::Round)
            }
            fn bits(self) -> Recorded<$bits> {
                self.reinterpret()
            }
            fn from_bits(bits: Recorded<$bits>) -> Self {
                bits.reinterpret()
            }
            fn int_bits(self) -> Recorded<$int> {
                self.reinterpret()
            }
            fn from_int_bits(bits: Recorded<$int>) -> Self {
                bits.reinterpret()
            }
            fn to_int(self) -> Recorded<$int> {
                self.convert()
            }
            fn from_int(value: Recorded<$int>) -> Self {
                value.convert()
            }
            fn to_double(self) -> Recorded<f64> {
                if $digits == 53 { self.reinterpret() } else { self.convert() }
            }
            fn from_double(value: Recorded<f64>) -> Self {
                if $digits == 53 { value.reinterpret() } else { value.convert() }
            }
        }
    };
}

float_record!(f32, u32, i32, 24, 0x7fc0_0000);
float_record!(f64, u64, i64, 53, 0x7ff8_0000_0000_0000);

impl F32Lane for Recorded<f32> {
    type Wide = Recorded<f64>;
    fn widen(self) -> Recorded<f64> {
        self.convert()
    }
    fn narrow(wide: Recorded<f64>) -> Recorded<f32> {
        wide.convert()
    }
}

impl F64Lane for Recorded<f64> {}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{DType, ops::MapOp};

    #[test]
    fn equal_operations_are_recorded_once() {
        let mut recorder = Recorder::default();
        let x = recorder.input(Type::F32);
        let first = recorder.map(MapOp::Exp, DType::F32, &[x]);
        let count = recorder.nodes().len();
        assert_eq!(recorder.map(MapOp::Exp, DType::F32, &[x]), first);
        assert_eq!(recorder.nodes().len(), count);
    }

    #[test]
    fn a_mask_survives_the_way_through_a_boolean() {
        let mut recorder = Recorder::default();
        let (x, y) = (recorder.input(Type::F64), recorder.input(Type::F64));
        let truth = recorder.map(MapOp::Less, DType::F64, &[x, y]).expect("recordable");
        let mask = recorder.nodes()[truth as usize].args[0];
        let chosen = recorder.select(truth, x, y);
        assert_eq!(recorder.nodes()[chosen as usize].args, [mask, x, y]);
    }

    #[test]
    fn forgotten_operations_can_be_recorded_again() {
        let mut recorder = Recorder::default();
        let x = recorder.input(Type::I32);
        recorder.map(MapOp::Negative, DType::I32, &[x]);
        recorder.truncate(1);
        assert_eq!(recorder.nodes().len(), 1);
        let again = recorder.map(MapOp::Negative, DType::I32, &[x]).expect("recordable");
        assert!((again as usize) < recorder.nodes().len());
    }

    #[test]
    fn bodies_with_a_slow_path_and_complex_ones_are_refused() {
        let mut recorder = Recorder::default();
        let x = recorder.input(Type::F32);
        assert_eq!(recorder.map(MapOp::Sin, DType::F32, &[x]), None);
        assert_eq!(recorder.map(MapOp::Add, DType::C64, &[x, x]), None);
    }
}
