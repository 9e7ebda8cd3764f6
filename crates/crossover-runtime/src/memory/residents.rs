//! Which buffers are on a device, so that room can be made there. Buffers are known weakly: being listed keeps none alive.

use std::sync::{Arc, Weak};

use parking_lot::Mutex;
use rustc_hash::FxHashMap;

use crate::Buffer;

/// The buffers on one device, by address: while a buffer is listed, its address is not used again.
#[derive(Default)]
pub(crate) struct Residents {
    known: Mutex<FxHashMap<usize, Weak<Buffer>>>,
}

impl Residents {
    pub fn add(&self, buffer: &Arc<Buffer>) {
        self.known.lock().insert(Arc::as_ptr(buffer) as usize, Arc::downgrade(buffer));
    }

    pub fn remove(&self, buffer: *const Buffer) {
        // The last weak reference may free the buffer's memory, not its contents: those are gone or somebody else's.
        let gone = self.known.lock().remove(&(buffer as usize));
        drop(gone);
    }

    /// All that are alive, those used longest ago first.
    pub fn oldest_first(&self) -> Vec<Arc<Buffer>> {
        let mut all: Vec<Arc<Buffer>> = self.known.lock().values().filter_map(Weak::upgrade).collect();
        // Other threads go on using them: the order is that of one moment.
        all.sort_by_cached_key(|buffer| buffer.last_use());
        all
    }
}
