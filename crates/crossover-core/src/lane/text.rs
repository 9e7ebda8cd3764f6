//! Lanes that write CUDA C++.
//!
//! A [`Text`] value is the name of a local variable of the device function being written. Every operation
//! appends one statement `const T vN = …;` to the function open on this thread. Integer arithmetic is done
//! unsigned, because signed overflow is undefined in C++; constants are spelled so that they parse back to the
//! same bits.

use std::{
    cell::RefCell,
    fmt::Write as _,
    marker::PhantomData,
    ops::{Add, BitAnd, BitOr, BitXor, Div, Mul, Neg, Not, Sub},
};

use super::{Arith, Cx, F32Lane, F64Lane, FloatLane, IntLane, Lane, Mask};

/// A scalar type as CUDA C++ spells it.
pub trait TextType: Copy + 'static {
    /// The C++ name.
    const NAME: &'static str;
    /// The unsigned type wide enough to do this type's integer arithmetic in.
    const UNSIGNED: &'static str;
}

macro_rules! text_type {
    ($($type:ty, $name:literal, $unsigned:literal;)*) => {$(
        impl TextType for $type {
            const NAME: &'static str = $name;
            const UNSIGNED: &'static str = $unsigned;
        }
    )*};
}

text_type! {
    bool, "bool", "unsigned";
    i8, "signed char", "unsigned"; i16, "short", "unsigned"; i32, "int", "unsigned";
    i64, "long long", "unsigned long long";
    u8, "unsigned char", "unsigned"; u16, "unsigned short", "unsigned"; u32, "unsigned", "unsigned";
    u64, "unsigned long long", "unsigned long long";
    f32, "float", "unsigned"; f64, "double", "unsigned long long";
}

/// A local variable of the device function being written.
#[derive(Debug)]
pub struct Text<T>(u32, PhantomData<T>);

impl<T> Clone for Text<T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T> Copy for Text<T> {}

/// A finished device function.
///
/// ```
/// use crossover_core::lane::{Arith, Function, Text};
/// let twice = Function::unary::<f32, f32>("twice_f32", |x: Text<f32>| x.plus(x));
/// assert!(twice.source().contains("const float v1 = v0 + v0;"));
/// ```
#[derive(Debug, Clone)]
pub struct Function {
    source: String,
}

thread_local! {
    static BODY: RefCell<Body> = const { RefCell::new(Body { text: String::new(), next: 0 }) };
}

struct Body {
    text: String,
    next: u32,
}

fn emit<T: TextType>(expression: impl FnOnce(&mut String)) -> Text<T> {
    BODY.with_borrow_mut(|body| {
        let id = body.next;
        body.next += 1;
        let _ = write!(body.text, "    const {} v{id} = ", T::NAME);
        expression(&mut body.text);
        body.text.push_str(";\n");
        Text(id, PhantomData)
    })
}

macro_rules! emit {
    ($($format:tt)*) => {
        emit(|out| { let _ = write!(out, $($format)*); })
    };
}

impl<T: TextType> Text<T> {
    fn parameter() -> Text<T> {
        BODY.with_borrow_mut(|body| {
            let id = body.next;
            body.next += 1;
            Text(id, PhantomData)
        })
    }

    /// A function of this lane that the lane traits do not have, applied by its CUDA name.
    pub fn call<R: TextType>(self, name: &str) -> Text<R> {
        emit!("{name}(v{})", self.0)
    }

    /// Conversion by C++ rules.
    pub fn convert<R: TextType>(self) -> Text<R> {
        emit!("({})v{}", R::NAME, self.0)
    }
}

/// Opens a branch that is taken where the mask holds.
fn open_if(mask: Text<bool>) {
    BODY.with_borrow_mut(|b| {
        let _ = writeln!(b.text, "    if (v{}) {{", mask.0);
    });
}

/// Ends a branch with a statement that leaves the function.
fn close_if(leave: String) {
    BODY.with_borrow_mut(|b| {
        let _ = writeln!(b.text, "    {leave}\n    }}");
    });
}

impl Function {
    fn write(name: &str, result: &str, parameters: &[&str], body: impl FnOnce() -> String) -> Function {
        BODY.with_borrow_mut(|b| *b = Body { text: String::new(), next: 0 });
        let result_text = body();
        let statements = BODY.with_borrow_mut(|b| std::mem::take(&mut b.text));
        let list: Vec<String> = parameters.iter().enumerate().map(|(i, t)| format!("{t} v{i}")).collect();
        Function {
            source: format!(
                "__device__ __forceinline__ {result} {name}({}) {{\n{statements}    {result_text}\n}}\n",
                list.join(", ")
            ),
        }
    }

    /// A function of one argument.
    pub fn unary<A: TextType, R: TextType>(name: &str, body: impl FnOnce(Text<A>) -> Text<R>) -> Function {
        Self::write(name, R::NAME, &[A::NAME], || format!("return v{};", body(Text::parameter()).0))
    }

    /// A function of one argument with a slow path for the arguments where `rare` holds.
    ///
    /// The fast path comes first and is computed for every argument: then functions of one argument that share work,
    /// as sine and cosine do, share it across the branch.
    pub fn unary_with_rare<A: TextType, R: TextType>(
        name: &str,
        rare: impl FnOnce(Text<A>) -> Text<bool>,
        slow: impl FnOnce(Text<A>) -> Text<R>,
        fast: impl FnOnce(Text<A>) -> Text<R>,
    ) -> Function {
        Self::write(name, R::NAME, &[A::NAME], || {
            let x = Text::parameter();
            let value = fast(x);
            let mask = rare(x);
            open_if(mask);
            let result = slow(x);
            close_if(format!("return v{};", result.0));
            format!("return v{};", value.0)
        })
    }

    /// A function of two arguments.
    pub fn binary<A: TextType, B: TextType, R: TextType>(
        name: &str,
        body: impl FnOnce(Text<A>, Text<B>) -> Text<R>,
    ) -> Function {
        Self::write(name, R::NAME, &[A::NAME, B::NAME], || {
            let (a, b) = (Text::parameter(), Text::parameter());
            format!("return v{};", body(a, b).0)
        })
    }

    /// A function of three arguments.
    pub fn ternary<A: TextType, B: TextType, C: TextType, R: TextType>(
        name: &str,
        body: impl FnOnce(Text<A>, Text<B>, Text<C>) -> Text<R>,
    ) -> Function {
        Self::write(name, R::NAME, &[A::NAME, B::NAME, C::NAME], || {
            let (a, b, c) = (Text::parameter(), Text::parameter(), Text::parameter());
            format!("return v{};", body(a, b, c).0)
        })
    }

    /// A function of complex arguments, each passed as `xo_complex<T>`, with a complex result.
    pub fn complex<T: TextType>(
        name: &str,
        arity: usize,
        body: impl FnOnce(&[Cx<Text<T>>]) -> Cx<Text<T>>,
    ) -> Function {
        let result = format!("xo_complex<{}>", T::NAME);
        Self::with_parts(name, &result, arity, |args| {
            let out = body(args);
            format!("return {result}{{v{}, v{}}};", out.re.0, out.im.0)
        })
    }

    /// A function of one complex argument with a slow path for the arguments where `rare` holds.
    pub fn complex_with_rare<T: TextType>(
        name: &str,
        rare: impl FnOnce(Cx<Text<T>>) -> Text<bool>,
        slow: impl FnOnce(Cx<Text<T>>) -> Cx<Text<T>>,
        fast: impl FnOnce(Cx<Text<T>>) -> Cx<Text<T>>,
    ) -> Function {
        let result = format!("xo_complex<{}>", T::NAME);
        Self::with_parts(name, &result, 1, |args| {
            let value = fast(args[0]);
            let mask = rare(args[0]);
            open_if(mask);
            let out = slow(args[0]);
            close_if(format!("return {result}{{v{}, v{}}};", out.re.0, out.im.0));
            format!("return {result}{{v{}, v{}}};", value.re.0, value.im.0)
        })
    }

    /// A function of complex arguments with a real or boolean result.
    pub fn complex_to<T: TextType, R: TextType>(
        name: &str,
        arity: usize,
        body: impl FnOnce(&[Cx<Text<T>>]) -> Text<R>,
    ) -> Function {
        Self::with_parts(name, R::NAME, arity, |args| format!("return v{};", body(args).0))
    }

    fn with_parts<T: TextType>(
        name: &str,
        result: &str,
        arity: usize,
        body: impl FnOnce(&[Cx<Text<T>>]) -> String,
    ) -> Function {
        let parameter = format!("xo_complex<{}>", T::NAME);
        let mut function = Self::write(name, result, &[], || {
            let args: Vec<Cx<Text<T>>> =
                (0..arity).map(|i| Cx { re: emit!("z{i}.re"), im: emit!("z{i}.im") }).collect();
            body(&args)
        });
        let list: Vec<String> = (0..arity).map(|i| format!("{parameter} z{i}")).collect();
        function.source = function.source.replacen("()", &format!("({})", list.join(", ")), 1);
        function
    }

    /// The CUDA C++ text.
    pub fn source(&self) -> &str {
        &self.source
    }
}

impl Mask for Text<bool> {
    fn constant(value: bool) -> Self {
        emit!("{value}")
    }
}

macro_rules! mask_operator {
    ($($trait:ident $method:ident $symbol:literal;)*) => {$(
        impl $trait for Text<bool> {
            type Output = Text<bool>;
            fn $method(self, other: Self) -> Self {
                emit!(concat!("v{} ", $symbol, " v{}"), self.0, other.0)
            }
        }
    )*};
}

mask_operator! { BitAnd bitand "&&"; BitOr bitor "||"; BitXor bitxor "!="; }

impl Not for Text<bool> {
    type Output = Text<bool>;
    fn not(self) -> Self {
        emit!("!v{}", self.0)
    }
}

impl<T: TextType> Lane for Text<T> {
    type Mask = Text<bool>;
    fn is_eq(self, other: Self) -> Text<bool> {
        emit!("v{} == v{}", self.0, other.0)
    }
    fn is_ne(self, other: Self) -> Text<bool> {
        emit!("v{} != v{}", self.0, other.0)
    }
    fn is_lt(self, other: Self) -> Text<bool> {
        emit!("v{} < v{}", self.0, other.0)
    }
    fn is_le(self, other: Self) -> Text<bool> {
        emit!("v{} <= v{}", self.0, other.0)
    }
    fn is_gt(self, other: Self) -> Text<bool> {
        emit!("v{} > v{}", self.0, other.0)
    }
    fn is_ge(self, other: Self) -> Text<bool> {
        emit!("v{} >= v{}", self.0, other.0)
    }
    fn select(mask: Text<bool>, yes: Self, no: Self) -> Self {
        emit!("v{} ? v{} : v{}", mask.0, yes.0, no.0)
    }
}

macro_rules! int_text {
    ($($type:ty, $signed:literal;)*) => {$(
        impl Text<$type> {
            /// `a op b` in unsigned arithmetic, wrapped back to the type.
            fn wrapping(self, symbol: &str, other: Self) -> Self {
                let (t, u) = (<$type>::NAME, <$type>::UNSIGNED);
                emit!("({t})(({u})v{} {symbol} ({u})v{})", self.0, other.0)
            }
        }

        impl Arith for Text<$type> {
            fn plus(self, other: Self) -> Self { self.wrapping("+", other) }
            fn minus(self, other: Self) -> Self { self.wrapping("-", other) }
            fn times(self, other: Self) -> Self { self.wrapping("*", other) }
            fn whole(value: i32) -> Self { Self::int(value as i64) }
        }

        impl IntLane for Text<$type> {
            const BITS: u32 = <$type>::BITS;
            const SIGNED: bool = $signed;
            fn int(value: i64) -> Self {
                emit!("({})0x{:x}ull", <$type>::NAME, value as $type as u64)
            }
            fn and(self, other: Self) -> Self { self.wrapping("&", other) }
            fn or(self, other: Self) -> Self { self.wrapping("|", other) }
            fn xor(self, other: Self) -> Self { self.wrapping("^", other) }
            fn invert(self) -> Self { emit!("({})~v{}", <$type>::NAME, self.0) }
            fn shl(self, count: u32) -> Self {
                emit!("({})(({})v{} << {count})", <$type>::NAME, <$type>::UNSIGNED, self.0)
            }
            fn shr(self, count: u32) -> Self {
                emit!("({})(v{} >> {count})", <$type>::NAME, self.0)
            }
            fn shl_lane(self, count: Self) -> Self {
                let mask = <$type>::BITS - 1;
                emit!("({})(({})v{} << (v{} & {mask}))", <$type>::NAME, <$type>::UNSIGNED, self.0, count.0)
            }
            fn shr_lane(self, count: Self) -> Self {
                let mask = <$type>::BITS - 1;
                emit!("({})(v{} >> (v{} & {mask}))", <$type>::NAME, self.0, count.0)
            }
            fn quotient(self, other: Self) -> Self {
                let (t, u) = (<$type>::NAME, <$type>::UNSIGNED);
                let (a, b) = (self.0, other.0);
                if $signed {
                    emit!("v{b} == 0 ? ({t})0 : v{b} == -1 ? ({t})(0 - ({u})v{a}) : ({t})(v{a} / v{b})")
                } else {
                    emit!("v{b} == 0 ? ({t})0 : ({t})(v{a} / v{b})")
                }
            }
            fn modulo(self, other: Self) -> Self {
                let t = <$type>::NAME;
                let (a, b) = (self.0, other.0);
                if $signed {
                    emit!("v{b} == 0 || v{b} == -1 ? ({t})0 : ({t})(v{a} % v{b})")
                } else {
                    emit!("v{b} == 0 ? ({t})0 : ({t})(v{a} % v{b})")
                }
            }
        }
    )*};
}

int_text! {
    i8, true; i16, true; i32, true; i64, true;
    u8, false; u16, false; u32, false; u64, false;
}

macro_rules! float_text {
    ($float:ty, $bits:ty, $int:ty, $digits:literal, $suffix:literal, $as_int:literal, $as_float:literal,
     $nan:literal, $round:literal, $to_int:literal, $from_int:literal, $from_double:literal) => {
        impl Add for Text<$float> {
            type Output = Self;
            fn add(self, other: Self) -> Self {
                emit!("v{} + v{}", self.0, other.0)
            }
        }
        impl Sub for Text<$float> {
            type Output = Self;
            fn sub(self, other: Self) -> Self {
                emit!("v{} - v{}", self.0, other.0)
            }
        }
        impl Mul for Text<$float> {
            type Output = Self;
            fn mul(self, other: Self) -> Self {
                emit!("v{} * v{}", self.0, other.0)
            }
        }
        impl Div for Text<$float> {
            type Output = Self;
            fn div(self, other: Self) -> Self {
                emit!("v{} / v{}", self.0, other.0)
            }
        }
        impl Neg for Text<$float> {
            type Output = Self;
            fn neg(self) -> Self {
                emit!("-v{}", self.0)
            }
        }
        impl Arith for Text<$float> {
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
        impl FloatLane for Text<$float> {
            type Bits = Text<$bits>;
            type Int = Text<$int>;
            type Double = Text<f64>;
            const DIGITS: u32 = $digits;
            fn nan() -> Self {
                emit!($nan)
            }
            fn real(value: f64) -> Self {
                let value = value as $float;
                if value.is_finite() {
                    // Rust prints the shortest decimal that reads back as the same float; C++ reads decimals
                    // correctly rounded, so no bit is lost.
                    emit!(concat!("{:?}", $suffix), value)
                } else {
                    emit!(concat!($as_float, "(({})0x{:x}ull)"), <$int>::NAME, value.to_bits())
                }
            }
            fn fma(self, b: Self, c: Self) -> Self {
                emit!(concat!("fma", $suffix, "(v{}, v{}, v{})"), self.0, b.0, c.0)
            }
            fn sqrt(self) -> Self {
                emit!(concat!("sqrt", $suffix, "(v{})"), self.0)
            }
            fn floor(self) -> Self {
                emit!(concat!("floor", $suffix, "(v{})"), self.0)
            }
            fn ceil(self) -> Self {
                emit!(concat!("ceil", $suffix, "(v{})"), self.0)
            }
            fn trunc(self) -> Self {
                emit!(concat!("trunc", $suffix, "(v{})"), self.0)
            }
            fn round(self) -> Self {
                emit!(concat!($round, "(v{})"), self.0)
            }
            fn bits(self) -> Text<$bits> {
                emit!(concat!("({})", $as_int, "(v{})"), <$bits>::NAME, self.0)
            }
            fn from_bits(bits: Text<$bits>) -> Self {
                emit!(concat!($as_float, "(v{})"), bits.0)
            }
            fn int_bits(self) -> Text<$int> {
                emit!(concat!($as_int, "(v{})"), self.0)
            }
            fn from_int_bits(bits: Text<$int>) -> Self {
                emit!(concat!($as_float, "(v{})"), bits.0)
            }
            fn to_int(self) -> Text<$int> {
                emit!(concat!($to_int, "(v{})"), self.0)
            }
            fn from_int(value: Text<$int>) -> Self {
                emit!(concat!($from_int, "(v{})"), value.0)
            }
            fn to_double(self) -> Text<f64> {
                emit!("(double)v{}", self.0)
            }
            fn from_double(value: Text<f64>) -> Self {
                emit!(concat!($from_double, "v{})"), value.0)
            }
        }
    };
}

float_text!(
    f32,
    u32,
    i32,
    24,
    "f",
    "__float_as_int",
    "__int_as_float",
    "__int_as_float(0x7fc00000)",
    "rintf",
    "__float2int_rz",
    "__int2float_rn",
    "__double2float_rn("
);
float_text!(
    f64,
    u64,
    i64,
    53,
    "",
    "__double_as_longlong",
    "__longlong_as_double",
    "__longlong_as_double(0x7ff8000000000000ll)",
    "rint",
    "__double2ll_rz",
    "__ll2double_rn",
    "("
);

impl F32Lane for Text<f32> {
    type Wide = Text<f64>;
    fn widen(self) -> Text<f64> {
        emit!("(double)v{}", self.0)
    }
    fn narrow(wide: Text<f64>) -> Text<f32> {
        emit!("__double2float_rn(v{})", wide.0)
    }
}

impl F64Lane for Text<f64> {}
