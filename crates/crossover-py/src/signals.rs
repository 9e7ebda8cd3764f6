//! Signals that arrive while something is computed: Ctrl-C ends the call.
//!
//! Python notes a signal and lets its first thread handle it between two instructions, of which a long call is one. So that thread looks for
//! signals while it waits, and where a handler raises, which is what Ctrl-C does unless the program says otherwise, the call ends with that exception.

use std::cell::{Cell, OnceCell};

use pyo3::{exceptions::PyKeyboardInterrupt, prelude::*};

thread_local! {
    /// Whether this is the thread that handles signals.
    static IS_FIRST: OnceCell<bool> = const { OnceCell::new() };
    /// What a handler raised.
    static RAISED: Cell<Option<PyErr>> = const { Cell::new(None) };
}

/// Whether signals are handled by this thread.
pub fn are_ours(py: Python<'_>) -> bool {
    let first = || -> PyResult<bool> {
        let threading = py.import("threading")?;
        let first = threading.call_method0("main_thread")?.getattr("ident")?;
        first.eq(threading.call_method0("get_ident")?)
    };
    IS_FIRST.with(|known| *known.get_or_init(|| first().unwrap_or(false)))
}

/// Calls what may wait for a computation, looking for signals meanwhile. Only for the thread that handles them.
pub fn heeding<T>(body: impl FnOnce() -> T) -> T {
    crossover::interruptible(is_stopped, body)
}

/// Lets handlers of signals run. True if one of them raised.
fn is_stopped() -> bool {
    let checked = Python::attach(|py| py.check_signals());
    checked.is_err_and(|raised| {
        RAISED.set(Some(raised));
        true
    })
}

/// What the handler raised that stopped a computation.
pub fn raised() -> PyErr {
    RAISED.take().unwrap_or_else(|| PyKeyboardInterrupt::new_err(()))
}
