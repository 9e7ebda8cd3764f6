//! Measures one kind of work after another, and remembers what the machine can do.

use std::time::{Duration, Instant};

use anyhow::Result;
use crossover::{Array, DType, Runtime, random::Key};
use crossover_plan::{Options, Plan};

use super::{
    Measured, Memory, Peaks,
    check::{self, Verdict},
    measure,
    roof::Roof,
    workload::{Operand, Unit, Workload},
};
use crate::{doctor::host, explain};

/// Seconds that each measurement takes.
pub struct Budget {
    pub sample: Duration,
    pub roof: Duration,
    /// Rows of the matrix product that is taken as the peak.
    pub matrix: usize,
}

/// Measures, and remembers what the machine can do.
pub struct Guide {
    budget: Budget,
    roof: Roof,
    threads: usize,
    /// A runtime that computes on the caller's thread alone.
    single: Runtime,
    call: f64,
    matmul_f32: f64,
    matmul_f64: f64,
}

impl Guide {
    pub fn new(budget: Budget) -> Result<Guide> {
        let five = Array::from([0.1f32, -1.0, 2.0, 0.5, -3.0]);
        let call = measure::median(budget.sample, || Ok(five.gelu().eval().map(|_| ())?))?;
        let matmul_f32 = matrix_peak(budget.matrix, DType::F32)?;
        let matmul_f64 = matrix_peak(budget.matrix, DType::F64)?;
        let threads = host::threads();
        let single = Runtime::builder().threads(1).build()?;
        let mut roof = Roof::new(threads, budget.roof);
        // One size that fits every second-level cache and one that fits no cache, for the head of the report.
        roof.at(1 << 18);
        roof.at(1 << 28);
        Ok(Guide { roof, threads, single, call, matmul_f32, matmul_f64, budget })
    }

    /// Seconds per element on one thread with everything in cache: the arithmetic. None for matrix products, whose
    /// work does not grow with their elements.
    pub fn pace(&self, workload: &Workload) -> Result<Option<f64>> {
        if workload.unit == Unit::Flops {
            return Ok(None);
        }
        let size = workload.sizes[0];
        let seconds = self.single.scope(|| {
            let arrays: Vec<Array> = workload.prepare(size)?.into_iter().map(|o| o.array).collect();
            measure::median(self.budget.sample, || {
                (workload.build)(size, &arrays).eval()?;
                Ok(())
            })
        })?;
        Ok(Some((seconds - self.call).max(0.0) / size.iter().product::<usize>() as f64))
    }

    pub fn measure(&mut self, workload: &Workload, size: &[usize], pace: Option<f64>) -> Result<Measured> {
        let operands = workload.prepare(size)?;
        let arrays: Vec<Array> = operands.iter().map(|o| o.array.clone()).collect();
        let plan = Plan::new(&(workload.build)(size, &arrays).graph()?, Options::default())?;
        let seconds = measure::median(self.budget.sample, || {
            (workload.build)(size, &arrays).eval()?;
            Ok(())
        })?;
        let verdict = judged(workload, size, &operands, &arrays)?;
        let cost = plan.cost();
        let (amount, unit) = match workload.unit {
            Unit::Bytes => (cost.moved() as f64, "bytes/s"),
            Unit::Flops => (cost.flops as f64, "flops/s"),
            Unit::Points => (size[0] as f64, "points/s"),
        };
        let memory = self.roof.at(cost.moved()).floor(cost.read, cost.written) / seconds;
        let elements: usize = size.iter().product();
        let arithmetic = pace.map(|pace| pace * elements as f64 / self.threads as f64 / seconds);
        Ok(Measured {
            workload: workload.name,
            title: workload.title,
            moved: cost.moved(),
            shape: size.to_vec(),
            seconds,
            rate: amount / seconds,
            unit,
            // Rated when all results are known: nothing is faster than its roof, so the best raises it.
            roof_fraction: 0.0,
            memory_fraction: Some(memory),
            arithmetic_fraction: arithmetic,
            matmul_fraction: None,
            limit: "",
            kernels: plan.launches.iter().map(|l| explain::kind(&l.kernel)).collect(),
            checked: verdict.into(),
        })
    }

    /// Holds results against the roofs, once those are as high as the best result: bandwidths by working set, arithmetic by
    /// kind of work, and products by dtype, the large one of the beginning included.
    pub fn rate(&mut self, results: &mut [Measured]) {
        raise(&mut self.roof, results);
        for result in results.iter_mut() {
            let (memory, call) = (result.memory_fraction.unwrap_or(0.0), self.call / result.seconds);
            result.roof_fraction = result.arithmetic_fraction.unwrap_or(0.0).max(memory);
            result.limit = limit(result.arithmetic_fraction, memory, call);
        }
        for (name, peak) in [("matmul_f32", &mut self.matmul_f32), ("matmul_f64", &mut self.matmul_f64)] {
            let products = || results.iter().filter(|r| r.workload == name);
            *peak = products().map(|r| r.rate).fold(*peak, f64::max);
            for product in results.iter_mut().filter(|r| r.workload == name) {
                let fraction = product.rate / *peak;
                (product.roof_fraction, product.matmul_fraction) = (fraction, Some(fraction));
            }
        }
    }

    pub fn peaks(&self) -> Peaks {
        let bandwidth = self.roof.known().map(|(working_set_bytes, b)| Memory {
            working_set_bytes,
            read_bytes_per_second: b.read,
            copy_bytes_per_second: b.copy,
            write_bytes_per_second: b.write,
        });
        Peaks {
            call_seconds: self.call,
            matmul_f32_flops_per_second: self.matmul_f32,
            matmul_f64_flops_per_second: self.matmul_f64,
            bandwidth: bandwidth.collect(),
        }
    }
}

/// Raises the roofs that results go through, and holds all results under them against the raised ones.
fn raise(roof: &mut Roof, results: &mut [Measured]) {
    let beyond = |fraction: Option<f64>| fraction.filter(|&fraction| fraction > 1.0);
    for at in 0..results.len() {
        if let Some(factor) = beyond(results[at].memory_fraction) {
            let moved = results[at].moved;
            roof.raise(moved, factor);
            for other in results.iter_mut().filter(|other| Roof::is_same(other.moved, moved)) {
                other.memory_fraction = other.memory_fraction.map(|fraction| fraction / factor);
            }
        }
        if let Some(factor) = beyond(results[at].arithmetic_fraction) {
            let workload = results[at].workload;
            for other in results.iter_mut().filter(|other| other.workload == workload) {
                other.arithmetic_fraction = other.arithmetic_fraction.map(|fraction| fraction / factor);
            }
        }
    }
}

/// What allows no more, by the fractions of the time that each explains.
fn limit(arithmetic: Option<f64>, memory: f64, call: f64) -> &'static str {
    let Some(arithmetic) = arithmetic else { return "matmul" };
    if call > arithmetic.max(memory) {
        return "call";
    }
    if memory >= arithmetic { "memory" } else { "arithmetic" }
}

/// Arithmetic operations per second of the best of several large matrix products.
fn matrix_peak(rows: usize, dtype: DType) -> Result<f64> {
    let matrix = |seed| crossover::random::normal_dtype(&Key::new(seed), [rows, rows], dtype);
    let (a, b) = (matrix(1), matrix(2));
    a.eval()?;
    b.eval()?;
    let mut best = f64::INFINITY;
    for _ in 0..5 {
        let start = Instant::now();
        a.matmul(&b).eval()?;
        best = best.min(start.elapsed().as_secs_f64());
    }
    Ok(2.0 * (rows as f64).powi(3) / best)
}

/// Computes once more and checks that result.
fn judged(workload: &Workload, size: &[usize], operands: &[Operand], arrays: &[Array]) -> Result<Verdict> {
    let result = (workload.build)(size, arrays);
    check::check(workload, size, operands, &result)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn measured(workload: &'static str, moved: u64, memory: f64, arithmetic: f64) -> Measured {
        Measured {
            workload,
            title: workload,
            moved,
            shape: Vec::new(),
            seconds: 1.0,
            rate: 1.0,
            unit: "bytes/s",
            roof_fraction: 0.0,
            memory_fraction: Some(memory),
            arithmetic_fraction: Some(arithmetic),
            matmul_fraction: None,
            limit: "",
            kernels: Vec::new(),
            checked: Verdict { ok: true, method: "bits", compared: 0, elements: 0, difference: None }.into(),
        }
    }

    #[test]
    fn no_result_goes_through_a_roof() {
        let mut roof = Roof::new(1, Duration::from_micros(100));
        let before = roof.at(1 << 20).copy;
        let mut results = [
            measured("sum", 1 << 20, 0.6, 1.5),
            measured("sum", 1 << 24, 0.5, 0.9),
            measured("norm", 1 << 20, 1.2, 0.3),
            measured("xor", 1 << 20, 1.5, 0.3),
        ];
        raise(&mut roof, &mut results);
        let fractions = results.map(|r| (r.memory_fraction.unwrap(), r.arithmetic_fraction.unwrap()));
        let near = |a: f64, b: f64| (a - b).abs() < 1e-12;
        let wanted = [(0.4, 1.0), (0.5, 0.6), (0.8, 0.3), (1.0, 0.3)];
        for ((memory, arithmetic), (m, a)) in fractions.into_iter().zip(wanted) {
            assert!(near(memory, m) && near(arithmetic, a), "{fractions:?}");
        }
        assert!(near(roof.at(1 << 20).copy / before, 1.5));
    }

    #[test]
    fn the_limit_is_what_explains_the_time() {
        assert_eq!(limit(Some(0.3), 0.9, 0.0), "memory");
        assert_eq!(limit(Some(0.8), 0.2, 0.1), "arithmetic");
        assert_eq!(limit(Some(0.1), 0.2, 0.5), "call");
        assert_eq!(limit(None, 0.2, 0.5), "matmul");
    }
}
