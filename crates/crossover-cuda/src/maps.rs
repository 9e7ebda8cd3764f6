//! Tensor maps as the driver encodes them, for bulk tensor copies.

#![allow(unsafe_code)]

use crossover_core::{
    DType,
    custom::{Swizzle, TensorMap},
};
use cudarc::driver::sys;

use crate::{Error, Result, driver::driver};

/// A map as kernels take it. The driver and kernels want it at a multiple of 64 bytes; newer headers say 128.
#[derive(Debug)]
#[repr(C, align(128))]
pub(crate) struct Encoded(sys::CUtensorMap);

impl Encoded {
    /// The map of elements that start at an address.
    pub(crate) fn new(map: &TensorMap, address: u64) -> Result<Encoded> {
        // The driver lists axes innermost first.
        let dims: Vec<u64> = map.dims().iter().rev().map(|&n| n as u64).collect();
        let strides: Vec<u64> = map.stride_bytes().iter().rev().map(|&n| n as u64).collect();
        let tile: Vec<u32> = map.tile().iter().rev().map(|&n| n as u32).collect();
        let steps = vec![1u32; tile.len()];
        let mut made = Encoded(sys::CUtensorMap { opaque: [0; 16] });
        // SAFETY: the lists have one number per axis, strides one fewer, as the map was checked to have; the map is aligned. The
        // address is only encoded.
        let answer = unsafe {
            sys::cuTensorMapEncodeTiled(
                &raw mut made.0,
                kind(map.dtype())?,
                tile.len() as u32,
                address as *mut std::ffi::c_void,
                dims.as_ptr(),
                strides.as_ptr(),
                tile.as_ptr(),
                steps.as_ptr(),
                sys::CUtensorMapInterleave_enum::CU_TENSOR_MAP_INTERLEAVE_NONE,
                swizzle(map.swizzling()),
                sys::CUtensorMapL2promotion_enum::CU_TENSOR_MAP_L2_PROMOTION_L2_256B,
                sys::CUtensorMapFloatOOBfill_enum::CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE,
            )
        };
        answer.result().map_err(driver("cuTensorMapEncodeTiled")).map(|()| made)
    }
}

fn swizzle(swizzle: Swizzle) -> sys::CUtensorMapSwizzle {
    use sys::CUtensorMapSwizzle_enum as S;
    match swizzle {
        Swizzle::None => S::CU_TENSOR_MAP_SWIZZLE_NONE,
        Swizzle::Bytes32 => S::CU_TENSOR_MAP_SWIZZLE_32B,
        Swizzle::Bytes64 => S::CU_TENSOR_MAP_SWIZZLE_64B,
        Swizzle::Bytes128 => S::CU_TENSOR_MAP_SWIZZLE_128B,
    }
}

fn kind(dtype: DType) -> Result<sys::CUtensorMapDataType> {
    use sys::CUtensorMapDataType_enum as T;
    Ok(match dtype {
        DType::Bool | DType::U8 | DType::I8 => T::CU_TENSOR_MAP_DATA_TYPE_UINT8,
        DType::U16 | DType::I16 => T::CU_TENSOR_MAP_DATA_TYPE_UINT16,
        DType::U32 => T::CU_TENSOR_MAP_DATA_TYPE_UINT32,
        DType::I32 => T::CU_TENSOR_MAP_DATA_TYPE_INT32,
        DType::U64 => T::CU_TENSOR_MAP_DATA_TYPE_UINT64,
        DType::I64 => T::CU_TENSOR_MAP_DATA_TYPE_INT64,
        DType::F16 => T::CU_TENSOR_MAP_DATA_TYPE_FLOAT16,
        DType::BF16 => T::CU_TENSOR_MAP_DATA_TYPE_BFLOAT16,
        DType::F32 => T::CU_TENSOR_MAP_DATA_TYPE_FLOAT32,
        DType::F64 => T::CU_TENSOR_MAP_DATA_TYPE_FLOAT64,
        DType::C64 | DType::C128 => {
            let why = format!("a tensor map has no elements of {dtype}; describe their parts");
            return Err(Error::Launch { entry: "cuTensorMapEncodeTiled".to_string(), why });
        }
    })
}
