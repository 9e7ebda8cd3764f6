//! Random numbers of a distribution: one sequence of draws per element.
#![allow(unsafe_code)]

use std::sync::Arc;

use crossover_core::sample::Sampler;
use crossover_plan::kernel::Call;
use crossover_runtime::{Error, Executable, Launch, Result};

use crate::{threads::Threads, window::View};

/// Elements per piece of work, about 100 ns each: a piece outlasts handing it out by far.
const GRAIN: usize = 1024;

/// `sample` made ready: element i is a function of parameter i, the key and i alone.
#[derive(Debug)]
pub struct Sample {
    sampler: Sampler,
    /// Offset of the key and the distance between its words, in elements.
    key: (isize, isize),
    offset: isize,
    parameters: View,
    size: usize,
    threads: Arc<Threads>,
}

impl Sample {
    /// Prepares a call.
    pub fn new(call: &Call, sampler: Sampler, threads: Arc<Threads>) -> Result<Sample> {
        let [key, parameters] = call.operands.as_slice() else {
            return Err(Error::Internal(format!("sample with {} operands", call.operands.len())));
        };
        let (shape, strides) = (&parameters.layout.shape, &parameters.layout.strides);
        Ok(Sample {
            sampler,
            key: (key.layout.offset as isize, key.layout.strides.first().copied().unwrap_or(0)),
            offset: parameters.layout.offset as isize,
            parameters: View::new(shape.dims(), strides),
            size: shape.size(),
            threads,
        })
    }
}

impl Executable for Sample {
    fn run(&self, launch: &Launch<'_>) -> Result<()> {
        let (key, from) = (launch.inputs()[0].address.0 as usize, launch.inputs()[1].address.0 as usize);
        let to = launch.outputs()[0].address.0 as usize;
        let (first, step) = self.key;
        // SAFETY: `Launch::new` has checked that both words of the key lie inside their block, which holds `u32`.
        let key = [0, 1].map(|word| unsafe { *(key as *const u32).offset(first + word * step) });
        self.threads.each(self.size, GRAIN, |range| {
            let mut index = range.start;
            self.parameters.runs(range.start, range.len(), |position, stride, count| {
                for i in 0..count as isize {
                    // SAFETY: `Launch::new` has checked that every position of the parameters lies inside their
                    // block and that the output has room for all elements; both hold `f64`, and ranges are disjoint.
                    unsafe {
                        let at = self.offset + position + i * stride;
                        let parameter = *(from as *const f64).offset(at);
                        *(to as *mut f64).add(index) = self.sampler.draw(parameter, key, index as u64);
                    }
                    index += 1;
                }
            });
        });
        Ok(())
    }
}
