//! `crossover bench-worker`: one engine of the benchmark, spoken to by the line protocol of `bench/README.md`.
//!
//! Lives as long as the benchmark. Every request is answered by one line, `ok …` or `error …`; an error leaves the
//! worker usable. Nothing else goes to standard output.

use std::{
    collections::HashMap,
    io::{BufRead, Write},
    path::Path,
    sync::OnceLock,
    time::Instant,
};

use anyhow::{Context, Result, anyhow, bail};
use crossover::{Array, Complex, DType, Element, Runtime, Side, Simd, fft, linalg, nn, random::Key, signal};
use serde::Deserialize;

use crate::{decide, expressions, functions};

/// Answer requests of the benchmark driver on standard input.
#[derive(clap::Args)]
pub struct Arguments {
    /// Threads that compute; all cores when not given
    #[arg(long, value_name = "N")]
    threads: Option<usize>,
}

/// Points per estimate of π.
const SAMPLES: usize = 10_000_000;
/// Operations of a graph that is planned.
const PLANNED: usize = 100;

/// A workload: its name, the operands in order, how it is computed in a few words, and the work.
struct Workload {
    name: &'static str,
    operands: &'static [&'static str],
    form: &'static str,
    work: fn(&[Array], u64) -> Array,
}

const WORKLOADS: [Workload; 32] = [
    Workload { name: "gelu", operands: &["x"], form: "one Map", work: |x, _| x[0].gelu() },
    Workload {
        name: "expression",
        operands: &["a", "b"],
        form: "one Map",
        work: |x, _| expressions::expression(&x[0], &x[1]),
    },
    Workload {
        name: "layer_norm",
        operands: &["x", "gamma", "beta"],
        form: "one Row",
        work: |x, _| expressions::layer_norm(&x[0], &x[1], &x[2]),
    },
    Workload { name: "softmax", operands: &["x"], form: "one Row", work: |x, _| expressions::softmax(&x[0]) },
    Workload {
        name: "standardise",
        operands: &["x"],
        form: "one Column",
        work: |x, _| expressions::standardise(&x[0]),
    },
    Workload {
        name: "sinusoid",
        operands: &["positions"],
        form: "one Map, sines and cosines written into place",
        work: |x, _| expressions::sinusoid(&x[0], &x[1]),
    },
    Workload {
        name: "pi",
        operands: &[],
        form: "one Full, Philox inside",
        work: |_, round| expressions::pi(&Key::new(2 * round), &Key::new(2 * round + 1), SAMPLES),
    },
    Workload { name: "sum", operands: &["x"], form: "one Full", work: |x, _| x[0].sum(()) },
    Workload { name: "xor", operands: &["a", "b"], form: "one Map", work: |x, _| &x[0] ^ &x[1] },
    Workload { name: "xor_key", operands: &["a", "key"], form: "one Map", work: |x, _| &x[0] ^ &x[1] },
    product("matmul_f32_64"),
    product("matmul_f32_256"),
    product("matmul_f32_1024"),
    product("matmul_f64_1024"),
    Workload { name: "sort", operands: &["x"], form: "one Call", work: |x, _| x[0].sort(0) },
    Workload {
        name: "top_k",
        operands: &["x"],
        form: "a selection and one Map",
        work: |x, _| x[0].top_k(100, 0).0,
    },
    Workload {
        name: "searchsorted",
        operands: &["line", "x"],
        form: "one Call",
        work: |x, _| x[0].searchsorted(&x[1], Side::Left),
    },
    Workload {
        name: "mask",
        operands: &["x", "m"],
        form: "a count and one Call",
        work: |x, _| x[0].get(&x[1]),
    },
    Workload {
        name: "gather",
        operands: &["x", "i"],
        form: "a check and one Call",
        work: |x, _| x[0].take(&x[1], 0),
    },
    Workload {
        name: "lookup",
        operands: &["table", "ids"],
        form: "a check and one Call",
        work: |x, _| x[0].take(&x[1], 0),
    },
    Workload { name: "fft_rows", operands: &["x"], form: "one Call", work: |x, _| fft::fft(&x[0]) },
    Workload { name: "fft_2d", operands: &["x"], form: "one Call", work: |x, _| fft::fft2(&x[0]) },
    Workload {
        name: "convolve",
        operands: &["x", "k"],
        form: "one Call",
        work: |x, _| signal::convolve_with(&x[0], &x[1], signal::Options::new().mode(signal::Mode::Same)),
    },
    Workload {
        name: "eigvals",
        operands: &["a"],
        form: "a Call and a Full",
        work: |x, _| linalg::eigvals(&x[0]).square().sum(()).real(),
    },
    Workload { name: "eigh", operands: &["a"], form: "one Call", work: |x, _| linalg::eigh(&x[0]).0 },
    Workload { name: "svd", operands: &["a"], form: "one Call", work: |x, _| linalg::svd(&x[0]).1 },
    Workload {
        name: "solve",
        operands: &["a", "b"],
        form: "one Call",
        work: |x, _| linalg::solve(&x[0], &x[1]),
    },
    Workload {
        name: "attention",
        operands: &["q", "k", "v"],
        form: "one kernel",
        work: |x, _| nn::attention(&x[0], &x[1], &x[2]),
    },
    Workload {
        name: "transformer_layer",
        operands: &expressions::LAYER,
        form: "one plan",
        work: |x, _| expressions::transformer_layer(x),
    },
    Workload { name: "gelu_5", operands: &["x"], form: "one Map", work: |x, _| x[0].gelu() },
    Workload {
        name: "tiny_10",
        operands: &["x", "a", "b"],
        form: "one Map",
        work: |x, _| expressions::ten_dependent(&x[0], &x[1], &x[2]),
    },
    // Answered by `plan`; the work only exists so that `output` has something to write.
    Workload { name: "plan_100", operands: &[], form: "Plan::new", work: |_, round| hundred(round) },
];

const fn product(name: &'static str) -> Workload {
    Workload { name, operands: &["a", "b"], form: "one Call", work: |x, _| x[0].matmul(&x[1]) }
}

/// Runs the command.
pub fn run(arguments: &Arguments) -> Result<bool> {
    let mut builder = Runtime::builder();
    if let Some(threads) = arguments.threads {
        builder = builder.threads(threads);
    }
    builder.build()?.scope(|| Worker::default().serve())?;
    Ok(true)
}

#[derive(Default)]
struct Worker {
    /// Operands of the prepared workloads.
    prepared: HashMap<&'static str, Vec<Array>>,
    /// Counts iterations, so that random numbers and topologies are new each time.
    round: u64,
}

impl Worker {
    fn serve(&mut self) -> Result<()> {
        let mut out = std::io::stdout().lock();
        for line in std::io::stdin().lock().lines() {
            let line = line.context("could not read a request")?;
            let words: Vec<&str> = line.split_whitespace().collect();
            let answer = match words.as_slice() {
                [] => continue,
                ["quit"] => break,
                words => self.answer(words),
            };
            // An answer is one line, whatever an error message holds.
            let answer = match answer {
                Ok(rest) if rest.is_empty() => "ok".to_owned(),
                Ok(rest) => format!("ok {rest}"),
                Err(error) => format!("error {}", format!("{error:#}").replace('\n', " ")),
            };
            writeln!(out, "{answer}").and_then(|()| out.flush()).context("could not answer")?;
        }
        Ok(())
    }

    fn answer(&mut self, words: &[&str]) -> Result<String> {
        match words {
            ["hello"] => {
                let simd = Simd::detect().name().to_lowercase().replace('-', "");
                Ok(format!("crossover {} {simd}", env!("CARGO_PKG_VERSION")))
            }
            ["list"] => Ok(workloads().iter().map(|w| w.name).collect::<Vec<_>>().join(" ")),
            ["decide", kind @ ("seen" | "new"), count] => {
                let count = count.parse::<usize>().ok().filter(|n| (1..=1000).contains(n));
                let count = count.ok_or_else(|| anyhow!("a number of decisions from 1 to 1000 is needed"))?;
                Ok(format!("{:e}", decide::seconds(*kind == "seen", count)?))
            }
            ["prepare", name, folder] => self.prepare(find(name)?, Path::new(folder)),
            ["run", name, count] => {
                let count = count.parse::<u32>().ok().filter(|&n| n > 0);
                let count = count.ok_or_else(|| anyhow!("a number of iterations above 0 is needed"))?;
                Ok(format!("{:e}", self.time(find(name)?, count)?))
            }
            ["output", name, file] => self.output(find(name)?, Path::new(file)),
            ["drop", name] => {
                self.prepared.remove(find(name)?.name);
                Ok(String::new())
            }
            _ => bail!("unknown request `{}`; bench/README.md lists them", words.join(" ")),
        }
    }

    fn prepare(&mut self, workload: &'static Workload, folder: &Path) -> Result<String> {
        let mut arrays = Vec::new();
        if !workload.operands.is_empty() {
            let described = std::fs::read_to_string(folder.join("inputs.json")).context("inputs.json")?;
            let described: HashMap<String, Described> =
                serde_json::from_str(&described).context("inputs.json")?;
            for name in workload.operands {
                let described =
                    described.get(*name).with_context(|| format!("inputs.json has no `{name}`"))?;
                let bytes = std::fs::read(folder.join(format!("{name}.bin")))
                    .with_context(|| format!("{name}.bin"))?;
                arrays.push(described.array(&bytes).with_context(|| format!("operand `{name}`"))?);
            }
        }
        if workload.name == "sinusoid" {
            arrays.push(Array::from(expressions::frequencies()));
        }
        self.prepared.insert(workload.name, arrays);
        Ok(workload.form.to_owned())
    }

    /// Mean seconds of one iteration: build, evaluate, drop.
    fn time(&mut self, workload: &'static Workload, count: u32) -> Result<f64> {
        let arrays = operands(&self.prepared, workload)?;
        let start = Instant::now();
        for _ in 0..count {
            self.round += 1;
            if workload.name == "plan_100" {
                plan(self.round)?;
            } else {
                (workload.work)(arrays, self.round).eval()?;
            }
        }
        Ok(start.elapsed().as_secs_f64() / f64::from(count))
    }

    fn output(&mut self, workload: &'static Workload, file: &Path) -> Result<String> {
        self.round += 1;
        let result = (workload.work)(operands(&self.prepared, workload)?, self.round);
        let (name, bytes) = match result.dtype() {
            DType::F32 => ("float32", bytes(&result, f32::to_le_bytes)?),
            DType::F64 => ("float64", bytes(&result, f64::to_le_bytes)?),
            DType::I64 => ("int64", bytes(&result, i64::to_le_bytes)?),
            DType::Bool => ("bool", bytes(&result, |truth: bool| [u8::from(truth)])?),
            DType::U8 => ("uint8", bytes(&result, u8::to_le_bytes)?),
            DType::C128 => (
                "complex128",
                bytes(&result, |z: Complex<f64>| {
                    let mut both = [0; 16];
                    both[..8].copy_from_slice(&z.re.to_le_bytes());
                    both[8..].copy_from_slice(&z.im.to_le_bytes());
                    both
                })?,
            ),
            other => bail!("no workload has a result of {other}"),
        };
        std::fs::write(file, bytes).context("could not write the result")?;
        Ok(name.to_owned())
    }
}

/// Every workload: those of the main group, and each function by itself.
fn workloads() -> &'static [Workload] {
    static ALL: OnceLock<Vec<Workload>> = OnceLock::new();
    ALL.get_or_init(|| {
        let single = functions::cases().map(|(name, function)| Workload {
            // Made once, for as long as the program runs.
            name: name.leak(),
            operands: function.operands,
            form: "one kernel",
            work: function.work,
        });
        WORKLOADS.into_iter().chain(single).collect()
    })
}

fn find(name: &str) -> Result<&'static Workload> {
    workloads().iter().find(|w| w.name == name).ok_or_else(|| anyhow!("there is no workload `{name}`"))
}

fn operands<'a>(prepared: &'a HashMap<&str, Vec<Array>>, workload: &Workload) -> Result<&'a [Array]> {
    let found = prepared.get(workload.name);
    found.map(Vec::as_slice).ok_or_else(|| anyhow!("`{}` is not prepared", workload.name))
}

/// An operand as `inputs.json` describes it.
#[derive(Deserialize)]
struct Described {
    dtype: String,
    shape: Vec<usize>,
}

impl Described {
    fn array(&self, bytes: &[u8]) -> Result<Array> {
        match self.dtype.as_str() {
            "float32" => self.decoded(bytes, f32::from_le_bytes),
            "float64" => self.decoded(bytes, f64::from_le_bytes),
            "int32" => self.decoded(bytes, i32::from_le_bytes),
            "int64" => self.decoded(bytes, i64::from_le_bytes),
            "bool" => self.decoded(bytes, |[byte]: [u8; 1]| byte != 0),
            "uint8" => self.decoded(bytes, u8::from_le_bytes),
            "complex128" => self.decoded(bytes, |b: [u8; 16]| {
                let [re, im] = [0, 8].map(|at| {
                    let mut part = [0; 8];
                    part.copy_from_slice(&b[at..at + 8]);
                    f64::from_le_bytes(part)
                });
                Complex::new(re, im)
            }),
            other => bail!("dtype `{other}` is not one that the workloads have"),
        }
    }

    fn decoded<T: Element, const SIZE: usize>(
        &self,
        bytes: &[u8],
        decode: fn([u8; SIZE]) -> T,
    ) -> Result<Array> {
        let (chunks, rest) = bytes.as_chunks::<SIZE>();
        if !rest.is_empty() {
            bail!("{} bytes are no whole number of {}", bytes.len(), self.dtype);
        }
        let array = Array::from_vec(chunks.iter().map(|c| decode(*c)).collect(), self.shape.as_slice());
        array.eval()?;
        Ok(array)
    }
}

/// The elements of a result as raw little-endian bytes.
fn bytes<T: Element, const SIZE: usize>(array: &Array, encode: fn(T) -> [u8; SIZE]) -> Result<Vec<u8>> {
    Ok(array.to_vec::<T>()?.into_iter().flat_map(encode).collect())
}

/// Builds a graph whose topology was not seen before and plans it, as the first evaluation would.
fn plan(round: u64) -> Result<()> {
    Runtime::current().executor().prepare(&hundred(round).graph()?)?;
    Ok(())
}

/// A hundred operations; the bits of `round`, spread, choose which.
fn hundred(round: u64) -> Array {
    let x = Array::from([0.5f32, 1.0, 1.5, 2.0]);
    let mut bits = round.wrapping_mul(0x9E37_79B9_7F4A_7C15);
    let mut y = x.clone();
    for _ in 0..PLANNED {
        bits = bits.rotate_left(2) ^ round;
        y = match bits & 3 {
            0 => &y + &x,
            1 => &y * &x,
            2 => y.sqrt(),
            _ => y.tanh(),
        };
    }
    y
}
