//! Errors travel with the caller's location and show the offending values.

use crossover_array::{Array, Complex, DType, Error, Index, Runtime, random, s};

/// The error of an array, as text.
#[track_caller]
fn message(array: &Array) -> String {
    array.check().expect_err("the call is wrong").to_string()
}

#[test]
fn errors_carry_the_place_of_the_call() {
    let (a, b) = (Array::from([1.0f32, 2.0]), Array::from([1.0f32, 2.0, 3.0]));
    let line = line!() + 1;
    let wrong = &a + &b;
    let error = wrong.check().unwrap_err();
    assert_eq!((error.location().file(), error.location().line()), (file!(), line));
    assert!(error.to_string().ends_with(&format!("(at {}:{line})", file!())), "{error}");
    let line = line!() + 1;
    let wrong = a.softmax(3);
    assert_eq!(wrong.check().unwrap_err().location().line(), line);
    let line = line!() + 1;
    let wrong = a.slice(s![5]);
    assert_eq!(wrong.check().unwrap_err().location().line(), line);
    let line = line!() + 1;
    let wrong = Array::zeros::<f32>([usize::MAX, 4]);
    assert_eq!(wrong.check().unwrap_err().location().line(), line);
    let line = line!() + 1;
    let wrong = a.to_vec::<i8>().unwrap_err();
    assert_eq!(wrong.location().line(), line);
}

#[test]
fn counting_refuses_what_its_dtype_does_not_hold() -> crossover_array::Result<()> {
    let ints = |start: f64, stop: f64, step: f64| Array::arange_from(start, stop, step, DType::I32);
    let cases = [
        (Array::arange_from(0, 300, 1, DType::U8), "arange: 299 occurs, which does not fit into u8"),
        (Array::arange_from(-5, 5, 1, DType::U8), "arange: -5 occurs, which does not fit into u8"),
        (Array::arange_from(0, 5, 1, DType::Bool), "4 occurs"),
        (Array::arange_from(Complex::new(0.0, 1.0), 5, 1, DType::C64), "start is 0+1j; give real numbers"),
        (Array::arange_from(0, 5, Complex::new(1.0, -2.0), DType::F64), "step is 1-2j"),
        (ints(0.5, 3.0, 1.0), "start is 0.5, which is no i32"),
        (ints(0.0, 3.0, 0.5), "step is 0.5, which is no i32"),
        (Array::linspace_dtype(0.0, 256.0, 4, DType::U8), "linspace: 256 occurs, which does not fit into u8"),
        (Array::linspace_dtype(f64::NAN, 1.0, 4, DType::I8), "NaN occurs"),
    ];
    for (array, what) in cases {
        let said = message(&array);
        assert!(said.contains(what), "{said}");
    }
    assert_eq!(Array::arange_from(0, 256, 1, DType::U8).to_vec::<u8>()?, (0..=255).collect::<Vec<u8>>());
    assert_eq!(Array::arange_from(127, -129, -1, DType::I8).to_vec::<i8>()?.len(), 256);
    assert_eq!(Array::arange_from(300, 0, 1, DType::U8).size(), 0);
    assert_eq!(Array::arange_from(0, 200, 300, DType::U8).to_vec::<u8>()?, [0]);
    assert_eq!(ints(2.0, 4.5, 1.0).to_vec::<i32>()?, [2, 3, 4]);
    assert_eq!(Array::linspace_dtype(-5.0, 0.0, 4, DType::I32).to_vec::<i32>()?, [-5, -4, -2, 0]);
    let bytes = Array::linspace_before(0.0, 256.0, 256, DType::U8);
    assert_eq!(bytes.to_vec::<u8>()?, (0..=255).collect::<Vec<u8>>());
    assert_eq!(Array::linspace_before(-5.0, 0.0, 3, DType::I32).to_vec::<i32>()?, [-5, -4, -2]);
    Ok(())
}

#[test]
fn errors_travel_through_everything_and_keep_their_place() {
    let wrong = Array::from([1.0f32, 2.0]).reshape([3]);
    let first = wrong.check().unwrap_err().to_string();
    let fine = Array::from([1.0f32]);
    let derived = [
        &wrong + 1.0,
        &fine + &wrong,
        1.0 / &wrong,
        -&wrong,
        wrong.exp(),
        wrong.sum(9),
        wrong.softmax(-1),
        wrong.reshape([2, 2]),
        wrong.t(),
        wrong.flip(4),
        wrong.slice(s![1, 2, 3]),
        wrong.index(7),
        wrong.astype(DType::C64),
        wrong.zeros_like(),
        wrong.copy(),
        wrong.matmul(&fine),
        fine.dot(&wrong),
        fine.take(&wrong, 0),
        wrong.take(&fine, 0),
        Array::concat(&[&fine, &wrong], 0),
        Array::stack(&[&wrong], 0),
        wrong.where_(&fine, 0.0),
        wrong.layer_norm(Some(&fine), None, 0.0),
        wrong.cumulative_sum(3),
        wrong.abs(),
        wrong.imag(),
    ];
    for array in &derived {
        assert_eq!(message(array), first);
    }
    for error in [
        wrong.eval().map(drop).unwrap_err(),
        wrong.to_vec::<f32>().unwrap_err(),
        wrong.item::<f32>().unwrap_err(),
        wrong.to_scalar().unwrap_err(),
        wrong.assign(1.0).unwrap_err(),
        fine.assign(&wrong).unwrap_err(),
        wrong.explain().unwrap_err(),
        wrong.graph().map(drop).unwrap_err(),
    ] {
        assert_eq!(error.to_string(), first);
    }
    assert_eq!(wrong.to_string(), format!("<error: {first}>"));
    assert_eq!(format!("{wrong:?}"), format!("array(<error: {first}>)"));
}

#[test]
fn messages_show_the_offending_values() {
    let x = Array::arange(6).reshape([2, 3]);
    let cases = [
        (&x + &Array::arange(4), "add: shapes [2, 3] and [4] do not fit"),
        (x.reshape([4, 2]), "reshape: shapes [2, 3] and [4, 2] do not fit"),
        (x.reshape([-1, 4]), "no length for -1 in [-1, 4] gives the 6 elements of [2, 3]"),
        (x.reshape([-1, -1]), "leaves more than one length open"),
        (x.reshape([-2]), "-2 in [-2] is no length"),
        (x.sum(2), "sum: axis 2 is out of range for [2, 3]"),
        (x.sum([0, -2]), "axis -2 is given twice"),
        (x.permute([0, 0]), "not a permutation"),
        (x.permute(0), "not a permutation"),
        (x.index(-3), "index -3 is out of range for axis 0 of length 2"),
        (x.slice(s![.., 3]), "index 3 is out of range for axis 1 of length 3"),
        (x.slice(s![.., ..; 0]), "step is 0"),
        (x.slice(s![0, 0, 0]), "3 indices and 0 ellipses for the 2 axes"),
        (x.slice(s![Index::Ellipsis, Index::Ellipsis]), "0 indices and 2 ellipses"),
        (x.take(&Array::from([0, 3]), 1), "index 3 is out of range for axis 1 of length 3"),
        (x.take(&Array::from([0, -3]), 0), "index -3 is out of range for axis 0 of length 2"),
        (x.take(&Array::from([0.5]), 0), "take: f64 is not supported"),
        (x.expand_dims(4), "expand_dims: axis 4"),
        (x.squeeze(0), "axis 0 of [2, 3] has length 2, not 1"),
        (x.broadcast_to([3, 3]), "shapes [2, 3] and [3, 3] do not fit"),
        (x.matmul(&x), "matmul: shapes [2, 3] and [2, 3] do not fit"),
        (x.matmul(&Array::arange(2)), "matmul: shapes [2, 3] and [2] do not fit"),
        (x.bitwise_and(1.5), "bitwise_and: f64 is not supported"),
        (Array::from([1.5f32]) << 1, "bitwise_left_shift: f32 is not supported"),
        (Array::from([1u8]) + 256, "Int(256) does not fit into u8"),
        (Array::zeros::<f32>([0]).max(()), "max has no identity"),
        (Array::concat(&[], 0), "the list of arrays is empty"),
        (Array::concat(&[&x, &Array::arange(2)], 0), "all axes but the joined one must be equal"),
        (Array::from_vec(vec![1, 2, 3], [2, 2]), "from_vec: shapes [3] and [2, 2] do not fit"),
        (Array::zeros::<u8>([1 << 40, 1 << 40]), "more elements than can be addressed"),
        (Array::arange_from(0, 1, 0, DType::I64), "step is 0"),
        (Array::arange_from(0.0, f64::INFINITY, 1.0, DType::F64), "no finite length"),
        (Array::full_dtype([2], 1.5, DType::I8).astype(DType::C64).astype(DType::F32), "complex"),
        (random::uniform::<i32>(&random::Key::new(0), [2]), "uniform: i32 is not supported"),
    ];
    for (array, part) in cases {
        assert!(message(&array).contains(part), "{:?} should say {part:?}", message(&array));
    }
}

#[test]
fn memory_that_is_not_there_is_a_typed_error_and_work_goes_on() {
    let runtime = Runtime::builder().threads(1).memory_budget(1 << 20).build().unwrap();
    runtime.scope(|| {
        let large = Array::zeros::<f64>([1 << 20]);
        let error: Error = large.eval().map(drop).unwrap_err();
        assert!(matches!(error.kind(), crossover_runtime::Error::OutOfMemory { .. }), "{error}");
        // The request was right: once there is memory it can be asked again, and other arrays are not affected.
        assert!(large.check().is_ok());
        assert_eq!(large.slice(..3).add(1.0).sum(()).item::<f64>().unwrap(), 3.0);
        assert!(Array::from_vec(vec![0u8; 1 << 21], [1 << 21]).check().is_err());
    });
}

#[test]
fn items_need_exactly_one_element() {
    let x = Array::from([[7u16]]);
    assert_eq!(x.item::<u16>().unwrap(), 7);
    assert!(x.item::<u8>().unwrap_err().to_string().contains("u8 is not supported (supported: u16)"));
    let error = Array::from([1, 2]).item::<i32>().unwrap_err();
    assert!(error.to_string().contains("shape [2] has 2 elements"));
    assert!(Array::zeros::<f32>([0]).to_scalar().is_err());
}

#[test]
fn wrong_assignments_change_nothing() {
    let x = Array::from([1i32, 2, 3]);
    assert!(x.assign(Array::from([1, 2])).unwrap_err().to_string().contains("shapes [3] and [2]"));
    assert!(x.broadcast_to([2, 3]).assign(0).unwrap_err().to_string().contains("repeats elements"));
    assert!(x.fill(1i64 << 40).unwrap_err().to_string().contains("does not fit into i32"));
    assert!(x.assign(num_complex::Complex::new(1.0f32, 1.0)).is_err());
    assert_eq!(x.to_vec::<i32>().unwrap(), [1, 2, 3]);
}
