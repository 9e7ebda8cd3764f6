//! Ops as lists of primitive operations, by running their bodies on recording lanes.

use super::{Binary, Compare, MapOp, Part, Ternary, Unary, cast};
use crate::{
    DType,
    lane::{FloatLane, IntLane, Lane, RecordType, Recorded, Recorder, Type},
};

/// One arm per type that registers hold.
macro_rules! by_type {
    ($ty:expr, $alias:ident => $body:expr) => {
        match $ty {
            Type::I8 => {
                type $alias = i8;
                $body
            }
            Type::I16 => {
                type $alias = i16;
                $body
            }
            Type::I32 => {
                type $alias = i32;
                $body
            }
            Type::I64 => {
                type $alias = i64;
                $body
            }
            Type::U8 | Type::Mask => {
                type $alias = u8;
                $body
            }
            Type::U16 => {
                type $alias = u16;
                $body
            }
            Type::U32 => {
                type $alias = u32;
                $body
            }
            Type::U64 => {
                type $alias = u64;
                $body
            }
            Type::F32 => {
                type $alias = f32;
                $body
            }
            Type::F64 => {
                type $alias = f64;
                $body
            }
        }
    };
}

impl Recorder {
    /// An elementwise op on values of `dtype`. `None` where it is not a straight line of lane operations: complex
    /// numbers, and functions with a slow path for rare arguments.
    pub fn map(&mut self, op: MapOp, dtype: DType, args: &[u32]) -> Option<u32> {
        if !op.supports(dtype) || args.len() != op.arity() || dtype.is_half() || dtype.is_complex() {
            return None;
        }
        self.with(|| dispatch(op, dtype, args))
    }

    /// One primitive conversion; `None` for those that are more than one instruction of most machines.
    pub fn cast(&mut self, step: cast::Step, arg: u32) -> Option<u32> {
        let cast::Step::Plain(from, to) = step else { return None };
        let (source, target) = (type_of(from)?, type_of(to)?);
        if to == DType::Bool {
            return Some(self.with(|| by_type!(source, T => truth(nonzero::<T>(arg)))));
        }
        if source.is_float() && !target.is_float() {
            return None;
        }
        if source == target {
            return Some(arg);
        }
        Some(
            self.with(
                || by_type!(source, S => by_type!(target, T => Recorded::<S>::at(arg).convert::<T>().0)),
            ),
        )
    }

    /// Every NaN replaced by the canonical one.
    pub fn canonical(&mut self, dtype: DType, arg: u32) -> Option<u32> {
        match dtype {
            DType::F32 => Some(self.with(|| Recorded::<f32>::at(arg).canonical().0)),
            DType::F64 => Some(self.with(|| Recorded::<f64>::at(arg).canonical().0)),
            _ => None,
        }
    }

    /// `yes` where the boolean `truth` is not 0, else `no`; both of one width.
    pub fn select(&mut self, truth: u32, yes: u32, no: u32) -> u32 {
        let ty = self.nodes()[yes as usize].result();
        self.with(|| {
            let mask = nonzero::<u8>(truth);
            by_type!(ty, T => Recorded::<T>::select(mask, Recorded::at(yes), Recorded::at(no)).0)
        })
    }
}

/// The type that holds a dtype in registers; `None` for 16-bit floats and complex numbers.
pub fn type_of(dtype: DType) -> Option<Type> {
    Some(match dtype {
        DType::Bool | DType::U8 => Type::U8,
        DType::I8 => Type::I8,
        DType::I16 => Type::I16,
        DType::I32 => Type::I32,
        DType::I64 => Type::I64,
        DType::U16 => Type::U16,
        DType::U32 => Type::U32,
        DType::U64 => Type::U64,
        DType::F32 => Type::F32,
        DType::F64 => Type::F64,
        DType::F16 | DType::BF16 | DType::C64 | DType::C128 => return None,
    })
}

/// Whether a value is not zero.
fn nonzero<T: RecordType>(value: u32) -> Recorded<bool> {
    Recorded::<T>::at(value).is_ne(Recorded::zero())
}

/// A mask as a boolean in memory.
fn truth(mask: Recorded<bool>) -> u32 {
    Recorded::<u8>::select(mask, IntLane::int(1), IntLane::int(0)).0
}

macro_rules! define_dispatch {
    ($($class:ident $op:ident $module:ident;)*) => {
        fn dispatch(op: MapOp, dtype: DType, args: &[u32]) -> Option<u32> {
            match op {
                $(MapOp::$op => $class::<super::$module::$op>(dtype, args),)*
            }
        }
    };
}

crate::for_each_op!(define_dispatch);

/// One arm per integer type; booleans and floats as given.
macro_rules! by_kind {
    ($dtype:expr, bool $bool:expr, f32 $f32:expr, f64 $f64:expr, int $alias:ident => $int:expr) => {
        match $dtype {
            DType::Bool => Some($bool.0),
            DType::F32 => Some($f32.0),
            DType::F64 => Some($f64.0),
            DType::I8 => {
                type $alias = i8;
                Some($int.0)
            }
            DType::I16 => {
                type $alias = i16;
                Some($int.0)
            }
            DType::I32 => {
                type $alias = i32;
                Some($int.0)
            }
            DType::I64 => {
                type $alias = i64;
                Some($int.0)
            }
            DType::U8 => {
                type $alias = u8;
                Some($int.0)
            }
            DType::U16 => {
                type $alias = u16;
                Some($int.0)
            }
            DType::U32 => {
                type $alias = u32;
                Some($int.0)
            }
            DType::U64 => {
                type $alias = u64;
                Some($int.0)
            }
            DType::F16 | DType::BF16 | DType::C64 | DType::C128 => None,
        }
    };
}

fn unary<O: Unary>(dtype: DType, args: &[u32]) -> Option<u32> {
    if O::RARE {
        return None;
    }
    let x = args[0];
    by_kind!(dtype,
        bool O::boolean(Recorded::<u8>::at(x)),
        f32 O::f32(Recorded::<f32>::at(x)),
        f64 O::f64(Recorded::<f64>::at(x)),
        int I => O::int(Recorded::<I>::at(x)))
}

fn binary<O: Binary>(dtype: DType, args: &[u32]) -> Option<u32> {
    // Tile loops look at their operands first.
    if (O::SHORT && dtype.is_float()) || (O::SHORT_INT && dtype.is_int()) {
        return None;
    }
    let (a, b) = (args[0], args[1]);
    by_kind!(dtype,
        bool O::boolean(Recorded::<u8>::at(a), Recorded::at(b)),
        f32 O::f32(Recorded::<f32>::at(a), Recorded::at(b)),
        f64 O::f64(Recorded::<f64>::at(a), Recorded::at(b)),
        int I => O::int(Recorded::<I>::at(a), Recorded::at(b)))
}

fn compare<O: Compare>(dtype: DType, args: &[u32]) -> Option<u32> {
    let ty = type_of(dtype)?;
    let (a, b) = (args[0], args[1]);
    Some(by_type!(ty, T => truth(O::real(Recorded::<T>::at(a), Recorded::at(b)))))
}

fn ternary<O: Ternary>(dtype: DType, args: &[u32]) -> Option<u32> {
    let (a, b, c) = (args[0], args[1], args[2]);
    by_kind!(dtype,
        bool O::int(Recorded::<u8>::at(a), Recorded::at(b), Recorded::at(c)),
        f32 O::float(Recorded::<f32>::at(a), Recorded::at(b), Recorded::at(c)),
        f64 O::float(Recorded::<f64>::at(a), Recorded::at(b), Recorded::at(c)),
        int I => O::int(Recorded::<I>::at(a), Recorded::at(b), Recorded::at(c)))
}

/// Parts of complex numbers are not recorded.
fn part<O: Part>(dtype: DType, _: &[u32]) -> Option<u32> {
    debug_assert!(!O::INFO.dtypes.contains(dtype) || dtype.is_complex());
    None
}
