//! Where the wall time went: every moment counts once, for the first thing that happened in it.

use std::{cmp::Reverse, collections::BinaryHeap};

use serde::{Deserialize, Serialize};

use crate::{SpanKind, Spans, Track, TrackKind};

/// Parts of the wall time, in nanoseconds. They add up to it.
///
/// ```
/// use crossover_array::Array;
/// let (_, trace) = crossover_profile::profile("exp", || Array::linspace(0.0, 1.0, 100_000).exp().eval().map(drop));
/// let parts = trace.breakdown;
/// assert_eq!(parts.total(), parts.parts().iter().map(|(_, nanoseconds)| nanoseconds).sum::<u64>());
/// ```
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Breakdown {
    /// A kernel ran on the host.
    pub cpu_ns: u64,
    /// A kernel ran on another device, and none on the host.
    pub gpu_ns: u64,
    /// A copy, and no kernel.
    pub transfer_ns: u64,
    /// A compiler, and none of those.
    pub compile_ns: u64,
    /// Our own code otherwise: planning, deciding, allocating, waiting.
    pub overhead_ns: u64,
    /// Nothing of ours: the program itself.
    pub rest_ns: u64,
}

/// How much of the copying happened while kernels ran, in nanoseconds; from [`Trace::overlap`](crate::Trace::overlap).
///
/// ```
/// use crossover_array::Array;
/// let (_, trace) = crossover_profile::profile("exp", || Array::linspace(0.0, 1.0, 100_000).exp().eval().map(drop));
/// let overlap = trace.overlap();
/// assert!(overlap.both_ns <= overlap.copies_ns.min(overlap.kernels_ns));
/// ```
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Overlap {
    /// Time during which something was copied.
    pub copies_ns: u64,
    /// Time during which a kernel ran.
    pub kernels_ns: u64,
    /// Time during which both happened.
    pub both_ns: u64,
}

impl Overlap {
    pub(crate) fn of(spans: &Spans) -> Overlap {
        let mut edges: Vec<(u64, usize, i64)> = Vec::new();
        for row in 0..spans.len() {
            let class = match spans.kind[row] {
                SpanKind::Transfer => 0,
                SpanKind::Kernel => 1,
                _ => continue,
            };
            edges.push((spans.start[row], class, 1));
            edges.push((spans.start[row].saturating_add(spans.duration[row]), class, -1));
        }
        edges.sort_unstable();
        let (mut out, mut open, mut before) = (Overlap::default(), [0i64; 2], 0);
        for (at, class, change) in edges {
            let (copies, kernels) = (open[0] > 0, open[1] > 0);
            out.copies_ns += if copies { at - before } else { 0 };
            out.kernels_ns += if kernels { at - before } else { 0 };
            out.both_ns += if copies && kernels { at - before } else { 0 };
            before = at;
            open[class] += change;
        }
        out
    }
}

/// What a moment can count for, the first that applies.
const CLASSES: usize = 5;

impl Breakdown {
    /// All of it.
    pub fn total(&self) -> u64 {
        // A file may say anything.
        self.parts().into_iter().fold(0, |sum, (_, part)| sum.saturating_add(part))
    }

    /// The parts with their names, in order.
    pub fn parts(&self) -> [(&'static str, u64); 6] {
        [
            ("CPU kernels", self.cpu_ns),
            ("GPU kernels", self.gpu_ns),
            ("copies", self.transfer_ns),
            ("compiling", self.compile_ns),
            ("overhead", self.overhead_ns),
            ("the program itself", self.rest_ns),
        ]
    }

    /// Sweeps over the spans of a session that lasted so long; they are in order of their start.
    pub(crate) fn of(spans: &Spans, tracks: &[Track], wall: u64) -> Breakdown {
        let mut sweep = Sweep::default();
        for row in 0..spans.len() {
            let on_host = tracks[spans.track[row] as usize].kind == TrackKind::Thread;
            let class = match (spans.kind[row], on_host) {
                (SpanKind::Kernel, true) => 0,
                (SpanKind::Kernel, false) => 1,
                (SpanKind::Transfer, _) => 2,
                (SpanKind::Compile, _) => 3,
                (SpanKind::Evaluation | SpanKind::Plan | SpanKind::Wait, _) => 4,
                (SpanKind::Scope, _) => continue,
            };
            let start = spans.start[row].min(wall);
            let end = spans.start[row].saturating_add(spans.duration[row]).min(wall);
            if end > start {
                sweep.begin(start, end, class);
            }
        }
        let [cpu_ns, gpu_ns, transfer_ns, compile_ns, overhead_ns] = sweep.finish();
        let rest_ns = wall - (cpu_ns + gpu_ns + transfer_ns + compile_ns + overhead_ns);
        Breakdown { cpu_ns, gpu_ns, transfer_ns, compile_ns, overhead_ns, rest_ns }
    }
}

/// Walks along the time of a session, from one change of what is under way to the next.
#[derive(Default)]
struct Sweep {
    /// When what is under way ends, and its class; few things are under way at once.
    ends: BinaryHeap<Reverse<(u64, usize)>>,
    open: [u32; CLASSES],
    times: [u64; CLASSES],
    /// Where the walk has come to.
    at: u64,
}

impl Sweep {
    /// Something begins, no earlier than what began before it.
    fn begin(&mut self, start: u64, end: u64, class: usize) {
        while let Some(&Reverse((ended, which))) = self.ends.peek().filter(|Reverse((end, _))| *end <= start)
        {
            self.ends.pop();
            self.pass(ended);
            self.open[which] -= 1;
        }
        self.pass(start);
        self.open[class] += 1;
        self.ends.push(Reverse((end, class)));
    }

    /// Counts the time until a moment for the first class that is under way.
    fn pass(&mut self, until: u64) {
        if let Some(first) = self.open.iter().position(|&count| count > 0) {
            self.times[first] += until - self.at;
        }
        self.at = until;
    }

    /// The times of all classes.
    fn finish(mut self) -> [u64; CLASSES] {
        while let Some(Reverse((ended, which))) = self.ends.pop() {
            self.pass(ended);
            self.open[which] -= 1;
        }
        self.times
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    use SpanKind::{Compile, Evaluation, Kernel, Scope, Transfer};

    fn spans(rows: &[(u32, SpanKind, u64, u64)]) -> Spans {
        let mut out = Spans::default();
        for &(track, kind, start, duration) in rows {
            out.track.push(track);
            out.kind.push(kind);
            out.start.push(start);
            out.duration.push(duration);
            out.place.push(-1);
        }
        out
    }

    #[test]
    fn every_moment_counts_once() {
        let track = |kind, device| Track { name: String::new(), kind, device };
        let tracks = [track(TrackKind::Thread, 0), track(TrackKind::Stream, 1)];
        // An evaluation from 10 to 90; inside it a CPU kernel, a GPU kernel that overlaps it, a copy that overlaps that.
        let rows = [
            (0, Scope, 0, 100),
            (0, Evaluation, 10, 80),
            (0, Kernel, 20, 20),
            (1, Kernel, 30, 30),
            (1, Transfer, 50, 20),
            (0, Compile, 85, 30),
        ];
        let seen = Breakdown::of(&spans(&rows), &tracks, 100);
        let expected = Breakdown {
            cpu_ns: 20,
            gpu_ns: 20,
            transfer_ns: 10,
            compile_ns: 15,
            overhead_ns: 10 + 15,
            rest_ns: 10,
        };
        assert_eq!(seen, expected);
        assert_eq!(seen.total(), 100);
    }

    #[test]
    fn what_overlaps_counts_once() {
        // Two copies at once from 0 to 30, a kernel from 20 to 50, another beside it, and a copy alone at the end.
        let rows = [
            (0, Transfer, 0, 30),
            (0, Transfer, 10, 10),
            (1, Kernel, 20, 30),
            (1, Kernel, 25, 10),
            (0, Transfer, 60, 5),
            (0, Evaluation, 0, 99),
        ];
        let seen = Overlap::of(&spans(&rows));
        assert_eq!(seen, Overlap { copies_ns: 35, kernels_ns: 30, both_ns: 10 });
        assert_eq!(Overlap::of(&Spans::default()), Overlap::default());
    }

    #[test]
    fn without_spans_it_is_all_the_programs() {
        assert_eq!(
            Breakdown::of(&Spans::default(), &[], 7),
            Breakdown { rest_ns: 7, ..Breakdown::default() }
        );
    }
}
