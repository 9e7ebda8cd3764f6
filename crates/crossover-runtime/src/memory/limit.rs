//! How much memory may be used: what a user asks for, as a share or in bytes.

use std::{fmt, str::FromStr};

/// How much of a memory may be used.
///
/// A share is of everything the device has, and other programs count: at 80% the card is never fuller than that on our account. A
/// number of bytes is for this process alone; others count only once they leave less than that.
///
/// ```
/// use crossover_runtime::memory::Limit;
/// assert_eq!("80%".parse(), Ok(Limit::Share(0.8)));
/// assert_eq!("0.8".parse(), Ok(Limit::Share(0.8)));
/// assert_eq!("2GiB".parse(), Ok(Limit::Bytes(2 << 30)));
/// assert_eq!("1500 MB".parse(), Ok(Limit::Bytes(1_500_000_000)));
/// assert!("120%".parse::<Limit>().is_err());
/// assert_eq!(Limit::Share(0.5).of(1000), 500);
/// ```
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Limit {
    /// A share of all there is, above 0 and at most 1.
    Share(f64),
    /// Bytes.
    Bytes(u64),
}

impl Default for Limit {
    /// Nine tenths: the driver, the compiler and the screen need some too.
    fn default() -> Limit {
        Limit::Share(0.9)
    }
}

impl Limit {
    /// Bytes of a memory of this size.
    pub fn of(self, total: u64) -> u64 {
        match self {
            Limit::Share(share) => (total as f64 * share.clamp(0.0, 1.0)) as u64,
            Limit::Bytes(bytes) => bytes.min(total),
        }
    }

    /// Bytes that others may take of a memory of this size before they count.
    pub(crate) fn tolerated(self, total: u64) -> u64 {
        match self {
            Limit::Share(_) => 0,
            Limit::Bytes(bytes) => total.saturating_sub(bytes),
        }
    }
}

impl fmt::Display for Limit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Limit::Share(share) => write!(f, "{}%", share * 100.0),
            Limit::Bytes(bytes) => write!(f, "{bytes} B"),
        }
    }
}

/// Units that a number of bytes may have.
const UNITS: [(&str, u64); 13] = [
    ("KiB", 1 << 10),
    ("MiB", 1 << 20),
    ("GiB", 1 << 30),
    ("TiB", 1 << 40),
    ("KB", 1_000),
    ("MB", 1_000_000),
    ("GB", 1_000_000_000),
    ("TB", 1_000_000_000_000),
    ("K", 1 << 10),
    ("M", 1 << 20),
    ("G", 1 << 30),
    ("T", 1 << 40),
    ("B", 1),
];

impl FromStr for Limit {
    type Err = String;

    fn from_str(text: &str) -> Result<Limit, String> {
        let text = text.trim();
        let wrong = || {
            format!(
                "{text:?} is no amount of memory; write a share such as 80% or 0.8, or bytes such as 2GiB or 500MB"
            )
        };
        let number = |part: &str| part.trim().parse::<f64>().ok().filter(|n| n.is_finite() && *n > 0.0);
        let share = |value: f64| (value <= 1.0).then_some(Limit::Share(value)).ok_or_else(wrong);
        if let Some(percent) = text.strip_suffix('%') {
            return share(number(percent).ok_or_else(wrong)? / 100.0);
        }
        let ends = |unit: &str| {
            let at = text.len().checked_sub(unit.len())?;
            let (head, tail) = text.split_at_checked(at)?;
            tail.eq_ignore_ascii_case(unit).then_some(head)
        };
        if let Some((head, scale)) = UNITS.iter().find_map(|&(unit, scale)| Some((ends(unit)?, scale))) {
            let bytes = number(head).ok_or_else(wrong)? * scale as f64;
            return Ok(Limit::Bytes(bytes as u64));
        }
        let value = number(text).ok_or_else(wrong)?;
        if value <= 1.0 { Ok(Limit::Share(value)) } else { Ok(Limit::Bytes(value as u64)) }
    }
}

/// Whether device memory is taken as it is needed.
///
/// ```
/// use crossover_runtime::memory::Growth;
/// assert_eq!("reserved".parse(), Ok(Growth::Reserved));
/// assert_eq!(Growth::default(), Growth::OnDemand);
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Growth {
    /// As it is needed.
    #[default]
    OnDemand,
    /// All of the limit when the device is opened, so that nobody else can take it.
    Reserved,
}

impl FromStr for Growth {
    type Err = String;

    fn from_str(text: &str) -> Result<Growth, String> {
        match text.trim() {
            "on_demand" | "on-demand" => Ok(Growth::OnDemand),
            "reserved" => Ok(Growth::Reserved),
            other => Err(format!("{other:?} is no way for memory to grow; there are on_demand and reserved")),
        }
    }
}

/// What a runtime may use of the memory of a device.
///
/// ```
/// use crossover_runtime::memory::{Growth, Limit, Limits};
/// let limits = Limits { limit: Limit::Bytes(2 << 30), ..Limits::default() };
/// assert_eq!(limits.growth, Growth::OnDemand);
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Limits {
    /// How much.
    pub limit: Limit,
    /// When it is taken.
    pub growth: Growth,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn amounts_are_read_as_people_write_them() {
        for (text, want) in [
            ("2GiB", Limit::Bytes(2 << 30)),
            ("2 gib", Limit::Bytes(2 << 30)),
            ("0.5G", Limit::Bytes(1 << 29)),
            ("100%", Limit::Share(1.0)),
            ("1", Limit::Share(1.0)),
            ("4096", Limit::Bytes(4096)),
            ("12 B", Limit::Bytes(12)),
        ] {
            assert_eq!(text.parse(), Ok(want), "{text}");
        }
        for wrong in ["", "-1", "0", "101%", "GiB", "nan", "2 apples", "1e999GiB"] {
            assert!(wrong.parse::<Limit>().unwrap_err().contains("2GiB"), "{wrong}");
        }
        assert_eq!("reserved".parse(), Ok(Growth::Reserved));
        assert!("often".parse::<Growth>().unwrap_err().contains("on_demand"));
    }

    #[test]
    fn others_count_against_a_share_and_not_against_bytes_while_they_leave_room() {
        assert_eq!((Limit::Share(0.5).of(100), Limit::Share(0.5).tolerated(100)), (50, 0));
        assert_eq!((Limit::Bytes(30).of(100), Limit::Bytes(30).tolerated(100)), (30, 70));
        assert_eq!((Limit::Bytes(300).of(100), Limit::Bytes(300).tolerated(100)), (100, 0));
    }
}
