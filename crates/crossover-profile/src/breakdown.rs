//! Where the wall time went: every moment counts once, for the first thing that happened in it.

use serde::{Deserialize, Serialize};

use crate::{Spans, Track, TrackKind};

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
            let class = match spans.kind[row].as_str() {
                "t" => 0,
                "k" => 1,
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

    /// Sweeps over the spans of a session that lasted so long.
    pub(crate) fn of(spans: &Spans, tracks: &[Track], wall: u64) -> Breakdown {
        let mut edges: Vec<(u64, usize, i64)> = Vec::with_capacity(2 * spans.len());
        for row in 0..spans.len() {
            let on_host = tracks[spans.track[row] as usize].kind == TrackKind::Thread;
            let class = match (spans.kind[row].as_str(), on_host) {
                ("k", true) => 0,
                ("k", false) => 1,
                ("t", _) => 2,
                ("c", _) => 3,
                ("e" | "p" | "w", _) => 4,
                _ => continue,
            };
            let start = spans.start[row].min(wall);
            let end = spans.start[row].saturating_add(spans.duration[row]).min(wall);
            if end > start {
                edges.push((start, class, 1));
                edges.push((end, class, -1));
            }
        }
        edges.sort_unstable();
        let (mut open, mut times, mut before) = ([0i64; CLASSES], [0u64; CLASSES], 0);
        for (at, class, change) in edges {
            if let Some(first) = open.iter().position(|&count| count > 0) {
                times[first] += at - before;
            }
            before = at;
            open[class] += change;
        }
        let [cpu_ns, gpu_ns, transfer_ns, compile_ns, overhead_ns] = times;
        let rest_ns = wall - times.iter().sum::<u64>();
        Breakdown { cpu_ns, gpu_ns, transfer_ns, compile_ns, overhead_ns, rest_ns }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn spans(rows: &[(u32, &str, u64, u64)]) -> Spans {
        let mut out = Spans::default();
        for &(track, kind, start, duration) in rows {
            out.track.push(track);
            out.kind.push(kind.to_string());
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
            (0, "s", 0, 100),
            (0, "e", 10, 80),
            (0, "k", 20, 20),
            (1, "k", 30, 30),
            (1, "t", 50, 20),
            (0, "c", 85, 30),
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
            (0, "t", 0, 30),
            (0, "t", 10, 10),
            (1, "k", 20, 30),
            (1, "k", 25, 10),
            (0, "t", 60, 5),
            (0, "e", 0, 99),
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
