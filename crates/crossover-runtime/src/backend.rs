//! What a device must be able to do: hold bytes, move them, and run kernels.
//!
//! Backends see kernels and addresses, never arrays. All launches go through [`Launch::new`], which checks that
//! every address the kernel will touch lies inside the memory it is given; after that check a backend may index
//! without looking.

use crossover_core::{DType, Scalar};
use crossover_plan::kernel::{Fused, Kernel, Space, Window};

use crate::{Error, Result};

/// An address in the memory of one device.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Address(pub u64);

/// Device memory as a backend hands it out; the buffer that owns it gives it back.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Block {
    /// Where it starts; aligned to 64 bytes.
    pub address: Address,
    /// Usable bytes.
    pub bytes: usize,
}

/// A device with its own memory.
pub trait Backend: Send + Sync + 'static {
    /// Name for people: "CPU", "NVIDIA H200".
    fn name(&self) -> &str;
    /// Reserves memory with undefined contents.
    fn allocate(&self, bytes: usize) -> Result<Block>;
    /// Gives a block back. The caller guarantees that nothing uses it any more.
    fn free(&self, block: Block);
    /// Copies host bytes to the start of a block.
    fn upload(&self, from: &[u8], to: Block) -> Result<()>;
    /// Copies the start of a block to host bytes.
    fn download(&self, from: Block, to: &mut [u8]) -> Result<()>;
    /// Whether blocks are host memory that the host may read and write through their address.
    fn is_host(&self) -> bool {
        false
    }
    /// Makes a kernel ready to run. Called once per plan; the result is cached with it.
    fn prepare(&self, kernel: &Kernel) -> Result<Box<dyn Executable>>;
}

/// A kernel made ready by a backend.
pub trait Executable: Send + Sync {
    /// Runs it to completion, or queues it in order behind everything queued before.
    fn run(&self, launch: &Launch<'_>) -> Result<()>;
}

/// The arguments of one run, checked against the kernel.
#[derive(Debug)]
pub struct Launch<'a> {
    inputs: &'a [Block],
    outputs: &'a [Block],
    scalars: &'a [Scalar],
}

impl<'a> Launch<'a> {
    /// Checks arity, lengths and scalar dtypes.
    ///
    /// `inputs` has one block per load (or operand), `outputs` one per store (or the one output), `scalars` all
    /// host scalars of the plan.
    pub fn new(
        kernel: &Kernel,
        inputs: &'a [Block],
        outputs: &'a [Block],
        scalars: &'a [Scalar],
    ) -> Result<Launch<'a>> {
        let (reads, writes) = needs(kernel);
        check("input", &reads, inputs)?;
        check("output", &writes, outputs)?;
        if let Kernel::Fused(fused) = kernel {
            check_scalars(fused, scalars)?;
        }
        Ok(Launch { inputs, outputs, scalars })
    }

    /// One block per load or operand.
    pub fn inputs(&self) -> &'a [Block] {
        self.inputs
    }

    /// One block per store, or the output of a call.
    pub fn outputs(&self) -> &'a [Block] {
        self.outputs
    }

    /// Host scalars of the plan.
    pub fn scalars(&self) -> &'a [Scalar] {
        self.scalars
    }
}

/// Bytes each input and output must have at least.
fn needs(kernel: &Kernel) -> (Vec<usize>, Vec<usize>) {
    match kernel {
        Kernel::Fused(k) => (
            k.loads.iter().map(|l| window_bytes(&k.space, &l.window, l.dtype)).collect(),
            k.stores.iter().map(|s| window_bytes(&k.space, &s.window, s.dtype)).collect(),
        ),
        Kernel::Call(c) => (
            c.operands.iter().map(|o| o.layout.extent().1 * o.dtype.size()).collect(),
            vec![c.layout.extent().1 * c.dtype.size()],
        ),
    }
}

fn window_bytes(space: &Space, window: &Window, dtype: DType) -> usize {
    if space.size() == 0 {
        return 0;
    }
    let reach: isize =
        space.dims().iter().zip(&window.strides).map(|(&n, &s)| ((n as isize - 1) * s).max(0)).sum();
    (window.offset + reach as usize + 1) * dtype.size()
}

fn check(what: &str, needed: &[usize], blocks: &[Block]) -> Result<()> {
    if needed.len() != blocks.len() {
        return Err(Error::Internal(format!("{} {what}s for a kernel with {}", blocks.len(), needed.len())));
    }
    for (i, (&bytes, block)) in needed.iter().zip(blocks).enumerate() {
        if block.bytes < bytes {
            return Err(Error::Internal(format!(
                "{what} {i} has {} bytes, the kernel touches {bytes}",
                block.bytes
            )));
        }
    }
    Ok(())
}

fn check_scalars(fused: &Fused, scalars: &[Scalar]) -> Result<()> {
    use crossover_plan::kernel::StepOp;
    for step in &fused.steps {
        if let StepOp::Scalar(slot) = step.op {
            match scalars.get(slot as usize) {
                Some(value) if value.dtype().compute() == step.dtype => {}
                Some(value) => {
                    let what = format!("scalar {slot} is {}, the kernel wants {}", value.dtype(), step.dtype);
                    return Err(Error::Internal(what));
                }
                None => {
                    return Err(Error::Internal(format!("scalar {slot} of {} is missing", scalars.len())));
                }
            }
        }
    }
    Ok(())
}
