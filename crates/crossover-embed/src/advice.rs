//! What an embedder is, how fast it is, and how large a batch may be.

use std::{
    fmt,
    time::{Duration, Instant},
};

use crossover_array::{Array, DType, Device, Key, Runtime, random, with_device};

use crate::{Embedder, Error, Precision, Result};

/// What an embedder is and where it computes.
///
/// ```
/// use crossover_array::Device;
/// use crossover_embed::{EmbedConfig, Embedder, Precision};
/// let config = EmbedConfig::new(1000, 64).precision(Precision::MixedBf16).device(Device::Cpu);
/// let info = Embedder::new(config)?.info();
/// assert_eq!((info.vocabulary, info.dimensions, info.device), (1000, 64, Device::Cpu));
/// assert_eq!(info.table_bytes, 1000 * 64 * 2);
/// // What says why a GPU is not used.
/// println!("{:?}, not usable: {:?}", info.gpus, info.missing);
/// # Ok::<(), crossover_embed::Error>(())
/// ```
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
///
/// ```
/// use crossover_embed::{EmbedConfig, Embedder};
/// let timed = Embedder::new(EmbedConfig::new(1000, 64))?.benchmark(4, 16, 3)?;
/// assert_eq!((timed.batch, timed.length, timed.iterations), (4, 16, 3));
/// // Each token becomes 64 numbers of 4 bytes.
/// assert_eq!((timed.bytes_per_second / timed.tokens_per_second).round(), 256.0);
/// println!("{:?} for 64 tokens, {:?} at best", timed.median, timed.fastest);
/// # Ok::<(), crossover_embed::Error>(())
/// ```
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
///
/// ```
/// use crossover_array::Device;
/// use crossover_embed::{EmbedConfig, Embedder, Precision};
/// let embedder = Embedder::new(EmbedConfig::new(1000, 64).device(Device::Cpu))?;
/// let advice = embedder.advise(16 << 20, 128)?;
/// assert_eq!(advice.precision, Precision::F32);
/// // Results of half the bytes leave room for more.
/// let (other, batch) = advice.others[0];
/// assert!(other == Precision::MixedF16 && batch > advice.batch);
/// assert!(advice.to_string().starts_with(&format!("batch {} in f32: ", advice.batch)));
/// # Ok::<(), crossover_embed::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct Advice {
    /// Sequences of a batch.
    pub batch: usize,
    /// The precision that this is for.
    pub precision: Precision,
    /// Bytes that the device holds at most with that batch.
    pub peak: u64,
    /// Bytes that do not depend on the batch: the table and constants, and on the host what it rounds blocks up by.
    pub fixed: u64,
    /// Bytes of one more sequence.
    pub per_sequence: u64,
    /// The same budget with the other precisions: sequences of a batch, 0 where none fits.
    pub others: Vec<(Precision, usize)>,
    /// How the number came about, in words.
    pub reason: String,
    /// The precision to use with this memory, and how many sequences a batch of it may have.
    pub recommended: (Precision, usize),
    /// Why that one, in words.
    pub why: String,
}

impl fmt::Display for Advice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "batch {} in {}: {}; ", self.batch, self.precision.name(), self.reason)?;
        write!(f, "{} is recommended: {}", self.recommended.0.name(), self.why)
    }
}

impl Embedder {
    /// What this embedder is, and which devices there are for it.
    ///
    /// ```
    /// use crossover_embed::{EmbedConfig, Embedder};
    /// let info = Embedder::new(EmbedConfig::new(50_000, 32))?.info();
    /// assert_eq!(info.table_bytes, 6_400_000);
    /// assert!(info.fusion);
    /// # Ok::<(), crossover_embed::Error>(())
    /// ```
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
            return Err(Error::Config {
                setting: "benchmark",
                given,
                wanted: "all three must be at least 1",
            });
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
    /// The same is worked out for the other precisions, and one is recommended: the most exact in which a batch fits that keeps the device busy,
    /// so that starting its kernels takes less than a twentieth of its time; where none does, the one with the largest batch. `f16` is more exact
    /// than `bf16`, unless a number of the table is beyond what it holds.
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
        let demand = self.demand(length)?;
        let batch = demand.batch(memory);
        if batch == 0 {
            return Err(Error::Memory { needed: demand.peak(1), budget: memory });
        }
        let precision = self.config.precision;
        let mut others = Vec::new();
        for other in Precision::ALL.into_iter().filter(|&other| other != precision) {
            others.push((other, self.with_precision(other)?.demand(length)?.batch(memory)));
        }
        let (Line { fixed, each }, peak) = (demand.last, demand.peak(batch));
        let mut reason = format!(
            "{fixed} bytes for the table and constants and {each} for each sequence of {length} tokens make {peak} of {memory} bytes"
        );
        if let Some((other, more)) = others.iter().max_by_key(|other| other.1).filter(|other| other.1 > batch)
        {
            reason += &format!("; {} would have room for {more}", other.name());
        }
        let (recommended, why) = self.recommended(length, (precision, batch), &others)?;
        Ok(Advice { batch, precision, peak, fixed, per_sequence: each, others, reason, recommended, why })
    }

    /// The precision to use, of those in which so many sequences fit, and why.
    fn recommended(
        &self,
        length: usize,
        own: (Precision, usize),
        others: &[(Precision, usize)],
    ) -> Result<((Precision, usize), String)> {
        /// Times that a kernel takes longer than its launch on a device that is busy.
        const BUSY: f64 = 20.0;
        let fits = |precision: Precision| {
            let all = std::iter::once(&own).chain(others);
            all.filter(|(known, _)| *known == precision).map(|(_, batch)| *batch).next().unwrap_or(0)
        };
        /// The largest number of `f16`.
        const LARGEST: f32 = 65_504.0;
        let holds_table = self.table.astype(DType::F32).abs().max(()).item::<f32>()? <= LARGEST;
        let mut order = vec![Precision::F32, Precision::MixedF16, Precision::MixedBf16];
        if !holds_table {
            order.retain(|&precision| precision != Precision::MixedF16);
        }
        let profile = Runtime::current().executor().router().profile();
        let place = match self.place() {
            Device::Cuda(number) => number + 1,
            _ => 0,
        };
        let Some(device) = profile.devices.get(place).or(profile.devices.first()) else {
            return Ok((own, "nothing is known about the device".to_string()));
        };
        // Sequences whose rows take so long to read and write.
        let busy = |precision: Precision| {
            let bytes = 2 * length * self.config.dimensions * precision.dtype().size();
            // Of memory: what a busy device reads is in no cache.
            let rate = device.bandwidth.at(f64::MAX);
            (BUSY * device.launch_ns * rate / bytes as f64).ceil().max(1.0) as usize
        };
        let narrow = if holds_table { "" } else { "; its table has numbers beyond f16" };
        if let Some(&chosen) = order.iter().find(|&&precision| fits(precision) >= busy(precision)) {
            let (batch, enough) = (fits(chosen), busy(chosen));
            let what = if chosen == Precision::F32 { "the most exact" } else { "the most exact of those" };
            let why = format!(
                "{what} in which a batch fits that keeps the device busy: {batch} sequences, and {enough} are enough{narrow}"
            );
            return Ok(((chosen, batch), why));
        }
        // The first of those with as many: the more exact.
        let mut best = order[0];
        for &precision in &order {
            if fits(precision) > fits(best) {
                best = precision;
            }
        }
        let why = format!(
            "no batch that fits keeps the device busy ({} sequences in {}), and this one has room for most: {}{narrow}",
            busy(best),
            best.name(),
            fits(best)
        );
        Ok(((best, fits(best)), why))
    }

    /// The device that advice is about.
    fn place(&self) -> Device {
        match self.config.device {
            Device::Auto => match Runtime::current().device_count() {
                0 => Device::Cpu,
                _ => Device::Cuda(0),
            },
            told => told,
        }
    }

    /// What embedding sequences of so many tokens takes.
    fn demand(&self, length: usize) -> Result<Demand> {
        /// Bytes by which the host rounds four blocks up at most: tokens, rows, results and the table.
        const ROUNDED: u64 = 4 * (64 << 10);
        if length == 0 {
            return Err(Error::Config {
                setting: "length",
                given: "0".into(),
                wanted: "a sequence has at least one token",
            });
        }
        // Every buffer is constant or proportional to the batch, and the plan of two sequences is that of more; so two points are enough. One
        // sequence alone has a plan of its own.
        let (one, two, three) = (self.peak(1, length)?, self.peak(2, length)?, self.peak(3, length)?);
        let rounded = if self.place() == Device::Cpu { ROUNDED } else { 0 };
        let line = |two: u64, three: u64| {
            let each = three.saturating_sub(two);
            Line { fixed: two.saturating_sub(2 * each) + rounded, each }
        };
        Ok(Demand {
            one: one.before.max(one.last) + rounded,
            before: line(two.before, three.before),
            last: line(two.last, three.last),
        })
    }

    /// Bytes on the device while so many sequences are embedded.
    fn peak(&self, batch: usize, length: usize) -> Result<Stages> {
        let device = self.place();
        let bytes = |array: &Array| (array.size() * array.dtype().size()) as u64;
        let tokens = Array::zeros::<i64>([batch, length]);
        tokens.eval()?;
        let there = bytes(&self.table) + bytes(&tokens);
        // What was computed before the rest stays beside it.
        let (mut before, mut kept) = (0u64, 0u64);
        let pending = with_device(device, || {
            self.staged(&tokens, 0, &mut |stage| {
                // Rows that are looked up by themselves have the table and the tokens as operands; others have operands of their own.
                let looks_up = !self.config.fusion && kept == 0;
                let beside = if looks_up { 0 } else { there + kept };
                before = before.max(beside + stage.peak_bytes(device)?);
                kept += bytes(stage);
                stage.eval()?;
                Ok(())
            })
        })?;
        let mut last = pending.peak_bytes(device)?;
        if !self.config.fusion {
            last += there;
        }
        if kept > 0 {
            // Operands of what was computed before: rows of the relative term, and two numbers per frequency.
            last += self.relative.as_ref().map_or(0, bytes) + 2 * 8 * (self.config.dimensions / 2) as u64;
        }
        Ok(Stages { before, last })
    }
}

/// Bytes that a device holds at most: while what comes first is computed, and while the rest is.
struct Stages {
    before: u64,
    last: u64,
}

/// Bytes by the number of sequences.
#[derive(Clone, Copy)]
struct Line {
    fixed: u64,
    each: u64,
}

impl Line {
    fn at(self, batch: usize) -> u64 {
        self.fixed.saturating_add(self.each.saturating_mul(batch as u64))
    }

    /// The most sequences for which it is at most so many bytes.
    fn within(self, memory: u64) -> usize {
        match memory.checked_sub(self.fixed) {
            None => 0,
            Some(left) => {
                usize::try_from(left.checked_div(self.each).unwrap_or(u64::MAX)).unwrap_or(usize::MAX)
            }
        }
    }
}

/// What embedding takes.
struct Demand {
    /// Bytes of one sequence alone.
    one: u64,
    /// Of several: while what comes first is computed, and while the rest is.
    before: Line,
    last: Line,
}

impl Demand {
    /// Bytes of so many sequences.
    fn peak(&self, batch: usize) -> u64 {
        match batch {
            1 => self.one,
            _ => self.before.at(batch).max(self.last.at(batch)),
        }
    }

    /// How many sequences take at most so many bytes.
    fn batch(&self, memory: u64) -> usize {
        match self.before.within(memory).min(self.last.within(memory)) {
            0 | 1 => usize::from(self.one <= memory),
            more => more,
        }
    }
}
