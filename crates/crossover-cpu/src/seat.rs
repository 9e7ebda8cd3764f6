//! Which core a helper wakes on.
//!
//! Linux may wake a thread on the core of the one that rings for it, idle cores or not, and leave the two to share it for
//! tens of milliseconds. So whoever rings forbids sleepers its own core for the moment of waking, and they take their old
//! rights back as soon as they run.
//!
//! A seat is kept under the lock under which its helper falls asleep and wakes. Where the system refuses or has no such
//! call, nothing happens.
#![allow(unsafe_code)]

/// A sleeper: who it is and where it may run.
#[cfg(target_os = "linux")]
#[derive(Clone, Copy, Debug)]
pub struct Seat {
    process: u32,
    thread: libc::pid_t,
    allowed: libc::cpu_set_t,
    /// Whether the sleeper's rights were narrowed and must be given back.
    narrowed: bool,
}

#[cfg(target_os = "linux")]
impl Seat {
    /// The seat of the calling thread, about to sleep.
    pub fn here() -> Option<Seat> {
        // SAFETY: plain system calls; an empty set of cores is all zeros, and the size given is that of the set.
        unsafe {
            let mut allowed: libc::cpu_set_t = std::mem::zeroed();
            let found = libc::sched_getaffinity(0, size_of_val(&allowed), &raw mut allowed) == 0;
            let (process, thread) = (std::process::id(), libc::gettid());
            found.then_some(Seat { process, thread, allowed, narrowed: false })
        }
    }

    /// Keeps the sleeper from waking on the core of the calling thread, if it may run elsewhere.
    pub fn avoid_mine(&mut self) {
        // A forked process has the seats of threads that stayed behind.
        if std::process::id() != self.process {
            return;
        }
        // SAFETY: plain system calls; clearing a core that is not in the set changes nothing.
        unsafe {
            let mut others = self.allowed;
            if let Ok(mine) = usize::try_from(libc::sched_getcpu()) {
                libc::CPU_CLR(mine, &mut others);
            }
            if others != self.allowed && libc::CPU_COUNT(&others) > 0 {
                let bytes = size_of_val(&others);
                self.narrowed |= libc::sched_setaffinity(self.thread, bytes, &raw const others) == 0;
            }
        }
    }

    /// Gives the calling thread, awake again, its rights back.
    pub fn leave(self) {
        if self.narrowed {
            // SAFETY: as above. If it is refused, the thread stays where it may run.
            unsafe { libc::sched_setaffinity(0, size_of_val(&self.allowed), &raw const self.allowed) };
        }
    }
}

/// A sleeper on a system whose threads are not moved.
#[cfg(not(target_os = "linux"))]
#[derive(Clone, Copy, Debug)]
pub struct Seat;

#[cfg(not(target_os = "linux"))]
impl Seat {
    /// None is kept.
    pub fn here() -> Option<Seat> {
        None
    }

    /// Does nothing.
    pub fn avoid_mine(&mut self) {}

    /// Does nothing.
    pub fn leave(self) {}
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;

    #[test]
    fn a_sleeper_is_kept_off_the_ringing_core_and_gets_its_rights_back() {
        let before = Seat::here().expect("a seat");
        // This thread is sleeper and ringer at once: forbidden its core, it moves to another.
        let mut seat = before;
        seat.avoid_mine();
        let during = Seat::here().expect("a seat").allowed;
        // SAFETY: reads the sets.
        let (cores, left) = unsafe { (libc::CPU_COUNT(&before.allowed), libc::CPU_COUNT(&during)) };
        assert_eq!(left, if seat.narrowed { cores - 1 } else { cores });
        assert_eq!(seat.narrowed, cores > 1, "of {cores} cores");
        seat.leave();
        assert_eq!(Seat::here().expect("a seat").allowed, before.allowed);
    }

    #[test]
    fn the_seat_of_another_process_is_left_alone() {
        let mut seat = Seat { process: 0, ..Seat::here().expect("a seat") };
        seat.avoid_mine();
        assert!(!seat.narrowed);
    }
}
