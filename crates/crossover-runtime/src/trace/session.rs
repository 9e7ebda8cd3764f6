//! A session: everything that happened between its beginning and its end, on one clock.

use std::{panic::Location, sync::atomic::Ordering, time::SystemTime};

use super::{
    clock::{Scale, Ticks},
    estimate,
    event::{Event, Kind, Name, Note, Queue, Sample, What, Work},
    lane, meter,
};
use crate::Device;

/// A recording in progress. It sees the whole process; several may record at once.
///
/// Ends when it is dropped; [`end`](Session::end) gives what it saw.
pub struct Session {
    start: Ticks,
    dropped: u64,
    began: SystemTime,
    /// Whether every launch is timed.
    every: bool,
}

/// What a session saw.
#[derive(Debug, Clone)]
pub struct Seen {
    /// When it began, for people.
    pub began: SystemTime,
    /// How long it lasted, in nanoseconds.
    pub wall: u64,
    /// Spans that found no room, or of which no device can tell when they were.
    pub dropped: u64,
    /// Threads and queues; spans name them by their place.
    pub tracks: Vec<Track>,
    /// In order of their start.
    pub spans: Vec<Span>,
    /// How full devices were, in order.
    pub samples: Vec<Sample>,
    /// What happened besides, in order.
    pub notes: Vec<Note>,
}

/// Where spans follow or enclose each other.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Track {
    /// A thread of the host.
    Thread(String),
    /// A queue of a device.
    Queue(Queue),
}

/// Something that took time; nanoseconds since the session began.
#[derive(Debug, Clone)]
pub struct Span {
    /// What it is about.
    pub kind: Kind,
    /// Its name.
    pub name: Name,
    /// Place of its track in [`Seen::tracks`].
    pub track: usize,
    /// When it began.
    pub start: u64,
    /// How long it took.
    pub duration: u64,
    /// Place of the span around it; of what asked for it, if it is on a queue.
    pub parent: Option<usize>,
    /// When the host asked for it.
    pub queued: u64,
    /// What a kernel was asked to do.
    pub work: Option<Work>,
    /// Bytes of a copy, or that a kernel reads and writes.
    pub bytes: u64,
    /// From where to where a copy went.
    pub way: Option<(Device, Device)>,
    /// The line of the program that opened it, or that asked for values.
    pub place: Option<&'static Location<'static>>,
    /// Whether a device did it untimed, and others of its kind that were timed say when.
    pub estimated: bool,
}

impl Span {
    /// When it ended.
    pub fn end(&self) -> u64 {
        self.start + self.duration
    }
}

impl Session {
    /// Begins to record. Short work of devices that repeats is timed now and then; what was not is [`estimated`](Span::estimated).
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

    /// Ends, and gives what happened. Waits for devices to be done with what they were asked until now.
    pub fn end(self) -> Seen {
        let end = super::clock::now();
        let scale = Scale::since(self.start);
        let mut gathering = Gathering { scale, tracks: Vec::new(), drafts: Vec::new(), lost: 0 };
        lane::visit(self.start, |thread, events| gathering.take(thread, events));
        let (tracks, spans, lost) = gathering.finish();
        let dropped = lane::DROPPED.load(Ordering::Relaxed) - self.dropped + lost;
        let lane::Beside { mut samples, mut notes } = lane::beside(self.start);
        samples.iter_mut().for_each(|sample| sample.time = scale.nanoseconds(sample.time));
        notes.iter_mut().for_each(|note| note.time = scale.nanoseconds(note.time));
        let wall = scale.nanoseconds(end);
        Seen { began: self.began, wall, dropped, tracks, spans, samples, notes }
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

/// A span before its parent is known, with the thread that asked for it.
struct Draft {
    span: Span,
    asked_by: usize,
}

struct Gathering {
    scale: Scale,
    tracks: Vec<Track>,
    drafts: Vec<Draft>,
    /// Spans of which a device cannot tell any more when they were.
    lost: u64,
}

impl Gathering {
    fn take(&mut self, thread: &str, events: Vec<Event>) {
        if events.is_empty() {
            return;
        }
        // Threads of equal names are still different threads.
        let asked_by = self.tracks.len();
        self.tracks.push(Track::Thread(thread.to_string()));
        for event in events {
            let queued = self.scale.nanoseconds(event.start);
            let (what, away) = event.more.map(|more| (more.what, more.away)).unzip();
            let (mut track, mut start, mut end, mut estimated) =
                (asked_by, queued, self.scale.nanoseconds(event.end), false);
            if let Some((queue, timing)) = away.flatten() {
                match timing.map(|timing| timing.resolve()) {
                    // Placed once everything that was timed is known.
                    None => estimated = true,
                    Some(Some((from, to))) => {
                        let place = |instant| self.scale.nanoseconds(self.scale.ticks_of(instant));
                        (start, end) = (place(from), place(to));
                    }
                    Some(None) => {
                        self.lost += 1;
                        continue;
                    }
                }
                track = self.track(Track::Queue(queue));
            }
            let (work, bytes, way) = match what {
                Some(What::Work(work)) => {
                    let bytes = work.read + work.written;
                    (Some(work), bytes, None)
                }
                Some(What::Copy { bytes, from, to }) => (None, bytes, Some((from, to))),
                None => (None, 0, None),
            };
            let (kind, name, place) = (event.kind, event.name, event.place);
            let (duration, parent) = (end.saturating_sub(start), None);
            let span = Span {
                kind,
                name,
                track,
                start,
                duration,
                parent,
                queued,
                work,
                bytes,
                way,
                place,
                estimated,
            };
            self.drafts.push(Draft { span, asked_by });
        }
    }

    fn track(&mut self, track: Track) -> usize {
        self.tracks.iter().position(|known| *known == track).unwrap_or_else(|| {
            self.tracks.push(track);
            self.tracks.len() - 1
        })
    }

    /// Finds when each queue did what was not timed there.
    fn estimate(&mut self) {
        if !self.drafts.iter().any(|draft| draft.span.estimated) {
            return;
        }
        // In the order in which the host asked; of what it asked for at one moment, as written down.
        self.drafts.sort_by_key(|draft| (draft.span.track, draft.span.queued));
        let mut found = Vec::with_capacity(self.drafts.len());
        for queue in self.drafts.chunk_by_mut(|a, b| a.span.track == b.span.track) {
            if queue.iter().any(|draft| draft.span.estimated) {
                let mut spans: Vec<&mut Span> = queue.iter_mut().map(|draft| &mut draft.span).collect();
                found.extend(estimate::place(&mut spans));
            } else {
                found.resize(found.len() + queue.len(), true);
            }
        }
        self.lost += found.iter().filter(|found| !**found).count() as u64;
        let mut found = found.into_iter();
        self.drafts.retain(|_| found.next().unwrap_or(true));
    }

    /// Sorts by start and finds what encloses what. Of what begins together on a thread, the longer comes first: it may enclose the other. On a queue
    /// nothing encloses anything; there it is what was asked for first, however short it is.
    fn finish(mut self) -> (Vec<Track>, Vec<Span>, u64) {
        self.estimate();
        self.drafts.sort_by_key(|Draft { span, asked_by }| {
            let length = if span.track == *asked_by { span.duration } else { 0 };
            (span.start, std::cmp::Reverse(length), span.queued)
        });
        let parents = parents(&self.drafts, self.tracks.len());
        let spans = self.drafts.into_iter().zip(parents);
        (self.tracks, spans.map(|(draft, parent)| Span { parent, ..draft.span }).collect(), self.lost)
    }
}

/// For each span the innermost one of the thread that asked for it which was open when it did.
fn parents(drafts: &[Draft], tracks: usize) -> Vec<Option<usize>> {
    // Those of queues are looked up at the moment they were asked for, so moments are walked in that order.
    let mut order: Vec<usize> = (0..drafts.len()).collect();
    let is_own = |draft: &Draft| draft.span.track == draft.asked_by;
    order.sort_by_key(|&at| (drafts[at].span.queued, !is_own(&drafts[at]), at));
    let mut open: Vec<Vec<usize>> = vec![Vec::new(); tracks];
    let mut parents = vec![None; drafts.len()];
    for at in order {
        let Draft { span, asked_by } = &drafts[at];
        let stack = &mut open[*asked_by];
        while stack
            .last()
            .is_some_and(|&top| drafts[top].span.end() <= span.queued && span.queued > drafts[top].span.start)
        {
            stack.pop();
        }
        parents[at] = stack.last().copied();
        if is_own(&drafts[at]) {
            stack.push(at);
        }
    }
    parents
}

#[cfg(test)]
mod tests {
    use std::{
        sync::Arc,
        time::{Duration, Instant},
    };

    use super::*;
    use crate::trace::{self, Moment, Timing, clock};

    /// What this thread recorded; other tests run beside it.
    fn mine(recording: &Seen, prefix: &str) -> Vec<usize> {
        (0..recording.spans.len())
            .filter(|&at| recording.spans[at].name.as_str().starts_with(prefix))
            .collect()
    }

    #[test]
    fn what_begins_together_on_a_queue_is_in_the_order_it_was_asked_for() {
        let draft = |name: &'static str, queued, duration| Draft {
            span: Span {
                kind: Kind::Kernel,
                name: name.into(),
                track: 1,
                start: 9,
                duration,
                parent: None,
                queued,
                work: None,
                bytes: 0,
                way: None,
                place: None,
                estimated: false,
            },
            asked_by: 0,
        };
        let drafts = vec![draft("third", 3, 2), draft("first", 1, 0), draft("second", 2, 5)];
        let tracks = vec![Track::Thread("a".into()), Track::Thread("b".into())];
        let gathering = Gathering { scale: Scale::since(clock::now()), tracks, drafts, lost: 0 };
        let names: Vec<_> = gathering.finish().1.iter().map(|span| span.name.as_str().to_string()).collect();
        assert_eq!(names, ["first", "second", "third"]);
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
        let names: Vec<_> = at.iter().map(|&i| seen.spans[i].name.as_str()).collect();
        assert_eq!(names, ["nest a", "nest b", "nest c", "nest d", "nest e"]);
        let parents: Vec<_> = at.iter().map(|&i| seen.spans[i].parent).collect();
        assert_eq!(parents, [None, Some(at[0]), Some(at[1]), Some(at[0]), None]);
        let line = seen.spans[at[4]].place.map(|place| (place.file(), place.line()));
        assert_eq!(line, Some((file!(), line!() - 9)), "spans know where they were opened");
        assert!(
            seen.spans.iter().all(|span| span.end() <= seen.wall + 1000),
            "nothing ends after the session"
        );
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
        let places: Vec<_> = mine(&seen, "line").iter().map(|&at| seen.spans[at].place).collect();
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
        assert!(seen.dropped >= 1 && seen.spans.iter().all(|span| span.bytes != 4097));
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
        let copy = seen.spans.iter().find(|span| span.bytes == 4096).expect("the copy was recorded");
        assert_eq!((copy.parent, copy.way), (Some(asks), Some((Device::HOST, Device(1)))));
        assert_eq!(seen.tracks[copy.track], Track::Queue(queue));
        assert!((copy.duration as i64 - 500_000).abs() < 5_000, "{} ns", copy.duration);
        assert!(copy.start > copy.queued + 1_000_000);
    }
}
