//! Which core a helper runs on.
//!
//! Linux may wake a thread on the core of the one that rings for it, or a thread with work on the core of a helper that
//! waits for some, idle cores or not, and leave the two to share it for tens of milliseconds. So whoever has work sends
//! helpers that sleep or sit on its own core elsewhere: it forbids them that core for the moment, and they take their
//! old rights back as soon as they run. Where the system refuses or has no such call, nothing happens.
#![allow(unsafe_code)]

use std::sync::atomic::{AtomicI32, Ordering};

use parking_lot::Mutex;

/// In place of a core: the helper sleeps.
const ASLEEP: i32 = -1;
/// In place of a core: nobody knows.
const UNKNOWN: i32 = -2;

/// Where one helper sits.
#[derive(Debug)]
pub struct Seat {
    /// The core it was last seen on, by itself.
    core: AtomicI32,
    place: Mutex<Option<system::Place>>,
}

impl Seat {
    /// Of a helper that has not come yet.
    pub fn new() -> Seat {
        Seat { core: AtomicI32::new(UNKNOWN), place: Mutex::new(None) }
    }

    /// The calling thread is the helper; before all else.
    pub fn take(&self) {
        *self.place.lock() = system::Place::here();
    }

    /// The helper looks where it is.
    pub fn look(&self) {
        let here = system::core();
        // Others read it far more often than it changes.
        if self.core.load(Ordering::Relaxed) != here {
            self.core.store(here, Ordering::Relaxed);
        }
    }

    /// The helper is about to sleep.
    pub fn doze(&self) {
        self.core.store(ASLEEP, Ordering::Relaxed);
    }

    /// The helper runs: whoever sent it here has had its wish.
    pub fn settle(&self) {
        if let Some(place) = &mut *self.place.lock() {
            place.widen();
        }
        self.look();
    }

    /// Sends the helper elsewhere if it sleeps or sits on core `mine`, that of the calling thread. Says whether it did.
    pub fn clear(&self, mine: i32) -> bool {
        let core = self.core.load(Ordering::Relaxed);
        (core == ASLEEP || core == mine) && self.place.lock().as_mut().is_some_and(|place| place.narrow(mine))
    }
}

pub use system::core;

#[cfg(target_os = "linux")]
mod system {
    /// A thread whose rights may be narrowed.
    #[derive(Debug)]
    pub struct Place {
        process: u32,
        thread: libc::pid_t,
        /// Its rights before they were narrowed, until it has them back.
        rights: Option<libc::cpu_set_t>,
    }

    /// The core the calling thread runs on.
    pub fn core() -> i32 {
        // SAFETY: no arguments.
        match unsafe { libc::sched_getcpu() } {
            core @ 0.. => core,
            _ => super::UNKNOWN,
        }
    }

    fn rights(thread: libc::pid_t) -> Option<libc::cpu_set_t> {
        // SAFETY: an empty set of cores is all zeros, and the size given is that of the set.
        unsafe {
            let mut set: libc::cpu_set_t = std::mem::zeroed();
            (libc::sched_getaffinity(thread, size_of_val(&set), &raw mut set) == 0).then_some(set)
        }
    }

    fn limit(thread: libc::pid_t, set: &libc::cpu_set_t) -> bool {
        // SAFETY: the size given is that of the set.
        unsafe { libc::sched_setaffinity(thread, size_of_val(set), set) == 0 }
    }

    impl Place {
        /// That of the calling thread.
        pub fn here() -> Option<Place> {
            // SAFETY: no arguments.
            let thread = unsafe { libc::gettid() };
            Some(Place { process: std::process::id(), thread, rights: None })
        }

        /// Forbids the thread a core, if it may use others.
        pub fn narrow(&mut self, core: i32) -> bool {
            // A forked process has the places of threads that stayed behind.
            if std::process::id() != self.process {
                return false;
            }
            let (Ok(core), Some(rights)) =
                (usize::try_from(core), self.rights.or_else(|| rights(self.thread)))
            else {
                return false;
            };
            let mut others = rights;
            // SAFETY: the system names no core beyond the set, and both calls work on the set alone.
            let left = unsafe {
                libc::CPU_CLR(core, &mut others);
                libc::CPU_COUNT(&others)
            };
            let narrowed = left > 0 && others != rights && limit(self.thread, &others);
            if narrowed {
                self.rights = Some(rights);
            }
            narrowed
        }

        /// Gives the calling thread its rights back.
        pub fn widen(&mut self) {
            if let Some(rights) = self.rights.take() {
                // If that is refused, the thread stays where it may run.
                limit(0, &rights);
            }
        }
    }

    #[cfg(test)]
    mod tests {
        use super::*;

        #[test]
        fn a_helper_is_kept_off_the_core_of_the_caller_and_gets_its_rights_back() {
            let before = rights(0).expect("rights");
            // SAFETY: reads the set.
            let cores = unsafe { libc::CPU_COUNT(&before) };
            let count = || {
                let now = rights(0).expect("rights");
                // SAFETY: reads the set.
                unsafe { libc::CPU_COUNT(&now) }
            };
            // This thread is helper and caller at once: forbidden its core, it moves to another, and then again.
            let seat = crate::seat::Seat::new();
            seat.take();
            assert!(!seat.clear(core()), "it has not looked yet");
            for _ in 0..2 {
                seat.doze();
                assert_eq!(seat.clear(core()), cores > 1);
                assert_eq!(count(), if cores > 1 { cores - 1 } else { cores });
            }
            seat.settle();
            assert_eq!(rights(0).expect("rights"), before);
        }

        #[test]
        fn the_threads_of_another_process_are_left_alone() {
            let mut place = Place { process: 0, ..Place::here().expect("a place") };
            assert!(!place.narrow(core()));
        }
    }
}

#[cfg(not(target_os = "linux"))]
mod system {
    /// Threads are not moved.
    #[derive(Debug)]
    pub enum Place {}

    /// Not known.
    pub fn core() -> i32 {
        super::UNKNOWN
    }

    impl Place {
        pub fn here() -> Option<Place> {
            None
        }

        pub fn narrow(&mut self, _core: i32) -> bool {
            match *self {}
        }

        pub fn widen(&mut self) {
            match *self {}
        }
    }
}
