//! A host that holds bytes and computes nothing: what a device is tested beside.
#![allow(unsafe_code)]

use std::alloc::{Layout, alloc_zeroed, dealloc};

use crossover_plan::kernel::Kernel;
use crossover_runtime::{Address, Backend, Block, Error, Executable, Result};

pub struct Host;

fn layout(bytes: usize) -> Layout {
    Layout::from_size_align(bytes.max(1), 64).expect("tests ask for little")
}

impl Backend for Host {
    fn name(&self) -> &str {
        "a host that computes nothing"
    }

    fn is_host(&self) -> bool {
        true
    }

    fn allocate(&self, bytes: usize) -> Result<Block> {
        // SAFETY: the layout is of at least one byte.
        let address = unsafe { alloc_zeroed(layout(bytes)) };
        Ok(Block { address: Address(address as u64), bytes })
    }

    fn free(&self, block: Block) {
        // SAFETY: allocated above with the same layout, given back once.
        unsafe { dealloc(block.address.0 as *mut u8, layout(block.bytes)) };
    }

    fn upload(&self, from: &[u8], to: Block) -> Result<()> {
        // SAFETY: blocks are writable and as long as they say; the caller does not write past them.
        unsafe { std::slice::from_raw_parts_mut(to.address.0 as *mut u8, from.len()) }.copy_from_slice(from);
        Ok(())
    }

    fn download(&self, from: Block, to: &mut [u8]) -> Result<()> {
        // SAFETY: as above.
        to.copy_from_slice(unsafe { std::slice::from_raw_parts(from.address.0 as *const u8, to.len()) });
        Ok(())
    }

    fn prepare(&self, _: &Kernel) -> Result<Box<dyn Executable>> {
        Err(Error::Unsupported { device: self.name().to_string(), what: "a kernel".to_string() })
    }
}
