//! The driver library: whether it is there, whether it is new enough, and what its answers mean.
//!
//! cudarc panics when a library or a function is missing, so everything this crate calls is looked for once, before
//! the first call.

#![allow(unsafe_code)]

use cudarc::driver::{result, sys};
use libloading::Library;

use crate::{Error, Result};

/// Every driver function that this crate calls through cudarc.
const SYMBOLS: [&str; 62] = [
    "cuInit",
    "cuDriverGetVersion",
    "cuGetErrorName",
    "cuGetErrorString",
    "cuDeviceGet",
    "cuDeviceGetCount",
    "cuDeviceGetName",
    "cuDeviceGetAttribute",
    "cuDeviceTotalMem_v2",
    "cuDeviceGetDefaultMemPool",
    "cuDeviceCanAccessPeer",
    "cuDevicePrimaryCtxRetain",
    "cuDevicePrimaryCtxRelease_v2",
    "cuCtxSetCurrent",
    "cuCtxSynchronize",
    "cuStreamCreate",
    "cuStreamSynchronize",
    "cuStreamWaitEvent",
    "cuStreamDestroy_v2",
    "cuStreamBeginCapture_v2",
    "cuStreamEndCapture",
    "cuMemAlloc_v2",
    "cuMemFree_v2",
    "cuMemAllocAsync",
    "cuMemAllocFromPoolAsync",
    "cuMemFreeAsync",
    "cuMemGetInfo_v2",
    "cuMemPoolCreate",
    "cuMemPoolDestroy",
    "cuMemPoolGetAttribute",
    "cuMemPoolSetAttribute",
    "cuMemPoolTrimTo",
    "cuMemPoolSetAccess",
    "cuMemHostAlloc",
    "cuMemFreeHost",
    "cuMemcpyHtoDAsync_v2",
    "cuMemcpyDtoHAsync_v2",
    "cuMemcpyDtoDAsync_v2",
    "cuMemcpyPeerAsync",
    "cuMemsetD8Async",
    "cuModuleLoadData",
    "cuModuleGetFunction",
    "cuModuleUnload",
    "cuFuncGetAttribute",
    "cuFuncSetAttribute",
    "cuLaunchKernel",
    "cuLaunchKernelEx",
    "cuEventCreate",
    "cuEventRecord",
    "cuEventSynchronize",
    "cuEventQuery",
    "cuEventElapsedTime",
    "cuEventDestroy_v2",
    "cuGraphCreate",
    "cuGraphAddKernelNode_v2",
    "cuGraphInstantiateWithFlags",
    "cuGraphExecKernelNodeSetParams_v2",
    "cuGraphExecUpdate_v2",
    "cuGraphLaunch",
    "cuGraphExecDestroy",
    "cuGraphDestroy",
    "cuTensorMapEncodeTiled",
];

const LIBRARY: &str = "libcuda";

/// The oldest driver API that will do, as the driver counts: CUDA 12.0.
pub(crate) const OLDEST: i32 = 12_000;

/// The error of a call that the driver refused.
pub(crate) fn driver(call: &'static str) -> impl FnOnce(result::DriverError) -> Error {
    move |error| Error::Driver { call, why: format!("{:?}", error.0), code: error.0 as u32 }
}

/// Whether a driver error leaves the device unusable for the rest of the process.
pub(crate) fn is_sticky(code: u32) -> bool {
    use sys::CUresult as R;
    [
        R::CUDA_ERROR_DEINITIALIZED,
        R::CUDA_ERROR_ECC_UNCORRECTABLE,
        R::CUDA_ERROR_NVLINK_UNCORRECTABLE,
        R::CUDA_ERROR_ILLEGAL_ADDRESS,
        R::CUDA_ERROR_LAUNCH_TIMEOUT,
        R::CUDA_ERROR_CONTEXT_IS_DESTROYED,
        R::CUDA_ERROR_ASSERT,
        R::CUDA_ERROR_HARDWARE_STACK_ERROR,
        R::CUDA_ERROR_ILLEGAL_INSTRUCTION,
        R::CUDA_ERROR_MISALIGNED_ADDRESS,
        R::CUDA_ERROR_INVALID_ADDRESS_SPACE,
        R::CUDA_ERROR_INVALID_PC,
        R::CUDA_ERROR_LAUNCH_FAILED,
        R::CUDA_ERROR_EXTERNAL_DEVICE,
        R::CUDA_ERROR_UNKNOWN,
    ]
    .iter()
    .any(|&sticky| sticky as u32 == code)
}

/// Opens the driver library, asks for its version and resolves every symbol once, so that no later call can find one
/// missing. Returns the version as the driver counts: 13000 is 13.0.
pub(crate) fn probe() -> Result<i32> {
    // SAFETY: loading the driver library runs its initialisers, which have no preconditions.
    let library =
        ["libcuda.so.1", "libcuda.so"].into_iter().find_map(|name| unsafe { Library::new(name) }.ok());
    let Some(library) = library else {
        let why = "no NVIDIA driver is installed, or it is not on the loader's path".to_string();
        return Err(Error::Library { library: LIBRARY, why });
    };
    // An older driver lacks functions too; that it is old is the better reason.
    let version = version(&library)?;
    if version < OLDEST {
        return Err(Error::OldDriver { found: version, needed: OLDEST });
    }
    for symbol in SYMBOLS {
        // SAFETY: the symbol is only looked for, never called through this type. Newer drivers export some events
        // functions under a versioned name, which is what cudarc asks for too.
        let found = unsafe { library.get::<unsafe extern "C" fn()>(symbol.as_bytes()) };
        if found.is_err() {
            return Err(Error::Symbol { library: LIBRARY, symbol });
        }
    }
    // SAFETY: only tries to open libraries.
    if unsafe { sys::is_culib_present() } {
        Ok(version)
    } else {
        Err(Error::Library { library: LIBRARY, why: "found by none of the names cudarc tries".to_string() })
    }
}

fn version(library: &Library) -> Result<i32> {
    let symbol = "cuDriverGetVersion";
    // SAFETY: cuda.h declares the function with this type; it may be called before `cuInit`.
    let function = unsafe { library.get::<unsafe extern "C" fn(*mut i32) -> u32>(symbol.as_bytes()) }
        .map_err(|_| Error::Symbol { library: LIBRARY, symbol })?;
    let mut version = 0;
    // SAFETY: the pointer is valid for the call.
    match unsafe { function(&mut version) } {
        0 => Ok(version),
        code => Err(Error::Driver { call: symbol, why: format!("error {code}"), code }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn symbols_are_listed_once() {
        let mut names = SYMBOLS.to_vec();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), SYMBOLS.len());
    }

    #[test]
    fn an_illegal_address_is_sticky_and_a_full_memory_is_not() {
        assert!(is_sticky(700) && is_sticky(719));
        assert!(!is_sticky(2) && !is_sticky(1));
    }
}
