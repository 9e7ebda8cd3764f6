//! CUDA graphs: of kernels in a row, whose parameters are changed between launches, and of whatever a stream was asked to do.

#![allow(unsafe_code)]

use std::{ffi::c_void, ptr};

use cudarc::driver::{result, sys};

use crate::{
    Gpu, Result,
    device::Aside,
    driver::driver,
    queue::{Function, Lane},
};

/// Blocks, threads per block, bytes of shared memory per block.
pub(crate) type Grid = (u32, u32, u32);

/// Kernels that the driver starts together, each after the one before.
#[derive(Debug)]
pub(crate) struct KernelGraph {
    gpu: Gpu,
    graph: sys::CUgraph,
    /// Null until `finish`.
    executable: sys::CUgraphExec,
    nodes: Vec<sys::CUgraphNode>,
}

// SAFETY: handles that the thread-safe driver looks up; whoever launches or changes one has it alone (`&mut`).
unsafe impl Send for KernelGraph {}

fn parameters(
    function: Function,
    (blocks, threads, shared): Grid,
    pointers: &mut [*mut c_void],
) -> sys::CUDA_KERNEL_NODE_PARAMS {
    sys::CUDA_KERNEL_NODE_PARAMS {
        func: function.0,
        gridDimX: blocks,
        gridDimY: 1,
        gridDimZ: 1,
        blockDimX: threads,
        blockDimY: 1,
        blockDimZ: 1,
        sharedMemBytes: shared,
        kernelParams: pointers.as_mut_ptr(),
        extra: ptr::null_mut(),
        kern: ptr::null_mut(),
        ctx: ptr::null_mut(),
    }
}

impl KernelGraph {
    /// A graph without kernels.
    pub(crate) fn new(gpu: &Gpu) -> Result<KernelGraph> {
        gpu.bind()?;
        let mut graph = ptr::null_mut();
        // SAFETY: a context is current; the graph is destroyed once, by `drop`.
        unsafe { sys::cuGraphCreate(&mut graph, 0) }.result().map_err(driver("cuGraphCreate"))?;
        Ok(KernelGraph { gpu: gpu.clone(), graph, executable: ptr::null_mut(), nodes: Vec::new() })
    }

    /// Adds a kernel behind the last one.
    ///
    /// # Safety
    /// Every pointer leads to a value of the type of that parameter, and the function's module stays loaded as long as the
    /// graph lives.
    pub(crate) unsafe fn add(
        &mut self,
        function: Function,
        grid: Grid,
        pointers: &mut [*mut c_void],
    ) -> Result<()> {
        let parameters = parameters(function, grid, pointers);
        let before = self.nodes.last().map_or(ptr::null(), ptr::from_ref);
        let count = usize::from(!self.nodes.is_empty());
        let mut node = ptr::null_mut();
        // SAFETY: the graph is valid, `before` leads to `count` nodes of it; the driver copies the parameters.
        unsafe { sys::cuGraphAddKernelNode_v2(&mut node, self.graph, before, count, &parameters) }
            .result()
            .map_err(driver("cuGraphAddKernelNode"))?;
        self.nodes.push(node);
        Ok(())
    }

    /// Makes it ready to be launched.
    pub(crate) fn finish(&mut self) -> Result<()> {
        // SAFETY: the graph is valid and is made ready once.
        unsafe { sys::cuGraphInstantiateWithFlags(&mut self.executable, self.graph, 0) }
            .result()
            .map_err(driver("cuGraphInstantiateWithFlags"))
    }

    /// Gives a kernel other parameters, for launches from now on.
    ///
    /// # Safety
    /// As for `add`, with the function and the grid that it was added with.
    pub(crate) unsafe fn change(
        &mut self,
        at: usize,
        function: Function,
        grid: Grid,
        pointers: &mut [*mut c_void],
    ) -> Result<()> {
        let parameters = parameters(function, grid, pointers);
        // SAFETY: the node belongs to the graph that was made ready; the driver copies the parameters.
        unsafe { sys::cuGraphExecKernelNodeSetParams_v2(self.executable, self.nodes[at], &parameters) }
            .result()
            .map_err(driver("cuGraphExecKernelNodeSetParams"))
    }

    /// Queues all kernels on the lane of kernels.
    ///
    /// # Safety
    /// What parameters point to on the device is large enough and stays until the kernels have passed.
    pub(crate) unsafe fn launch(&mut self) -> Result<()> {
        // SAFETY: made ready by `finish`; the stream lives as long as the device.
        unsafe { sys::cuGraphLaunch(self.executable, self.gpu.lane(Lane::Compute)) }
            .result()
            .map_err(driver("cuGraphLaunch"))
    }
}

impl Drop for KernelGraph {
    fn drop(&mut self) {
        let _ = self.gpu.bind();
        // SAFETY: both were made here and are destroyed once; the driver keeps what is still running until it has passed.
        unsafe {
            if !self.executable.is_null() {
                let _ = sys::cuGraphExecDestroy(self.executable);
            }
            let _ = sys::cuGraphDestroy(self.graph);
        }
    }
}

/// A stream that notes what it is asked to do instead of doing it.
#[derive(Debug)]
pub(crate) struct Tape {
    /// The device with this stream in the place of the lane of kernels.
    gpu: Gpu,
    stream: Aside,
}

impl Tape {
    pub(crate) fn new(gpu: &Gpu) -> Result<Tape> {
        gpu.bind()?;
        let kind = result::stream::StreamKind::NonBlocking;
        let stream = Aside(result::stream::create(kind).map_err(driver("cuStreamCreate"))?);
        let mut gpu = gpu.clone();
        gpu.aside = Some(stream);
        Ok(Tape { gpu, stream })
    }

    /// What `work` queues on the device that it is handed.
    fn note(&self, work: impl FnOnce(&Gpu) -> Result<()>) -> Result<Noted> {
        self.gpu.bind()?;
        // Other threads go on using their streams as they like.
        let mode = sys::CUstreamCaptureMode::CU_STREAM_CAPTURE_MODE_RELAXED;
        // SAFETY: the stream is ours alone and nothing is being noted on it.
        unsafe { sys::cuStreamBeginCapture_v2(self.stream.0, mode) }
            .result()
            .map_err(driver("cuStreamBeginCapture"))?;
        let worked = work(&self.gpu);
        let mut graph = ptr::null_mut();
        // SAFETY: begun above; also after a failure, which leaves the stream as it was.
        let ended = unsafe { sys::cuStreamEndCapture(self.stream.0, &mut graph) }.result();
        let noted = (!graph.is_null()).then_some(Noted(graph));
        worked?;
        ended.map_err(driver("cuStreamEndCapture"))?;
        noted.ok_or_else(|| crate::Error::Launch { entry: "a graph".into(), why: "nothing was noted".into() })
    }
}

impl Drop for Tape {
    fn drop(&mut self) {
        let _ = self.gpu.bind();
        // SAFETY: made by `new`, destroyed once; nothing is being noted.
        unsafe {
            let _ = result::stream::destroy(self.stream.0);
        }
    }
}

/// What a tape noted.
struct Noted(sys::CUgraph);

impl Drop for Noted {
    fn drop(&mut self) {
        // SAFETY: the graph belongs to this value alone.
        unsafe {
            let _ = sys::cuGraphDestroy(self.0);
        }
    }
}

/// Work that was noted once and is queued again and again.
#[derive(Debug)]
pub(crate) struct Recorded {
    gpu: Gpu,
    executable: sys::CUgraphExec,
}

// SAFETY: as for `KernelGraph`.
unsafe impl Send for Recorded {}

impl Recorded {
    pub(crate) fn new(gpu: &Gpu, tape: &Tape, work: impl FnOnce(&Gpu) -> Result<()>) -> Result<Recorded> {
        let noted = tape.note(work)?;
        let mut executable = ptr::null_mut();
        // SAFETY: the graph is valid; what is made of it is destroyed by `drop`.
        unsafe { sys::cuGraphInstantiateWithFlags(&mut executable, noted.0, 0) }
            .result()
            .map_err(driver("cuGraphInstantiateWithFlags"))?;
        Ok(Recorded { gpu: gpu.clone(), executable })
    }

    /// Does other work from now on, of the same kind with other parameters. False if it is of another kind.
    pub(crate) fn change(&mut self, tape: &Tape, work: impl FnOnce(&Gpu) -> Result<()>) -> Result<bool> {
        let noted = tape.note(work)?;
        // SAFETY: all bytes zero is a value of every member.
        let mut info: sys::CUgraphExecUpdateResultInfo = unsafe { std::mem::zeroed() };
        // SAFETY: both graphs are valid.
        let changed = unsafe { sys::cuGraphExecUpdate_v2(self.executable, noted.0, &mut info) };
        Ok(changed.result().is_ok())
    }

    /// Queues the work on the lane of kernels.
    ///
    /// # Safety
    /// What it was noted with is there, large enough, and stays until it has passed.
    pub(crate) unsafe fn launch(&mut self) -> Result<()> {
        // SAFETY: made ready by `new`; the stream lives as long as the device.
        unsafe { sys::cuGraphLaunch(self.executable, self.gpu.lane(Lane::Compute)) }
            .result()
            .map_err(driver("cuGraphLaunch"))
    }
}

impl Drop for Recorded {
    fn drop(&mut self) {
        let _ = self.gpu.bind();
        // SAFETY: made by `new`, destroyed once; the driver keeps what is still running until it has passed.
        unsafe {
            let _ = sys::cuGraphExecDestroy(self.executable);
        }
    }
}
