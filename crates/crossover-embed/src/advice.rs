//! What an embedder is, how fast it is, and how large a batch may be.

use std::{
    fmt,
    time::{Duration, Instant},
};

use crossover_array::{Array, Device, Key, Runtime, random, with_device};

use crate::{Embedder, Error, Precision, Result};

/// What an embedder is and where it computes.
#[derive(Debug, Clone, PartialEq)]
pub struct Info {
    /// Number of tokens.
    pub vocabulary: usize,
    /// Number of columns.
    pub dimensions: usize,
    /// In which dtypes it stores and computes.
    pub precision: Precision,
    /// Bytes of the table.
    pub table_bytes: u64,
    /// Where it is asked to compute.
    pub device: Device,
    /// GPUs that can be used.
    pub gpus: Vec<String>,
    /// Why others cannot.
    pub missing: Vec<String>,
    /// Whether lookup and encoding share a kernel where that is possible.
    pub fusion: bool,
}

/// How long embeddings took.
#[derive(Debug, Clone, PartialEq)]
pub struct Benchmark {
    /// Sequences of a batch.
    pub batch: usize,
    /// Tokens of a sequence.
    pub length: usize,
    /// Embeddings that were timed.
    pub iterations: usize,
    /// The median time of one.
    pub median: Duration,
    /// The fastest.
    pub fastest: Duration,
    /// Tokens per second at the median.
    pub tokens_per_second: f64,
    /// Bytes of the result per second at the median.
    pub bytes_per_second: f64,
}

/// How large a batch may be, and why.
#[derive(Debug, Clone, PartialEq)]
pub struct Advice {
    /// Sequences of a batch.
    pub batch: usize,
    /// The precision that this is for.
    pub precision: Precision,
    /// Bytes that the device holds at most with that batch.
    pub peak: u64,
    /// Bytes that do not depend on the batch: the table and constants.
    pub fixed: u64,
    /// Bytes of one more sequence.
    pub per_sequence: u64,
    /// The same budget with the other precisions: sequences of a batch, 0 where none fits.
    pub others: Vec<(Precision, usize)>,
    /// How the number came about, in words.
    pub reason: String,
}

impl fmt::Display for Advice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "batch {} in {}: {}", self.batch, self.precision.name(), self.reason)
    }
}

impl Embedder {
    /// What this embedder is, and which devices there are for it.
    pub fn info(&self) -> Info {
        let (mut gpus, mut missing) = (Vec::new(), Vec::new());
        for (device, found) in crossover_array::gpus() {
            match found {
                Ok(name) => gpus.push(format!("{device}: {name}")),
                Err(reason) => missing.push(format!("{device}: {reason}")),
            }
        }
        Info {
            vocabulary: self.config.vocabulary,
            dimensions: self.config.dimensions,
            precision: self.config.precision,
            table_bytes: (self.table.size() * self.table.dtype().size()) as u64,
            device: self.config.device,
            gpus,
            missing,
            fusion: self.config.fusion,
        }
    }

    /// Times embeddings of random tokens, the copy of the result's last element to the host included, so that a GPU has finished.
    ///
    /// ```
    /// use crossover_embed::{EmbedConfig, Embedder};
    /// let timed = Embedder::new(EmbedConfig::new(1000, 64))?.benchmark(8, 32, 5)?;
    /// assert!(timed.fastest <= timed.median && timed.tokens_per_second > 0.0);
    /// # Ok::<(), crossover_embed::Error>(())
    /// ```
    pub fn benchmark(&self, batch: usize, length: usize, iterations: usize) -> Result<Benchmark> {
        if batch == 0 || length == 0 || iterations == 0 {
            let given = format!("{batch} × {length}, {iterations} times");
            return Err(Error::Config { setting: "benchmark", given, wanted: "all three are at least 1" });
        }
        // Every token is as likely as any other, and no two benchmarks of one size differ.
        let tokens = random::integers::<i64>(&Key::new(0), [batch, length], 0..self.config.vocabulary as i64);
        tokens.eval()?;
        let once = || -> Result<Duration> {
            let began = Instant::now();
            let out = self.embed(&tokens)?;
            out.flatten().index(-1).to_scalar()?;
            Ok(began.elapsed())
        };
        for _ in 0..2 {
            once()?;
        }
        let mut times = (0..iterations).map(|_| once()).collect::<Result<Vec<Duration>>>()?;
        times.sort_unstable();
        let median = times[iterations / 2];
        let seconds = median.as_secs_f64().max(1e-9);
        let bytes = batch * length * self.config.dimensions * self.config.precision.dtype().size();
        Ok(Benchmark {
            batch,
            length,
            iterations,
            median,
            fastest: times[0],
            tokens_per_second: (batch * length) as f64 / seconds,
            bytes_per_second: bytes as f64 / seconds,
        })
    }

    /// How many sequences of so many tokens a batch may have so that embedding them takes at most so many bytes of a device's memory, from
    /// the plan: the table, tokens, results, and what lies between. One more does not fit.
    ///
    /// ```
    /// use crossover_array::Device;
    /// use crossover_embed::{EmbedConfig, Embedder};
    /// let embedder = Embedder::new(EmbedConfig::new(1000, 64).device(Device::Cpu))?;
    /// let advice = embedder.advise(16 << 20, 128)?;
    /// assert!(advice.peak <= 16 << 20 && advice.peak + advice.per_sequence > 16 << 20);
    /// # Ok::<(), crossover_embed::Error>(())
    /// ```
    pub fn advise(&self, memory: u64, length: usize) -> Result<Advice> {
        // The result alone, before plans are made of a sequence that nothing could hold.
        let least = length as u128 * (self.config.dimensions * self.config.precision.dtype().size()) as u128;
        if least > u128::from(memory) {
            return Err(Error::Memory { needed: least.min(u128::from(u64::MAX)) as u64, budget: memory });
        }
        let (fixed, each) = self.demand(length)?;
        if fixed + each > memory {
            return Err(Error::Memory { needed: fixed + each, budget: memory });
        }
        let batch = (memory - fixed) / each;
        let precision = self.config.precision;
        let mut others = Vec::new();
        for other in Precision::ALL.into_iter().filter(|&other| other != precision) {
            let (fixed, each) = self.with_precision(other)?.demand(length)?;
            others.push((other, (memory.saturating_sub(fixed) / each) as usize));
        }
        let mut reason = format!(
            "{fixed} bytes for the table and constants and {each} for each sequence of {length} tokens make {} of {memory} bytes",
            fixed + batch * each
        );
        if let Some((other, more)) =
            others.iter().max_by_key(|other| other.1).filter(|other| other.1 as u64 > batch)
        {
            reason += &format!("; {} would have room for {more}", other.name());
        }
        let (batch, peak) = (batch as usize, fixed + batch * each);
        Ok(Advice { batch, precision, peak, fixed, per_sequence: each, others, reason })
    }

    /// Bytes whatever the batch, and bytes of each sequence.
    fn demand(&self, length: usize) -> Result<(u64, u64)> {
        if length == 0 {
            return Err(Error::Config {
                setting: "length",
                given: "0".into(),
                wanted: "a sequence has a token",
            });
        }
        let device = match self.config.device {
            Device::Auto => match Runtime::current().device_count() {
                0 => Device::Cpu,
                _ => Device::Cuda(0),
            },
            told => told,
        };
        let peak = |batch: usize| -> Result<u64> {
            let tokens = Array::zeros::<i64>([batch, length]);
            tokens.eval()?;
            let pending = with_device(device, || self.pending(&tokens, 0))?;
            Ok(pending.peak_bytes(device)?)
        };
        // Every buffer is constant or proportional to the batch, and the plan is the same; so two points are enough.
        let (two, three) = (peak(2)?, peak(3)?);
        // The encoding is computed before, from two numbers per frequency, whose memory a device keeps for the next array.
        let columns = 2 * 8 * (self.config.dimensions / 2) as u64;
        Ok(((3 * two).saturating_sub(2 * three) + columns, three - two))
    }
}
