//! A session: everything that happened between its beginning and its end, on one clock.

use std::{sync::atomic::Ordering, time::SystemTime};

use super::{
    clock::{Pair, Scale},
    gather::Gathering,
    lane, meter,
    seen::Seen,
};

/// A recording in progress. It sees the whole process; several may record at once.
///
/// Ends when it is dropped; [`end`](Session::end) gives what it saw.
pub struct Session {
    start: Pair,
    dropped: u64,
    began: SystemTime,
    /// Whether every launch is timed.
    every: bool,
}

impl Session {
    /// Begins to record. Short work of devices that repeats is timed now and then; what was not is [`estimated`](super::Span::estimated).
    pub fn begin() -> Session {
        Session::new(false)
    }

    /// Begins to record, with everything that devices do timed, whatever that costs.
    pub fn begin_timing_everything() -> Session {
        Session::new(true)
    }

    fn new(every: bool) -> Session {
        let began = SystemTime::now();
        let dropped = lane::DROPPED.load(Ordering::Relaxed);
        if every {
            meter::want_every();
        }
        Session { start: lane::enter(), dropped, began, every }
    }

    /// Looks how full devices are, so that the session knows it from its beginning and nobody has to look while something is being measured: drivers
    /// take their time to tell.
    ///
    /// ```
    /// use crossover_runtime::{Machine, sim::{Clock, SimHost, SimOptions}, trace::Session};
    /// # use std::sync::Arc;
    /// let machine = Machine::new(Arc::new(SimHost::hollow(SimOptions::default(), Clock::default())), Vec::new())?;
    /// let session = Session::begin();
    /// session.look(&machine);
    /// # Ok::<(), crossover_runtime::Error>(())
    /// ```
    pub fn look(&self, machine: &crate::Machine) {
        super::look(machine, super::Moment::now());
    }

    /// Ends, and gives what happened. Waits for devices to be done with what they were asked until now.
    pub fn end(self) -> Seen {
        let end = super::clock::now();
        let scale = Scale::since(self.start);
        let (tracks, drafts, written, lost) = Gathering::since(self.start.ticks, scale).finish();
        let dropped = lane::DROPPED.load(Ordering::Relaxed) - self.dropped + lost;
        let lane::Beside { mut samples, mut notes } = lane::beside(self.start.ticks);
        samples.iter_mut().for_each(|sample| sample.time = scale.nanoseconds(sample.time));
        notes.iter_mut().for_each(|note| note.time = scale.nanoseconds(note.time));
        let wall = scale.nanoseconds(end);
        Seen { began: self.began, wall, dropped, tracks, samples, notes, drafts, written }
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        if self.every {
            meter::want_no_more();
        }
        lane::leave();
    }
}

#[cfg(test)]
mod tests {
    use std::{
        panic::Location,
        sync::Arc,
        time::{Duration, Instant},
    };

    use super::*;
    use crate::{
        Device,
        trace::{self, Kind, Moment, Queue, Timing, Track},
    };

    /// What this thread recorded; other tests run beside it.
    fn mine(recording: &Seen, prefix: &str) -> Vec<usize> {
        (0..recording.len()).filter(|&at| recording.span(at).name.starts_with(prefix)).collect()
    }

    #[test]
    fn spans_lie_inside_each_other() {
        let session = Session::begin();
        {
            let _a = trace::scope("nest a");
            {
                let _b = trace::scope("nest b");
                let _c = trace::scope("nest c".to_string());
            }
            let _d = trace::scope("nest d");
        }
        let _e = trace::scope("nest e");
        drop(_e);
        let seen = session.end();
        let at = mine(&seen, "nest");
        let names: Vec<_> = at.iter().map(|&i| seen.span(i).name).collect();
        assert_eq!(names, ["nest a", "nest b", "nest c", "nest d", "nest e"]);
        let parents: Vec<_> = at.iter().map(|&i| seen.span(i).parent).collect();
        assert_eq!(parents, [None, Some(at[0]), Some(at[1]), Some(at[0]), None]);
        let line = seen.span(at[4]).place.map(|place| (place.file(), place.line()));
        assert_eq!(line, Some((file!(), line!() - 9)), "spans know where they were opened");
        assert!(seen.spans().all(|span| span.end() <= seen.wall + 1000), "nothing ends after the session");
    }

    #[test]
    fn a_session_sees_only_its_own_time() {
        let outer = Session::begin();
        drop(trace::scope("time before"));
        let inner = Session::begin();
        drop(trace::scope("time within"));
        assert_eq!(mine(&inner.end(), "time").len(), 1);
        drop(trace::scope("time after"));
        assert_eq!(mine(&outer.end(), "time").len(), 3);
        let later = Session::begin();
        assert!(mine(&later.end(), "time").is_empty());
    }

    #[test]
    fn what_was_seen_stays_as_it_is_while_others_write() {
        let session = Session::begin();
        drop(trace::scope("stays".to_string()));
        let seen = session.end();
        // More than a chunk: one that was given back too early would be written over.
        let next = Session::begin();
        (0..3000).for_each(|_| drop(trace::scope("writes".to_string())));
        let at = mine(&seen, "stays");
        assert_eq!((at.len(), mine(&seen, "writes").len()), (1, 0));
        assert_eq!(seen.span(at[0]).name, "stays");
        drop(seen);
        assert_eq!(mine(&next.end(), "writes").len(), 3000);
    }

    #[test]
    fn what_happens_on_behalf_of_a_line_knows_it() {
        let session = Session::begin();
        let here = Location::caller();
        {
            let _asked = trace::asked(here);
            let _inner = trace::asked(Location::caller());
            let _ = trace::span(Kind::Plan, "line asked");
        }
        let _ = trace::span(Kind::Plan, "line nobody");
        let seen = session.end();
        let places: Vec<_> = mine(&seen, "line").iter().map(|&at| seen.span(at).place).collect();
        assert_eq!(places, [Some(here), None], "the outermost counts, until it is over");
    }

    struct Lost;

    impl Timing for Lost {
        fn resolve(&self) -> Option<(Instant, Instant)> {
            None
        }
    }

    #[test]
    fn what_a_lost_device_did_is_counted() {
        let session = Session::begin();
        let queue = Queue { device: Device(1), purpose: "compute" };
        trace::transfer(Moment::now(), 4097, (Device::HOST, Device(1)), Some((queue, Some(Arc::new(Lost)))));
        let seen = session.end();
        assert!(seen.dropped >= 1 && seen.spans().all(|span| span.bytes != 4097));
    }

    struct Fixed(Instant, Instant);

    impl Timing for Fixed {
        fn resolve(&self) -> Option<(Instant, Instant)> {
            Some((self.0, self.1))
        }
    }

    #[test]
    fn what_a_device_does_later_belongs_to_what_asked_for_it() {
        let session = Session::begin();
        let queue = Queue { device: Device(1), purpose: "compute" };
        {
            let _asks = trace::scope("queue asks");
            let (start, asked) = (Instant::now() + Duration::from_millis(2), Moment::now());
            let timing = Arc::new(Fixed(start, start + Duration::from_micros(500)));
            trace::transfer(asked, 4096, (Device::HOST, Device(1)), Some((queue, Some(timing))));
        }
        let seen = session.end();
        let asks = mine(&seen, "queue asks")[0];
        let copy = seen.spans().find(|span| span.bytes == 4096).expect("the copy was recorded");
        assert_eq!((copy.parent, copy.way), (Some(asks), Some((Device::HOST, Device(1)))));
        assert_eq!(seen.tracks[copy.track], Track::Queue(queue));
        assert!((copy.duration as i64 - 500_000).abs() < 5_000, "{} ns", copy.duration);
        assert!(copy.start > copy.queued + 1_000_000);
    }
}
