//! A CUDA graph of kernels in a row: built once, its parameters changed between launches.

#![allow(unsafe_code)]

use std::{ffi::c_void, ptr};

use cudarc::driver::sys;

use crate::{Gpu, Result, driver::driver, queue::Function};

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
        unsafe { sys::cuGraphLaunch(self.executable, self.gpu.shared.stream) }
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
