//! Calls of our own kernels: random ones against the reference interpreter, large ones against the CPU, bit for bit.

use std::{
    sync::{
        Mutex,
        atomic::{AtomicU64, Ordering},
    },
    time::{Duration, Instant},
};

use crossover::{Array, Complex, DType, Device, Key, Scatter, Side, random, signal, with_device};
use crossover_cuda::proof::calls::{CallCase, random_call, random_convolution};
use crossover_plan::kernel::Kernel;
use crossover_runtime::{Backend, Block, Launch};

use crate::{Options, Result, report::Report, setup::Setup};

/// Random calls of each kind, for the usual number of graphs.
const SMALL: u64 = 6000;
const LARGE: u64 = 1200;
const CONVOLUTIONS: u64 = 800;
/// Seconds after which no new one is started.
const LIMIT: Duration = Duration::from_secs(60);

/// The bytes that the GPU gives for a case.
pub fn computed(cuda: &dyn Backend, case: &CallCase) -> Result<Vec<u8>> {
    let kernel = Kernel::Call(case.call.clone());
    let ready = cuda.prepare(&kernel)?;
    let mut blocks: Vec<Block> = Vec::new();
    for bytes in &case.operands {
        blocks.push(cuda.receive(bytes)?);
    }
    let poison = vec![0xa5; case.want.len()];
    let output = cuda.receive(&poison)?;
    ready.run(&Launch::new(&kernel, &blocks, &[output], &[])?)?;
    let mut got = poison;
    cuda.download(output, &mut got)?;
    blocks.into_iter().chain([output]).for_each(|block| cuda.free(block));
    Ok(got)
}

pub fn run(setup: &Setup, options: &Options, report: &mut Report) -> Result<()> {
    let start = Instant::now();
    let (next, checked) = (AtomicU64::new(0), AtomicU64::new(0));
    let wrong: Mutex<Vec<String>> = Mutex::default();
    let [small, large_ones, all] =
        [SMALL, SMALL + LARGE, SMALL + LARGE + CONVOLUTIONS].map(|n| n * options.graphs / 10_000);
    let one = |number: u64| -> Result<()> {
        let seed = options.seed + number;
        let case = match number {
            n if n < small => random_call(seed, false),
            n if n < large_ones => random_call(seed, true),
            n => random_convolution(seed, n % 8 == 0),
        };
        let Some(case) = case.filter(|case| !case.want.is_empty()) else { return Ok(()) };
        checked.fetch_add(1, Ordering::Relaxed);
        let got = computed(&*setup.cuda, &case).map_err(|error| format!("{}: {error}", case.name))?;
        match (0..got.len()).find(|&i| got[i] != case.want[i]) {
            Some(byte) => Err(format!("{}: byte {byte} differs", case.name).into()),
            None => Ok(()),
        }
    };
    std::thread::scope(|scope| {
        for _ in 0..options.threads {
            scope.spawn(|| {
                loop {
                    let number = next.fetch_add(1, Ordering::Relaxed);
                    if number >= all || start.elapsed() > LIMIT {
                        break;
                    }
                    if let Err(error) = one(number)
                        && let Ok(mut wrong) = wrong.lock()
                    {
                        wrong.push(error.to_string());
                    }
                }
            });
        }
    });
    let wrong = wrong.into_inner().unwrap_or_default();
    let words = match wrong.as_slice() {
        [] => "no bit differs".to_string(),
        some => format!("{} WRONG: {}", some.len(), some[..some.len().min(6)].join("\n")),
    };
    let detail = format!("{} calls in {:.0} s; {words}", checked.into_inner(), start.elapsed().as_secs_f64());
    report.check("random calls", wrong.is_empty() && next.into_inner() > 0, detail);
    large(setup, report)
}

/// Array code whose calls are large enough to fill the device.
fn large(setup: &Setup, report: &mut Report) -> Result<()> {
    let runtime = setup.runtime(true);
    runtime.scope(|| -> Result<()> {
        let n = 3_000_000;
        let x = random::normal::<f32>(&Key::new(70), [n]);
        let wide = random::normal::<f64>(&Key::new(71), [300, 7000]);
        let complex = x.astype(DType::C64) * Array::from([Complex::new(0.3f32, -1.7)]);
        let ids = random::integers::<i64>(&Key::new(72), [n], 0..50_000);
        let few = random::integers::<i64>(&Key::new(73), [n], 0..10);
        let image = random::normal::<f32>(&Key::new(74), [1000, 1111]);
        let kernel = random::normal::<f32>(&Key::new(75), [13, 9]);
        let table = random::normal::<f32>(&Key::new(76), [50_000, 24]);
        let zeros = Array::zeros::<f32>([50_000]);
        type Work<'a> = Box<dyn Fn() -> Array + 'a>;
        let work: Vec<(&str, Work<'_>)> = vec![
            ("sort f32", Box::new(|| x.sort(0))),
            ("argsort f32", Box::new(|| x.argsort(0))),
            ("sort descending u8", Box::new(|| x.astype(DType::U8).sort_descending(0))),
            ("sort f64 columns", Box::new(|| wide.sort(0))),
            ("argsort f64 rows", Box::new(|| wide.argsort_descending(1))),
            ("sort complex", Box::new(|| complex.sort(0))),
            ("cumulative sum", Box::new(|| x.cumulative_sum(0))),
            ("cumulative sum bf16", Box::new(|| x.astype(DType::BF16).cumulative_sum(0))),
            ("cumulative sum of columns", Box::new(|| wide.cumulative_sum(0))),
            ("cumulative product of rows", Box::new(|| wide.cumulative_prod(1))),
            ("scatter_add to many", Box::new(|| zeros.scatter(&[&ids], &x, Scatter::Add))),
            ("scatter_add to few", Box::new(|| zeros.scatter(&[&few], &x, Scatter::Add))),
            ("scatter_max", Box::new(|| zeros.scatter(&[&ids], &x, Scatter::Max))),
            ("take rows", Box::new(|| table.take(&ids, 0))),
            ("searchsorted", Box::new(|| x.sort(0).searchsorted(wide.astype(DType::F32), Side::Left))),
            (
                "convolve",
                Box::new(|| {
                    let direct = signal::Options::new().method(signal::Method::Direct);
                    signal::convolve_with(&image, &kernel, direct)
                }),
            ),
        ];
        let mut wrong = Vec::new();
        for (name, make) in &work {
            let before = runtime.executor().counts().fallbacks;
            let got = make();
            got.eval()?;
            let fell = runtime.executor().counts().fallbacks - before;
            let equal = with_device(Device::Cpu, || -> Result<bool> {
                let want = make();
                Ok(want.to_npy()? == got.to_npy()?)
            })?;
            if !equal || fell > 0 {
                wrong.push(format!("{name} (equal: {equal}, on the host: {fell})"));
            }
        }
        let detail = format!("{} of {n} elements and more; wrong: {wrong:?}", work.len());
        report.check("large calls", wrong.is_empty(), detail);
        Ok(())
    })
}
