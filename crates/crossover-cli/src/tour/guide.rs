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
        let (read, written) =
            plan.launches.iter().fold((0, 0), |sum, l| (sum.0 + l.cost.read, sum.1 + l.cost.written));
        let (amount, unit) = match workload.unit {
            Unit::Bytes => ((read + written) as f64, "bytes/s"),
            Unit::Flops => (plan.launches.iter().map(|l| l.cost.flops as f64).sum(), "flops/s"),
            Unit::Points => (size[0] as f64, "points/s"),
        };
        let memory = self.roof.at(read + written).floor(read, written) / seconds;
        let elements: usize = size.iter().product();
        let arithmetic = pace.map(|pace| pace * elements as f64 / self.threads as f64 / seconds);
        Ok(Measured {
            workload: workload.name,
            title: workload.title,
            shape: size.to_vec(),
            seconds,
            rate: amount / seconds,
            unit,
            // Products are rated when all of them are known: the best is the peak.
            roof_fraction: arithmetic.unwrap_or(0.0).max(memory),
            memory_fraction: Some(memory),
            arithmetic_fraction: arithmetic,
            matmul_fraction: None,
            limit: limit(arithmetic, memory, self.call / seconds),
            kernels: plan.launches.iter().map(|l| explain::kind(&l.kernel)).collect(),
            checked: verdict.into(),
        })
    }

    /// Holds products against the best rate seen for their dtype, the large one of the beginning included.
    pub fn rate_products(&mut self, results: &mut [Measured]) {
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

    #[test]
    fn the_limit_is_what_explains_the_time() {
        assert_eq!(limit(Some(0.3), 0.9, 0.0), "memory");
        assert_eq!(limit(Some(0.8), 0.2, 0.1), "arithmetic");
        assert_eq!(limit(Some(0.1), 0.2, 0.5), "call");
        assert_eq!(limit(None, 0.2, 0.5), "matmul");
    }
}
