//! Arrays of other libraries: shapes, strides and bits survive both ways.
#![cfg(all(feature = "ndarray", feature = "faer"))]

use crossover_array::{Array, Complex, DType, Result, bf16};
use ndarray::{Array2, ArrayD, IxDyn, s};

#[test]
fn ndarray_of_any_layout_comes_back() -> Result<()> {
    let x = Array2::from_shape_fn((3, 4), |(i, j)| (4 * i + j) as i64);
    let want = Array::arange(12).reshape([3, 4]);
    assert_eq!(Array::from(&x).to_vec::<i64>()?, want.to_vec::<i64>()?);
    let view = x.slice(s![..;-1, 1..;2]);
    let array = Array::from(&view);
    assert_eq!((array.shape().dims(), array.to_vec::<i64>()?), (&[3, 2][..], vec![9, 11, 5, 7, 1, 3]));
    assert_eq!(want.t().to_ndarray::<i64>()?, x.t().into_dyn());
    assert_eq!(Array::from(ArrayD::from_elem(IxDyn(&[]), bf16::ONE)).item::<bf16>()?, bf16::ONE);
    assert_eq!(Array::from(Array2::<f32>::zeros((0, 3))).shape().dims(), [0, 3]);
    assert_eq!(Array::zeros::<u8>([2, 0]).to_ndarray::<u8>()?.shape(), [2, 0]);
    assert!(want.to_ndarray::<f32>().is_err());
    let nan = f32::from_bits(0x7fc0_1234);
    assert_eq!(Array::from(&ndarray::arr1(&[nan])).to_ndarray::<f32>()?[0].to_bits(), nan.to_bits());
    Ok(())
}

#[test]
fn faer_matrices_of_any_layout_come_back() -> Result<()> {
    let a = faer::Mat::from_fn(2, 3, |i, j| Complex::new(i as f64, j as f64));
    let array = Array::from(&a);
    assert_eq!((array.dtype(), array.shape().dims()), (DType::C128, &[2, 3][..]));
    assert_eq!(array.to_faer::<Complex<f64>>()?, a);
    assert_eq!(Array::from(a.transpose()).to_faer::<Complex<f64>>()?, a.transpose());
    assert_eq!(Array::from(a.as_ref().reverse_rows()).to_vec::<Complex<f64>>()?[0], Complex::new(1.0, 0.0));
    let empty = Array::zeros::<f32>([0, 3]).to_faer::<f32>()?;
    assert_eq!((empty.nrows(), empty.ncols()), (0, 3));
    assert!(array.to_faer::<f64>().is_err());
    assert!(Array::arange(3).to_faer::<i64>().is_err());
    Ok(())
}
