//! What a generated kernel is to whoever compiles and launches it.

use crossover_core::DType;

/// Text for NVRTC, and the launches that run the kernel.
#[derive(Debug, Clone, PartialEq)]
pub struct Source {
    /// CUDA C++; equal texts are interchangeable, so it is also the key of a compiled module.
    pub text: String,
    /// Launches in order on one stream.
    pub launches: Vec<Launch>,
    /// Bytes of scratch memory the launches share; its contents need not survive them.
    pub scratch: usize,
    /// Whether `index_t` is 64 bits wide, and with it every [`Argument::Index`].
    pub wide: bool,
}

/// One launch of an entry point.
#[derive(Debug, Clone, PartialEq)]
pub struct Launch {
    /// Name of the `extern "C"` function.
    pub entry: String,
    /// Threads per block.
    pub threads: u32,
    /// Blocks that cover the work once. Kernels stride over the grid, so fewer are correct too; 0 means that there
    /// is nothing to do.
    pub blocks: usize,
    /// Bytes of shared memory per block, beyond what the text declares.
    pub shared: usize,
    /// Arguments in the order of the parameters.
    pub arguments: Vec<Argument>,
}

/// One argument of a launch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Argument {
    /// Address of `loads[i]` at the origin of the space: the block's address plus the window's offset.
    Load(u16),
    /// Address of `stores[i]` at the origin of the space.
    Store(u16),
    /// Address this many bytes into the scratch memory.
    Scratch(usize),
    /// Host scalar of the launch, in the register form of its dtype (16-bit floats as `f32`).
    Scalar(u16, DType),
    /// A size or stride, 4 bytes or 8 as [`Source::wide`] says.
    Index(i64),
}
