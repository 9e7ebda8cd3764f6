//! Measures one case after another, on every device there is.

use std::{collections::BTreeMap, time::Duration};

use anyhow::{Context, Result, anyhow};
use crossover::{
    Array, DType, Device, Runtime,
    profile::bench::{Budget, Entry, Timing, measure},
    random::{self, Key},
    runtime::{self, Made},
    with_device,
};
use crossover_plan::{Class, Options, Plan, Width, Work};

use super::{
    calls::Call,
    error,
    suites::{Case, Kind},
    workloads::{self, Workload},
};
use crate::{decide, tour::roof::Roof};

/// Names of devices in results.
pub const CPU: &str = "cpu";
pub const GPU: &str = "cuda:0";

/// Measures, and remembers what the machine can do.
pub struct Gauge {
    budget: Budget,
    /// Only times: no errors, no roofline.
    times_only: bool,
    roof: Roof,
    /// Operations per second of a large product in f32 and f64, measured when first needed.
    products: BTreeMap<&'static str, f64>,
    gpu: bool,
    unfused: Option<Runtime>,
}

impl Gauge {
    pub fn new(budget: Budget, times_only: bool) -> Result<Gauge> {
        let gpu = Runtime::current().is_available(Device::Cuda(0));
        if gpu && !times_only {
            // The first plan that may choose has the machine measured; what the GPU can do is known from then on.
            let x = random::uniform::<f32>(&Key::new(1), [2048, 2048]);
            with_device(Device::Auto, || x.matmul(&x).eval().map(drop))?;
        }
        Ok(Gauge {
            budget,
            times_only,
            roof: Roof::new(Runtime::current().threads(), Duration::from_millis(8)),
            products: BTreeMap::new(),
            gpu,
            unfused: None,
        })
    }

    /// Whether there is a GPU.
    pub fn has_gpu(&self) -> bool {
        self.gpu
    }

    /// Everything about a case.
    pub fn measure(&mut self, case: &Case) -> Result<Entry> {
        let mut entry = Entry {
            name: case.name.clone(),
            params: case.params.clone(),
            claim: case.claim.clone(),
            ..Entry::default()
        };
        match case.work {
            Kind::Decision => {
                entry.workload = "decide".to_owned();
                entry.timings.insert(CPU.to_owned(), self.decisions()?);
            }
            Kind::Call(call) => {
                entry.workload = call.name.to_owned();
                self.calls(call, case, &mut entry)?;
            }
            Kind::Array(work) => {
                entry.workload = work.name.to_owned();
                self.arrays(work, case, &mut entry)?;
            }
        }
        Ok(entry)
    }

    fn decisions(&self) -> Result<Timing> {
        // Each call makes its own machine and asks it a thousand times.
        let samples =
            (0..self.budget.fewest).map(|_| decide::seconds(true, 1000)).collect::<Result<Vec<_>>>()?;
        Ok(Timing { cold: None, calls: 1000, samples })
    }

    /// Calls on the CPU, and, where arrays are part of them, with a GPU to choose.
    fn calls(&self, call: &Call, case: &Case, entry: &mut Entry) -> Result<()> {
        let few = Budget { warm_up: Duration::ZERO, fewest: 3, ..self.budget };
        let budget = if case.heavy { &few } else { &self.budget };
        let mut time = |name: &str, device: Device| -> Result<()> {
            let timing = with_device(device, || -> Result<Timing> {
                let mut run = (call.make)()?;
                measure(budget, || {
                    run()?;
                    if device != Device::Cpu {
                        Runtime::current().executor().machine().backend(runtime::Device(1)).finish()?;
                    }
                    Ok(())
                })
            });
            entry.timings.insert(name.to_owned(), timing.with_context(|| case.name.clone())?);
            Ok(())
        };
        time(CPU, Device::Cpu)?;
        if self.gpu && call.has_arrays {
            time(GPU, Device::Auto)?;
        }
        Ok(())
    }

    fn arrays(&mut self, work: &'static Workload, case: &Case, entry: &mut Entry) -> Result<()> {
        let sizes = work.sizes(&case.params);
        let operands = ready((work.operands)(&sizes))?;
        let plan = Plan::new(&(work.work)(&sizes, &operands, 0).graph()?, Options::default())?;
        let cost = plan.cost();
        (entry.bytes, entry.flops) = (cost.moved(), cost.flops);
        entry.timings.insert(CPU.to_owned(), self.time(work, case, &operands, Device::Cpu)?);
        if self.gpu {
            entry.timings.insert(GPU.to_owned(), self.time(work, case, &operands, Device::Cuda(0))?);
        }
        if case.unfused {
            self.unfused(work, case, entry)?;
        }
        if self.times_only {
            return Ok(());
        }
        if has_roof(&plan) {
            if let Some(seconds) = entry.median(CPU) {
                self.learn(&plan, seconds)?;
                let floor = self.floor(&plan)?;
                entry.efficiency.insert(CPU.to_owned(), floor / seconds);
            }
            if let (Some(seconds), Some(floor)) = (entry.median(GPU), gpu_floor(&plan)) {
                entry.efficiency.insert(GPU.to_owned(), floor / seconds);
            }
        }
        entry.max_error = self.error(work, case, &operands)?;
        Ok(())
    }

    /// One call: build, evaluate, wait, drop.
    fn time(&self, work: &Workload, case: &Case, operands: &[Array], device: Device) -> Result<Timing> {
        self.time_of(work.work, work, case, operands, device)
    }

    fn time_of(
        &self,
        expression: workloads::Expression,
        work: &Workload,
        case: &Case,
        operands: &[Array],
        device: Device,
    ) -> Result<Timing> {
        let sizes = work.sizes(&case.params);
        let runtime = Runtime::current();
        let here: Vec<Array> =
            operands.iter().map(|array| array.to_device(device)).collect::<Result<_, _>>()?;
        let mut round = 0;
        // What takes seconds needs no warming up, and few samples.
        let few = Budget { warm_up: Duration::ZERO, fewest: 3, ..self.budget };
        let budget = if case.heavy { &few } else { &self.budget };
        with_device(device, || {
            measure(budget, || -> Result<()> {
                round += 1;
                expression(&sizes, &here, round).eval()?;
                if device != Device::Cpu {
                    runtime.executor().machine().backend(runtime::Device(1)).finish()?;
                }
                Ok(())
            })
        })
        .with_context(|| format!("{} on {device}", case.name))
    }

    /// The same with every operation a kernel of its own.
    fn unfused(&mut self, work: &'static Workload, case: &Case, entry: &mut Entry) -> Result<()> {
        let runtime = match &self.unfused {
            Some(runtime) => runtime.clone(),
            None => self.unfused.insert(Runtime::builder().fusion(false).build()?).clone(),
        };
        let devices = [(CPU, Device::Cpu), (GPU, Device::Cuda(0))];
        for (name, device) in devices.into_iter().take(1 + usize::from(self.gpu)) {
            let timing = runtime.scope(|| -> Result<Timing> {
                let operands = ready((work.operands)(&work.sizes(&case.params)))?;
                self.time_of(workloads::spelled(work), work, case, &operands, device)
            })?;
            entry.timings.insert(format!("{name} unfused"), timing);
        }
        Ok(())
    }

    /// Seconds that the CPU needs at least: moving every byte, or the products at the best rate seen.
    fn floor(&mut self, plan: &Plan) -> Result<f64> {
        let mut seconds = 0.0;
        for (launch, work) in plan.launches.iter().zip(plan.work()) {
            let moving = self.roof.at(launch.cost.moved()).floor(launch.cost.read, launch.cost.written);
            let mut computing = 0.0;
            for term in work.terms.iter().filter(|term| term.class == Class::Product) {
                computing += term.count as f64 / self.product(term.width)?;
            }
            seconds += f64::max(moving, computing);
        }
        Ok(seconds)
    }

    /// Products that are faster than the best so far are the best, also as parts of larger work, which takes at least as long as they do.
    fn learn(&mut self, plan: &Plan, seconds: f64) -> Result<()> {
        let mut counts: BTreeMap<&'static str, (Width, u64)> = BTreeMap::new();
        let work = plan.work();
        for term in work.iter().flat_map(|work| &work.terms).filter(|term| term.class == Class::Product) {
            counts.entry(named(term.width).0).or_insert((term.width, 0)).1 += term.count;
        }
        for (name, (width, count)) in counts {
            let rate = self.product(width)?.max(count as f64 / seconds);
            self.products.insert(name, rate);
        }
        Ok(())
    }

    fn product(&mut self, width: Width) -> Result<f64> {
        let (name, dtype) = named(width);
        if let Some(rate) = self.products.get(name) {
            return Ok(*rate);
        }
        let rows = 1024;
        let matrix = |seed| random::normal_dtype(&Key::new(seed), [rows, rows], dtype);
        let operands = ready(vec![matrix(1), matrix(2)])?;
        // The plan counts its work in its own units; the rate is in the same.
        let plan = Plan::new(&operands[0].matmul(&operands[1]).graph()?, Options::default())?;
        let count: u64 = plan.work().iter().flat_map(|work: &Work| &work.terms).map(|term| term.count).sum();
        let budget = Budget { fewest: 5, most: 5, ..Budget::quick() };
        let timing = with_device(Device::Cpu, || {
            measure(&budget, || operands[0].matmul(&operands[1]).eval().map(drop))
        })?;
        let rate = count as f64 / timing.best();
        self.products.insert(name, rate);
        Ok(rate)
    }

    fn error(&self, work: &Workload, case: &Case, operands: &[Array]) -> Result<Option<f64>> {
        if !work.has_wider {
            return Ok(None);
        }
        let sizes = work.sizes(&case.params);
        let wide: Vec<Array> = operands.iter().map(workloads::wider).collect();
        let devices = [Device::Cpu, Device::Cuda(0)];
        let reference = with_device(Device::Cpu, || (work.work)(&sizes, &wide, 1).eval().cloned())?;
        let mut worst = 0.0f64;
        for device in devices.into_iter().take(1 + usize::from(self.gpu)) {
            let result = with_device(device, || (work.work)(&sizes, operands, 1).eval().cloned())?;
            worst = worst.max(error::largest(&result, &reference)?);
        }
        if !worst.is_finite() {
            return Err(anyhow!("{}: a result is not a number where float64 gives one", case.name));
        }
        Ok(Some(worst))
    }
}

/// The dtype that a product of this width is measured in.
fn named(width: Width) -> (&'static str, DType) {
    if width == Width::Double { ("f64", DType::F64) } else { ("f32", DType::F32) }
}

fn ready(arrays: Vec<Array>) -> Result<Vec<Array>> {
    for array in &arrays {
        with_device(Device::Cpu, || array.eval().map(drop))?;
    }
    Ok(arrays)
}

/// Bytes below which starting the work takes longer than the work.
const SMALL: u64 = 1 << 14;

/// Whether bytes and products say how long it takes at least.
fn has_roof(plan: &Plan) -> bool {
    let work = plan.work();
    work.iter().map(|work| work.bytes).sum::<u64>() >= SMALL && work.iter().all(Work::has_roof)
}

/// Seconds that the GPU needs at least, by the machine's profile; nothing where nobody measured it.
fn gpu_floor(plan: &Plan) -> Option<f64> {
    let profile = Runtime::current().profile();
    if profile.made == Made::Assumed {
        return None;
    }
    let gpu = profile.devices.get(1)?;
    let nanoseconds = plan.work().into_iter().map(|work| {
        let moving = work.bytes as f64 / gpu.bandwidth.at(work.bytes as f64).max(1e-9);
        let products = work.terms.iter().filter(|term| term.class == Class::Product);
        let computing: f64 = products.map(|t| t.count as f64 / gpu.rates.get(t.class, t.width)).sum();
        moving.max(computing)
    });
    Some(1e-9 * nanoseconds.sum::<f64>()).filter(|&floor| floor > 0.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn products_inside_other_work_raise_the_roof() {
        let mut gauge = Gauge::new(Budget::quick(), false).unwrap();
        let x = random::normal::<f32>(&Key::new(1), [1, 2, 64, 32]);
        x.eval().unwrap();
        let plan =
            Plan::new(&crossover::nn::attention(&x, &x, &x).graph().unwrap(), Options::default()).unwrap();
        let count: u64 = plan
            .work()
            .iter()
            .flat_map(|work| &work.terms)
            .filter(|term| term.class == Class::Product)
            .map(|term| term.count)
            .sum();
        assert!(count > 0 && has_roof(&plan), "attention is products and functions");
        // However fast this machine is, it is not that fast.
        let seconds = count as f64 / 1e18;
        gauge.learn(&plan, seconds).unwrap();
        assert!(gauge.product(Width::Single).unwrap() >= 0.999e18);
    }
}
