//! Two kernels of one's own, as operations of array code: a formula, and a whole kernel with its launch.
//!
//! `cargo run --release -p crossover --example custom_kernel`

use crossover::{Array, CustomKernel, DType, Error, Grid, Shape};

/// The largest element of each row, one block of threads per row.
const ROW_MAX: &str = r#"
extern "C" __global__ void row_max(const float* x, float* out, long long columns) {
    extern __shared__ float best[];
    const float* row = x + blockIdx.x * columns;
    float most = row[0];
    for (long long i = threadIdx.x; i < columns; i += blockDim.x) most = fmaxf(most, row[i]);
    best[threadIdx.x] = most;
    for (unsigned half = blockDim.x / 2; half > 0; half /= 2) {
        __syncthreads();
        if (threadIdx.x < half) best[threadIdx.x] = fmaxf(best[threadIdx.x], best[threadIdx.x + half]);
    }
    if (threadIdx.x == 0) out[blockIdx.x] = best[0];
}
"#;

fn main() -> Result<(), Error> {
    // One element at a time: a CUDA statement, and a closure that does the same.
    let leaky = CustomKernel::builder("leaky_relu")
        .input("x", DType::F32)
        .input("slope", DType::F32)
        .output("out", DType::F32)
        .elementwise("out = x > 0 ? x : slope * x", |x: f32, slope: f32| if x > 0.0 { x } else { slope * x })
        .build()?;

    // All elements at once: the shape of the result, a closure for the CPU, a kernel and its launch for the GPU.
    let row_max = CustomKernel::builder("row_max")
        .input("x", DType::F32)
        .output("out", DType::F32)
        .shape(|shapes| match shapes[0].dims() {
            [rows, columns] if *columns > 0 => Ok(Shape::from([*rows])),
            dims => Err(format!("wants rows of at least one element, not {dims:?}")),
        })
        .cpu(|inputs, output| {
            let columns = inputs.shape(0)[1];
            let rows = inputs.slice::<f32>(0)?.chunks(columns);
            for (out, row) in output.slice::<f32>()?.iter_mut().zip(rows) {
                *out = row.iter().copied().fold(f32::NEG_INFINITY, f32::max);
            }
            Ok(())
        })
        .cuda(ROW_MAX, |inputs, _| {
            Grid::new([inputs[0][0], 1, 1], [256, 1, 1]).shared(256 * 4).size(inputs[0][1])
        })
        .build()?;

    let x = Array::linspace_dtype(-1.0, 1.0, 3000, DType::F32).reshape([3, 1000]);
    let y = leaky.call(&[&x, &Array::scalar(0.01f32)]);
    let best = row_max.call(&[&(&y * 2.0)]);
    println!("{}", best.explain()?);
    println!("largest of each row: {best}");
    let want = (&y * 2.0).max(1);
    assert_eq!(best.to_vec::<f32>()?, want.to_vec::<f32>()?);

    // What does not fit is an error of the call, and names its line.
    let wrong = row_max.call(&[&x.astype(DType::F64)]);
    println!("{}", wrong.check().err().map_or_else(String::new, |error| error.to_string()));
    Ok(())
}
