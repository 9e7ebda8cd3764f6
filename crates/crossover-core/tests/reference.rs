//! The reference interpreter against definitions that are simpler still.

use crossover_core::{
    DType, Element, Error, Graph, Number, Scalar, Shape, canonical,
    graph::{Op, Type},
    ops::MapOp,
    reference::{Pattern, Tensor, evaluate, map},
};
use half::{bf16, f16};

fn run(text: &str, inputs: &[Tensor]) -> Vec<Tensor> {
    let graph = Graph::parse(text).expect("the test's own graph");
    evaluate(&graph, inputs).expect("inputs that fit it")
}

fn int(dtype: DType, value: i128) -> Scalar {
    Number::Int(value).to_scalar(dtype)
}

/// Integer ops as mathematics has them, before wrapping.
fn integer_model(op: MapOp, a: i128, b: i128, bits: i128, signed: bool) -> i128 {
    match op {
        MapOp::Add => a + b,
        MapOp::Subtract => a - b,
        MapOp::Multiply => a * b,
        MapOp::FloorDivide if b == 0 => 0,
        MapOp::FloorDivide => (a as f64 / b as f64).floor() as i128,
        MapOp::Remainder if b == 0 => 0,
        MapOp::Remainder => a - b * (a as f64 / b as f64).floor() as i128,
        MapOp::Minimum => a.min(b),
        MapOp::Maximum => a.max(b),
        MapOp::BitwiseAnd => a & b,
        MapOp::BitwiseOr => a | b,
        MapOp::BitwiseXor => a ^ b,
        MapOp::BitwiseLeftShift => {
            if (0..bits).contains(&b) {
                a << b
            } else {
                0
            }
        }
        MapOp::BitwiseRightShift => match (0..bits).contains(&b) {
            true => a >> b,
            false if signed && a < 0 => -1,
            false => 0,
        },
        other => panic!("{other} has no model"),
    }
}

#[test]
fn eight_bit_integers_agree_with_arithmetic_that_wraps_for_every_pair() {
    let ops = [
        MapOp::Add,
        MapOp::Subtract,
        MapOp::Multiply,
        MapOp::FloorDivide,
        MapOp::Remainder,
        MapOp::Minimum,
        MapOp::Maximum,
        MapOp::BitwiseAnd,
        MapOp::BitwiseOr,
        MapOp::BitwiseXor,
        MapOp::BitwiseLeftShift,
        MapOp::BitwiseRightShift,
    ];
    for (dtype, range) in [(DType::I8, -128..128), (DType::U8, 0..256)] {
        for (a, b) in range.clone().flat_map(|a| range.clone().map(move |b| (a, b))) {
            for op in ops {
                let want = integer_model(op, a, b, 8, dtype == DType::I8);
                assert_eq!(
                    map(op, &[int(dtype, a), int(dtype, b)]),
                    int(dtype, want),
                    "{op} {dtype} {a} {b}"
                );
            }
        }
    }
}

#[test]
fn sixteen_bit_arithmetic_is_correctly_rounded() {
    // f32 holds twice the digits of f16 and more, so that rounding its result again changes nothing.
    let values: Vec<u16> = (0..=0xffff).step_by(97).chain([0x3c00, 0x7bff, 0x0001, 0x8000, 0x7c00]).collect();
    for &a in &values {
        for &b in values.iter().step_by(3) {
            let (a, b) = (f16::from_bits(a), f16::from_bits(b));
            for (op, exact) in [
                (MapOp::Add, a.to_f64() + b.to_f64()),
                (MapOp::Multiply, a.to_f64() * b.to_f64()),
                (MapOp::Divide, a.to_f64() / b.to_f64()),
            ] {
                let got = map(op, &[a.to_scalar(), b.to_scalar()]);
                let want = exact.to_scalar().cast(DType::F16);
                assert_eq!(got, want, "{op} {a} {b}");
            }
        }
    }
}

#[test]
fn sums_of_sixteen_bit_floats_round_once() {
    let ones = Tensor::from_slice([4097], &vec![f16::ONE; 4097]).unwrap();
    let total = run("graph {\n %x = input f16[4097]\n %s = sum %x axes [0]\n return %s\n}", &[ones]);
    assert_eq!(total[0].to_vec::<f16>().unwrap(), [f16::from_f32(4097.0)]);
}

#[test]
fn sums_follow_rows_then_columns() {
    let x = Pattern::Random(8).tensor(DType::F32, Shape::from([200, 3, 150])).unwrap();
    let values = x.to_vec::<f32>().unwrap();
    let text = "graph {\n %x = input f32[200, 3, 150]\n %a = sum %x axes [0, 2]\n %b = sum %x axes [0, 1]\n return %a, %b\n}";
    let got = run(text, &[x]);
    let add = |a: f32, b: f32| a + b;
    for (k, sum) in got[0].to_vec::<f32>().unwrap().into_iter().enumerate() {
        let rows: Vec<f32> =
            (0..200).map(|i| canonical::row(&values[(i * 3 + k) * 150..][..150], add).unwrap()).collect();
        assert_eq!(Some(sum), canonical::column(&rows, add));
    }
    for (k, sum) in got[1].to_vec::<f32>().unwrap().into_iter().enumerate() {
        let column: Vec<f32> = (0..600).map(|i| values[i * 150 + k]).collect();
        assert_eq!(Some(sum), canonical::column(&column, add));
    }
}

#[test]
fn argmax_takes_the_first_nan_and_then_the_first_largest() {
    let text = "graph {\n %x = input bf16[4, 3]\n %a = argmax %x axes [1]\n %b = argmin %x axes [1]\n return %a, %b\n}";
    let values = [1.0, 2.0, 2.0, -0.0, 0.0, -0.0, 5.0, f32::NAN, f32::NAN, 3.0, 3.0, f32::INFINITY];
    let x = Tensor::from_slice([4, 3], &values.map(bf16::from_f32)).unwrap();
    let got = run(text, &[x]);
    assert_eq!(got[0].to_vec::<i64>().unwrap(), [1, 0, 1, 2]);
    assert_eq!(got[1].to_vec::<i64>().unwrap(), [0, 0, 1, 0]);
}

#[test]
fn inputs_that_do_not_fit_are_typed_errors() {
    let graph = Graph::parse("graph {\n %x = input f32[2]\n %b = input bool[1]\n return %x\n}").unwrap();
    let x = Tensor::from_slice([2], &[1.0f32, 2.0]).unwrap();
    let b = Tensor::from_slice([1], &[true]).unwrap();
    assert!(evaluate(&graph, &[x.clone(), b.clone()]).is_ok());
    assert!(matches!(evaluate(&graph, std::slice::from_ref(&x)), Err(Error::Value { op: "input", .. })));
    let wide = Tensor::from_slice([2], &[1.0f64, 2.0]).unwrap();
    assert!(matches!(
        evaluate(&graph, &[wide, b.clone()]),
        Err(Error::Mixed { left: DType::F32, right: DType::F64, .. })
    ));
    let long = Tensor::from_slice([3], &[1.0f32; 3]).unwrap();
    assert!(matches!(evaluate(&graph, &[long, b.clone()]), Err(Error::Shape { .. })));
    let short = Tensor { bytes: vec![0; 7], ..x.clone() };
    assert!(matches!(evaluate(&graph, &[short, b.clone()]), Err(Error::Value { op: "tensor", .. })));
    let odd = Tensor { bytes: vec![2], ..b };
    assert!(matches!(evaluate(&graph, &[x, odd]), Err(Error::Value { op: "input", .. })));
    assert!(Tensor::from_slice([3], &[1u8]).is_err());
    assert!(Tensor::from_slice([1], &[1u8]).unwrap().to_vec::<i8>().is_err());
}

#[test]
fn values_too_large_to_hold_are_errors_and_not_aborts() {
    let text = "graph {\n %x = scalar f32 1\n %y = expand %x to [1048576, 1048576]\n %s = sum %y axes [0, 1]\n return %s\n}";
    let graph = Graph::parse(text).unwrap();
    let error = evaluate(&graph, &[]).unwrap_err().to_string();
    assert!(error.contains("expand: f32[1048576, 1048576] has more than"), "{error}");
}

#[test]
fn inputs_whose_size_overflows_are_refused_however_they_are_added() {
    let ty = Type { dtype: DType::I8, shape: Shape::from([usize::MAX, 2]) };
    let refused = Graph::new().push(Op::Input { index: 0, ty }, &[]);
    assert!(matches!(refused, Err(Error::TooLarge { op: "input", .. })));
}
