//! What holds of every trace that is drawn: all numbers name things that exist, tables are in order of time, spans end and enclose no span around
//! them.
//!
//! The page asks the same of files that are dropped on it, in `page/trace.js`. What either refuses, the other does: `check/damage.json` is
//! tried on both.

use crate::{Problem, Trace, table::check_rows};

/// Nanoseconds that a browser can count, which is a hundred days.
const MOST: u64 = (1 << 53) - 1;
/// Plans, and kernels of a plan, that a browser can number.
const PLANS: usize = 1 << 31;

fn damaged<T>(what: String) -> Result<T, Problem> {
    Err(Problem::Damaged { what })
}

impl Trace {
    /// Says what does not hold, if anything does not.
    pub(crate) fn check(&self) -> Result<(), Problem> {
        self.spans.check_lengths()?;
        self.kernels.check_lengths()?;
        self.launches.check_lengths()?;
        self.transfers.check_lengths()?;
        self.memory.check_lengths()?;
        self.events.check_lengths()?;
        self.check_times()?;
        self.check_references()?;
        self.check_parents()
    }

    /// Spans end, everything is within what a browser can count, and what is in order of time is.
    fn check_times(&self) -> Result<(), Problem> {
        let (starts, durations) = (&self.spans.start, &self.spans.duration);
        let late = |row: &usize| starts[*row].saturating_add(durations[*row]) > MOST;
        if let Some(row) = (0..self.spans.len()).find(late) {
            return damaged(format!("span {row} starts at {} ns and lasts {}", starts[row], durations[row]));
        }
        if self.wall_ns > MOST {
            return damaged(format!("it lasts {} ns, more than {MOST}", self.wall_ns));
        }
        let parts = self.breakdown.parts().map(|(_, part)| part);
        let flat = |lists: &[Vec<u64>]| lists.iter().flatten().copied().collect::<Vec<u64>>();
        let (predicted, moving) = (flat(&self.launches.predicted), flat(&self.launches.moving));
        for (what, times) in [
            ("a part of the breakdown", &parts[..]),
            ("a prediction", &predicted),
            ("copies of a launch", &moving),
            ("the queueing of a launch", &self.launches.queued),
            ("a memory sample", &self.memory.time),
            ("an event", &self.events.time),
        ] {
            if let Some(time) = times.iter().find(|&&time| time > MOST) {
                return damaged(format!("{what} is at {time} ns, more than {MOST}"));
            }
        }
        for (what, times) in [("span", starts), ("memory sample", &self.memory.time)] {
            if let Some(row) = (1..times.len()).find(|&row| times[row] < times[row - 1]) {
                let (time, before) = (times[row], times[row - 1]);
                return damaged(format!(
                    "{what} {row} is at {time} ns, before the one ahead of it at {before}"
                ));
            }
        }
        Ok(())
    }

    /// Numbers name rows, strings, devices and tracks that exist.
    fn check_references(&self) -> Result<(), Problem> {
        let (strings, devices, rows) = (self.strings.len(), self.machine.devices.len(), self.spans.len());
        let wide = |numbers: &[u32]| numbers.iter().map(|&n| i64::from(n)).collect::<Vec<_>>();
        check_rows("the track of a span", wide(&self.spans.track), 0, self.tracks.len())?;
        check_rows("the name of a span", wide(&self.spans.name), 0, strings)?;
        check_rows("the place of a span", self.spans.place.clone(), -1, strings)?;
        check_rows("the parent of a span", self.spans.parent.clone(), -1, rows)?;
        check_rows("the kernel of a span", self.spans.kernel.clone(), -1, self.kernels.len())?;
        check_rows("the launch of a span", self.spans.launch.clone(), -1, self.launches.len())?;
        for (what, names) in [
            ("the name of a kernel", &self.kernels.name),
            ("the form of a kernel", &self.kernels.form),
            ("the text of a kernel", &self.kernels.text),
            ("the dtype of a kernel", &self.kernels.dtype),
            ("the reason of a launch", &self.launches.reason),
            ("the kind of an event", &self.events.kind),
            ("the text of an event", &self.events.text),
        ] {
            check_rows(what, wide(names), 0, strings)?;
        }
        check_rows("the kernel of a launch", wide(&self.launches.kernel), 0, self.kernels.len())?;
        check_rows("the plan of a launch", self.launches.plan.clone(), -1, PLANS)?;
        check_rows("the place of a launch in its plan", wide(&self.launches.step), 0, PLANS)?;
        check_rows("the device of a launch", wide(&self.launches.device), 0, devices)?;
        check_rows("the device of a memory sample", wide(&self.memory.device), 0, devices)?;
        check_rows("the span of a copy", wide(&self.transfers.span), 0, rows)?;
        check_rows("an estimated span", wide(&self.estimated), 0, rows)?;
        check_rows("the source of a copy", wide(&self.transfers.from), 0, devices)?;
        check_rows("the target of a copy", wide(&self.transfers.to), 0, devices)?;
        let tracks: Vec<u32> = self.tracks.iter().map(|track| track.device).collect();
        check_rows("the device of a track", wide(&tracks), 0, devices)
    }

    /// Nothing encloses itself.
    fn check_parents(&self) -> Result<(), Problem> {
        const UNSEEN: u8 = 0;
        const OPEN: u8 = 1;
        const DONE: u8 = 2;
        let mut state = vec![UNSEEN; self.spans.len()];
        for first in 0..self.spans.len() {
            let mut path = Vec::new();
            let mut at = first as i64;
            while at >= 0 && state[at as usize] == UNSEEN {
                state[at as usize] = OPEN;
                path.push(at as usize);
                at = self.spans.parent[at as usize];
            }
            if at >= 0 && state[at as usize] == OPEN {
                return damaged(format!("span {at} lies inside itself"));
            }
            path.into_iter().for_each(|row| state[row] = DONE);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use serde_json::Value;

    use super::*;

    /// A trace with a row in every table.
    const SAMPLE: &str = include_str!("check/sample.json");
    /// Changes that make damage of it.
    const DAMAGE: &str = include_str!("check/damage.json");

    fn read(text: &str) -> Value {
        serde_json::from_str(text).expect("it is JSON")
    }

    #[test]
    fn the_sample_is_whole() {
        let trace = Trace::from_json(SAMPLE).expect("nothing is wrong with it");
        assert!(
            [trace.launches.len(), trace.transfers.len(), trace.events.len()].iter().all(|&rows| rows > 0)
        );
    }

    #[test]
    fn every_damage_is_found() {
        for one in read(DAMAGE).as_array().expect("a list") {
            let mut changed = read(SAMPLE);
            let place = one["at"].as_str().expect("a pointer");
            *changed.pointer_mut(place).unwrap_or_else(|| panic!("{place} is nothing")) = one["is"].clone();
            let found = Trace::from_json(&changed.to_string());
            assert!(matches!(found, Err(Problem::Damaged { .. })), "{one}: {found:?}");
        }
    }
}
