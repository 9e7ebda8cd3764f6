//! From what threads wrote to spans: all on one clock, in order of their start, each inside what encloses it.

use std::{cmp::Reverse, sync::Arc};

use super::{
    chunk::Chunk,
    clock::{Scale, Ticks},
    estimate,
    event::{Event, Kind, Number, Queue, Timing, What},
    lane,
    seen::{Draft, NONE, Track, Written},
    told,
};
use crate::Device;

/// Spans of a session at most: some events are several.
const SPANS: usize = 2 * lane::CAPACITY;

/// Where a device runs kernels.
fn compute(device: u16) -> Queue {
    Queue { device: Device(usize::from(device)), purpose: "compute" }
}

/// Who asked for something, from when to when the host was about it, and where that is written.
#[derive(Clone, Copy)]
struct Asked {
    by: u32,
    start: Ticks,
    end: Ticks,
    chunk: u32,
    at: u16,
}

pub(super) struct Gathering {
    scale: Scale,
    tracks: Vec<Track>,
    drafts: Vec<Draft>,
    written: Written,
    /// Spans of which a device cannot tell any more when they were.
    lost: u64,
}

impl Gathering {
    /// What all threads wrote since a moment. Waits for devices that have to tell when they did something; no lock is held meanwhile.
    pub(super) fn since(first: Ticks, scale: Scale) -> Gathering {
        let threads = lane::written();
        // What events name was told before they were written.
        let kernels = told::List::now().numbered();
        let most = threads.iter().flat_map(|thread| &thread.chunks).map(|(_, count)| count).sum::<usize>();
        let mut gathering = Gathering {
            scale,
            tracks: Vec::new(),
            // One that ran alone is two.
            drafts: Vec::with_capacity((2 * most).min(SPANS)),
            written: Written { chunks: Vec::new(), kernels },
            lost: 0,
        };
        for thread in threads {
            gathering.take(&thread.name, thread.chunks, first);
        }
        gathering
    }

    fn take(&mut self, thread: &str, chunks: Vec<(Arc<Chunk>, usize)>, first: Ticks) {
        // Threads of equal names are still different threads.
        let by = self.tracks.len() as u32;
        for (chunk, count) in chunks {
            let number = self.written.chunks.len() as u32;
            let events = chunk.events()[..count].iter().zip(0u16..).filter(|(event, _)| event.start >= first);
            let mut is_empty = true;
            for (event, at) in events {
                if is_empty && self.tracks.len() == by as usize {
                    self.tracks.push(Track::Thread(thread.to_string()));
                }
                is_empty = false;
                let asked = Asked { by, start: event.start, end: event.end, chunk: number, at };
                if self.event(asked, event).is_none() {
                    self.lost += 1;
                }
            }
            if !is_empty {
                self.written.chunks.push(chunk);
            }
        }
    }

    /// The spans of an event; `None` if nothing is known of what it names.
    fn event(&mut self, asked: Asked, event: &Event) -> Option<()> {
        match &event.what {
            What::Part(kind, _) => self.add(asked, *kind, NONE, None),
            What::Alone { kernel, begun, .. } => {
                self.written.kernels.get(*kernel)?;
                self.add(asked, Kind::Evaluation, NONE, None);
                self.add(Asked { start: *begun, ..asked }, Kind::Kernel, *kernel, None);
            }
            What::Kernel { kernel, device, is_away, more, .. } => {
                self.written.kernels.get(*kernel)?;
                let timing = more.as_ref().and_then(|more| more.timing.as_ref());
                let away = is_away.then(|| (compute(*device), timing));
                self.add(asked, Kind::Kernel, *kernel, away);
            }
            What::Chain { first, device, .. } => {
                for number in self.written.kernels.told_with(*first)? {
                    self.add(asked, Kind::Kernel, number, Some((compute(*device), None)));
                }
            }
            What::Copy(copied) => {
                let away = copied.away.as_ref().map(|(queue, timing)| (*queue, timing.as_ref()));
                self.add(asked, Kind::Transfer, NONE, away);
            }
        }
        Some(())
    }

    /// A span with what all spans have; only counted, if a device cannot tell any more when it was, or there are too many.
    #[inline]
    fn add(
        &mut self,
        asked: Asked,
        kind: Kind,
        kernel: Number,
        away: Option<(Queue, Option<&Arc<dyn Timing>>)>,
    ) {
        if self.drafts.len() >= SPANS {
            self.lost += 1;
            return;
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
                    return;
                }
            }
            track = self.track(Track::Queue(queue));
        }
        self.drafts.push(Draft {
            start,
            duration: end.saturating_sub(start),
            queued,
            kernel,
            chunk: asked.chunk,
            at: asked.at,
            kind,
            estimated,
            track,
            asked_by: asked.by,
            parent: NONE,
        });
    }

    fn track(&mut self, track: Track) -> u32 {
        let known = self.tracks.iter().position(|known| *known == track).unwrap_or_else(|| {
            self.tracks.push(track);
            self.tracks.len() - 1
        });
        known as u32
    }

    /// Finds when each queue did what was not timed there.
    fn estimate(&mut self) {
        if !self.drafts.iter().any(|draft| draft.estimated) {
            return;
        }
        // In the order in which the host asked; of what it asked for at one moment, as written down.
        self.drafts.sort_by_key(|draft| (draft.track, draft.queued));
        let mut found = Vec::with_capacity(self.drafts.len());
        for queue in self.drafts.chunk_by_mut(|a, b| a.track == b.track) {
            if queue.iter().any(|draft| draft.estimated) {
                let spans = queue.iter().map(|draft| self.written.span(draft));
                let mut spans: Vec<_> = spans.collect();
                found.extend(estimate::place(&mut spans));
                for (draft, span) in queue.iter_mut().zip(&spans) {
                    (draft.start, draft.duration) = (span.start, span.duration);
                }
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
    pub(super) fn finish(mut self) -> (Vec<Track>, Vec<Draft>, Written, u64) {
        self.estimate();
        self.drafts.sort_by_key(|draft| {
            let length = if draft.is_own() { draft.duration } else { 0 };
            (draft.start, Reverse(length), draft.queued)
        });
        enclose(&mut self.drafts, self.tracks.len());
        (self.tracks, self.drafts, self.written, self.lost)
    }
}

/// Finds for each span the innermost one of the thread that asked for it which was open when it did.
fn enclose(drafts: &mut [Draft], tracks: usize) {
    let mut open: Vec<Vec<u32>> = vec![Vec::new(); tracks];
    let mut one = |drafts: &mut [Draft], at: usize| {
        let Draft { queued, asked_by, .. } = drafts[at];
        let stack = &mut open[asked_by as usize];
        let is_over = |top: &Draft| top.end() <= queued && queued > top.start;
        while stack.last().is_some_and(|&top| is_over(&drafts[top as usize])) {
            stack.pop();
        }
        drafts[at].parent = stack.last().copied().unwrap_or(NONE);
        if drafts[at].is_own() {
            stack.push(at as u32);
        }
    };
    // Those of queues are looked up at the moment they were asked for, so moments are walked in that order; without any, spans are in it already.
    if drafts.iter().all(Draft::is_own) {
        (0..drafts.len()).for_each(|at| one(drafts, at));
    } else {
        let mut order: Vec<usize> = (0..drafts.len()).collect();
        order.sort_by_key(|&at| (drafts[at].queued, !drafts[at].is_own(), at));
        order.into_iter().for_each(|at| one(drafts, at));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::trace::clock::Pair;

    fn draft(number: u16, (start, queued, duration): (u64, u64, u64), track: u32) -> Draft {
        Draft {
            start,
            duration,
            queued,
            kernel: NONE,
            chunk: 0,
            at: number,
            kind: Kind::Kernel,
            estimated: false,
            track,
            asked_by: 0,
            parent: NONE,
        }
    }

    fn finished(drafts: Vec<Draft>) -> Vec<(u16, u32)> {
        let tracks = vec![Track::Thread("a".into()), Track::Thread("b".into())];
        let written = Written { chunks: Vec::new(), kernels: told::Numbered::default() };
        let gathering = Gathering { scale: Scale::since(Pair::now()), tracks, drafts, written, lost: 0 };
        gathering.finish().1.iter().map(|draft| (draft.at, draft.parent)).collect()
    }

    #[test]
    fn what_begins_together_on_a_queue_is_in_the_order_it_was_asked_for() {
        let drafts = vec![draft(3, (9, 3, 2), 1), draft(1, (9, 1, 0), 1), draft(2, (9, 2, 5), 1)];
        assert_eq!(finished(drafts), [(1, NONE), (2, NONE), (3, NONE)]);
    }

    #[test]
    fn what_a_queue_does_later_lies_in_what_asked_for_it() {
        // A scope from 0 to 10 asks at 4 for what happens at 20; one from 12 to 30 is open then and has nothing to do with it.
        let own = |number, start, duration| draft(number, (start, start, duration), 0);
        let drafts = vec![own(0, 0, 10), own(1, 12, 18), own(2, 13, 1), draft(3, (20, 4, 5), 1)];
        assert_eq!(finished(drafts), [(0, NONE), (1, NONE), (2, 1), (3, 0)]);
    }
}
