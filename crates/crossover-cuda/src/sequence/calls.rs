//! Kernels and calls of libraries as graphs that were noted from a stream, one for each set of blocks that runs name.
//!
//! What a library launches cannot be told other addresses, so work is noted anew for blocks that are not known. Freed memory
//! is handed out again in the order in which it came back, so a plan that repeats meets the same few sets.

#![allow(unsafe_code)]

use crossover_runtime::{Place, Step};
use smallvec::SmallVec;

use super::Run;
use crate::{
    Gpu,
    graph::{Recorded, Tape},
    queued::{self, Addresses, Queued},
};

/// Graphs of a sequence at most; the one that was used least recently is changed for a new set of blocks.
const GRAPHS: usize = 4;

/// The calls of a sequence.
#[derive(Debug)]
pub(super) struct Calls {
    /// With the blocks of each; the one used last is last.
    graphs: Vec<(Run, Recorded)>,
    tape: Tape,
    /// Where memory between kernels starts, and the scratch memory that they use one after the other.
    inside: u64,
    scratch: u64,
}

/// Each step as what is queued; `None` if one cannot be noted now.
pub(super) fn queued(steps: &[Step]) -> Option<Vec<&dyn Queued>> {
    steps.iter().map(|step| queued::of(&*step.executable).filter(|it| it.is_settled())).collect()
}

impl Calls {
    pub(super) fn new(gpu: &Gpu, inside: u64, scratch: u64) -> crate::Result<Calls> {
        Ok(Calls { graphs: Vec::new(), tape: Tape::new(gpu)?, inside, scratch })
    }

    pub(super) fn launch(&mut self, gpu: &Gpu, steps: &[Step], run: Run) -> crate::Result<()> {
        let (inside, scratch) = (self.inside, self.scratch);
        let queue = |gpu: &Gpu| queue_all(gpu, steps, &run, inside, scratch);
        let mut graph = match self.graphs.iter().position(|(known, _)| *known == run) {
            Some(at) => self.graphs.remove(at).1,
            None if self.graphs.len() < GRAPHS => Recorded::new(gpu, &self.tape, queue)?,
            None => {
                let (_, mut oldest) = self.graphs.remove(0);
                if !oldest.change(&self.tape, queue)? {
                    oldest = Recorded::new(gpu, &self.tape, queue)?;
                }
                oldest
            }
        };
        // SAFETY: the executor checked every launch against blocks of the sizes that runs name; memory between them has
        // the size it was asked for; all of it is given back on this lane. The sequence holds the executables.
        unsafe { graph.launch()? };
        self.graphs.push((run, graph));
        Ok(())
    }
}

fn queue_all(gpu: &Gpu, steps: &[Step], run: &Run, inside: u64, scratch: u64) -> crate::Result<()> {
    let address = |place: &Place| match *place {
        Place::Given(i) => run.given[i],
        Place::Inside(start) => inside + start as u64,
    };
    for step in steps {
        let Some(it) = queued::of(&*step.executable) else { continue };
        let inputs: SmallVec<[u64; 8]> = step.inputs.iter().map(address).collect();
        let outputs: SmallVec<[u64; 4]> = step.outputs.iter().map(address).collect();
        let (inputs, outputs) = (&inputs[..], &outputs[..]);
        it.queue(gpu, &Addresses { inputs, outputs, scratch, scalars: &run.scalars })?;
    }
    Ok(())
}
