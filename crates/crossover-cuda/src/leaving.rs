//! The end of the process while kernels are being compiled in the background.
//!
//! The driver and the compiler take themselves apart when a process ends, and a thread that is inside one of them then
//! may crash. So the end waits for those inside, and lets nobody in any more.
#![allow(unsafe_code)]

use std::sync::{
    Once,
    atomic::{AtomicBool, Ordering},
};

use parking_lot::{RwLock, RwLockReadGuard};

/// A door that closes once.
#[derive(Debug)]
pub(crate) struct Gate {
    closed: AtomicBool,
    inside: RwLock<()>,
}

impl Gate {
    const fn new() -> Gate {
        Gate { closed: AtomicBool::new(false), inside: RwLock::new(()) }
    }

    /// Goes in, for as long as the guard lives. `None` once the gate is closed.
    pub(crate) fn enter(&self) -> Option<RwLockReadGuard<'_, ()>> {
        let inside = self.inside.read();
        (!self.closed.load(Ordering::SeqCst)).then_some(inside)
    }

    /// Closes it and waits until everyone has left.
    fn close(&self) {
        self.closed.store(true, Ordering::SeqCst);
        drop(self.inside.write());
    }
}

static GATE: Gate = Gate::new();

/// The gate of this process, which its end closes. To be called when the libraries behind it have been opened: what
/// was registered last is called first.
pub(crate) fn gate() -> &'static Gate {
    static REGISTERED: Once = Once::new();
    REGISTERED.call_once(|| {
        unsafe extern "C" {
            fn atexit(function: extern "C" fn()) -> std::ffi::c_int;
        }
        extern "C" fn close() {
            // Whoever was inside when a child was forked never leaves there.
            if !crossover_runtime::is_forked() {
                GATE.close();
            }
        }
        // SAFETY: the function has the signature that is asked for and lives as long as the process. If there is no
        // room for it, the process ends as it would have without.
        unsafe { atexit(close) };
    });
    &GATE
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_end_waits_for_those_inside_and_lets_nobody_in() {
        let gate = Gate::new();
        let first = gate.enter();
        assert!(first.is_some());
        std::thread::scope(|scope| {
            let end = scope.spawn(|| gate.close());
            while !gate.closed.load(Ordering::SeqCst) {
                std::thread::yield_now();
            }
            assert!(!end.is_finished(), "someone is inside");
            drop(first);
            assert!(end.join().is_ok());
        });
        assert!(gate.enter().is_none());
    }
}
