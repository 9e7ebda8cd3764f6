//! A child forked from a process that has computed says what it is, instead of waiting for threads that it does not have.
#![cfg(unix)]
#![allow(unsafe_code, clippy::unwrap_used)]

use std::{
    ffi::c_int,
    time::{Duration, Instant},
};

use crossover::{Array, Runtime};

unsafe extern "C" {
    fn fork() -> c_int;
    fn _exit(code: c_int) -> !;
    fn waitpid(pid: c_int, status: *mut c_int, options: c_int) -> c_int;
    fn kill(pid: c_int, signal: c_int) -> c_int;
}

/// Runs a check in a forked child; whether it held, or `None` if the child did not end.
fn in_a_child(check: impl FnOnce() -> bool) -> Option<bool> {
    const NO_HANG: c_int = 1;
    const SIGKILL: c_int = 9;
    // SAFETY: the child calls nothing but the check and `_exit`, and shares nothing with the parent.
    let pid = unsafe { fork() };
    if pid == 0 {
        let held = check();
        // SAFETY: ends the child without running what belongs to the parent.
        unsafe { _exit(if held { 0 } else { 1 }) };
    }
    assert!(pid > 0, "fork failed");
    let end = Instant::now() + Duration::from_secs(20);
    let mut status = 0;
    while Instant::now() < end {
        // SAFETY: the pointer is valid for the call, and the child is ours.
        if unsafe { waitpid(pid, &mut status, NO_HANG) } == pid {
            return Some(status == 0);
        }
        std::thread::sleep(Duration::from_millis(10));
    }
    // SAFETY: the child is ours and has not been waited for.
    unsafe {
        kill(pid, SIGKILL);
        waitpid(pid, &mut status, 0);
    }
    None
}

#[test]
fn a_forked_child_fails_with_a_message_instead_of_hanging() {
    let runtime = Runtime::builder().threads(4).build().unwrap();
    let total = || Array::linspace(0.0, 1.0, 3_000_000).exp().sum(()).item::<f64>();
    let expected = runtime.scope(total).unwrap();
    let inside = runtime.clone();
    let held = in_a_child(move || {
        let told = |outcome: crossover::Result<f64>| {
            outcome.is_err_and(|error| {
                error.to_string().contains("forked") && error.to_string().contains("spawn")
            })
        };
        // A runtime that existed, one that is new, and the shared one: threads of none of them are there.
        let old = told(inside.scope(total));
        let new = Runtime::builder().threads(2).build().is_ok_and(|new| told(new.scope(total)));
        drop(inside);
        old && new && told(total())
    });
    assert_eq!(held, Some(true));
    // The parent is as it was.
    assert_eq!(runtime.scope(total).unwrap(), expected);
}
