//! Transforms and decompositions by CUDA's libraries, within the bounds that the CPU's results have.

use crossover::{Array, Complex, DType, Device, Key, fft, linalg, random, with_device};

use crate::{Options, Result, report::Report, setup::Setup};

/// Half a unit in the last place of 1.
fn epsilon(dtype: DType) -> f64 {
    if dtype.real() == DType::F32 { f64::from(f32::EPSILON) / 2.0 } else { f64::EPSILON / 2.0 }
}

fn norm(x: &Array) -> Result<f64> {
    Ok(x.astype(DType::C128).abs().square().sum(()).sqrt().item::<f64>()?)
}

/// The distance of two arrays over the norm of the second, on the CPU in double precision.
fn distance(got: &Array, want: &Array) -> Result<f64> {
    with_device(Device::Cpu, || {
        let (got, want) = (got.astype(DType::C128), want.astype(DType::C128));
        Ok(norm(&(got - &want))? / norm(&want)?.max(1e-300))
    })
}

fn operand(seed: u64, shape: &[usize], dtype: DType) -> Array {
    let real = random::normal::<f64>(&Key::new(seed), shape.to_vec());
    if !dtype.is_complex() {
        return real.astype(dtype);
    }
    let imaginary = random::normal::<f64>(&Key::new(seed + 1000), shape.to_vec()).astype(DType::C128);
    (real.astype(DType::C128) + imaginary * Array::from([Complex::new(0.0f64, 1.0)])).astype(dtype)
}

/// The worst of many errors over their bounds.
#[derive(Default)]
struct Worst {
    count: u64,
    excess: f64,
    name: String,
}

impl Worst {
    fn note(&mut self, excess: f64, name: String) {
        self.count += 1;
        if excess.is_nan() || excess > self.excess {
            (self.excess, self.name) = (excess, name);
        }
    }

    fn words(&self) -> String {
        format!("{}, the largest error {:.3} of its bound ({})", self.count, self.excess, self.name)
    }
}

pub fn run(setup: &Setup, _: &Options, report: &mut Report) -> Result<()> {
    for (name, state) in setup.cuda.libraries()? {
        report.check(name, state.is_ok(), format!("{state:?}"));
    }
    transforms(setup, report)?;
    decompositions(setup, report)?;
    speed(setup, report)
}

fn transforms(setup: &Setup, report: &mut Report) -> Result<()> {
    let runtime = setup.runtime(true);
    runtime.scope(|| -> Result<()> {
        let mut worst = Worst::default();
        let shapes: [(&[usize], &[i64]); 12] = [
            (&[1], &[0]),
            (&[2], &[0]),
            (&[1000], &[0]),
            (&[1021], &[0]),
            (&[3, 4096], &[1]),
            (&[77, 30], &[0]),
            (&[5, 30, 7], &[1]),
            (&[12, 18], &[0, 1]),
            (&[4, 9, 16], &[0, 1, 2]),
            (&[3, 5, 4, 6], &[0, 1, 2, 3]),
            (&[6, 3, 10], &[0, 2]),
            (&[1 << 18], &[0]),
        ];
        for (at, (shape, axes)) in shapes.iter().enumerate() {
            for dtype in [DType::F32, DType::F64, DType::C64, DType::C128] {
                let x = operand(at as u64 * 10, shape, dtype);
                let points: usize = axes.iter().map(|&a| shape[a as usize]).product();
                let bound = epsilon(dtype) * (4.0 * (points as f64).log2() + 8.0);
                let wide = with_device(Device::Cpu, || {
                    x.astype(if dtype.is_complex() { DType::C128 } else { DType::F64 }).eval().cloned()
                })?;
                let mut compare = |name: &str, work: &dyn Fn(&Array) -> Array| -> Result<()> {
                    let got = work(&x);
                    got.eval()?;
                    let want = with_device(Device::Cpu, || work(&wide).eval().cloned())?;
                    worst.note(distance(&got, &want)? / bound, format!("{name} {dtype} {shape:?} {axes:?}"));
                    Ok(())
                };
                let all = || fft::Options::new().axes(axes.to_vec());
                let one = || fft::Options::new().axis(axes[0]);
                if axes.len() > 1 {
                    compare("fftn", &|x| fft::fftn_with(x, all()))?;
                    compare("ifftn", &|x| fft::ifftn_with(x, all()))?;
                } else if dtype.is_complex() {
                    compare("fft", &|x| fft::fft_with(x, one()))?;
                    compare("ifft", &|x| fft::ifft_with(x, one()))?;
                    let length = 2 * shape[axes[0] as usize] - 1;
                    compare("irfft", &|x| fft::irfft_with(x, one().length(length)))?;
                    compare("irfft even", &|x| fft::irfft_with(x, one().length(length.max(2) - 1)))?;
                } else {
                    compare("rfft", &|x| fft::rfft_with(x, one()))?;
                }
            }
        }
        let fallbacks = runtime.executor().counts().fallbacks;
        let detail = format!("transforms: {}; {fallbacks} on the host", worst.words());
        report.check("transforms", worst.excess <= 1.0 && fallbacks == 0, detail);
        Ok(())
    })
}

fn decompositions(setup: &Setup, report: &mut Report) -> Result<()> {
    let runtime = setup.runtime(true);
    runtime.scope(|| -> Result<()> {
        let mut worst = Worst::default();
        let mut launched = 0;
        for (at, &(m, n)) in [(128, 128), (150, 130), (130, 150), (520, 520)].iter().enumerate() {
            for dtype in [DType::F32, DType::F64, DType::C64, DType::C128] {
                let shape: &[usize] = if at == 1 { &[2, m, n] } else { &[m, n] };
                let a = operand(at as u64, shape, dtype);
                let side = m.max(n) as f64;
                let bound = 8.0 * side * side.sqrt() * epsilon(dtype);
                let mut hold = |name: &str, made: Array, want: &Array| -> Result<()> {
                    launched += 1;
                    worst.note(distance(&made, want)? / bound, format!("{name} {dtype} {shape:?}"));
                    Ok(())
                };
                let adjoint = |x: &Array| x.conj().swap_axes(-1, -2);
                let cpu = |work: &dyn Fn() -> Array| with_device(Device::Cpu, || work().eval().cloned());
                for complete in [false, true] {
                    let (q, r) = if complete { linalg::qr_complete(&a) } else { linalg::qr(&a) };
                    q.eval()?;
                    hold("qr", cpu(&|| q.matmul(&r))?, &a)?;
                    let columns = q.shape().dims()[q.shape().rank() - 1];
                    let identity = Array::eye_dtype(columns, columns, 0, dtype);
                    let square = cpu(&|| adjoint(&q).matmul(&q))?;
                    hold("qr orthogonal", square.clone(), &cpu(&|| square.zeros_like() + &identity)?)?;
                    let (u, s, vh) = if complete { linalg::svd_full(&a) } else { linalg::svd(&a) };
                    u.eval()?;
                    let k = m.min(n) as i64;
                    let thin = |x: &Array, columns: bool| match columns {
                        true => x.slice(crossover::s![.., .., 0..k]),
                        false => x.slice(crossover::s![.., 0..k, ..]),
                    };
                    let three = |x: &Array| if x.shape().rank() == 2 { x.expand_dims(0) } else { x.clone() };
                    let made = cpu(&|| {
                        let scaled = thin(&three(&u), true) * three(&s.expand_dims(-2)).astype(dtype);
                        scaled.matmul(&thin(&three(&vh), false))
                    })?;
                    hold("svd", made, &cpu(&|| three(&a))?)?;
                }
                if m == n {
                    let h = cpu(&|| &a + adjoint(&a))?;
                    let (values, v) = linalg::eigh(&h);
                    v.eval()?;
                    hold("eigh", cpu(&|| (&v * values.astype(dtype)).matmul(&adjoint(&v)))?, &h)?;
                    let definite =
                        cpu(&|| a.matmul(&adjoint(&a)) + Array::eye_dtype(n, n, 0, dtype) * (n as f64))?;
                    let l = linalg::cholesky(&definite);
                    l.eval()?;
                    hold("cholesky", cpu(&|| l.matmul(&adjoint(&l)))?, &definite)?;
                    let b = operand(77, &[n, 5], dtype);
                    let x = linalg::solve(&definite, &b);
                    x.eval()?;
                    hold("solve", cpu(&|| definite.matmul(&x))?, &b)?;
                    let inverse = linalg::inv(&definite);
                    inverse.eval()?;
                    hold(
                        "inv",
                        cpu(&|| definite.matmul(&inverse))?,
                        &cpu(&|| Array::eye_dtype(n, n, 0, dtype))?,
                    )?;
                    let (values, v) = linalg::eig(&a);
                    v.eval()?;
                    let whole = dtype.complex();
                    let left = cpu(&|| a.astype(whole).matmul(&v))?;
                    hold("eig", cpu(&|| &v * &values)?, &left)?;
                }
            }
        }
        let fallbacks = runtime.executor().counts().fallbacks;
        let detail = format!("decompositions: {}; {fallbacks} on the host", worst.words());
        report.check("decompositions", worst.excess <= 1.0 && fallbacks < launched, detail);
        // What has no result is the host's to explain.
        let singular = linalg::inv(&Array::zeros::<f64>([150, 150])).to_vec::<f64>();
        let message = singular.err().map(|e| e.to_string()).unwrap_or_default();
        report.check("a singular matrix", message.contains("singular"), message);
        Ok(())
    })
}

/// Milliseconds on the GPU and on the CPU, by the host's clock.
fn speed(setup: &Setup, report: &mut Report) -> Result<()> {
    type Work = fn(&Array) -> Array;
    let list: [(&str, Work); 8] = [
        ("cholesky", |a| {
            linalg::cholesky(&(a.matmul(&a.t()) + Array::eye::<f32>(a.shape().dims()[0]) * 1e3))
        }),
        ("solve", |a| linalg::solve(a, a)),
        ("qr", |a| linalg::qr(a).1),
        ("eigh", |a| linalg::eigh(&(a + a.t())).1),
        ("svd", |a| linalg::svd(a).0),
        ("eig", |a| linalg::eig(a).1),
        ("fft rows", fft::rfft),
        ("sort rows", |a| a.sort(-1)),
    ];
    for n in [64usize, 256, 1024] {
        let a = random::normal::<f32>(&Key::new(5), [n, n]);
        for (name, work) in list {
            if n > 256 && name == "eig" {
                continue;
            }
            let mut times = Vec::new();
            for gpu in [true, false] {
                let placement = if gpu {
                    crossover_runtime::Placement::On(crate::setup::GPU)
                } else {
                    Default::default()
                };
                let runtime = crossover::Runtime::from_executor(setup.executor(placement, true));
                let best = runtime.scope(|| -> Result<f64> {
                    a.eval()?;
                    let mut best = f64::INFINITY;
                    for _ in 0..3 {
                        let start = std::time::Instant::now();
                        work(&a).eval()?;
                        setup.cuda.synchronise()?;
                        best = best.min(start.elapsed().as_secs_f64() * 1e3);
                    }
                    Ok(best)
                })?;
                times.push(best);
            }
            report.figure(&format!("{name} {n} f32"), &[("gpu_ms", times[0]), ("cpu_ms", times[1])]);
        }
    }
    Ok(())
}
