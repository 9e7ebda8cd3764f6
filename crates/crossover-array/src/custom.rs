//! Calls of kernels that users write.

use crossover_core::{
    compose,
    custom::{Apply, CustomKernel},
};

use crate::Array;

/// Kernels of the user's, as operations on arrays.
///
/// ```
/// use crossover_array::{Array, CustomKernel, DType};
/// let saxpy = CustomKernel::builder("saxpy")
///     .input("a", DType::F32)
///     .input("x", DType::F32)
///     .input("y", DType::F32)
///     .output("out", DType::F32)
///     .elementwise("out = a * x + y", |a: f32, x: f32, y: f32| a * x + y)
///     .build()?;
/// let x = Array::from([1.0f32, 2.0, 3.0]);
/// let z = saxpy.call(&[&Array::scalar(10.0f32), &x, &x.square()]).exp().log();
/// assert_eq!(z.round().to_vec::<f32>()?, [11.0, 24.0, 39.0]);
/// // What does not fit the signature is an error of the call, with its line.
/// let wrong = saxpy.call(&[&x, &x]);
/// assert!(wrong.check().unwrap_err().to_string().starts_with("saxpy: takes 3 operands, 2 given"));
/// # Ok::<(), crossover_array::Error>(())
/// ```
impl Apply for Array {
    #[track_caller]
    fn apply(kernel: &CustomKernel, operands: &[&Array]) -> Array {
        Array::build_many(operands, |b, values| {
            compose::custom(b, kernel, &values.iter().collect::<Vec<_>>())
        })
    }
}
