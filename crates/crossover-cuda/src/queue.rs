//! What the backend queues on a device: pool memory, marks between streams, raw copies and launches.
//!
//! Three lanes run side by side and meet at [`Mark`]s. Memory of the pool may be handed out on one lane and given back
//! on another, as long as marks put the two in order.

#![allow(unsafe_code)]

use std::ffi::{CString, c_void};

use cudarc::driver::{result, sys};

use crate::{Error, Gpu, Module, Result, device::OwnPool, driver::driver};

/// A stream of the device.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Lane {
    /// Kernels, and memory that kernels write.
    Compute,
    /// Copies to the device.
    Up,
    /// Copies from the device.
    Down,
}

impl Lane {
    /// What it is for, in traces.
    pub(crate) fn purpose(self) -> &'static str {
        match self {
            Lane::Compute => "compute",
            Lane::Up => "up",
            Lane::Down => "down",
        }
    }
}

/// An entry point of a loaded module.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Function(pub(crate) sys::CUfunction);

// SAFETY: a handle that the thread-safe driver looks up; who uses it keeps the module loaded.
unsafe impl Send for Function {}
// SAFETY: as above.
unsafe impl Sync for Function {}

/// What the device's memory is used for, in bytes.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct MemoryUse {
    /// Held by live blocks.
    pub live: u64,
    /// Held by the pool: live blocks and freed memory kept for reuse.
    pub reserved: u64,
    /// Most that the pool has held since the device was opened, or since `reset_peak`.
    pub high: u64,
    /// Free on the device, for this process and others.
    pub free: u64,
    /// All of the device.
    pub total: u64,
}

impl Gpu {
    pub(crate) fn lane(&self, lane: Lane) -> sys::CUstream {
        match lane {
            Lane::Compute => self.aside.map_or(self.shared.stream, |aside| aside.0),
            Lane::Up => self.shared.up,
            Lane::Down => self.shared.down,
        }
    }

    /// The handle of a lane, for libraries that queue on it.
    pub(crate) fn stream(&self, lane: Lane) -> *mut c_void {
        self.lane(lane).cast()
    }

    /// Queues a copy within the device's memory on the lane of kernels; both addresses have that many bytes.
    pub(crate) fn copy_within(&self, from: u64, to: u64, bytes: usize) -> Result<()> {
        self.bind()?;
        // SAFETY: the caller's blocks have the bytes, and are given back in order behind the copy.
        unsafe { result::memcpy_dtod_async(to, from, bytes, self.lane(Lane::Compute)) }
            .map_err(driver("cuMemcpyDtoDAsync"))
    }

    /// Waits until everything on the device has been done, whoever in the process queued it.
    pub(crate) fn synchronise_all(&self) -> Result<()> {
        self.bind()?;
        result::ctx::synchronize().map_err(driver("cuCtxSynchronize"))
    }

    /// Queues zeros on the lane of kernels; the address has that many bytes.
    pub(crate) fn zero(&self, address: u64, bytes: usize) -> Result<()> {
        if bytes == 0 {
            return Ok(());
        }
        // SAFETY: the caller's blocks have the bytes.
        unsafe { result::memset_d8_async(address, 0, bytes, self.lane(Lane::Compute)) }
            .map_err(driver("cuMemsetD8Async"))
    }

    /// Where memory comes from: a pool of our own once its size is known, before that the process's.
    pub(crate) fn pool(&self) -> Result<sys::CUmemoryPool> {
        if let Some(pool) = self.shared.pool.get() {
            return Ok(pool.0);
        }
        // SAFETY: the device handle is valid; the default pool lives as long as the device.
        unsafe { result::device::get_default_mem_pool(self.shared.device) }
            .map_err(driver("cuDeviceGetDefaultMemPool"))
    }

    /// Takes memory from a pool of our own from now on, which never holds more than so many bytes. Drivers that cannot limit one
    /// leave it at the process's pool.
    pub(crate) fn limit_pool(&self, bytes: u64) -> Result<()> {
        /// Where newer drivers have the most bytes, in what were reserved bytes before.
        const MOST: std::ops::Range<usize> = 0..8;
        if self.driver_version() < 12_020 {
            return Ok(());
        }
        self.bind()?;
        // SAFETY: all bytes zero is a value of every member.
        let mut wanted: sys::CUmemPoolProps = unsafe { std::mem::zeroed() };
        wanted.allocType = sys::CUmemAllocationType::CU_MEM_ALLOCATION_TYPE_PINNED;
        wanted.location.type_ = sys::CUmemLocationType::CU_MEM_LOCATION_TYPE_DEVICE;
        wanted.location.id = self.shared.device;
        wanted.reserved[MOST].copy_from_slice(&bytes.to_ne_bytes());
        let mut pool = std::ptr::null_mut();
        // SAFETY: the properties are valid for the call; the pool is destroyed once, by `Context::drop`.
        if let Err(error) = unsafe { sys::cuMemPoolCreate(&mut pool, &wanted) }.result() {
            let error = driver("cuMemPoolCreate")(error);
            tracing::debug!(target: "crossover::memory", %error, "the account alone keeps the budget");
            return Ok(());
        }
        if self.shared.pool.set(OwnPool(pool)).is_err() {
            // SAFETY: made above and used by nobody.
            unsafe { sys::cuMemPoolDestroy(pool) }.result().map_err(driver("cuMemPoolDestroy"))?;
        }
        Ok(())
    }

    /// Makes the pool keep freed memory until somebody trims it.
    pub(crate) fn keep_memory(&self) -> Result<()> {
        let mut most = u64::MAX;
        let attribute = sys::CUmemPool_attribute::CU_MEMPOOL_ATTR_RELEASE_THRESHOLD;
        // SAFETY: the attribute is a 64-bit number.
        unsafe { result::mem_pool::set_attribute(self.pool()?, attribute, (&raw mut most).cast()) }
            .map_err(driver("cuMemPoolSetAttribute"))
    }

    /// Gives freed memory back to the device, as far as nothing queued uses it, until the pool has at most so many bytes.
    pub(crate) fn trim_to(&self, bytes: u64) -> Result<()> {
        self.bind()?;
        // SAFETY: the pool is valid.
        unsafe { result::mem_pool::trim_to(self.pool()?, bytes as usize) }.map_err(driver("cuMemPoolTrimTo"))
    }

    /// As `trim_to`, once everything queued has passed.
    pub(crate) fn wait_and_trim(&self, bytes: u64) -> Result<()> {
        self.bind()?;
        for lane in [Lane::Up, Lane::Compute, Lane::Down] {
            // SAFETY: the stream lives as long as `self`.
            unsafe { result::stream::synchronize(self.lane(lane)) }.map_err(driver("cuStreamSynchronize"))?;
        }
        self.trim_to(bytes)
    }

    /// Lets the most that the pool has held start again from what it holds now.
    pub fn reset_peak(&self) -> Result<()> {
        let mut zero = 0u64;
        let attribute = sys::CUmemPool_attribute::CU_MEMPOOL_ATTR_RESERVED_MEM_HIGH;
        // SAFETY: the attribute is a 64-bit number; zero is the one value it can be set to.
        unsafe { result::mem_pool::set_attribute(self.pool()?, attribute, (&raw mut zero).cast()) }
            .map_err(driver("cuMemPoolSetAttribute"))
    }

    /// What memory is used for now.
    pub fn memory(&self) -> Result<MemoryUse> {
        self.bind()?;
        let pool = self.pool()?;
        let read = |attribute| {
            let mut value = 0u64;
            // SAFETY: these attributes are 64-bit numbers.
            unsafe { result::mem_pool::get_attribute(pool, attribute, (&raw mut value).cast()) }
                .map_err(driver("cuMemPoolGetAttribute"))?;
            Ok(value)
        };
        use sys::CUmemPool_attribute as A;
        let (free, total) = result::mem_get_info().map_err(driver("cuMemGetInfo"))?;
        Ok(MemoryUse {
            live: read(A::CU_MEMPOOL_ATTR_USED_MEM_CURRENT)?,
            reserved: read(A::CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT)?,
            high: read(A::CU_MEMPOOL_ATTR_RESERVED_MEM_HIGH)?,
            free: free as u64,
            total: total as u64,
        })
    }

    /// Memory that may be used on a lane from here on.
    pub(crate) fn take(&self, bytes: usize, lane: Lane) -> Result<u64> {
        self.bind()?;
        let (stream, mut address) = (self.lane(lane), 0);
        let Some(pool) = self.shared.pool.get() else {
            // SAFETY: the stream is valid; the caller gives the address to `give` once.
            return unsafe { result::malloc_async(stream, bytes) }.map_err(driver("cuMemAllocAsync"));
        };
        // SAFETY: as above; the pool lives as long as the device.
        unsafe { sys::cuMemAllocFromPoolAsync(&mut address, bytes, pool.0, stream) }
            .result()
            .map_err(driver("cuMemAllocFromPoolAsync"))?;
        Ok(address)
    }

    /// Gives memory back once a lane has passed everything queued so far.
    pub(crate) fn give(&self, address: u64, lane: Lane) -> Result<()> {
        self.bind()?;
        // SAFETY: the address came from `take` and is not used by anything queued later.
        unsafe { result::free_async(address, self.lane(lane)) }.map_err(driver("cuMemFreeAsync"))
    }

    /// Queues a copy to the device.
    ///
    /// # Safety
    /// Both sides have that many bytes, and the host's stay as they are until a mark after this has passed; pageable
    /// host memory is read before this returns.
    pub(crate) unsafe fn copy_up(&self, from: *const u8, to: u64, bytes: usize, lane: Lane) -> Result<()> {
        // SAFETY: the caller's contract.
        let from = unsafe { std::slice::from_raw_parts(from, bytes) };
        // SAFETY: the caller's contract.
        unsafe { result::memcpy_htod_async(to, from, self.lane(lane)) }.map_err(driver("cuMemcpyHtoDAsync"))
    }

    /// Queues a copy from the device.
    ///
    /// # Safety
    /// Both sides have that many bytes, and nobody touches the host's until a mark after this has passed.
    pub(crate) unsafe fn copy_down(&self, from: u64, to: *mut u8, bytes: usize, lane: Lane) -> Result<()> {
        // SAFETY: the caller's contract.
        let to = unsafe { std::slice::from_raw_parts_mut(to, bytes) };
        // SAFETY: the caller's contract.
        unsafe { result::memcpy_dtoh_async(to, from, self.lane(lane)) }.map_err(driver("cuMemcpyDtoHAsync"))
    }

    /// Waits for everything queued on a lane.
    pub(crate) fn finish(&self, lane: Lane) -> Result<()> {
        self.bind()?;
        // SAFETY: the stream lives as long as `self`.
        unsafe { result::stream::synchronize(self.lane(lane)) }.map_err(driver("cuStreamSynchronize"))
    }

    /// A mark that has not been set yet.
    pub(crate) fn mark(&self) -> Result<Mark> {
        self.bind()?;
        let event = result::event::create(sys::CUevent_flags::CU_EVENT_DISABLE_TIMING)
            .map_err(driver("cuEventCreate"))?;
        Ok(Mark { gpu: self.clone(), event })
    }

    /// Queues a launch on the lane of kernels.
    ///
    /// # Safety
    /// Every pointer leads to a value of the type of that parameter, and what parameters point to on the device is
    /// large enough and stays until the launch has passed.
    pub(crate) unsafe fn start(
        &self,
        function: Function,
        blocks: u32,
        threads: u32,
        pointers: &mut [*mut c_void],
    ) -> Result<()> {
        // SAFETY: the caller's contract; the driver copies the parameters before it returns.
        unsafe {
            result::launch_kernel(
                function.0,
                (blocks, 1, 1),
                (threads, 1, 1),
                0,
                self.lane(Lane::Compute),
                pointers,
            )
        }
        .map_err(driver("cuLaunchKernel"))
    }
}

impl Gpu {
    /// Queues a launch of an entry point that waits for the launch before by itself (`griddepcontrol.wait`), so that its
    /// blocks may be set up while that one ends. Devices before Hopper cannot do that and start it afterwards.
    ///
    /// # Safety
    /// As for `start`; and the entry point touches no memory before it waits.
    pub(crate) unsafe fn start_early(
        &self,
        function: Function,
        (blocks, threads, shared): (u32, u32, u32),
        pointers: &mut [*mut c_void],
    ) -> Result<()> {
        use sys::CUlaunchAttributeID_enum::CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION as EARLY;
        if !self.starts_early() && shared == 0 {
            // SAFETY: the caller's contract.
            return unsafe { self.start(function, blocks, threads, pointers) };
        }
        // SAFETY: all bytes zero is a value of every member of the union.
        let mut value: sys::CUlaunchAttributeValue = unsafe { std::mem::zeroed() };
        value.programmaticStreamSerializationAllowed = 1;
        let mut attribute = sys::CUlaunchAttribute { id: EARLY, pad: [0; 4], value };
        let config = sys::CUlaunchConfig {
            gridDimX: blocks,
            gridDimY: 1,
            gridDimZ: 1,
            blockDimX: threads,
            blockDimY: 1,
            blockDimZ: 1,
            sharedMemBytes: shared,
            hStream: self.lane(Lane::Compute),
            attrs: &raw mut attribute,
            numAttrs: self.starts_early() as u32,
        };
        // SAFETY: the caller's contract; the driver copies configuration and parameters before it returns.
        unsafe { sys::cuLaunchKernelEx(&config, function.0, pointers.as_mut_ptr(), std::ptr::null_mut()) }
            .result()
            .map_err(driver("cuLaunchKernelEx"))
    }

    /// As `start`, with blocks and threads along three axes and shared memory per block.
    ///
    /// # Safety
    /// As for `start`.
    pub(crate) unsafe fn start_shaped(
        &self,
        function: Function,
        (blocks, threads, shared): ([u32; 3], [u32; 3], u32),
        pointers: &mut [*mut c_void],
    ) -> Result<()> {
        if blocks.contains(&0) {
            return Ok(());
        }
        let stream = self.lane(Lane::Compute);
        // SAFETY: the caller's contract; the driver copies the parameters before it returns.
        unsafe { result::launch_kernel(function.0, blocks.into(), threads.into(), shared, stream, pointers) }
            .map_err(driver("cuLaunchKernel"))
    }

    /// Threads per block that an entry point can have at most, as it was compiled.
    pub(crate) fn most_threads(&self, function: Function) -> Result<u32> {
        let attribute = sys::CUfunction_attribute::CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK;
        // SAFETY: the function's module is loaded.
        let value = unsafe { result::function::get_function_attribute(function.0, attribute) };
        value.map(|value| value.max(0) as u32).map_err(driver("cuFuncGetAttribute"))
    }

    /// Lets an entry point have this much shared memory per block.
    pub(crate) fn allow_shared(&self, function: Function, bytes: usize) -> Result<()> {
        let attribute = sys::CUfunction_attribute::CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES;
        // SAFETY: the function's module is loaded.
        unsafe { result::function::set_function_attribute(function.0, attribute, bytes as i32) }
            .map_err(driver("cuFuncSetAttribute"))
    }
}

impl Module {
    /// What the driver says about an entry point.
    pub(crate) fn describe(&self, entry: &str) -> Result<crossover_runtime::KernelEntry> {
        use sys::CUfunction_attribute_enum as A;
        let function = self.function(entry)?;
        let read = |attribute| {
            // SAFETY: the function's module is loaded.
            let value = unsafe { result::function::get_function_attribute(function.0, attribute) };
            value.map(|value| value.max(0) as u32).map_err(driver("cuFuncGetAttribute"))
        };
        Ok(crossover_runtime::KernelEntry {
            name: entry.to_string(),
            registers: read(A::CU_FUNC_ATTRIBUTE_NUM_REGS)?,
            shared: read(A::CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES)?,
            local: read(A::CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES)?,
        })
    }

    /// An entry point by name.
    pub(crate) fn function(&self, entry: &str) -> Result<Function> {
        let fail = |why: &str| Error::Launch { entry: entry.to_string(), why: why.to_string() };
        let name = CString::new(entry).map_err(|_| fail("the name has a zero byte"))?;
        // SAFETY: the module is loaded.
        let function = unsafe { result::module::get_function(self.module, name) };
        function.map(Function).map_err(driver("cuModuleGetFunction"))
    }
}

/// A point on a lane that other lanes and the host can wait for.
#[derive(Debug)]
pub(crate) struct Mark {
    gpu: Gpu,
    pub(crate) event: sys::CUevent,
}

// SAFETY: a handle that the thread-safe driver looks up.
unsafe impl Send for Mark {}
// SAFETY: as above.
unsafe impl Sync for Mark {}

impl Mark {
    /// Moves the mark to what is queued on a lane now.
    pub(crate) fn set(&self, lane: Lane) -> Result<()> {
        // SAFETY: event and stream are valid.
        unsafe { result::event::record(self.event, self.gpu.lane(lane)) }.map_err(driver("cuEventRecord"))
    }

    /// Makes what is queued on a lane from here on wait for the mark.
    pub(crate) fn hold(&self, lane: Lane) -> Result<()> {
        let flags = sys::CUevent_wait_flags::CU_EVENT_WAIT_DEFAULT;
        // SAFETY: event and stream are valid.
        unsafe { result::stream::wait_event(self.gpu.lane(lane), self.event, flags) }
            .map_err(driver("cuStreamWaitEvent"))
    }

    /// Waits on the host; a mark that was never set has passed.
    pub(crate) fn wait(&self) -> Result<()> {
        // SAFETY: the event is valid.
        unsafe { result::event::synchronize(self.event) }.map_err(driver("cuEventSynchronize"))
    }
}

impl Drop for Mark {
    fn drop(&mut self) {
        let _ = self.gpu.bind();
        // SAFETY: created by `Gpu::mark`, destroyed once.
        let _ = unsafe { result::event::destroy(self.event) };
    }
}
