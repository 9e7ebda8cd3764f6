//! Eager runtimes, and who made a NaN.
#![allow(clippy::unwrap_used)]

use crossover_array::{Array, Result, Runtime, linalg};

fn eager() -> Runtime {
    Runtime::builder().threads(1).eager(true).build().unwrap()
}

#[test]
fn an_eager_runtime_computes_where_the_operation_is_written() -> Result<()> {
    let runtime = eager();
    let x = Array::from([0.0f64, 1.0]);
    let y = runtime.scope(|| {
        let y = x.exp();
        assert_eq!(runtime.executor().counts().launches, 1);
        let y = y + 1.0;
        assert_eq!(runtime.executor().counts().launches, 2);
        y
    });
    // What is made elsewhere stays lazy.
    let lazy = y.sqrt();
    assert_eq!(runtime.executor().counts().launches, 2);
    assert!(lazy.to_vec::<f64>()?[0] > 1.0);
    Ok(())
}

#[test]
fn an_eager_failure_is_in_the_array_at_once_with_its_line() {
    let (inverse, line) = eager().scope(|| (linalg::inv(&Array::from([[1.0f64, 2.0], [2.0, 4.0]])), line!()));
    // `check` computes nothing: the error is there already.
    let error = inverse.check().unwrap_err();
    assert!(error.to_string().starts_with("inv: matrix 0 is singular"), "{error}");
    assert_eq!((error.location().file(), error.location().line()), (file!(), line));
    let lazy = linalg::inv(&Array::from([[1.0f64, 2.0], [2.0, 4.0]]));
    assert!(lazy.check().is_ok());
}

#[test]
fn refusing_nan_names_the_line_that_made_it_and_nothing_that_passed_it_on() -> Result<()> {
    let runtime = Runtime::builder().threads(1).refuse_nan(true).build()?;
    runtime.scope(|| {
        let x = Array::from([[1.0f32, 0.0], [2.0, 3.0]]);
        let (bad, line) = ((&x - &x) / &x, line!());
        let error = bad.check().unwrap_err();
        assert!(
            error.to_string().starts_with("divide: made a NaN at [0, 1] of operands without one"),
            "{error}"
        );
        assert_eq!(error.location().line(), line);
        // A NaN that was loaded is nobody's fault, and compositions that only pass it on are not blamed.
        let loaded = Array::from([f32::NAN, 1.0]);
        assert!((&loaded + 1.0).check().is_ok() && loaded.softmax(0).check().is_ok());
        // Infinities over infinities inside a composition: the call is blamed.
        let (soft, line) = (Array::from([f32::INFINITY, f32::INFINITY]).softmax(0), line!());
        assert_eq!(soft.check().unwrap_err().location().line(), line);
        assert!(x.greater(0.5).where_(&x, 0.0).sum(()).check().is_ok());
        Ok(())
    })
}

#[test]
fn the_finder_names_operation_place_and_line() -> Result<()> {
    let x = Array::from([[1.0f64, -4.0], [9.0, 16.0]]);
    let (roots, line) = (x.sqrt(), line!());
    let total = (roots * 2.0).sum(1);
    let origin = total.find_nan()?.unwrap();
    assert_eq!((origin.op(), origin.index(), origin.location().line()), ("sqrt", &[0, 1][..], line));
    // A view without the NaN has none.
    assert!(x.sqrt().index(1).find_nan()?.is_none());
    let loaded = Array::from([0.0f32, f32::NAN]);
    let origin = (&loaded * 3.0).find_nan()?.unwrap();
    assert_eq!((origin.op(), origin.index()), ("input", &[1][..]));
    assert_eq!(
        origin.to_string(),
        format!("input holds a NaN at [1] (at {}:{})", file!(), origin.location().line())
    );
    assert!(Array::arange(3).find_nan()?.is_none());
    // 0 · ∞, of a host number.
    let origin = (Array::from([0.0f32]) * f32::INFINITY).find_nan()?.unwrap();
    assert_eq!(origin.op(), "multiply");
    assert!(Array::from([1.0f32]).reshape([7]).find_nan().is_err());
    Ok(())
}

#[test]
fn rows_come_from_both_ends_and_share_storage() -> Result<()> {
    let x = Array::arange(6).reshape([3, 2]);
    for (i, row) in x.rows().enumerate() {
        row.fill(i as i64)?;
    }
    assert_eq!(x.to_vec::<i64>()?, [0, 0, 1, 1, 2, 2]);
    let mut rows = x.rows();
    assert_eq!(rows.next_back().unwrap().to_vec::<i64>()?, [2, 2]);
    assert_eq!(rows.len(), 2);
    assert_eq!(Array::zeros::<f32>([0, 3]).rows().count(), 0);
    assert!(x.reshape([7]).rows().all(|row| row.check().is_err()));
    Ok(())
}
