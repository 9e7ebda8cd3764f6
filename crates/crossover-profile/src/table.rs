//! The tables of a trace, by column. `docs/trace-format.md` says what they mean.

use serde::{Deserialize, Serialize};

use crate::{Problem, SpanKind};

/// Equally long columns with checks that other tables' rows exist.
macro_rules! table {
    ($(#[$note:meta])* $name:ident ($title:literal) { $($(#[$field_note:meta])* $field:ident: $type:ty,)* }) => {
        $(#[$note])*
        #[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
        pub struct $name {
            $($(#[$field_note])* pub $field: Vec<$type>,)*
        }

        impl $name {
            /// Number of rows.
            pub fn len(&self) -> usize {
                [$(self.$field.len()),*][0]
            }

            /// Whether there are none.
            pub fn is_empty(&self) -> bool {
                self.len() == 0
            }

            /// Makes room for so many more rows.
            #[allow(dead_code, reason = "of some tables nobody knows the length beforehand")]
            pub(crate) fn reserve(&mut self, rows: usize) {
                $(self.$field.reserve_exact(rows);)*
            }

            pub(crate) fn check_lengths(&self) -> Result<(), Problem> {
                let columns = [$((stringify!($field), self.$field.len())),*];
                let (first, length) = columns[0];
                match columns.into_iter().find(|(_, other)| *other != length) {
                    None => Ok(()),
                    Some((name, other)) => Err(Problem::Damaged {
                        what: format!(
                            "in {}, the column {first} has {length} rows and {name} has {other}", $title
                        ),
                    }),
                }
            }
        }
    };
}

table! {
    /// What took time.
    Spans ("spans") {
        /// Row of `tracks`.
        track: u32,
        /// What it is about; one letter in the file.
        kind: SpanKind,
        /// Number of a string.
        name: u32,
        /// Nanoseconds since the session began.
        start: u64,
        /// Nanoseconds.
        duration: u64,
        /// Row of the span around it, or −1.
        parent: i64,
        /// Row of `kernels`, or −1.
        kernel: i64,
        /// Row of `launches`, or −1.
        launch: i64,
        /// Bytes read and written, or copied.
        bytes: u64,
        /// Number of a string, the line of the program that asked for it, or −1.
        #[serde(default)]
        place: i64,
    }
}

table! {
    /// Distinct kernels.
    Kernels ("kernels") {
        /// Number of a string.
        name: u32,
        /// Number of a string.
        form: u32,
        /// Number of a string.
        text: u32,
        /// Bytes of one launch.
        read: u64,
        /// Bytes of one launch.
        written: u64,
        /// Operations of one launch.
        flops: u64,
        /// Number of a string.
        dtype: u32,
        /// Operations of matrix products among those.
        #[serde(default)]
        products: u64,
        /// 1 where bytes and products are all that bounds it, 0 where it has other limits.
        #[serde(default)]
        roof: u8,
    }
}

table! {
    /// Launches of kernels.
    Launches ("launches") {
        /// Row of `kernels`.
        kernel: u32,
        /// Device it ran on.
        device: u32,
        /// When the host asked for it.
        queued: u64,
        /// Number of a string.
        reason: u32,
        /// Nanoseconds on each device; empty where nothing was decided.
        predicted: Vec<u64>,
        /// Bytes that were copied for it.
        moved: u64,
        /// Bytes of arrays on its device when it was launched, its results included; 0 where nobody counted.
        #[serde(default)]
        live: u64,
        /// The most that had been live there until then.
        #[serde(default)]
        peak: u64,
        /// Number of its plan, or −1.
        #[serde(default)]
        plan: i64,
        /// Which kernel of its plan it is, from 0.
        #[serde(default)]
        step: u32,
        /// Nanoseconds of the copies that it would need on each device; empty where devices were not compared.
        #[serde(default)]
        moving: Vec<u64>,
    }
}

table! {
    /// Which way copies went.
    Transfers ("transfers") {
        /// Row of `spans`.
        span: u32,
        /// A device.
        from: u32,
        /// A device.
        to: u32,
    }
}

table! {
    /// How full devices were.
    Memory ("memory") {
        /// When.
        time: u64,
        /// Where.
        device: u32,
        /// Bytes of arrays.
        live: u64,
        /// Bytes kept for the next.
        cached: u64,
        /// Bytes of other programs.
        others: u64,
        /// Bytes that may be used.
        budget: u64,
        /// 0 normal to 3 critical.
        level: u8,
    }
}

table! {
    /// Fallbacks, spills, changes of pressure.
    Events ("events") {
        /// When.
        time: u64,
        /// Number of a string.
        kind: u32,
        /// Number of a string.
        text: u32,
    }
}

impl Memory {
    /// Fragmentation at a sample: the share of what was reserved, live and cached, that no array held, as
    /// [`DeviceMemory::fragmentation`](crossover_runtime::DeviceMemory::fragmentation). The page has the same in `stats.js`.
    ///
    /// ```
    /// use crossover_profile::Memory;
    /// let memory = Memory { live: vec![60], cached: vec![20], ..Memory::default() };
    /// assert_eq!(memory.fragmentation(0), 0.25);
    /// ```
    pub fn fragmentation(&self, row: usize) -> f64 {
        let (live, cached) = (self.live[row], self.cached[row]);
        crossover_runtime::idle_share(live, live.saturating_add(cached))
    }
}

/// Checks that numbers name rows that exist.
pub(crate) fn check_rows(
    what: &str,
    numbers: impl IntoIterator<Item = i64>,
    least: i64,
    rows: usize,
) -> Result<(), Problem> {
    for (row, number) in numbers.into_iter().enumerate() {
        if number < least || number >= rows as i64 {
            let what = format!("{what} of row {row} is {number}, there are {rows}");
            return Err(Problem::Damaged { what });
        }
    }
    Ok(())
}
