//! A CUDA device through the driver API: memory, modules, launches, copies and events on one stream.
//!
//! What the driver answers becomes a typed error. Kernels and copies of the backend use three streams, see
//! [`Lane`](crate::queue::Lane); everything here runs in order on the one for kernels.

#![allow(unsafe_code)]

use std::{
    ffi::CString,
    sync::{Arc, OnceLock},
};

use crossover_runtime::memory::Limits;
use cudarc::driver::{result, sys};

use crate::{
    Arguments, Error, Result,
    budget::Budget,
    driver::{driver, probe},
};

#[derive(Debug)]
pub(crate) struct Context {
    pub(crate) device: sys::CUdevice,
    pub(crate) context: sys::CUcontext,
    /// Kernels and allocations.
    pub(crate) stream: sys::CUstream,
    /// Copies to the device.
    pub(crate) up: sys::CUstream,
    /// Copies from the device.
    pub(crate) down: sys::CUstream,
    /// Where memory comes from, once its size is known.
    pub(crate) pool: OnceLock<OwnPool>,
}

/// A pool that belongs to a [`Context`].
#[derive(Debug)]
pub(crate) struct OwnPool(pub(crate) sys::CUmemoryPool);

// SAFETY: the driver API is thread-safe; the handles are plain values that it looks up.
unsafe impl Send for Context {}
// SAFETY: as above.
unsafe impl Sync for Context {}

impl Drop for Context {
    fn drop(&mut self) {
        // SAFETY: the last owner is gone, so nothing uses the streams or the context any more.
        unsafe {
            let _ = result::ctx::set_current(self.context);
            for stream in [self.stream, self.up, self.down] {
                let _ = result::stream::destroy(stream);
            }
            if let Some(pool) = self.pool.get() {
                let _ = sys::cuMemPoolDestroy(pool.0);
            }
            let _ = result::primary_ctx::release(self.device);
        }
    }
}

/// An open device.
#[derive(Debug, Clone)]
pub struct Gpu {
    pub(crate) shared: Arc<Context>,
    name: Arc<str>,
    version: i32,
    /// Whether launches may start early; asked for once, since every launch wants to know.
    early: bool,
    /// What may be taken, once the backend has said so.
    budget: Arc<OnceLock<Budget>>,
    /// What stands in for the lane of kernels, where launches are recorded instead of run.
    pub(crate) aside: Option<Aside>,
}

/// A stream beside the lanes; who made it destroys it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Aside(pub(crate) sys::CUstream);

// SAFETY: a handle that the thread-safe driver looks up.
unsafe impl Send for Aside {}
// SAFETY: as above.
unsafe impl Sync for Aside {}

impl Gpu {
    /// Opens a device, or says why that cannot be.
    pub fn open(ordinal: i32) -> Result<Gpu> {
        let version = probe()?;
        result::init().map_err(driver("cuInit"))?;
        let count = result::device::get_count().map_err(driver("cuDeviceGetCount"))?;
        if !(0..count).contains(&ordinal) {
            return Err(Error::NoDevice { ordinal, count });
        }
        let device = result::device::get(ordinal).map_err(driver("cuDeviceGet"))?;
        let name = result::device::get_name(device).map_err(driver("cuDeviceGetName"))?;
        // SAFETY: the device handle comes from the driver; the context is released once, by `Context::drop`.
        let context =
            unsafe { result::primary_ctx::retain(device) }.map_err(driver("cuDevicePrimaryCtxRetain"))?;
        // SAFETY: the context was just retained.
        unsafe { result::ctx::set_current(context) }.map_err(driver("cuCtxSetCurrent"))?;
        let stream = || {
            result::stream::create(result::stream::StreamKind::NonBlocking).map_err(driver("cuStreamCreate"))
        };
        let (stream, up, down) = (stream()?, stream()?, stream()?);
        let shared = Context { device, context, stream, up, down, pool: OnceLock::new() };
        let mut gpu = Gpu {
            shared: Arc::new(shared),
            name: name.into(),
            version,
            early: false,
            budget: Arc::default(),
            aside: None,
        };
        gpu.early =
            gpu.attribute(sys::CUdevice_attribute_enum::CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR) >= 9;
        Ok(gpu)
    }

    /// Limits what is taken from the driver's pool from now on; once.
    pub(crate) fn limit(&self, limits: Limits) -> Result<()> {
        let budget = self.budget.get_or_init(|| Budget::new(self, limits));
        self.limit_pool(budget.account.most())?;
        self.keep_memory()?;
        budget.settle(self)?;
        budget.reserve(self)
    }

    /// What may be taken; `None` where nobody has said so.
    pub(crate) fn budget(&self) -> Option<&Budget> {
        self.budget.get()
    }

    /// Makes this device current on the calling thread; every thread does this before it uses the device.
    pub fn bind(&self) -> Result<()> {
        // SAFETY: the context lives as long as `self`.
        unsafe { result::ctx::set_current(self.shared.context) }.map_err(driver("cuCtxSetCurrent"))
    }

    /// Name as the driver gives it.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Driver version as the driver counts: 13000 is 13.0.
    pub fn driver_version(&self) -> i32 {
        self.version
    }

    /// Bytes of device memory.
    pub fn total_memory(&self) -> u64 {
        // SAFETY: the device handle is valid.
        unsafe { result::device::total_mem(self.shared.device) }.unwrap_or(0) as u64
    }

    fn attribute(&self, attribute: sys::CUdevice_attribute) -> i32 {
        // SAFETY: the device handle is valid.
        unsafe { result::device::get_attribute(self.shared.device, attribute) }.unwrap_or(0)
    }

    /// The compute capability: 90 for 9.0.
    pub fn capability(&self) -> u32 {
        use sys::CUdevice_attribute_enum as A;
        let major = self.attribute(A::CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR);
        let minor = self.attribute(A::CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR);
        (10 * major + minor).max(0) as u32
    }

    /// The architecture to compile for: the device's own, with its own features where it has any.
    pub fn architecture(&self) -> String {
        let capability = self.capability();
        format!("sm_{capability}{}", if capability >= 90 { "a" } else { "" })
    }

    /// Whether a launch can be set up while the one before it ends.
    pub(crate) fn starts_early(&self) -> bool {
        self.early
    }

    /// What generated kernels may use of this device.
    pub fn limits(&self) -> crossover_codegen::Limits {
        use sys::CUdevice_attribute_enum as A;
        let shared = self.attribute(A::CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN).max(0) as usize;
        crossover_codegen::Limits { shared, ..crossover_codegen::Limits::default() }
    }

    /// Streaming multiprocessors.
    pub fn multiprocessors(&self) -> i32 {
        self.attribute(sys::CUdevice_attribute_enum::CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT)
    }

    /// Reserves device memory; at least one byte, aligned to 256.
    pub fn allocate(&self, bytes: usize) -> Result<Memory> {
        self.bind()?;
        // SAFETY: a context is current; the memory is freed once, by `Memory::drop`.
        let address = unsafe { result::malloc_sync(bytes.max(1)) }.map_err(driver("cuMemAlloc"))?;
        Ok(Memory { gpu: self.clone(), address, bytes })
    }

    /// Reserves page-locked host memory, zeroed.
    pub fn pinned(&self, bytes: usize) -> Result<Pinned> {
        self.bind()?;
        // SAFETY: a context is current; flags 0 give ordinary cached memory; it is freed once, by `Pinned::drop`.
        let address = unsafe { result::malloc_host(bytes.max(64), 0) }.map_err(driver("cuMemHostAlloc"))?;
        // SAFETY: the block is at least `bytes` long and nobody else has its address.
        unsafe { std::ptr::write_bytes(address.cast::<u8>(), 0, bytes) };
        Ok(Pinned { gpu: self.clone(), address: address.cast(), bytes })
    }

    /// Loads a cubin.
    pub fn load(&self, cubin: &[u8]) -> Result<Module> {
        self.bind()?;
        // SAFETY: the image is a complete cubin from NVRTC; the driver copies it.
        let module = unsafe { result::module::load_data(cubin.as_ptr().cast()) }
            .map_err(driver("cuModuleLoadData"))?;
        Ok(Module { gpu: self.clone(), module })
    }

    /// Queues an entry point. A grid of 0 blocks has nothing to do.
    ///
    /// The caller guarantees that the arguments fit the entry point and that what they point to stays allocated
    /// until the stream has passed this launch.
    pub fn launch(
        &self,
        module: &Module,
        entry: &str,
        blocks: usize,
        threads: u32,
        arguments: Arguments,
    ) -> Result<()> {
        self.launch_shared(module, entry, blocks, threads, 0, arguments)
    }

    /// As [`Gpu::launch`], with so many bytes of shared memory per block beyond what the text declares.
    pub fn launch_shared(
        &self,
        module: &Module,
        entry: &str,
        blocks: usize,
        threads: u32,
        shared: usize,
        mut arguments: Arguments,
    ) -> Result<()> {
        if blocks == 0 {
            return Ok(());
        }
        self.bind()?;
        let fail = |why: &str| Error::Launch { entry: entry.to_string(), why: why.to_string() };
        let name = CString::new(entry).map_err(|_| fail("the name has a zero byte"))?;
        let grid = u32::try_from(blocks).map_err(|_| fail("too many blocks"))?;
        let mut pointers = arguments.pointers();
        // SAFETY: the module is loaded; the argument cells outlive the call, which copies them; that they fit the
        // entry point is what generated sources guarantee.
        unsafe {
            let function =
                result::module::get_function(module.module, name).map_err(driver("cuModuleGetFunction"))?;
            if shared > 0 {
                let attribute = sys::CUfunction_attribute::CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES;
                result::function::set_function_attribute(function, attribute, shared as i32)
                    .map_err(driver("cuFuncSetAttribute"))?;
            }
            let stream = self.shared.stream;
            let (grid, block) = ((grid, 1, 1), (threads, 1, 1));
            result::launch_kernel(function, grid, block, shared as u32, stream, &mut pointers)
                .map_err(driver("cuLaunchKernel"))
        }
    }

    /// Queues a copy to the device and waits for it.
    pub fn upload(&self, from: &[u8], to: &Memory) -> Result<()> {
        self.bind()?;
        let bytes = from.len().min(to.bytes);
        // SAFETY: both sides have `bytes` bytes, and `synchronise` returns after the copy.
        unsafe { result::memcpy_htod_async(to.address, &from[..bytes], self.shared.stream) }
            .map_err(driver("cuMemcpyHtoDAsync"))?;
        self.synchronise()
    }

    /// Queues a copy from the device and waits for it.
    pub fn download(&self, from: &Memory, to: &mut [u8]) -> Result<()> {
        self.bind()?;
        let bytes = to.len().min(from.bytes);
        // SAFETY: both sides have `bytes` bytes, and `synchronise` returns after the copy.
        unsafe { result::memcpy_dtoh_async(&mut to[..bytes], from.address, self.shared.stream) }
            .map_err(driver("cuMemcpyDtoHAsync"))?;
        self.synchronise()
    }

    /// Queues a copy between two blocks of the device.
    pub fn copy(&self, from: &Memory, to: &Memory, bytes: usize) -> Result<()> {
        self.bind()?;
        let bytes = bytes.min(from.bytes).min(to.bytes);
        // SAFETY: both blocks have `bytes` bytes.
        unsafe { result::memcpy_dtod_async(to.address, from.address, bytes, self.shared.stream) }
            .map_err(driver("cuMemcpyDtoDAsync"))
    }

    /// Queues a fill with one byte.
    pub fn fill(&self, memory: &Memory, byte: u8) -> Result<()> {
        self.bind()?;
        // SAFETY: the block has that many bytes.
        unsafe { result::memset_d8_async(memory.address, byte, memory.bytes, self.shared.stream) }
            .map_err(driver("cuMemsetD8Async"))
    }

    /// Queues a timestamp.
    pub fn record(&self) -> Result<Event> {
        self.bind()?;
        let event =
            result::event::create(sys::CUevent_flags::CU_EVENT_DEFAULT).map_err(driver("cuEventCreate"))?;
        // SAFETY: event and stream are valid.
        unsafe { result::event::record(event, self.shared.stream) }.map_err(driver("cuEventRecord"))?;
        Ok(Event { gpu: self.clone(), event })
    }

    /// Waits for everything queued.
    pub fn synchronise(&self) -> Result<()> {
        // SAFETY: the stream lives as long as `self`.
        unsafe { result::stream::synchronize(self.shared.stream) }.map_err(driver("cuStreamSynchronize"))
    }
}

/// A block of device memory.
#[derive(Debug)]
pub struct Memory {
    gpu: Gpu,
    address: u64,
    bytes: usize,
}

impl Memory {
    /// Where it starts, on the device.
    pub fn address(&self) -> u64 {
        self.address
    }

    /// Usable bytes.
    pub fn bytes(&self) -> usize {
        self.bytes
    }
}

impl Drop for Memory {
    fn drop(&mut self) {
        let _ = self.gpu.bind();
        // SAFETY: allocated by `Gpu::allocate`, freed once; the driver waits for work that uses it.
        let _ = unsafe { result::free_sync(self.address) };
    }
}

/// Page-locked host memory, for copies at the speed of the bus.
#[derive(Debug)]
pub struct Pinned {
    gpu: Gpu,
    address: *mut u8,
    bytes: usize,
}

// SAFETY: a plain owned block of memory.
unsafe impl Send for Pinned {}
// SAFETY: shared access only reads.
unsafe impl Sync for Pinned {}

impl Pinned {
    /// The bytes.
    pub fn bytes(&self) -> &[u8] {
        // SAFETY: the block is owned, initialised when reserved, and `bytes` long.
        unsafe { std::slice::from_raw_parts(self.address, self.bytes) }
    }

    /// The bytes, to be written.
    pub fn bytes_mut(&mut self) -> &mut [u8] {
        // SAFETY: as in `bytes`, and `self` is borrowed exclusively.
        unsafe { std::slice::from_raw_parts_mut(self.address, self.bytes) }
    }
}

impl Drop for Pinned {
    fn drop(&mut self) {
        let _ = self.gpu.bind();
        // SAFETY: allocated by `Gpu::pinned`, freed once; copies from it have been waited for.
        let _ = unsafe { result::free_host(self.address.cast()) };
    }
}

/// A loaded cubin.
#[derive(Debug)]
pub struct Module {
    gpu: Gpu,
    pub(crate) module: sys::CUmodule,
}

// SAFETY: the driver API is thread-safe; the handle is a plain value.
unsafe impl Send for Module {}
// SAFETY: as above.
unsafe impl Sync for Module {}

impl Drop for Module {
    fn drop(&mut self) {
        let _ = self.gpu.bind();
        let _ = self.gpu.synchronise();
        // SAFETY: loaded by `Gpu::load`, unloaded once, after everything queued has finished.
        let _ = unsafe { result::module::unload(self.module) };
    }
}

/// A timestamp on the stream.
#[derive(Debug)]
pub struct Event {
    gpu: Gpu,
    event: sys::CUevent,
}

impl Event {
    /// Milliseconds from this event to a later one that has passed.
    pub fn until(&self, later: &Event) -> Result<f32> {
        // SAFETY: both events are valid and were recorded.
        unsafe { result::event::elapsed(self.event, later.event) }.map_err(driver("cuEventElapsedTime"))
    }
}

impl Drop for Event {
    fn drop(&mut self) {
        let _ = self.gpu.bind();
        // SAFETY: created by `Gpu::record`, destroyed once.
        let _ = unsafe { result::event::destroy(self.event) };
    }
}
