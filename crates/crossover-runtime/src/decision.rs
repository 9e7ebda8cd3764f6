//! A decision where the kernels of a plan run, with what it was based on.

use smallvec::SmallVec;

use crate::{
    Device,
    solve::{Assignment, Problem},
};

/// Why a kernel runs where it does.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Why {
    /// The caller said so.
    Told,
    /// No other device can run it.
    Alone,
    /// It is faster there, transfers included: nanoseconds here and elsewhere.
    Faster {
        /// Nanoseconds where it runs.
        here: f64,
        /// Nanoseconds on the next best device.
        there: f64,
    },
    /// Its operands are there: nanoseconds that moving them would take.
    Resident {
        /// Nanoseconds of the copies that are saved.
        moving: f64,
    },
    /// Too little work for another device: nanoseconds of work, and of the round trip.
    Small {
        /// Nanoseconds of work where it runs.
        work: f64,
        /// Nanoseconds of starting it elsewhere and moving its data.
        trip: f64,
    },
    /// Moving its data would take longer than another device saves.
    Moving {
        /// Nanoseconds that the other device would save.
        saved: f64,
        /// Nanoseconds of the copies.
        trip: f64,
    },
    /// Another device would be better by too little to move.
    Kept,
    /// To learn how long it takes there: it may be better than predicted.
    Trial,
    /// The whole plan was run in several ways, and this was the fastest: nanoseconds in all.
    Measured {
        /// Nanoseconds of the whole plan.
        total: f64,
    },
    /// A rule has put it there, under `deterministic`, or a recording.
    Pinned,
    /// The whole plan is small, and its operands are on the host.
    Trivial,
}

impl Why {
    /// All names, in the order of [`Why::index`].
    pub const NAMES: [&'static str; 11] = [
        "told", "alone", "faster", "resident", "small", "moving", "kept", "pinned", "trivial", "trial",
        "measured",
    ];

    /// Its place in tables of counts.
    pub const fn index(self) -> usize {
        match self {
            Why::Told => 0,
            Why::Alone => 1,
            Why::Faster { .. } => 2,
            Why::Resident { .. } => 3,
            Why::Small { .. } => 4,
            Why::Moving { .. } => 5,
            Why::Kept => 6,
            Why::Pinned => 7,
            Why::Trivial => 8,
            Why::Trial => 9,
            Why::Measured { .. } => 10,
        }
    }

    /// A short name, for counts and JSON.
    pub const fn name(self) -> &'static str {
        Why::NAMES[self.index()]
    }
}

impl std::fmt::Display for Why {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        use crossover_plan::duration;
        match *self {
            Why::Told => f.write_str("as it was told"),
            Why::Alone => f.write_str("no other device can run it"),
            Why::Faster { here, there } => {
                write!(f, "faster here: {} against {}", duration(here), duration(there))
            }
            Why::Resident { moving } => {
                write!(f, "its operands are here: moving them takes {}", duration(moving))
            }
            Why::Small { work, trip } => {
                write!(f, "too small: {} of work against {} of round trip", duration(work), duration(trip))
            }
            Why::Moving { saved, trip } => write!(
                f,
                "moving its data takes {}, the other device would save {}",
                duration(trip),
                duration(saved)
            ),
            Why::Kept => f.write_str("it ran here before, and elsewhere it would gain too little"),
            Why::Pinned => f.write_str("a rule or a recording says so"),
            Why::Trial => f.write_str("to learn how long it takes here"),
            Why::Trivial => f.write_str("too small to think about"),
            Why::Measured { total } => {
                write!(f, "of the ways it was run in, this was the fastest: {} in all", duration(total))
            }
        }
    }
}

/// Where the kernels of a plan run.
#[derive(Debug, Clone, PartialEq)]
pub struct Decision {
    /// What was known when it was made.
    pub(crate) epoch: u64,
    pub(crate) devices: SmallVec<[u8; 16]>,
    /// Predicted nanoseconds of the whole plan, copies included.
    total: f64,
    /// Predicted nanoseconds of each kernel on each device.
    times: Vec<f64>,
    /// Nanoseconds of copies before each kernel; the last entry is the host's wait for results.
    copies: Vec<f64>,
    /// Nanoseconds of copies that each kernel would need on each device, were it alone to run there; empty where nobody asked.
    moving: Vec<f64>,
    why: Vec<Why>,
    count: usize,
    /// Whether it is a trial of the whole plan, whose kernels are not timed.
    whole: bool,
}

impl Decision {
    pub(crate) fn new(
        epoch: u64,
        problem: &Problem<'_>,
        best: Assignment,
        times: Vec<f64>,
        all: Option<Why>,
        pinned: impl Fn(usize) -> bool,
    ) -> Decision {
        let copies = problem.copies(&best.devices);
        let moving = problem.moving(&best.devices);
        let reason = |at: usize| {
            if pinned(at) {
                Why::Pinned
            } else {
                all.unwrap_or_else(|| explain(problem, &best.devices, &copies, at))
            }
        };
        let why = (0..best.devices.len()).map(reason).collect();
        Decision {
            epoch,
            devices: best.devices,
            total: best.total,
            times,
            copies,
            moving,
            why,
            count: problem.devices,
            whole: false,
        }
    }

    /// The same, as a trial of the whole plan.
    pub(crate) fn whole(self) -> Decision {
        Decision { whole: true, ..self }
    }

    /// Whether it is made to learn how long the whole plan takes.
    pub(crate) fn is_whole_trial(&self) -> bool {
        self.whole
    }

    /// Everything on one device, because the caller said so or there is nothing to decide.
    pub(crate) fn uniform(
        kernels: usize,
        device: Device,
        times: Vec<f64>,
        count: usize,
        why: Why,
    ) -> Decision {
        let devices: SmallVec<[u8; 16]> = smallvec::smallvec![device.0 as u8; kernels];
        let total = (0..kernels).map(|at| times[at * count + device.0]).sum();
        let (copies, why) = (vec![0.0; kernels + 1], vec![why; kernels]);
        Decision { epoch: 0, devices, total, times, copies, moving: Vec::new(), why, count, whole: false }
    }

    /// Whether it is made to learn how long kernels take.
    pub(crate) fn is_trial(&self) -> bool {
        !self.whole && self.why.contains(&Why::Trial)
    }

    /// Where a kernel runs.
    pub fn device(&self, at: usize) -> Device {
        Device(self.devices[at] as usize)
    }

    /// Number of kernels.
    pub fn kernels(&self) -> usize {
        self.devices.len()
    }

    /// Whether any kernel runs on a device.
    pub fn uses(&self, device: Device) -> bool {
        self.devices.iter().any(|&d| d as usize == device.0)
    }

    /// The device that every kernel runs on, if there is one.
    pub(crate) fn only_device(&self) -> Option<Device> {
        let first = self.devices.first()?;
        self.devices.iter().all(|d| d == first).then_some(Device(*first as usize))
    }

    /// Predicted nanoseconds of the whole plan, copies included.
    pub fn total_ns(&self) -> f64 {
        self.total
    }

    /// Predicted nanoseconds of a kernel on each device, the host first.
    pub fn times_ns(&self, at: usize) -> &[f64] {
        &self.times[at * self.count..(at + 1) * self.count]
    }

    /// Predicted nanoseconds of the copies before a kernel; at the number of kernels, those of results the host wants.
    pub fn copies_ns(&self, at: usize) -> f64 {
        self.copies[at]
    }

    /// Predicted nanoseconds of the copies that a kernel needs on each device, the host first, the others staying where they are: of its operands, and of its
    /// results to where they are wanted. Empty where no devices were compared.
    pub fn moving_ns(&self, at: usize) -> &[f64] {
        self.moving.get(at * self.count..(at + 1) * self.count).unwrap_or_default()
    }

    /// What a kernel that took so many nanoseconds lost against the best prediction for another device, copies included on both sides; `None` where there was
    /// no other.
    pub fn regret_ns(&self, at: usize, took: f64) -> Option<f64> {
        let (here, moving) = (self.device(at).0, self.moving_ns(at));
        let whole = |(&time, &copies): (&f64, &f64)| time + copies;
        let all = self.times_ns(at).iter().zip(moving).map(whole).enumerate();
        let others = all.filter(|&(device, whole)| device != here && whole.is_finite() && whole > 0.0);
        let best = others.map(|(_, whole)| whole).min_by(f64::total_cmp)?;
        Some((took + moving[here] - best).max(0.0))
    }

    /// Why a kernel runs where it does.
    pub fn why(&self, at: usize) -> Why {
        self.why[at]
    }
}

fn explain(problem: &Problem<'_>, devices: &[u8], copies: &[f64], at: usize) -> Why {
    let (d, here) = (problem.devices, devices[at] as usize);
    let times = &problem.times[at * d..(at + 1) * d];
    let others = (0..d).filter(|&o| o != here && times[o].is_finite());
    let Some(other) = others.min_by(|&a, &b| times[a].total_cmp(&times[b])) else { return Why::Alone };
    let node = &problem.nodes[at];
    let up = |b: u32, device: usize| problem.moves[b as usize * d + device].0;
    let down = |b: u32, device: usize| problem.moves[b as usize * d + device].1;
    if here != 0 {
        let computed_here = |b: u32| {
            problem.nodes[..at]
                .iter()
                .zip(devices)
                .any(|(n, &on)| on as usize == here && n.writes.contains(&b))
        };
        let resident = |b: u32| {
            let valid = problem.valid[b as usize];
            (valid & (1 << here) != 0 && valid & 1 == 0) || computed_here(b)
        };
        let moving: f64 = node.reads.iter().filter(|&&b| resident(b)).map(|&b| down(b, here)).sum();
        // Without the copies it saves, would it still run here?
        return if moving > 0.0 && times[here] + copies[at] >= times[other] {
            Why::Resident { moving }
        } else {
            Why::Faster { here: times[here] + copies[at], there: times[other] + moving }
        };
    }
    let arriving: f64 = node.reads.iter().map(|&b| up(b, other)).sum();
    let leaving: f64 = node.writes.iter().map(|&b| down(b, other)).sum();
    let (work, trip) = (times[0], arriving + leaving + times[other]);
    if times[other] >= times[0] {
        return if times[0] < 20_000.0 {
            Why::Small { work, trip }
        } else {
            Why::Faster { here: times[0] + copies[at], there: trip }
        };
    }
    let saved = times[0] - times[other];
    if work < 20_000.0 { Why::Small { work, trip } } else { Why::Moving { saved, trip: arriving + leaving } }
}
