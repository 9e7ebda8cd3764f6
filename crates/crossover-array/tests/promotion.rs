//! Dtypes of results, compared with NumPy 2.4.
#![allow(clippy::unwrap_used)]

use crossover_array::{Array, DType, Kind};
use num_complex::Complex;

/// `np.promote_types` for every pair.
const PAIRS: &str = "
     bool   i8  i16  i32  i64   u8  u16  u32  u64  f16  f32  f64  c64 c128
bool bool   i8  i16  i32  i64   u8  u16  u32  u64  f16  f32  f64  c64 c128
i8     i8   i8  i16  i32  i64  i16  i32  i64  f64  f16  f32  f64  c64 c128
i16   i16  i16  i16  i32  i64  i16  i32  i64  f64  f32  f32  f64  c64 c128
i32   i32  i32  i32  i32  i64  i32  i32  i64  f64  f64  f64  f64 c128 c128
i64   i64  i64  i64  i64  i64  i64  i64  i64  f64  f64  f64  f64 c128 c128
u8     u8  i16  i16  i32  i64   u8  u16  u32  u64  f16  f32  f64  c64 c128
u16   u16  i32  i32  i32  i64  u16  u16  u32  u64  f32  f32  f64  c64 c128
u32   u32  i64  i64  i64  i64  u32  u32  u32  u64  f64  f64  f64 c128 c128
u64   u64  f64  f64  f64  f64  u64  u64  u64  u64  f64  f64  f64 c128 c128
f16   f16  f16  f32  f64  f64  f16  f32  f64  f64  f16  f32  f64  c64 c128
f32   f32  f32  f32  f64  f64  f32  f32  f64  f64  f32  f32  f64  c64 c128
f64   f64  f64  f64  f64  f64  f64  f64  f64  f64  f64  f64  f64 c128 c128
c64   c64  c64  c64 c128 c128  c64  c64 c128 c128  c64  c64 c128  c64 c128
c128 c128 c128 c128 c128 c128 c128 c128 c128 c128 c128 c128 c128 c128 c128
";

/// The dtype of `array + number` for `True`, `1`, `1.0` and `1j`.
const NUMBERS: &str = "
bool bool  i64  f64 c128
i8     i8   i8  f64 c128
i16   i16  i16  f64 c128
i32   i32  i32  f64 c128
i64   i64  i64  f64 c128
u8     u8   u8  f64 c128
u16   u16  u16  f64 c128
u32   u32  u32  f64 c128
u64   u64  u64  f64 c128
f16   f16  f16  f16  c64
f32   f32  f32  f32  c64
f64   f64  f64  f64 c128
c64   c64  c64  c64  c64
c128 c128 c128 c128 c128
";

/// The dtype of a reduction, columns as in `PAIRS`. NumPy also orders complex numbers; we refuse (`-`).
const REDUCTIONS: &str = "
sum      i64  i64  i64  i64  i64  u64  u64  u64  u64  f16  f32  f64  c64 c128
prod     i64  i64  i64  i64  i64  u64  u64  u64  u64  f16  f32  f64  c64 c128
mean     f64  f64  f64  f64  f64  f64  f64  f64  f64  f16  f32  f64  c64 c128
var      f64  f64  f64  f64  f64  f64  f64  f64  f64  f16  f32  f64  f32  f64
max     bool   i8  i16  i32  i64   u8  u16  u32  u64  f16  f32  f64    -    -
argmax   i64  i64  i64  i64  i64  i64  i64  i64  i64  i64  i64  i64    -    -
any     bool bool bool bool bool bool bool bool bool bool bool bool bool bool
cumsum   i64  i64  i64  i64  i64  u64  u64  u64  u64  f16  f32  f64  c64 c128
";

fn dtype(name: &str) -> DType {
    DType::from_name(name).unwrap()
}

fn rows(table: &str) -> impl Iterator<Item = Vec<&str>> {
    table.trim_matches('\n').lines().map(|line| line.split_whitespace().collect())
}

fn columns() -> Vec<DType> {
    rows(PAIRS).next().unwrap().into_iter().map(dtype).collect()
}

#[test]
fn arrays_promote_each_other() {
    let columns = columns();
    for row in rows(PAIRS).skip(1) {
        let a = Array::ones_dtype([2], dtype(row[0]));
        for (&column, want) in columns.iter().zip(&row[1..]) {
            let b = Array::ones_dtype([2], column);
            assert_eq!((&a * &b).dtype(), dtype(want), "{} and {column}", row[0]);
            let shown = (&a * &b).astype(DType::C128).to_vec::<Complex<f64>>().unwrap();
            assert_eq!(shown, [Complex::new(1.0, 0.0); 2], "{} and {column}", row[0]);
        }
    }
}

#[test]
fn numbers_are_weak() {
    for row in rows(NUMBERS) {
        let x = Array::ones_dtype([1], dtype(row[0]));
        let sums = [x.add(true), x.add(1), x.add(1.0), x.add(Complex::new(0.0, 1.0))];
        for (sum, want) in sums.iter().zip(&row[1..]) {
            assert_eq!(sum.dtype(), dtype(want), "{}", row[0]);
        }
        assert_eq!((1i32 + &x).dtype(), dtype(row[2]), "1 + {}", row[0]);
        assert_eq!((1f64 + &x).dtype(), dtype(row[3]), "1.0 + {}", row[0]);
    }
    // Width does not matter, only kind.
    assert_eq!((Array::from([1.0f32]) + 1.0f64).dtype(), DType::F32);
    assert_eq!((Array::from([1u8]) + 1i64).dtype(), DType::U8);
}

#[test]
fn reductions_have_the_dtypes_of_numpy() {
    let columns = columns();
    for row in rows(REDUCTIONS) {
        for (&column, want) in columns.iter().zip(&row[1..]) {
            let x = Array::from([1u8, 1]).astype(column);
            let y = match row[0] {
                "sum" => x.sum(()),
                "prod" => x.prod(()),
                "mean" => x.mean(()),
                "var" => x.var(()),
                "max" => x.max(()),
                "argmax" => x.argmax(()),
                "any" => x.any(()),
                _ => x.cumulative_sum(0),
            };
            match *want {
                "-" => assert!(y.check().is_err(), "{} of {column}", row[0]),
                want => {
                    assert_eq!(y.dtype(), dtype(want), "{} of {column}", row[0]);
                    y.eval().unwrap();
                }
            }
        }
    }
}

#[test]
fn functions_of_integers_are_f64_and_of_floats_keep_their_dtype() {
    for dtype in DType::ALL {
        let y = Array::ones_dtype([3], dtype).exp();
        match dtype.kind() {
            Kind::Bool | Kind::Int => assert_eq!(y.dtype(), DType::F64),
            Kind::Float | Kind::Complex => assert_eq!(y.dtype(), dtype),
        }
        let y = Array::ones_dtype([3], dtype).gelu();
        assert_eq!(y.check().is_err(), dtype.is_complex(), "gelu of {dtype}");
    }
    assert_eq!(Array::from([1, 2]).divide(Array::from([2, 2])).dtype(), DType::F64);
    assert_eq!(Array::from([1, 2]).floor_divide(2).dtype(), DType::I32);
}

#[test]
fn integers_out_of_range_compare_like_numbers() {
    let x = Array::from([0u8, 255]);
    assert_eq!(x.less(256).to_vec::<bool>().unwrap(), [true, true]);
    assert_eq!(x.greater(-1).to_vec::<bool>().unwrap(), [true, true]);
    assert_eq!(x.equal(-1).to_vec::<bool>().unwrap(), [false, false]);
    assert_eq!(x.not_equal(1000).to_vec::<bool>().unwrap(), [true, true]);
    assert_eq!(x.greater_equal(1000).to_vec::<bool>().unwrap(), [false, false]);
    assert!(x.maximum(256).check().is_err());
}
