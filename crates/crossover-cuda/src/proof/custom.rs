//! Kernels as users write them, with operands under any layout, and the result that their closures give.

use crossover_core::{
    DType, Shape,
    custom::{CustomKernel, Grid, Launches, Part, TensorMap, Work},
    graph::Op,
    reference::Tensor,
};
use crossover_plan::kernel::CallOp;
use half::{bf16, f16};
use num_complex::Complex;

use super::{
    calls::{Array, CallCase, case, shape},
    random::{Random, fill},
};

/// Elementwise kernels over every kind of dtype; closures and statements give the same bits.
pub fn elementwise() -> Vec<CustomKernel> {
    use DType::{BF16, Bool, C64, C128, F16, F32, F64, I8, I32, I64, U8, U64};
    let start = |name: &str, inputs: &[(&str, DType)], output: DType| {
        let builder = CustomKernel::builder(name).output("out", output);
        inputs.iter().fold(builder, |builder, (name, dtype)| builder.input(name, *dtype))
    };
    let all = [
        start("saxpy", &[("a", F32), ("x", F32), ("y", F32)], F32)
            .elementwise("out = a * x + y", |a: f32, x: f32, y: f32| a * x + y),
        start("leaky", &[("x", F64)], F64).elementwise(
            "if (x > 0) {\n    out = x;\n} else {\n    out = 0.01 * x;\n}",
            |x: f64| {
                if x > 0.0 { x } else { 0.01 * x }
            },
        ),
        start("blend", &[("mask", Bool), ("x", I64), ("y", I64)], I64)
            .elementwise("out = mask ? x : y;", |mask: bool, x: i64, y: i64| if mask { x } else { y }),
        start("below", &[("x", F16), ("y", F16)], Bool).elementwise("out = x < y", |x: f16, y: f16| x < y),
        start("product", &[("x", BF16), ("y", F16)], F16)
            .elementwise("out = x * y", |x: bf16, y: f16| f16::from_f32(x.to_f32() * y.to_f32())),
        start("turned", &[("a", C64), ("b", C64)], C64).elementwise(
            "out.re = a.re * b.re - a.im * b.im;\nout.im = a.re * b.im + a.im * b.re;",
            |a: Complex<f32>, b: Complex<f32>| {
                Complex::new(a.re * b.re - a.im * b.im, a.re * b.im + a.im * b.re)
            },
        ),
        start("swapped", &[("z", C128)], C128)
            .elementwise("out.re = z.im; out.im = z.re", |z: Complex<f64>| Complex::new(z.im, z.re)),
        start("mixed", &[("a", U8), ("b", I8), ("c", I32), ("d", U64)], U64).elementwise(
            "out = d + (unsigned long long)(a ^ (unsigned char)b) * (unsigned)c",
            |a: u8, b: i8, c: i32, d: u64| {
                d.wrapping_add((u64::from(a ^ b as u8)).wrapping_mul(u64::from(c as u32)))
            },
        ),
    ];
    all.into_iter().filter_map(|builder| builder.build().ok()).collect()
}

/// A call of an elementwise kernel on operands of any layout.
pub fn random_custom(seed: u64, large: bool) -> Option<CallCase> {
    let random = &mut Random::new(seed);
    let kernels = elementwise();
    let kernel = kernels[seed as usize % kernels.len()].clone();
    let shape: Shape = shape(random, large).into_iter().collect();
    let operand = |(i, dtype): (usize, DType)| {
        let mut bytes = vec![0; shape.size() * dtype.size()];
        fill(&mut bytes, dtype, seed * 8 + i as u64, seed.is_multiple_of(2));
        let tensor = Tensor { dtype, shape: shape.clone(), bytes };
        Array::new(random, tensor)
    };
    let operands = kernel.inputs().iter().map(|p| p.dtype).enumerate().map(operand).collect();
    case(format!("{} {seed}", kernel.name()), Op::Custom(kernel.clone()), CallOp::Custom(kernel), operands)
}

/// Sums of rows by a tree in shared memory.
const ROW_SUMS: &str = r#"
template <int Threads>
__device__ int tree(int* part, int value) {
    part[threadIdx.x] = value;
    for (int half = Threads / 2; half > 0; half /= 2) {
        __syncthreads();
        if (threadIdx.x < half) part[threadIdx.x] += part[threadIdx.x + half];
    }
    return part[0];
}

extern "C" __global__ void row_sums(
    const int* __restrict__ x, int* __restrict__ out, const long long rows, const long long columns)
{
    extern __shared__ int part[];
    int sum = 0;
    for (long long i = threadIdx.x; i < columns; i += blockDim.x) sum += x[blockIdx.x * columns + i];
    sum = tree<128>(part, sum);
    if (threadIdx.x == 0 && blockIdx.x < rows) out[blockIdx.x] = sum;
}
"#;

/// Rows and columns exchanged, by a grid of two axes.
const TURN: &str = r#"
extern "C" __global__ void turn(const double* x, double* out, long long rows, long long columns) {
    const long long row = blockIdx.y * blockDim.y + threadIdx.y, column = blockIdx.x * blockDim.x + threadIdx.x;
    if (row < rows && column < columns) out[column * rows + row] = x[row * columns + column];
}
"#;

/// How often each byte occurs, added up in memory that starts as zeros.
const COUNTS: &str = r#"
extern "C" __global__ void counts(const unsigned char* x, unsigned* out, long long n) {
    const long long step = (long long)gridDim.x * blockDim.x;
    for (long long i = blockIdx.x * (long long)blockDim.x + threadIdx.x; i < n; i += step) atomicAdd(&out[x[i]], 1u);
}
"#;

/// Sixteen-bit floats, by the conversions that sources may use.
const HALVED: &str = r#"
extern "C" __global__ void halved(const unsigned short* x, unsigned short* out, long long n) {
    const long long i = blockIdx.x * (long long)blockDim.x + threadIdx.x;
    if (i < n) out[i] = xo_settle_f16(xo_widen_f16(x[i]) * 0.5f);
}
"#;

/// The largest element times a factor, by parts in scratch memory and a second launch.
const LARGEST: &str = r#"
__device__ float larger(float a, float b) { return a > b ? a : b; }

template <typename T>
__device__ float largest_of(const T* x, long long first, long long n, long long step) {
    __shared__ float part[128];
    float most = -3.0e38f;
    for (long long i = first; i < n; i += step) most = larger(most, x[i]);
    part[threadIdx.x] = most;
    for (int half = 64; half > 0; half /= 2) {
        __syncthreads();
        if (threadIdx.x < half) part[threadIdx.x] = larger(part[threadIdx.x], part[threadIdx.x + half]);
    }
    return part[0];
}

extern "C" __global__ void largest_parts(const float* x, float* out, unsigned char* scratch, long long n) {
    const long long first = blockIdx.x * (long long)blockDim.x + threadIdx.x;
    const float most = largest_of(x, first, n, (long long)gridDim.x * blockDim.x);
    if (threadIdx.x == 0) ((float*)scratch)[blockIdx.x] = most;
}

extern "C" __global__ void largest(const float* x, float* out, unsigned char* scratch, long long parts, float factor) {
    const float most = largest_of((const float*)scratch, threadIdx.x, parts, 128);
    if (threadIdx.x == 0) out[0] = most * factor;
}
"#;

/// Rows of 32 integers doubled (floats may be NaN, whose bits differ), element by element, and on Hopper through tiles that the copy
/// engine moves.
const TILES: &str = r#"
extern "C" __global__ void tiles(const int* x, int* out, long long n) {
    const long long i = blockIdx.x * (long long)blockDim.x + threadIdx.x;
    if (i < n) out[i] = (int)(2u * (unsigned)x[i]);
}
"#;
const TILES_HOPPER: &str = r#"
extern "C" __global__ void tiles(
    const int* x, int* out, long long tiles, const __grid_constant__ xo_tensor_map from,
    const __grid_constant__ xo_tensor_map to)
{
    __shared__ alignas(128) unsigned tile[8][32];
    __shared__ unsigned long long arrived;
    const unsigned bar = (unsigned)__cvta_generic_to_shared(&arrived);
    const unsigned at = (unsigned)__cvta_generic_to_shared(&tile[0][0]);
    if (threadIdx.x == 0) {
        asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;" ::"r"(bar));
        asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
    }
    __syncthreads();
    unsigned phase = 0;
    for (int i = blockIdx.x; i < tiles; i += gridDim.x, phase ^= 1) {
        if (threadIdx.x == 0) {
            asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], 1024;" ::"r"(bar) : "memory");
            asm volatile(
                "cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1, {%2, %3}], [%4];" ::"r"(at),
                "l"(&from), "r"(0), "r"(8 * i), "r"(bar)
                : "memory");
        }
        unsigned done = 0;
        while (!done) {
            asm volatile(
                "{ .reg .pred p; mbarrier.try_wait.parity.shared::cta.b64 p, [%1], %2; selp.u32 %0, 1, 0, p; }"
                : "=r"(done)
                : "r"(bar), "r"(phase)
                : "memory");
        }
        for (int j = 0; j < 8; ++j) tile[j][threadIdx.x] *= 2u;
        asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
        __syncthreads();
        if (threadIdx.x == 0) {
            asm volatile(
                "cp.async.bulk.tensor.2d.global.shared::cta.bulk_group [%0, {%1, %2}], [%3];" ::"l"(&to), "r"(0), "r"(8 * i),
                "r"(at)
                : "memory");
            asm volatile("cp.async.bulk.commit_group;" ::: "memory");
            asm volatile("cp.async.bulk.wait_group 0;" ::: "memory");
        }
        __syncthreads();
    }
}
"#;

/// Kernels of several launches, and of sources by device.
fn several() -> [(crossover_core::custom::Builder, Vec<Shape>); 2] {
    let largest = CustomKernel::builder("largest")
        .input("x", DType::F32)
        .output("out", DType::F32)
        .shape(|_| Ok(Shape::from([1])))
        .work(|inputs, _| Work { simple: inputs[0].size() as u64, ..Work::default() })
        .cpu(|inputs, output| {
            let most = inputs.slice::<f32>(0)?.iter().fold(-3.0e38, |a: f32, &b| if a > b { a } else { b });
            output.slice::<f32>()?[0] = most * 0.3;
            Ok(())
        })
        .cuda(LARGEST, |inputs, _| {
            let parts = 37;
            let first = Grid::new([parts, 1, 1], [128, 1, 1]).entry("largest_parts").size(inputs[0].size());
            let second = Grid::new([1, 1, 1], [128, 1, 1]).size(parts).float(0.3);
            Launches::from(first).then(second).scratch(parts * 4)
        });
    let tiles = CustomKernel::builder("tiles")
        .input("x", DType::I32)
        .output("out", DType::I32)
        .shape(|shapes| Ok(shapes[0].clone()))
        .pieces(|_, _| 1000)
        .cpu(|inputs, output| {
            let (x, start) = (inputs.slice::<i32>(0)?, output.start());
            for (at, out) in output.slice::<i32>()?.iter_mut().enumerate() {
                *out = x[start + at].wrapping_mul(2);
            }
            Ok(())
        })
        .cuda(TILES, |_, out| Grid::covering(out.size(), 256).size(out.size()))
        .cuda_since(90, TILES_HOPPER, |_, out| {
            let rows = out.size() / 32;
            let map = |part| TensorMap::new(part, DType::I32, &[rows, 32], &[8, 32]);
            let tiles = rows.div_ceil(8);
            let grid = Grid::new([tiles, 1, 1], [32, 1, 1]).resident(2).size(tiles);
            grid.map(map(Part::Operand(0))).map(map(Part::Result))
        });
    let rows = vec![Shape::from([100, 32]), Shape::from([10_001, 32])];
    [(largest, vec![Shape::from([100_003]), Shape::from([3])]), (tiles, rows)]
}

/// Whole kernels, each with shapes to call it on.
pub fn whole() -> Vec<(CustomKernel, Vec<Shape>)> {
    let two = |shapes: &[&Shape]| match shapes[0].dims() {
        [rows, columns] => Ok([*rows, *columns]),
        dims => Err(format!("wants two axes, not {dims:?}")),
    };
    let sums = CustomKernel::builder("row_sums")
        .input("x", DType::I32)
        .output("out", DType::I32)
        .shape(move |shapes| two(shapes).map(|[rows, _]| Shape::from([rows])))
        .cpu(|inputs, output| {
            let (x, columns) = (inputs.slice::<i32>(0)?, inputs.shape(0)[1]);
            for (row, out) in output.slice::<i32>()?.iter_mut().enumerate() {
                let row = &x[row * columns..(row + 1) * columns];
                *out = row.iter().fold(0, |sum: i32, &x| sum.wrapping_add(x));
            }
            Ok(())
        })
        .cuda(ROW_SUMS, |inputs, _| {
            let (rows, columns) = (inputs[0][0], inputs[0][1]);
            Grid::new([rows, 1, 1], [128, 1, 1]).shared(128 * 4).size(rows).size(columns)
        });
    let turn = CustomKernel::builder("turn")
        .input("x", DType::F64)
        .output("out", DType::F64)
        .shape(move |shapes| two(shapes).map(|[rows, columns]| Shape::from([columns, rows])))
        .cpu(|inputs, output| {
            let (x, shape) = (inputs.slice::<f64>(0)?, inputs.shape(0));
            for (at, out) in output.slice::<f64>()?.iter_mut().enumerate() {
                *out = x[at % shape[0] * shape[1] + at / shape[0]];
            }
            Ok(())
        })
        .cuda(TURN, |inputs, _| {
            let (rows, columns) = (inputs[0][0], inputs[0][1]);
            Grid::new([columns.div_ceil(32), rows.div_ceil(8), 1], [32, 8, 1]).size(rows).size(columns)
        });
    let counts = CustomKernel::builder("counts")
        .input("x", DType::U8)
        .output("out", DType::U32)
        .shape(|_| Ok(Shape::from([256])))
        .zeroed()
        .cpu(|inputs, output| {
            let counts = output.slice::<u32>()?;
            inputs.slice::<u8>(0)?.iter().for_each(|&x| counts[x as usize] += 1);
            Ok(())
        })
        .cuda(COUNTS, |inputs, _| Grid::new([64, 1, 1], [256, 1, 1]).size(inputs[0].size()));
    let halved = CustomKernel::builder("halved")
        .input("x", DType::F16)
        .output("out", DType::F16)
        .shape(|shapes| Ok(shapes[0].clone()))
        .cpu(|inputs, output| {
            let x = inputs.slice::<f16>(0)?;
            for (out, x) in output.slice::<f16>()?.iter_mut().zip(x) {
                let half = f16::from_f32(x.to_f32() * 0.5);
                *out = if half.is_nan() { f16::from_bits(0x7e00) } else { half };
            }
            Ok(())
        })
        .cuda(HALVED, |_, out| Grid::covering(out.size(), 256).size(out.size()));
    let square = vec![Shape::from([37, 203]), Shape::from([1, 1]), Shape::from([300, 1001])];
    let lines = vec![Shape::from([100_003]), Shape::from([3, 1000])];
    [(sums, square.clone()), (turn, square), (counts, lines.clone()), (halved, lines)]
        .into_iter()
        .chain(several())
        .filter_map(|(builder, shapes)| Some((builder.build().ok()?, shapes)))
        .collect()
}

/// A call of every whole kernel for every shape.
pub fn whole_calls() -> Vec<CallCase> {
    let mut out = Vec::new();
    for (kernel, shapes) in whole() {
        for (seed, shape) in shapes.into_iter().enumerate() {
            let dtype = kernel.inputs()[0].dtype;
            let mut bytes = vec![0; shape.size() * dtype.size()];
            fill(&mut bytes, dtype, seed as u64, false);
            let operand = Array::plain(Tensor { dtype, shape, bytes });
            let (op, call) = (Op::Custom(kernel.clone()), CallOp::Custom(kernel.clone()));
            out.extend(case(kernel.name().to_string(), op, call, vec![operand]));
        }
    }
    out
}

#[cfg(test)]
mod tests {
    #[test]
    fn every_kernel_is_well_defined() {
        assert_eq!((super::elementwise().len(), super::whole().len()), (8, 6));
        assert_eq!(super::whole_calls().len(), 14);
    }
}
