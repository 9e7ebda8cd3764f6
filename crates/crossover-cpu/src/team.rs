//! Threads that wait for work without going to sleep at once.
//!
//! Kernels often follow each other within microseconds, and waking a sleeping thread takes longer than that, on virtual
//! machines much longer. A helper therefore watches for the next piece of work for [`AWAKE`] after the
//! last one, first closely, then giving its core to whoever else wants it, and only then sleeps.
//!
//! What always holds: a job is open while its owner works on it. A helper joins only while it is open, and the owner
//! returns only when it is closed and everyone who joined has left; so the job may borrow from the owner's stack. Nobody
//! waits for a helper that comes late or never, as after a fork.
#![allow(unsafe_code)]

use std::{
    panic::{AssertUnwindSafe, catch_unwind},
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicPtr, AtomicU64, AtomicUsize, Ordering},
    },
    thread::JoinHandle,
    time::{Duration, Instant},
};

use parking_lot::{Condvar, Mutex};

use crate::seat::{self, Seat};

/// How long a helper without work stays awake.
const AWAKE: Duration = Duration::from_micros(1000);
/// How often it looks before it starts to offer its core to others.
const CLOSELY: u32 = 2000;

/// Low bits of the state: helpers at work. Above them the open bit, above that the number of the job.
const ACTIVE: u64 = 0xffff;
const OPEN: u64 = 1 << 16;
const JOB: u64 = 1 << 17;

/// A job: what every participant calls, and how to call it.
struct Job<'a> {
    work: &'a (dyn Fn(usize) + Sync),
    panicked: AtomicBool,
}

/// What owner and helpers share.
#[derive(Debug)]
struct Shared {
    state: AtomicU64,
    /// The open job; valid for whoever has joined it.
    job: AtomicPtr<()>,
    sleepers: AtomicUsize,
    quit: AtomicBool,
    bed: Mutex<()>,
    alarm: Condvar,
    /// One for each helper.
    seats: Vec<Seat>,
}

/// A group of helpers.
#[derive(Debug)]
pub struct Team {
    shared: Arc<Shared>,
    /// Held by the owner of the open job.
    owner: Mutex<()>,
    helpers: Vec<JoinHandle<()>>,
}

impl Team {
    /// Starts `helpers` threads.
    pub fn new(helpers: usize) -> std::io::Result<Team> {
        let shared = Arc::new(Shared {
            state: AtomicU64::new(0),
            job: AtomicPtr::new(std::ptr::null_mut()),
            sleepers: AtomicUsize::new(0),
            quit: AtomicBool::new(false),
            bed: Mutex::new(()),
            alarm: Condvar::new(),
            seats: (0..helpers).map(|_| Seat::new()).collect(),
        });
        let mut team = Team { shared, owner: Mutex::new(()), helpers: Vec::new() };
        for i in 0..helpers {
            let shared = team.shared.clone();
            let builder = std::thread::Builder::new().name(format!("crossover-cpu-{i}"));
            team.helpers.push(builder.spawn(move || shared.help(i))?);
        }
        Ok(team)
    }

    /// Calls `work` on this thread, as number 0, and on every helper that is free in time, each with its own number,
    /// always the same. Returns when all calls have returned. While another thread uses the team, only on this one.
    pub fn run(&self, work: &(dyn Fn(usize) + Sync)) {
        let Some(_owner) = self.owner.try_lock() else { return work(0) };
        let job = Job { work, panicked: AtomicBool::new(false) };
        let shared = &*self.shared;
        shared.job.store((&raw const job).cast_mut().cast(), Ordering::Relaxed);
        // Publishes the job. Sequential consistency orders it against `sleepers`, see `sleep`.
        let next = (shared.state.load(Ordering::Relaxed) & !(ACTIVE | OPEN)).wrapping_add(JOB) | OPEN;
        shared.state.store(next, Ordering::SeqCst);
        let mine = seat::core();
        shared.seats.iter().for_each(|seat| _ = seat.clear(mine));
        if shared.sleepers.load(Ordering::SeqCst) > 0 {
            let _bed = shared.bed.lock();
            shared.alarm.notify_all();
        }
        // Closing also when `work` unwinds: helpers must be gone before the job is.
        let closing = Closing(shared);
        work(0);
        drop(closing);
        assert!(!job.panicked.load(Ordering::Relaxed), "a helper thread panicked; see its message above");
    }
}

/// Closes the open job and waits for those who joined it.
struct Closing<'a>(&'a Shared);

impl Drop for Closing<'_> {
    fn drop(&mut self) {
        let state = &self.0.state;
        let mut now = state.fetch_and(!OPEN, Ordering::AcqRel);
        let mut looks = 0;
        while now & ACTIVE != 0 {
            pause(&mut looks);
            now = state.load(Ordering::Acquire);
        }
    }
}

impl Drop for Team {
    fn drop(&mut self) {
        if crossover_runtime::is_forked() {
            // The helpers are in the parent.
            return std::mem::forget(std::mem::take(&mut self.helpers));
        }
        self.shared.quit.store(true, Ordering::SeqCst);
        {
            let _bed = self.shared.bed.lock();
            self.shared.alarm.notify_all();
        }
        for helper in self.helpers.drain(..) {
            // A helper catches the panics of jobs, and has nothing else to report.
            let _ = helper.join();
        }
    }
}

/// Waits a moment: closely at first, then letting others run.
fn pause(looks: &mut u32) {
    *looks = looks.saturating_add(1);
    if *looks < CLOSELY { std::hint::spin_loop() } else { std::thread::yield_now() }
}

impl Shared {
    /// A helper's life.
    fn help(&self, index: usize) {
        let seat = &self.seats[index];
        seat.take();
        let mut seen = 0;
        loop {
            let Some(job) = self.join(seat, &mut seen) else { return };
            // SAFETY: joined, so the owner keeps the job until `leave` below.
            let job = unsafe { &*job.cast::<Job<'_>>() };
            if catch_unwind(AssertUnwindSafe(|| (job.work)(index + 1))).is_err() {
                job.panicked.store(true, Ordering::Relaxed);
            }
            // Leave: publishes what the helper wrote.
            self.state.fetch_sub(1, Ordering::AcqRel);
        }
    }

    /// Waits for an open job that was not seen before, and joins it. `None` at the end.
    fn join(&self, seat: &Seat, seen: &mut u64) -> Option<*mut ()> {
        let mut looks = 0;
        let mut since = None;
        loop {
            if self.quit.load(Ordering::Relaxed) {
                return None;
            }
            let state = self.state.load(Ordering::Acquire);
            if state & OPEN != 0 && state / JOB != *seen {
                let joined = state + 1;
                if self.state.compare_exchange(state, joined, Ordering::AcqRel, Ordering::Relaxed).is_ok() {
                    *seen = state / JOB;
                    seat.settle();
                    return Some(self.job.load(Ordering::Relaxed));
                }
                continue;
            }
            pause(&mut looks);
            seat.look();
            if looks >= CLOSELY {
                let began = *since.get_or_insert_with(Instant::now);
                if began.elapsed() > AWAKE {
                    seat.doze();
                    self.sleep(*seen);
                    (looks, since) = (0, None);
                }
            }
        }
    }

    /// Sleeps until there is a job that was not seen, or the end.
    fn sleep(&self, seen: u64) {
        let mut bed = self.bed.lock();
        // An owner stores the state, then reads `sleepers`; this adds to `sleepers`, then reads the state. One of the
        // two sees the other, and an owner that does rings the alarm under the lock.
        self.sleepers.fetch_add(1, Ordering::SeqCst);
        loop {
            let state = self.state.load(Ordering::SeqCst);
            if (state & OPEN != 0 && state / JOB != seen) || self.quit.load(Ordering::SeqCst) {
                break;
            }
            self.alarm.wait(&mut bed);
        }
        self.sleepers.fetch_sub(1, Ordering::SeqCst);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_piece_is_done_once_however_long_the_helpers_slept() {
        let team = Team::new(3).expect("threads");
        for round in 0..300 {
            let next = AtomicUsize::new(0);
            let done: Vec<AtomicUsize> = (0..100).map(|_| AtomicUsize::new(0)).collect();
            team.run(&|_| {
                loop {
                    let piece = next.fetch_add(1, Ordering::Relaxed);
                    let Some(slot) = done.get(piece) else { return };
                    slot.fetch_add(1, Ordering::Relaxed);
                }
            });
            assert!(done.iter().all(|d| d.load(Ordering::Relaxed) == 1));
            if round % 100 == 0 {
                std::thread::sleep(2 * AWAKE);
            }
        }
    }

    #[test]
    fn helpers_join_awake_and_asleep() {
        let team = Team::new(2).expect("threads");
        for rest in [Duration::ZERO, 20 * AWAKE] {
            std::thread::sleep(rest);
            let joined = AtomicUsize::new(0);
            // Everyone waits for all the others, which ends only if they come.
            team.run(&|number| {
                joined.fetch_or(1 << number, Ordering::SeqCst);
                while joined.load(Ordering::SeqCst) != 0b111 {
                    std::thread::yield_now();
                }
            });
        }
    }

    #[test]
    fn owners_from_many_threads_do_not_wait_for_each_other() {
        let team = Team::new(2).expect("threads");
        std::thread::scope(|s| {
            for _ in 0..8 {
                s.spawn(|| {
                    for _ in 0..200 {
                        let calls = AtomicUsize::new(0);
                        team.run(&|_| {
                            calls.fetch_add(1, Ordering::Relaxed);
                        });
                        assert!((1..=3).contains(&calls.load(Ordering::Relaxed)));
                    }
                });
            }
        });
    }

    #[test]
    fn a_panic_reaches_the_owner_and_the_team_works_on() {
        let team = Team::new(1).expect("threads");
        let owner = std::thread::current().id();
        let entered = AtomicBool::new(false);
        let result = catch_unwind(AssertUnwindSafe(|| {
            team.run(&|_| {
                if std::thread::current().id() != owner {
                    entered.store(true, Ordering::SeqCst);
                    panic!("as the test wants it");
                }
                while !entered.load(Ordering::SeqCst) {
                    std::thread::yield_now();
                }
            });
        }));
        assert!(result.is_err());
        let calls = AtomicUsize::new(0);
        team.run(&|_| {
            calls.fetch_add(1, Ordering::Relaxed);
        });
        assert!(calls.load(Ordering::Relaxed) >= 1);
    }
}
