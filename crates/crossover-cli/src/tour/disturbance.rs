//! How much of the processor other programs use while we measure. Times taken beside them are too long.
//!
//! From `/proc` on Linux; elsewhere nothing is known and nothing is claimed.

use std::fs;

/// Processor time at one moment, in clock ticks.
#[derive(Clone, Copy)]
pub struct Snapshot {
    /// Of all processors, idle or not.
    all: u64,
    /// Of all processors, working.
    busy: u64,
    /// Of this process.
    own: u64,
}

impl Snapshot {
    /// The moment now, where it can be known.
    pub fn now() -> Option<Snapshot> {
        let (all, busy) = machine(&fs::read_to_string("/proc/stat").ok()?)?;
        let own = process(&fs::read_to_string("/proc/self/stat").ok()?)?;
        Some(Snapshot { all, busy, own })
    }

    /// The share of the processors that others have used since then.
    pub fn others_since(self) -> Option<f64> {
        Snapshot::now().and_then(|now| now.others_after(self))
    }

    fn others_after(self, before: Snapshot) -> Option<f64> {
        let all = self.all.checked_sub(before.all).filter(|&ticks| ticks > 0)?;
        let (busy, own) = (self.busy.saturating_sub(before.busy), self.own.saturating_sub(before.own));
        Some(busy.saturating_sub(own) as f64 / all as f64)
    }
}

/// Ticks of all processors and how many were work: the first line holds user, nice, system, idle, iowait, irq, softirq
/// and steal; what follows is contained in user and nice.
fn machine(stat: &str) -> Option<(u64, u64)> {
    let line = stat.lines().next()?.strip_prefix("cpu ")?;
    let ticks: Vec<u64> = line.split_whitespace().take(8).map_while(|word| word.parse().ok()).collect();
    let all: u64 = ticks.iter().sum();
    let idle = ticks.get(3)? + ticks.get(4)?;
    Some((all, all - idle))
}

/// User and system ticks: the 14th and 15th field; the second is a name in brackets that may hold spaces.
fn process(stat: &str) -> Option<u64> {
    let (_, rest) = stat.rsplit_once(')')?;
    let mut fields = rest.split_whitespace().skip(11);
    Some(fields.next()?.parse::<u64>().ok()? + fields.next()?.parse::<u64>().ok()?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn others_are_what_is_busy_and_not_ours() {
        let before = Snapshot { all: 1000, busy: 500, own: 100 };
        let after = Snapshot { all: 1200, busy: 650, own: 200 };
        assert_eq!(after.others_after(before), Some(0.25));
        assert_eq!(before.others_after(before), None);
    }

    #[test]
    fn lines_are_read_as_the_kernel_writes_them() {
        assert_eq!(machine("cpu  10 1 5 100 4 0 0 2 7 7\ncpu0 1 2"), Some((122, 18)));
        assert_eq!(machine("nothing"), None);
        let line = "12 (a (strange) name) R 1 1 1 0 -1 4194304 100 0 0 0 250 50 0 0 20 0 1 0";
        assert_eq!(process(line), Some(300));
    }
}
