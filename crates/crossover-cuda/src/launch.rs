//! Arguments of a launch, laid out as the driver wants them.

use crossover_codegen::{Argument, Launch, Source};
use crossover_core::{DType, Scalar, ops::cast};
use crossover_plan::kernel::Fused;

use crate::{Error, Result};

/// Values of all parameters of one entry point, each in its own cell of 16 bytes.
#[derive(Debug, Clone)]
pub struct Arguments {
    cells: Vec<[u64; 2]>,
}

impl Arguments {
    /// Resolves the arguments of a launch: addresses of inputs and outputs (one per load and store, at the start
    /// of their blocks), of the scratch memory, and host scalars.
    pub fn new(
        kernel: &Fused,
        source: &Source,
        launch: &Launch,
        inputs: &[u64],
        outputs: &[u64],
        scratch: u64,
        scalars: &[Scalar],
    ) -> Result<Arguments> {
        let missing = |what: &str, i: u16| Error::Launch {
            entry: launch.entry.clone(),
            why: format!("{what} {i} is missing"),
        };
        let mut cells = Vec::with_capacity(launch.arguments.len());
        for argument in &launch.arguments {
            cells.push(match *argument {
                Argument::Load(i) => {
                    let load = &kernel.loads[i as usize];
                    let base = *inputs.get(i as usize).ok_or_else(|| missing("input", i))?;
                    [base + (load.window.offset * load.dtype.size()) as u64, 0]
                }
                Argument::Store(i) => {
                    let store = &kernel.stores[i as usize];
                    let base = *outputs.get(i as usize).ok_or_else(|| missing("output", i))?;
                    [base + (store.window.offset * store.dtype.size()) as u64, 0]
                }
                Argument::Scratch(at) => [scratch + at as u64, 0],
                Argument::Scalar(slot, dtype) => {
                    let scalar = *scalars.get(slot as usize).ok_or_else(|| missing("scalar", slot))?;
                    register(scalar, dtype)
                }
                // Little-endian: the lower half of the cell is the 32-bit value.
                Argument::Index(value) if source.wide => [value as u64, 0],
                Argument::Index(value) => [value as i32 as u32 as u64, 0],
            });
        }
        Ok(Arguments { cells })
    }

    /// One pointer per parameter, as `cuLaunchKernel` takes them; valid while this value is neither moved nor dropped.
    pub fn pointers(&mut self) -> Vec<*mut std::ffi::c_void> {
        self.cells.iter_mut().map(|cell| cell.as_mut_ptr().cast()).collect()
    }
}

/// A scalar as a register of `dtype` holds it, laid out as in memory.
pub(crate) fn register(scalar: Scalar, dtype: DType) -> [u64; 2] {
    let bits = scalar.bits();
    let held = match scalar.dtype() {
        DType::F16 => cast::widen_f16(bits[0] as u16).to_bits() as u64,
        DType::BF16 => cast::widen_bf16(bits[0] as u16).to_bits() as u64,
        _ => bits[0],
    };
    if dtype == DType::C64 { [held | bits[1] << 32, 0] } else { [held, bits[1]] }
}
