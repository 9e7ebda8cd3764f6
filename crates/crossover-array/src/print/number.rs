//! Numbers as NumPy 2 writes them: shortest digits that read back the same, at most eight after the point, in
//! columns.

use crossover_core::{DType, Scalar};
use half::{bf16, f16};

/// Digits after the point at most.
const PRECISION: usize = 8;

/// How the elements of one array are written: all of them equally wide.
pub(super) enum Format {
    Bool { padded: bool },
    Int { width: usize },
    Float(Floats),
    Complex(Floats, Floats),
}

impl Format {
    /// The format that suits all of these values.
    pub fn of(dtype: DType, values: &[Scalar], has_axes: bool) -> Format {
        let real = dtype.real();
        match dtype {
            DType::Bool => Format::Bool { padded: has_axes },
            _ if dtype.is_int() => {
                Format::Int { width: values.iter().map(|v| v.to_string().len()).max().unwrap_or(0) }
            }
            _ if dtype.is_complex() => {
                let part =
                    |i: usize| values.iter().map(|v| Float::new(real, v.bits()[i])).collect::<Vec<_>>();
                Format::Complex(Floats::of(&part(0), false), Floats::of(&part(1), true))
            }
            _ => {
                let floats: Vec<Float> = values.iter().map(|v| Float::new(real, v.bits()[0])).collect();
                Format::Float(Floats::of(&floats, false))
            }
        }
    }

    pub fn write(&self, value: Scalar) -> String {
        let real = value.dtype().real();
        match self {
            Format::Bool { padded } => match (value.bits()[0] != 0, padded) {
                (true, true) => " True".to_string(),
                (true, false) => "True".to_string(),
                _ => "False".to_string(),
            },
            Format::Int { width } => format!("{:>width$}", value.to_string()),
            Format::Float(floats) => floats.write(Float::new(real, value.bits()[0])),
            Format::Complex(re, im) => {
                let real_part = re.write(Float::new(real, value.bits()[0]));
                let imaginary = im.write(Float::new(real, value.bits()[1]));
                let digits = imaginary.trim_end();
                format!("{real_part}{digits}j{}", &imaginary[digits.len()..])
            }
        }
    }
}

/// A single value as Python prints it: all digits, no padding.
pub(super) fn single(value: Scalar) -> String {
    let dtype = value.dtype();
    let part = |i: usize| Float::new(dtype.real(), value.bits()[i]);
    match dtype {
        DType::Bool => if value.bits()[0] != 0 { "True" } else { "False" }.to_string(),
        _ if dtype.is_int() => value.to_string(),
        _ if dtype.is_complex() => {
            let (re, im) = (part(0), part(1));
            let imaginary = im.alone("");
            if re.value == 0.0 && re.value.is_sign_positive() {
                return format!("{imaginary}j");
            }
            let plus = if imaginary.starts_with('-') { "" } else { "+" };
            format!("({}{plus}{imaginary}j)", re.alone(""))
        }
        _ => part(0).alone(".0"),
    }
}

/// A real value with the dtype whose digits tell it from its neighbours.
#[derive(Clone, Copy)]
struct Float {
    dtype: DType,
    value: f64,
}

impl Float {
    fn new(dtype: DType, bits: u64) -> Float {
        let value = match dtype {
            DType::F16 => f16::from_bits(bits as u16).to_f64(),
            DType::BF16 => bf16::from_bits(bits as u16).to_f64(),
            DType::F32 => f32::from_bits(bits as u32) as f64,
            _ => f64::from_bits(bits),
        };
        Float { dtype, value }
    }

    /// The shortest form `d.ddde±x` that reads back as the same value.
    fn shortest(self) -> String {
        let reads_back = |text: &str| {
            let read: f64 = text.parse().unwrap_or(f64::NAN);
            match self.dtype {
                DType::F16 => f16::from_f64(read).to_f64() == self.value,
                _ => bf16::from_f64(read).to_f64() == self.value,
            }
        };
        match self.dtype {
            DType::F64 => self.nearest(format!("{:e}", self.value), |text| text.parse() == Ok(self.value)),
            DType::F32 => {
                let value = self.value as f32;
                self.nearest(format!("{value:e}"), |text| text.parse() == Ok(value))
            }
            // No 16-bit value needs more than five digits.
            _ => (0..5)
                .map(|digits| format!("{:.digits$e}", self.value))
                .find(|text| reads_back(text))
                .unwrap_or_else(|| format!("{:e}", self.value)),
        }
    }

    /// Among equally short forms the one nearest to the exact value, ties to even as in NumPy; the standard
    /// library rounds ties up.
    fn nearest(self, shortest: String, reads_back: impl Fn(&str) -> bool) -> String {
        let digits = fraction_length(&shortest);
        let exact = format!("{:.digits$e}", self.value);
        if reads_back(&exact) { exact } else { shortest }
    }

    /// Digits of the shortest form, and the power of ten of the first.
    fn digits(self) -> (String, i32) {
        let text = self.shortest();
        let (mantissa, exponent) = text.split_once('e').unwrap_or((&text, "0"));
        (mantissa.chars().filter(char::is_ascii_digit).collect(), exponent.parse().unwrap_or(0))
    }

    /// Whole part with sign, and digits after the point; at most `precision` of them, without trailing zeros.
    fn positional(self, precision: usize) -> (String, String) {
        let (digits, exponent) = self.digits();
        let sign = if self.value.is_sign_negative() { "-" } else { "" };
        let whole = (exponent + 1).max(0) as usize;
        let padded = if exponent < 0 { "0".repeat((-exponent - 1) as usize) + &digits } else { digits };
        let after = padded.len().saturating_sub(whole);
        if after > precision {
            // Too many digits: rounded from the exact value, not from the shortest form.
            let text = format!("{:.precision$}", self.value.abs());
            let (whole, fraction) = text.split_once('.').unwrap_or((&text, ""));
            return (format!("{sign}{whole}"), fraction.trim_end_matches('0').to_string());
        }
        let (front, fraction) = padded.split_at(whole.min(padded.len()));
        let zeros = "0".repeat(whole.saturating_sub(padded.len()));
        let front = if whole == 0 { "0" } else { front };
        (format!("{sign}{front}{zeros}"), fraction.trim_end_matches('0').to_string())
    }

    /// First digit with sign, digits after the point, and exponent.
    fn scientific(self, precision: usize) -> (String, String, i32) {
        let mut text = self.shortest();
        if fraction_length(&text) > precision {
            text = format!("{:.precision$e}", self.value);
        }
        split(&text)
    }

    /// As Python prints one number; `whole` follows numbers without a fraction.
    fn alone(self, whole: &str) -> String {
        let size = self.value.abs();
        match self.value {
            v if v.is_nan() => "nan".to_string(),
            v if v.is_infinite() => if v > 0.0 { "inf" } else { "-inf" }.to_string(),
            v if v == 0.0 || (1e-4..1e16).contains(&size) => {
                let (front, fraction) = self.positional(usize::MAX);
                if fraction.is_empty() { front + whole } else { format!("{front}.{fraction}") }
            }
            _ => {
                let (first, rest, exponent) = self.scientific(usize::MAX);
                let point = if rest.is_empty() { "" } else { "." };
                format!("{first}{point}{rest}{}", power(exponent, 2))
            }
        }
    }
}

/// Digits after the point in `d.ddde±x`.
fn fraction_length(text: &str) -> usize {
    let mantissa = text.split_once('e').map_or(text, |parts| parts.0);
    mantissa.split_once('.').map_or(0, |parts| parts.1.len())
}

/// First digit with sign, digits after the point without trailing zeros, and exponent of `d.ddde±x`.
fn split(text: &str) -> (String, String, i32) {
    let (mantissa, exponent) = text.split_once('e').unwrap_or((text, "0"));
    let (first, rest) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    (first.to_string(), rest.trim_end_matches('0').to_string(), exponent.parse().unwrap_or(0))
}

/// `e+05`: sign and at least `digits` digits.
fn power(exponent: i32, digits: usize) -> String {
    let sign = if exponent < 0 { '-' } else { '+' };
    format!("e{sign}{:0>digits$}", exponent.unsigned_abs())
}

/// The common form of many floats.
pub(super) struct Floats {
    scientific: bool,
    /// Whether numbers that are not negative get a plus sign.
    signed: bool,
    /// Characters before the point.
    left: usize,
    /// Characters after the point; in scientific form, digits of the mantissa.
    right: usize,
    /// Digits of the exponent.
    exponent: usize,
}

impl Floats {
    fn of(values: &[Float], signed: bool) -> Floats {
        let finite: Vec<Float> = values.iter().copied().filter(|v| v.value.is_finite()).collect();
        let scientific = wants_exponent(&finite);
        let sign = |front: &str| front.len() + (signed && !front.starts_with('-')) as usize;
        let mut floats = Floats { scientific, signed, left: 0, right: 0, exponent: 0 };
        for value in &finite {
            let (front, fraction, exponent) = if scientific {
                value.scientific(PRECISION)
            } else {
                let (front, fraction) = value.positional(PRECISION);
                (front, fraction, 0)
            };
            floats.left = floats.left.max(sign(&front));
            floats.right = floats.right.max(fraction.len());
            floats.exponent = floats.exponent.max(power(exponent, 2).len() - 2);
        }
        if finite.len() < values.len() {
            let negative = signed || values.iter().any(|v| v.value == f64::NEG_INFINITY);
            let widest = 3 + negative as usize;
            floats.left = floats.left.max(widest.saturating_sub(floats.after()));
        }
        floats
    }

    /// Characters from the point on.
    fn after(&self) -> usize {
        1 + self.right + if self.scientific { 2 + self.exponent } else { 0 }
    }

    fn write(&self, value: Float) -> String {
        let plus = |text: &str| if self.signed && !text.starts_with('-') { "+" } else { "" };
        let width = self.left + self.after();
        if !value.value.is_finite() {
            let text = value.alone("");
            return format!("{:>width$}", format!("{}{text}", plus(&text)));
        }
        let (left, right) = (self.left, self.right);
        if self.scientific {
            let (mut front, mut fraction, mut exponent) = value.scientific(PRECISION);
            if fraction.len() < right {
                // More digits than tell it apart: they are the exact ones, not zeros.
                (front, fraction, exponent) = split(&format!("{:.right$e}", value.value));
            }
            let front = format!("{}{front}", plus(&front));
            return format!("{front:>left$}.{fraction:0<right$}{}", power(exponent, self.exponent));
        }
        let (front, fraction) = value.positional(PRECISION);
        let front = format!("{}{front}", plus(&front));
        format!("{front:>left$}.{fraction:<right$}")
    }
}

/// Whether numbers differ too much, or are too large or small, for one column without exponents.
fn wants_exponent(finite: &[Float]) -> bool {
    let sizes = || finite.iter().map(|v| v.value.abs()).filter(|&v| v != 0.0);
    let Some(first) = finite.first() else { return false };
    let (low, high) = (sizes().fold(f64::INFINITY, f64::min), sizes().fold(0.0, f64::max));
    // Decimal digits that the dtype always holds, at most 8.
    let limit = match first.dtype {
        DType::F16 => 1e3,
        DType::BF16 => 1e2,
        DType::F32 => 1e6,
        _ => 1e8,
    };
    high > 0.0 && (high >= limit || low < narrow(first.dtype, 1e-4) || narrow(first.dtype, high / low) > 1e3)
}

/// A value rounded to a dtype, because NumPy compares in it.
fn narrow(dtype: DType, value: f64) -> f64 {
    match dtype {
        DType::F16 => f16::from_f64(value).to_f64(),
        DType::BF16 => bf16::from_f64(value).to_f64(),
        DType::F32 => value as f32 as f64,
        _ => value,
    }
}
