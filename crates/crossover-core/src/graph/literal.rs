//! Values, dtypes and lists of lengths as text.
//!
//! Floats are written with the fewest digits that read back as the same bits; NaN as `nan` when it is the
//! canonical one and with its bits otherwise (`nan:0x7fc00001`); complex numbers as `(re, im)`.

use std::fmt::Write as _;

use super::lexer::{Lexer, Token, excerpt};
use crate::{DType, DTypeSet, Number, Result, Scalar, Shape};

/// Most axes that text may give a shape. Work on axes is quadratic in places; text comes from anywhere.
pub(crate) const MAX_RANK: usize = 64;

/// The quiet NaN that arithmetic makes, as bits of a real float dtype.
fn canonical_nan(dtype: DType) -> u64 {
    match dtype {
        DType::F16 => 0x7e00,
        DType::BF16 => 0x7fc0,
        DType::F64 => 0x7ff8_0000_0000_0000,
        _ => 0x7fc0_0000,
    }
}

/// Writes a value so that [`read`] gives the same bits.
pub(crate) fn write(value: Scalar) -> String {
    let (dtype, [re, im]) = (value.dtype(), value.bits());
    if dtype.is_complex() {
        return format!("({}, {})", write_real(dtype.real(), re), write_real(dtype.real(), im));
    }
    write_real(dtype, re)
}

fn write_real(dtype: DType, bits: u64) -> String {
    let value = Scalar::from_bits(dtype, [bits, 0]);
    if !dtype.is_float() {
        return value.to_string();
    }
    // Widening a 16- or 32-bit float is exact, so classification and sign may look at the wide value.
    let wide = f64::from_bits(value.cast(DType::F64).bits()[0]);
    if wide.is_nan() {
        if bits == canonical_nan(dtype) {
            return "nan".to_string();
        }
        let mut text = "nan:0x".to_string();
        let _ = write!(text, "{bits:0digits$x}", digits = dtype.size() * 2);
        return text;
    }
    if !dtype.is_half() || wide.is_infinite() {
        return value.to_string();
    }
    // Nine digits are enough for any f32, hence for any 16-bit float.
    let shortest = (0..9).map(|digits| format!("{wide:.digits$e}")).find_map(|text| {
        let near: f64 = text.parse().ok()?;
        (Number::Float(near).to_scalar(dtype) == value).then(|| format!("{near:?}"))
    });
    shortest.unwrap_or_else(|| format!("{wide:?}"))
}

/// Reads a value of a dtype.
pub(crate) fn read(lexer: &mut Lexer<'_>, dtype: DType) -> Result<Scalar> {
    if !dtype.is_complex() {
        return read_real(lexer, dtype);
    }
    lexer.expect('(')?;
    let re = read_real(lexer, dtype.real())?;
    lexer.expect(',')?;
    let im = read_real(lexer, dtype.real())?;
    lexer.expect(')')?;
    Ok(Scalar::from_bits(dtype, [re.bits()[0], im.bits()[0]]))
}

fn read_real(lexer: &mut Lexer<'_>, dtype: DType) -> Result<Scalar> {
    let Token::Word(word) = lexer.peek() else {
        return Err(lexer.unexpected(&format!("a value of {dtype}")));
    };
    let wrong = lexer.wrong(format!("`{}` is not a value of {dtype}", excerpt(word)));
    lexer.take();
    if dtype == DType::Bool {
        return match word {
            "true" => Ok(Scalar::from_bits(dtype, [1, 0])),
            "false" => Ok(Scalar::zero(dtype)),
            _ => Err(wrong),
        };
    }
    if dtype.is_int() {
        let number = word.parse().map(Number::Int).map_err(|_| wrong.clone())?;
        return if number.overflows(dtype) { Err(wrong) } else { Ok(number.to_scalar(dtype)) };
    }
    if word == "nan" {
        let bits = if lexer.accept(':') { read_nan(lexer, dtype)? } else { canonical_nan(dtype) };
        return Ok(Scalar::from_bits(dtype, [bits, 0]));
    }
    // Rust also reads "infinity" and "NaN"; one spelling each keeps the text form a normal form.
    let spelled = word.trim_start_matches(['+', '-']);
    if spelled != "inf" && !spelled.starts_with(|c: char| c.is_ascii_digit() || c == '.') {
        return Err(wrong);
    }
    let bits = match dtype {
        DType::F32 => word.parse::<f32>().map(|v| v.to_bits() as u64).map_err(|_| wrong)?,
        DType::F64 => word.parse::<f64>().map(f64::to_bits).map_err(|_| wrong)?,
        _ => Number::Float(word.parse().map_err(|_| wrong)?).to_scalar(dtype).bits()[0],
    };
    Ok(Scalar::from_bits(dtype, [bits, 0]))
}

fn read_nan(lexer: &mut Lexer<'_>, dtype: DType) -> Result<u64> {
    let wanted = format!("the bits of a NaN of {dtype} after `nan:`, as 0x and {} digits", dtype.size() * 2);
    let digits = match lexer.peek() {
        Token::Word(word) => word.strip_prefix("0x"),
        _ => None,
    };
    let bits = digits
        .filter(|d| d.len() <= dtype.size() * 2 && d.bytes().all(|b| b.is_ascii_hexdigit()))
        .and_then(|d| u64::from_str_radix(d, 16).ok())
        .ok_or_else(|| lexer.unexpected(&wanted))?;
    // All exponent bits set and something below them; the canonical NaN has exactly one bit below.
    let infinity = canonical_nan(dtype) & (canonical_nan(dtype) << 1);
    let magnitude = bits & ((1 << (dtype.size() * 8 - 1)) - 1);
    if magnitude <= infinity {
        return Err(lexer.unexpected(&wanted));
    }
    lexer.take();
    Ok(bits)
}

/// Reads the name of a dtype.
pub(crate) fn read_dtype(lexer: &mut Lexer<'_>) -> Result<DType> {
    let wanted = || format!("a dtype (one of {})", DTypeSet::ALL);
    let dtype = match lexer.peek() {
        Token::Word(word) => DType::from_name(word),
        _ => None,
    };
    let dtype = dtype.ok_or_else(|| lexer.unexpected(&wanted()))?;
    lexer.take();
    Ok(dtype)
}

/// Reads `[a, b, …]`, at most [`MAX_RANK`] entries, by calling `entry` for each.
pub(crate) fn read_list<T>(
    lexer: &mut Lexer<'_>,
    mut entry: impl FnMut(&mut Lexer<'_>) -> Result<T>,
) -> Result<Vec<T>> {
    lexer.expect('[')?;
    let mut list = Vec::new();
    lexer.skip_lines();
    while lexer.peek() != Token::Mark(']') {
        if list.len() == MAX_RANK {
            return Err(lexer.wrong(format!("the list has more than {MAX_RANK} entries")));
        }
        list.push(entry(lexer)?);
        lexer.skip_lines();
        if !lexer.accept(',') {
            break;
        }
        lexer.skip_lines();
    }
    if lexer.accept(']') { Ok(list) } else { Err(lexer.unexpected("`,` or `]`")) }
}

/// Reads a number that fits `T`.
pub(crate) fn read_number<T: std::str::FromStr>(lexer: &mut Lexer<'_>, wanted: &str) -> Result<T> {
    let number = match lexer.peek() {
        Token::Word(word) => word.parse().ok(),
        _ => None,
    };
    let number = number.ok_or_else(|| lexer.unexpected(wanted))?;
    lexer.take();
    Ok(number)
}

/// Reads `[a, b, …]` as lengths of axes.
pub(crate) fn read_shape(lexer: &mut Lexer<'_>) -> Result<Shape> {
    Ok(Shape::from(read_list(lexer, |l| read_number(l, "a length"))?))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn back(value: Scalar) -> Scalar {
        read(&mut Lexer::new(&write(value)), value.dtype()).unwrap()
    }

    #[test]
    fn every_sixteen_bit_float_reads_back_as_written() {
        for dtype in [DType::F16, DType::BF16] {
            for bits in 0..=0xffff {
                let value = Scalar::from_bits(dtype, [bits, 0]);
                assert_eq!(back(value), value, "{}", write(value));
            }
        }
    }

    #[test]
    fn sixteen_bit_floats_are_written_with_few_digits() {
        let text = |dtype, x: f64| write(Number::Float(x).to_scalar(dtype));
        assert_eq!(text(DType::F16, 0.1), "0.1");
        assert_eq!(text(DType::BF16, 3.140625), "3.14");
        assert_eq!(text(DType::F16, -0.0), "-0.0");
        assert_eq!(text(DType::F16, -1e9), "-inf");
    }

    #[test]
    fn special_values_keep_their_bits() {
        for bits in [0u64, 0x8000_0000, 1, 0x7f80_0000, 0xff80_0000, 0x7fc0_0000, 0xffc0_0000, 0x7f80_0001] {
            let value = Scalar::from_bits(DType::F32, [bits, 0]);
            assert_eq!(back(value), value, "{}", write(value));
            let pair = Scalar::from_bits(DType::C64, [bits, 0x7fc0_0001]);
            assert_eq!(back(pair), pair, "{}", write(pair));
        }
        assert_eq!(write(Scalar::from_bits(DType::F32, [0x7fc0_0001, 0])), "nan:0x7fc00001");
        assert_eq!(write(Scalar::from_bits(DType::U64, [u64::MAX, 0])), "18446744073709551615");
    }

    #[test]
    fn values_that_do_not_fit_are_errors() {
        let refused = |text, dtype| read(&mut Lexer::new(text), dtype).unwrap_err().to_string();
        assert!(refused("300", DType::I8).contains("`300` is not a value of i8"));
        assert!(refused("-1", DType::U64).contains("u64"));
        assert!(refused("1.5", DType::I32).contains("i32"));
        assert!(refused("nan:0x3f800000", DType::F32).contains("NaN"));
        assert!(refused("nan:0x7f800000", DType::F32).contains("NaN"));
        assert!(refused("infinity", DType::F32).contains("infinity"));
        assert!(refused("1", DType::C64).contains("`(`"));
    }
}
