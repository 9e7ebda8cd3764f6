//! What somebody should know about: a few rules over what a runtime does. Callbacks, `crossover top`, `/health` and the rules file for Prometheus
//! all mean the same by them.
//!
//! A rule is a pure function of what was seen ([`Look`]), over a window of time where one look is not enough, so that tests can plant
//! every alert without waiting for it.

use std::{collections::VecDeque, fmt, time::Duration};

use crossover_runtime::memory::{LeakReport, Level};

use crate::Device;

/// Over how long fallbacks and regret are added up. The rules file says the same.
pub(crate) const WINDOW: Duration = Duration::from_secs(300);
/// Share of the judged time that regret must exceed.
const REGRET_SHARE: f64 = 0.2;
/// And at least so many nanoseconds of it in a window: less is not worth anybody's time.
const REGRET_LEAST: u64 = 100_000_000;

/// What an alert is about.
///
/// ```
/// use crossover_array::AlertKind;
/// assert_eq!(AlertKind::ALL.map(|kind| kind.name()), ["pressure", "leak", "regret", "fallback", "device_lost"]);
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[non_exhaustive]
pub enum AlertKind {
    /// The memory of a device is at 85% of its budget or more.
    Pressure,
    /// What arrays hold at least on a GPU has risen throughout five minutes.
    Leak,
    /// In five minutes, kernels took more than a fifth longer than was predicted for the best device, and 0.1 s.
    Regret,
    /// In five minutes, a device could not run a kernel and the host did.
    Fallback,
    /// A device was lost, with everything on it. The host computes in its place.
    DeviceLost,
}

impl AlertKind {
    /// All of them.
    pub const ALL: [AlertKind; 5] =
        [AlertKind::Pressure, AlertKind::Leak, AlertKind::Regret, AlertKind::Fallback, AlertKind::DeviceLost];

    /// Its name in files and metrics.
    ///
    /// ```
    /// assert_eq!(crossover_array::AlertKind::DeviceLost.name(), "device_lost");
    /// ```
    pub const fn name(self) -> &'static str {
        match self {
            AlertKind::Pressure => "pressure",
            AlertKind::Leak => "leak",
            AlertKind::Regret => "regret",
            AlertKind::Fallback => "fallback",
            AlertKind::DeviceLost => "device_lost",
        }
    }
}

impl fmt::Display for AlertKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// Something that began or ended, from [`Runtime::on_alert`](crate::Runtime::on_alert).
///
/// ```
/// use crossover_array::{Alert, AlertKind, Runtime};
/// let watch = Runtime::current().on_alert(|alert: &Alert| {
///     if alert.kind == AlertKind::Pressure && alert.active {
///         eprintln!("{alert}");
///     }
/// });
/// drop(watch);
/// ```
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Alert {
    /// What it is about.
    pub kind: AlertKind,
    /// Where; `None` if it is about the whole runtime.
    pub device: Option<Device>,
    /// Whether it holds; `false` when it is over.
    pub active: bool,
    /// What was seen, with its figures, and what to do.
    pub text: String,
}

impl fmt::Display for Alert {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}{}: {}", if self.active { "" } else { "over: " }, self.kind, self.text)
    }
}

/// What was seen of a runtime at one moment.
#[derive(Debug, Clone, Default)]
pub(crate) struct Look {
    /// Since the runtime was made.
    pub at: Duration,
    pub devices: Vec<DeviceLook>,
    /// Counters since the runtime was made.
    pub totals: Totals,
}

/// What was seen of one device.
#[derive(Debug, Clone)]
pub(crate) struct DeviceLook {
    pub device: Device,
    /// The highest level since the last look, and the use now.
    pub level: Level,
    pub usage: f64,
    pub leak: Option<LeakReport>,
    pub lost: bool,
}

/// Counters that rules look at the growth of.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Totals {
    pub fallbacks: u64,
    /// Nanoseconds.
    pub judged: u64,
    /// Nanoseconds.
    pub regret: u64,
}

/// The rules, with what they remember.
#[derive(Debug)]
pub(crate) struct Rules {
    /// Totals at moments within the window, the oldest first; one at or before its beginning.
    history: VecDeque<(Duration, Totals)>,
    active: Vec<Alert>,
}

impl Default for Rules {
    fn default() -> Rules {
        // A new runtime has done nothing: what happens before the first look is new to it.
        Rules { history: VecDeque::from([(Duration::ZERO, Totals::default())]), active: Vec::new() }
    }
}

impl Rules {
    /// The alerts that hold.
    pub fn active(&self) -> &[Alert] {
        &self.active
    }

    /// Takes a look into account; the alerts that began or ended with it.
    pub fn step(&mut self, look: &Look) -> Vec<Alert> {
        let grown = self.grown(look);
        let mut now: Vec<Alert> = look.devices.iter().flat_map(of_device).collect();
        now.extend(fallback(grown));
        now.extend(regret(grown));
        let same = |a: &Alert, b: &Alert| (a.kind, a.device) == (b.kind, b.device);
        let begun = now.iter().filter(|alert| !self.active.iter().any(|old| same(old, alert))).cloned();
        let over = self.active.iter().filter(|old| !now.iter().any(|alert| same(old, alert)));
        let over = over.map(|old| Alert { active: false, ..old.clone() });
        let changes = begun.chain(over).collect();
        self.active = now;
        changes
    }

    /// By how much totals have grown within the window.
    fn grown(&mut self, look: &Look) -> Totals {
        self.history.push_back((look.at, look.totals));
        // Looks come twice a second, so this stays short.
        while self.history.get(1).is_some_and(|(at, _)| *at + WINDOW <= look.at) {
            self.history.pop_front();
        }
        let before = self.history.front().map_or_else(Totals::default, |(_, totals)| *totals);
        Totals {
            fallbacks: look.totals.fallbacks.saturating_sub(before.fallbacks),
            judged: look.totals.judged.saturating_sub(before.judged),
            regret: look.totals.regret.saturating_sub(before.regret),
        }
    }
}

fn alert(kind: AlertKind, device: Option<Device>, text: String) -> Alert {
    Alert { kind, device, active: true, text }
}

fn of_device(look: &DeviceLook) -> Vec<Alert> {
    let device = look.device;
    let mut out = Vec::new();
    if look.lost {
        let text = format!(
            "{device} was lost with everything on it; the host computes in its place until the program starts anew"
        );
        out.push(alert(AlertKind::DeviceLost, Some(device), text));
    }
    if look.level >= Level::High {
        let text = format!(
            "the memory of {device} is at {:.0}% of its budget ({}): arrays are about to move to the host; drop some, or raise memory_limit",
            100.0 * look.usage,
            look.level
        );
        out.push(alert(AlertKind::Pressure, Some(device), text));
    }
    if let Some(leak) = look.leak {
        let text = format!(
            "arrays on {device} hold {:.1} MB more at least than {:.0} s ago, {:.3} MB per second: somebody keeps arrays that nobody needs",
            (leak.to - leak.from) as f64 / 1e6,
            leak.window.as_secs_f64(),
            leak.rate / 1e6
        );
        out.push(alert(AlertKind::Leak, Some(device), text));
    }
    out
}

fn fallback(grown: Totals) -> Option<Alert> {
    (grown.fallbacks > 0).then(|| {
        let text = format!(
            "{} kernels ran on the host in the last five minutes because their device could not; the log says why \
             (CROSSOVER_LOG=crossover::fallback=warn, in a Rust program with crossover::log::init())",
            grown.fallbacks
        );
        alert(AlertKind::Fallback, None, text)
    })
}

fn regret(grown: Totals) -> Option<Alert> {
    let share = grown.regret as f64 / grown.judged.max(1) as f64;
    (share > REGRET_SHARE && grown.regret >= REGRET_LEAST).then(|| {
        let text = format!(
            "{:.0}% of the time of timed kernels, {:.2} s, went beyond what was predicted for the best device; run `crossover calibrate`, or see who else uses the machine",
            100.0 * share,
            grown.regret as f64 / 1e9
        );
        alert(AlertKind::Regret, None, text)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn look(seconds: u64, totals: Totals) -> Look {
        Look { at: Duration::from_secs(seconds), devices: Vec::new(), totals }
    }

    fn told(changes: &[Alert]) -> Vec<(AlertKind, bool)> {
        changes.iter().map(|alert| (alert.kind, alert.active)).collect()
    }

    #[test]
    fn fallbacks_are_told_once_and_are_over_after_the_window() {
        let mut rules = Rules::default();
        let some = |fallbacks| Totals { fallbacks, ..Totals::default() };
        assert!(rules.step(&look(1, some(0))).is_empty());
        assert_eq!(told(&rules.step(&look(2, some(3)))), [(AlertKind::Fallback, true)]);
        assert!(rules.active()[0].text.starts_with("3 kernels"));
        assert!(rules.step(&look(200, some(4))).is_empty(), "it goes on");
        assert!(rules.step(&look(303, some(4))).is_empty(), "the fourth is not five minutes old");
        assert_eq!(told(&rules.step(&look(501, some(4)))), [(AlertKind::Fallback, false)]);
        assert!(rules.active().is_empty());
    }

    #[test]
    fn what_happened_before_the_first_look_counts() {
        let totals = Totals { fallbacks: 1, ..Totals::default() };
        assert_eq!(told(&Rules::default().step(&look(1, totals))), [(AlertKind::Fallback, true)]);
    }

    #[test]
    fn regret_needs_a_share_and_an_amount() {
        let step =
            |judged, regret| Rules::default().step(&look(1, Totals { judged, regret, fallbacks: 0 })).len();
        assert_eq!(step(1_000_000_000, 150_000_000), 0, "15%");
        assert_eq!(step(100_000_000, 60_000_000), 0, "60% of too little");
        assert_eq!(step(1_000_000_000, 300_000_000), 1);
    }

    #[test]
    fn devices_are_told_apart_and_recover() {
        let device = |number, lost, level| DeviceLook {
            device: Device::Cuda(number),
            level,
            usage: 0.9,
            leak: None,
            lost,
        };
        let mut rules = Rules::default();
        let mut seen = look(1, Totals::default());
        seen.devices = vec![device(0, false, Level::High), device(1, true, Level::Normal)];
        let changes = rules.step(&seen);
        assert_eq!(told(&changes), [(AlertKind::Pressure, true), (AlertKind::DeviceLost, true)]);
        assert_eq!((changes[0].device, changes[1].device), (Some(Device::Cuda(0)), Some(Device::Cuda(1))));
        seen.devices[0] = device(0, false, Level::Elevated);
        assert_eq!(told(&rules.step(&seen)), [(AlertKind::Pressure, false)]);
        seen.devices[0].leak =
            Some(LeakReport { from: 1_000_000, to: 4_000_000, rate: 1e4, window: Duration::from_secs(300) });
        let changes = rules.step(&seen);
        assert_eq!(told(&changes), [(AlertKind::Leak, true)]);
        assert!(changes[0].text.contains("3.0 MB more at least than 300 s ago"), "{}", changes[0]);
    }

    #[test]
    fn the_past_is_bounded() {
        let mut rules = Rules::default();
        for half in 0..5000 {
            rules.step(&Look { at: Duration::from_millis(500 * half), ..Look::default() });
        }
        assert!(rules.history.len() <= 602, "{}", rules.history.len());
    }
}
