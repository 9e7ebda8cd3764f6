//! Processes that were forked from one that had computed.
//!
//! Only the thread that forks survives in the child: whoever waits for a helper there waits for ever, and a driver's memory is not the child's.
//! So a child notices what it is, and says so instead of computing. Programs that it starts anew are not concerned.
#![allow(unsafe_code)]

use std::sync::{
    Once,
    atomic::{AtomicBool, Ordering},
};

use crate::{Error, Result};

static FORKED: AtomicBool = AtomicBool::new(false);

/// Makes children notice that they are some, from now on.
pub(crate) fn watch() {
    static WATCHED: Once = Once::new();
    WATCHED.call_once(|| {
        #[cfg(unix)]
        {
            type Handler = Option<unsafe extern "C" fn()>;
            unsafe extern "C" {
                fn pthread_atfork(prepare: Handler, parent: Handler, child: Handler) -> std::ffi::c_int;
            }
            unsafe extern "C" fn in_the_child() {
                FORKED.store(true, Ordering::Relaxed);
            }
            // SAFETY: the handler has the signature that is asked for, lives as long as the process and does nothing but store to
            // an atomic, which is allowed in a child. Without memory for it a child computes as it would have without this.
            unsafe { pthread_atfork(None, None, Some(in_the_child)) };
        }
    });
}

/// Whether this process was forked from one that had made an executor. Then its threads are not there, and nothing of a device is
/// to be touched.
///
/// ```
/// assert!(!crossover_runtime::is_forked());
/// ```
pub fn is_forked() -> bool {
    FORKED.load(Ordering::Relaxed)
}

/// An error in a forked child.
#[inline]
pub(crate) fn check() -> Result<()> {
    if is_forked() { Err(Error::Forked) } else { Ok(()) }
}
