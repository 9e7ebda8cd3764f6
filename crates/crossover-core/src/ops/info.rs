//! What an op declares about itself. Passes ask for these facts and never look at names.

use crate::{DType, DTypeSet};

/// Relative price of one element, the class that measured rates are kept for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Cost {
    /// About one instruction: add, compare, select.
    Simple,
    /// Division, remainder, square root.
    Divide,
    /// A polynomial and its argument reduction: exp, tanh, erf.
    Function,
    /// Several functions: pow.
    Heavy,
}

impl Cost {
    /// Arithmetic operations an element is charged for.
    pub const fn flops(self) -> u64 {
        match self {
            Cost::Simple => 1,
            Cost::Divide => 4,
            Cost::Function => 16,
            Cost::Heavy => 40,
        }
    }
}

/// What is known about the bits of a NaN result.
///
/// Devices make different NaNs in arithmetic. A NaN from an `Arithmetic` op is replaced by the canonical one
/// before anything can see its bits: a store, or an op that [sees](OpInfo::sees_nan) them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NanRule {
    /// A NaN result has unspecified bits until it is made canonical.
    Arithmetic,
    /// The result's bits are a function of the operands' bits on every device: sign and bit ops, selection.
    Exact,
    /// The result is never NaN, or only ever the canonical one.
    Canonical,
}

/// Algebraic facts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Facts {
    /// `f(a, b) = f(b, a)`, bit for bit.
    pub commutative: bool,
    /// `f(f(x)) = x`, bit for bit.
    pub involution: bool,
    /// `f(f(x)) = f(x)`, bit for bit.
    pub idempotent: bool,
}

/// Name, documentation, dtypes and facts of an op.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct OpInfo {
    /// Name as in the Python Array API standard, where it has one.
    pub name: &'static str,
    /// One sentence for the reference.
    pub doc: &'static str,
    /// Dtypes of the operands.
    pub dtypes: DTypeSet,
    /// Largest error of the `f32` and `f64` bodies in units in the last place; 0 means correctly rounded or exact.
    pub max_ulp: f64,
    /// Price class.
    pub cost: Cost,
    /// What a NaN result looks like.
    pub nan: NanRule,
    /// Whether the complex body looks at the sign of a part even where that part is NaN.
    pub complex_signs: bool,
    /// Algebraic facts.
    pub facts: Facts,
}

impl OpInfo {
    /// An exact, cheap op whose NaNs are arithmetic ones; the methods below refine it.
    pub const fn new(name: &'static str, dtypes: DTypeSet, doc: &'static str) -> OpInfo {
        OpInfo {
            name,
            doc,
            dtypes,
            max_ulp: 0.0,
            cost: Cost::Simple,
            nan: NanRule::Arithmetic,
            complex_signs: false,
            facts: Facts { commutative: false, involution: false, idempotent: false },
        }
    }

    /// Sets the largest error.
    pub const fn max_ulp(mut self, ulp: f64) -> OpInfo {
        self.max_ulp = ulp;
        self
    }

    /// Sets the price class.
    pub const fn cost(mut self, cost: Cost) -> OpInfo {
        self.cost = cost;
        self
    }

    /// Sets what a NaN result looks like.
    pub const fn nan(mut self, nan: NanRule) -> OpInfo {
        self.nan = nan;
        self
    }

    /// Declares that the complex body looks at the sign of a part even where that part is NaN.
    pub const fn complex_signs(mut self) -> OpInfo {
        self.complex_signs = true;
        self
    }

    /// Whether the result for operands of a dtype can depend on which NaN an operand is.
    pub const fn sees_nan(&self, dtype: DType) -> bool {
        matches!(self.nan, NanRule::Exact) || (self.complex_signs && dtype.is_complex())
    }

    /// Declares `f(a, b) = f(b, a)`.
    pub const fn commutative(mut self) -> OpInfo {
        self.facts.commutative = true;
        self
    }

    /// Declares `f(f(x)) = x`.
    pub const fn involution(mut self) -> OpInfo {
        self.facts.involution = true;
        self
    }

    /// Declares `f(f(x)) = f(x)`.
    pub const fn idempotent(mut self) -> OpInfo {
        self.facts.idempotent = true;
        self
    }
}
