//! When devices did what nobody timed: like what was timed, one after the other.
//!
//! A queue does what it is asked in order. So something that was not timed begins when the host has asked for it and what is before it has ended, lasts as
//! long as the median of its kind that was timed, and ends before the next that was timed begins.

use rustc_hash::FxHashMap;

use super::{event::Kind, seen::Span};
use crate::Device;

/// What lasts as long as each other: the same kernel with as much to do, or copies the same way of about as many bytes.
#[derive(PartialEq, Eq, Hash)]
enum Like<'a> {
    Kernel(&'a str, [u64; 3]),
    Copy(Option<(Device, Device)>, u32),
}

impl Like<'_> {
    fn of<'a>(span: &Span<'a>) -> (usize, Like<'a>) {
        let like = match &span.work {
            Some(work) => Like::Kernel(span.name, [work.read(), work.written(), work.flops()]),
            None => Like::Copy(span.way, span.bytes.max(1).ilog2()),
        };
        (span.track, like)
    }
}

/// How long things of each kind took that were timed, by the median, and how soon after they were asked for they began at best.
fn known<'a>(spans: &[Span<'a>]) -> (FxHashMap<(usize, Like<'a>), u64>, u64) {
    let mut all: FxHashMap<(usize, Like<'_>), Vec<u64>> = FxHashMap::default();
    let mut soonest = u64::MAX;
    for span in spans.iter().filter(|span| !span.estimated) {
        all.entry(Like::of(span)).or_default().push(span.duration);
        if span.kind == Kind::Kernel {
            soonest = soonest.min(span.start.saturating_sub(span.queued));
        }
    }
    let median = |mut times: Vec<u64>| {
        times.sort_unstable();
        times[times.len() / 2]
    };
    let medians = all.into_iter().map(|(like, times)| (like, median(times))).collect();
    (medians, if soonest == u64::MAX { 0 } else { soonest })
}

/// Places what was not timed among the spans of one queue, in the order in which the host asked for them. False for those that nothing like them was
/// timed.
pub(super) fn place(spans: &mut [Span<'_>]) -> Vec<bool> {
    let (lengths, soonest) = known(spans);
    let found: Vec<Option<u64>> = spans.iter().map(|span| lengths.get(&Like::of(span)).copied()).collect();
    drop(lengths);
    for (span, length) in spans.iter_mut().zip(&found).filter(|(span, _)| span.estimated) {
        span.duration = length.unwrap_or(0);
    }
    let (mut from, mut at) = (0, 0);
    while at < spans.len() {
        let count = spans[at..].iter().take_while(|span| span.estimated).count();
        let (run, rest) = spans[at..].split_at_mut(count);
        let until = rest.first().map_or(u64::MAX, |timed| timed.start.max(from));
        fit(run, from, until, soonest);
        from = from.max(rest.first().map_or(from, |timed| timed.end()));
        at += count + 1;
    }
    found.into_iter().map(|length| length.is_some()).collect()
}

/// Places a run of spans between what was timed before it and after it.
fn fit(run: &mut [Span<'_>], from: u64, until: u64, soonest: u64) {
    let mut before = from;
    for span in run.iter_mut() {
        span.start = before.max(span.queued + soonest);
        before = span.end();
    }
    let (Some(first), true) = (run.first(), before > until) else { return };
    // Closer together, up to what comes next; shorter if they do not fit even so.
    let begin = from.max(first.queued).min(until);
    let total: u64 = run.iter().map(|span| span.duration).sum();
    let scale = if total > 0 { ((until - begin) as f64 / total as f64).min(1.0) } else { 1.0 };
    let mut before = until - ((total as f64 * scale) as u64).min(until - begin);
    for span in run {
        span.start = before.max(span.queued).min(until);
        span.duration = ((span.duration as f64 * scale) as u64).min(until - span.start);
        before = span.end();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::trace::{Described, Work};

    fn kernel() -> Described {
        Described {
            name: "exp".into(),
            text: "exp(x0)".into(),
            plan: 1,
            at: 0,
            form: "map",
            dtype: "f32",
            read: 8,
            written: 8,
            flops: 1,
            products: 0,
            has_roof: true,
        }
    }

    /// What it is called, when the host asked for it, and when a device began and how long it took, if it was timed.
    type Row = (&'static str, u64, Option<(u64, u64)>);

    fn placed(rows: &[Row]) -> (Vec<(u64, u64)>, Vec<bool>) {
        let kernel = kernel();
        let span = |&(name, queued, when): &Row| {
            let work = Work {
                kernel: &kernel,
                number: 0,
                parts: 1,
                device: Device(1),
                decision: None,
                moved: 0,
                live: 0,
                peak: 0,
            };
            let (start, duration) = when.unwrap_or_default();
            Span {
                kind: Kind::Kernel,
                name,
                track: 1,
                start,
                duration,
                parent: None,
                queued,
                work: Some(work),
                bytes: 16,
                way: None,
                place: None,
                estimated: when.is_none(),
            }
        };
        let mut spans: Vec<Span<'_>> = rows.iter().map(span).collect();
        let found = place(&mut spans);
        (spans.iter().map(|span| (span.start, span.end())).collect(), found)
    }

    #[test]
    fn they_follow_one_another_and_last_as_long_as_their_like() {
        let (places, found) = placed(&[
            ("a", 0, Some((5, 10))),
            ("a", 1, None),
            ("a", 2, None),
            ("a", 100, None),
            ("never timed", 100, None),
        ]);
        // The first begins 5 after it was asked for; so does the fourth, which nobody is in the way of.
        assert_eq!(places, [(5, 15), (15, 25), (25, 35), (105, 115), (115, 115)]);
        assert_eq!(found, [true, true, true, true, false]);
    }

    #[test]
    fn they_end_before_what_was_timed_begins() {
        let (places, _) = placed(&[
            ("a", 0, Some((5, 10))),
            ("a", 1, None),
            ("a", 2, None),
            ("b", 3, Some((32, 4))),
            ("a", 31, None),
            ("b", 33, Some((38, 4))),
        ]);
        // 17 are left for two of 10, and 2 for one.
        assert_eq!(places, [(5, 15), (15, 23), (23, 31), (32, 36), (36, 38), (38, 42)]);
    }
}
