//! Plans that repeat, replayed as CUDA graphs, and kernels from host memory to host memory: the same bits as on the CPU.

use std::sync::OnceLock;

use crossover::{Array, CustomKernel, DType, Device, Grid, Key, keepdims, random, with_device};

use crate::{Options, Result, report::Report, setup::Setup};

/// Operands and a number of the round to a result.
type Work = fn(&Array, &Array, f32) -> Array;

/// Every kind of kernel, with scratch memory, scalars that change and operands used several times; and calls, with numbers whose
/// products and sums are exact.
const WORK: [(&str, Work); 8] = [
    ("chain", |x, y, _| ((x + y).square() - x).exp().sin()),
    ("scalars", |x, y, s| (x * s + y).gelu() / (s + 2.0)),
    ("rows and columns", |x, y, s| {
        (x - x.mean(keepdims(-1))) / (y.std(keepdims(0)) + s) + x.softmax(-1).sum(()) * y
    }),
    ("sums", |x, y, s| (x.sum(0) * s + y.max(0)).sum(()) + x.square().sum(())),
    ("products", |x, y, s| (x.sign().matmul(&y.sign().t()) * s).matmul(&x.sign()).softmax(-1) + y),
    ("layers", |x, y, s| (x.sign().matmul(&y.sign().t()) + y.sign().sum(-1)).relu().matmul(&x.sign()) * s),
    ("lookups", |x, y, s| (x.sort(0) * s).take(&y.argsort(-1).index(0), 1).sort(1) + y),
    ("users' kernels", |x, y, s| ramp().call(&[&(ramp().call(&[&(x * s)]) - y)]).softmax(-1)),
];

/// A whole kernel of a user's, which adds to every element its place.
fn ramp() -> &'static CustomKernel {
    static RAMP: OnceLock<CustomKernel> = OnceLock::new();
    const SOURCE: &str = "extern \"C\" __global__ void ramp(const float* x, float* out, long long count) {
    const long long i = blockIdx.x * (long long)blockDim.x + threadIdx.x;
    if (i < count) out[i] = x[i] + (float)i;
}";
    RAMP.get_or_init(|| {
        let built = CustomKernel::builder("ramp")
            .input("x", DType::F32)
            .output("out", DType::F32)
            .shape(|shapes| Ok(shapes[0].clone()))
            .cpu(|inputs, output| {
                let x = inputs.slice::<f32>(0)?;
                for (i, (out, x)) in output.slice::<f32>()?.iter_mut().zip(x).enumerate() {
                    *out = x + i as f32;
                }
                Ok(())
            })
            .cuda(SOURCE, |inputs, _| Grid::covering(inputs[0].size(), 128).size(inputs[0].size()))
            .build();
        match built {
            Ok(kernel) => kernel,
            Err(error) => panic!("{error}"),
        }
    })
}

const ROUNDS: u64 = 24;

pub fn run(setup: &Setup, _: &Options, report: &mut Report) -> Result<()> {
    replayed(setup, report)?;
    streamed(setup, report)
}

fn replayed(setup: &Setup, report: &mut Report) -> Result<()> {
    let runtime = setup.runtime(false);
    for (name, work) in WORK {
        let before = runtime.executor().counts();
        let (mut differ, mut held) = (0, Vec::new());
        for round in 0..ROUNDS {
            let scalar = 1.0 + (round % 5) as f32;
            let normal = |seed| random::normal::<f32>(&Key::new(seed), [37, 61]);
            // Operands move and come back, and some results are held: memory is elsewhere from round to round.
            let (x, y) = (normal(round % 3), normal(7 + round % 2));
            let got = runtime.scope(|| -> Result<Array> {
                x.eval()?;
                y.eval()?;
                Ok(work(&x, &y, scalar).eval()?.clone())
            })?;
            let want = with_device(Device::Cpu, || work(&x, &y, scalar).to_vec::<f32>())?;
            if round % 3 == 0 {
                held.push((got.clone(), want.clone()));
            }
            differ += differences(&got.to_vec::<f32>()?, &want);
        }
        for (got, want) in held {
            differ += differences(&got.to_vec::<f32>()?, &want);
        }
        let counts = runtime.executor().counts();
        let replays = counts.replayed - before.replayed;
        let ok = differ == 0 && replays > 0 && counts.fallbacks == before.fallbacks;
        report.check(
            &format!("replayed {name}"),
            ok,
            format!("{differ} values differ in {ROUNDS} rounds, {replays} kernels replayed"),
        );
    }
    Ok(())
}

fn differences(got: &[f32], want: &[f32]) -> usize {
    let pairs = got.iter().zip(want).filter(|(a, b)| a.to_bits() != b.to_bits());
    pairs.count() + got.len().abs_diff(want.len())
}

/// Large vectors in and out.
fn streamed(setup: &Setup, report: &mut Report) -> Result<()> {
    for count in [1usize << 20, 3_000_001, 10_000_000] {
        let a: Vec<f32> = (0..count).map(|i| (i % 1999) as f32 * 0.004 - 4.0).collect();
        let b: Vec<f64> = (0..count).map(|i| (i % 977) as f64 * 0.5).collect();
        let work = || -> Result<(Vec<f32>, Vec<f64>)> {
            let (x, y) = (Array::from(a.as_slice()), Array::from(b.as_slice()));
            let one = x.gelu();
            let first = one.to_vec::<f32>()?;
            // Both are on the device now; what follows finds them there.
            let again = one.astype(DType::F64) + &y;
            Ok((first, again.to_vec::<f64>()?))
        };
        let got = setup.runtime(true).scope(work)?;
        let want = with_device(Device::Cpu, work)?;
        let wide = got.1.iter().zip(&want.1).filter(|(a, b)| a.to_bits() != b.to_bits()).count();
        let differ = differences(&got.0, &want.0) + wide;
        report.check(
            &format!("host to host, {count} values"),
            differ == 0 && got.1.len() == count,
            format!("{differ} values differ"),
        );
    }
    Ok(())
}
