//! A session: everything that happened between its beginning and its end, on one clock.

use std::{panic::Location, sync::atomic::Ordering, time::SystemTime};

use super::{
    EVALUATE,
    clock::{Pair, Scale, Ticks},
    estimate,
    event::{Away, Described, Event, Kind, Name, Note, Queue, Sample, What, Work},
    lane, meter, told,
};
use crate::Device;

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
        let mut gathering = Gathering { scale, tracks: Vec::new(), drafts: Vec::new(), lost: 0 };
        lane::visit(self.start.ticks, |thread, events| gathering.take(thread, events));
        let (tracks, spans, lost) = gathering.finish();
        let dropped = lane::DROPPED.load(Ordering::Relaxed) - self.dropped + lost;
        let lane::Beside { mut samples, mut notes } = lane::beside(self.start.ticks);
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

/// Spans of a session at most: some events are several.
const SPANS: usize = 2 * lane::CAPACITY;

/// Where a device runs kernels.
fn compute(device: Device) -> Queue {
    Queue { device, purpose: "compute" }
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

/// Who asked for something, from when to when the host was about it, and on behalf of which line.
#[derive(Clone, Copy)]
struct Asked {
    by: usize,
    start: Ticks,
    end: Ticks,
    place: Option<&'static Location<'static>>,
}

impl Gathering {
    fn take(&mut self, thread: &str, events: &[&Event]) {
        if events.is_empty() {
            return;
        }
        // Threads of equal names are still different threads.
        let by = self.tracks.len();
        self.tracks.push(Track::Thread(thread.to_string()));
        // What events name was told before they were written.
        let kernels = told::List::now();
        for event in events {
            let asked = Asked { by, start: event.start, end: event.end, place: event.place };
            if self.event(asked, &event.what, &kernels).is_none() {
                self.lost += 1;
            }
        }
    }

    /// The spans of an event; `None` if nothing is known of what it names.
    fn event(&mut self, asked: Asked, what: &What, kernels: &told::List) -> Option<()> {
        match what {
            What::Part(kind, name) => _ = self.add(asked, *kind, name.clone(), None),
            What::Alone { kernel, held, begun } => {
                let kernel = kernels.from(*kernel)?.first()?;
                _ = self.add(asked, Kind::Evaluation, EVALUATE.into(), None);
                self.kernel(
                    Asked { start: *begun, ..asked },
                    kernel,
                    kernel.work(Device::HOST, *held, 1),
                    None,
                );
            }
            What::Kernel { kernel, device, is_away, held, decision, more } => {
                let kernel = kernels.from(*kernel)?.first()?;
                let (device, more) = (Device(usize::from(*device)), more.as_deref());
                let mut work = kernel.work(device, *held, more.map_or(1, |more| more.parts));
                work.moved = more.map_or(0, |more| more.moved / more.parts.max(1));
                work.decision = decision.clone().map(|made| (made, kernel.at));
                let away = is_away.then(|| (compute(device), more.and_then(|more| more.timing.clone())));
                self.kernel(asked, kernel, work, away);
            }
            What::Chain { first, device, held, decision } => {
                let device = Device(usize::from(*device));
                for kernel in kernels.from(*first)? {
                    let mut work = kernel.work(device, *held, 1);
                    work.decision = decision.clone().map(|made| (made, kernel.at));
                    self.kernel(asked, kernel, work, Some((compute(device), None)));
                }
            }
            What::Copy(copied) => {
                let to_host = copied.way.1 == Device::HOST;
                let name = if to_host { "copy to the host" } else { "copy to a device" };
                if let Some(span) = self.add(asked, Kind::Transfer, name.into(), copied.away.clone()) {
                    (span.way, span.bytes) = (Some(copied.way), copied.bytes);
                }
            }
        }
        Some(())
    }

    fn kernel(&mut self, asked: Asked, kernel: &Described, work: Work, away: Option<Away>) {
        let (name, bytes) = (Name::Made(kernel.name.clone()), work.read.saturating_add(work.written));
        if let Some(span) = self.add(asked, Kind::Kernel, name, away) {
            (span.work, span.bytes) = (Some(work), bytes);
        }
    }

    /// A span with what all spans have. `None`, and counted, if a device cannot tell any more when it was, or there are too many.
    fn add(&mut self, asked: Asked, kind: Kind, name: Name, away: Option<Away>) -> Option<&mut Span> {
        if self.drafts.len() >= SPANS {
            self.lost += 1;
            return None;
        }
        let queued = self.scale.nanoseconds(asked.start);
        let (mut track, mut start, mut end, mut estimated) =
            (asked.by, queued, self.scale.nanoseconds(asked.end), false);
        if let Some((queue, timing)) = away {
            match timing.map(|timing| timing.resolve()) {
                // Placed once everything that was timed is known.
                None => estimated = true,
                Some(Some((from, to))) => {
                    (start, end) = (self.scale.nanoseconds_of(from), self.scale.nanoseconds_of(to));
                }
                Some(None) => {
                    self.lost += 1;
                    return None;
                }
            }
            track = self.track(Track::Queue(queue));
        }
        let span = Span {
            kind,
            name,
            track,
            start,
            duration: end.saturating_sub(start),
            parent: None,
            queued,
            work: None,
            bytes: 0,
            way: None,
            place: asked.place,
            estimated,
        };
        self.drafts.push(Draft { span, asked_by: asked.by });
        self.drafts.last_mut().map(|draft| &mut draft.span)
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
    use crate::trace::{self, Moment, Timing};

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
        let gathering = Gathering { scale: Scale::since(Pair::now()), tracks, drafts, lost: 0 };
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
