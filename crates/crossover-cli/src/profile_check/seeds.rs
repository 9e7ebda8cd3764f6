//! The suite `seeds` of `crossover bench`, one call after the other, each waited for.

use std::time::Instant;

use anyhow::Result;
use crossover::{Device, Runtime, runtime, with_device};

use super::costs::{Runs, Wanted, Work};
use crate::bench::{
    gauge::{CPU, GPU},
    suites::{self, Case, Kind},
};

/// Hands over one case after the other, on the CPU and, where there is one, on the GPU.
pub fn each(wanted: &Wanted, one: &mut dyn FnMut(Work) -> Result<()>) -> Result<()> {
    let has_gpu = Runtime::current().is_available(Device::Cuda(0));
    let mut places = vec![(CPU, Device::Cpu)];
    places.extend(has_gpu.then_some((GPU, Device::Cuda(0))));
    for (place, device) in places {
        // What takes seconds on a few cores is quick on a GPU.
        let is_wanted = |case: &Case| {
            case.name.contains(wanted.only) && !(case.heavy && wanted.quick && device == Device::Cpu)
        };
        for case in suites::seeds()?.into_iter().filter(is_wanted) {
            if let Some(run) = runs(&case, device)? {
                one(Work { name: case.name, place: place.to_owned(), run })?;
            }
        }
    }
    Ok(())
}

/// Calls of a case on a device: build, evaluate, wait, drop. `None` where the device has no part in it.
fn runs(case: &Case, device: Device) -> Result<Option<Runs>> {
    let mut call: Box<dyn FnMut() -> Result<()>> = match case.work {
        // Nothing is evaluated.
        Kind::Decision => return Ok(None),
        Kind::Call(call) if device != Device::Cpu && !call.has_arrays => return Ok(None),
        // They choose for themselves where there is a GPU.
        Kind::Call(call) => {
            let device = if device == Device::Cpu { Device::Cpu } else { Device::Auto };
            let mut run = with_device(device, call.make)?;
            Box::new(move || with_device(device, &mut run))
        }
        Kind::Array(work) => {
            let sizes = work.sizes(&case.params);
            let mut operands = (work.operands)(&sizes);
            for operand in &mut operands {
                with_device(Device::Cpu, || operand.eval().map(drop))?;
                *operand = operand.to_device(device)?;
            }
            let mut round = 0;
            Box::new(move || {
                round += 1;
                with_device(device, || (work.work)(&sizes, &operands, round).eval().map(drop))?;
                Ok(())
            })
        }
    };
    Ok(Some(Box::new(move |count| {
        let machine = Runtime::current().executor().machine().clone();
        let start = Instant::now();
        for _ in 0..count {
            call()?;
            if device != Device::Cpu {
                machine.backend(runtime::Device(1)).finish()?;
            }
        }
        Ok(start.elapsed().as_secs_f64() / count as f64)
    })))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::profile_check::costs::Suite;

    #[test]
    fn light_cases_run_on_the_cpu() {
        let wanted =
            Wanted { suite: Suite::Seeds, elements: 0, rounds: 1, only: "unbind batch=1 ", quick: true };
        let mut names = Vec::new();
        let mut one = |mut work: Work| {
            assert!((work.run)(2)? > 0.0);
            if work.place == CPU {
                names.push(work.name);
            }
            Ok(())
        };
        each(&wanted, &mut one).unwrap();
        assert_eq!(names, ["bind_unbind batch=1 d=512"]);
    }
}
