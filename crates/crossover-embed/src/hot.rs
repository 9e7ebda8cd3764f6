//! Which rows of a table a GPU holds, and where.
//!
//! What always holds: a row has at most one place, a place at most one row; a row that has a place is in the array, unless a call is
//! under way that puts it there.

use crossover_array::{Array, DType, Device, Scatter, eval_all, with_device};
use rustc_hash::FxHashMap;

use crate::{Result, TableStats};

/// The rows that a GPU holds.
pub(crate) struct Hot {
    capacity: usize,
    places: FxHashMap<u64, u32>,
    /// Row of each place, and in which call it was asked for last.
    rows: Vec<(u64, u64)>,
    /// Where the search for a place to reuse goes on.
    hand: usize,
    call: u64,
    /// `[capacity, columns]`, and the GPU that it is on.
    array: Option<(Device, Array)>,
    pub stats: TableStats,
}

/// Where the rows of a call are.
pub(crate) struct Touched {
    /// A place for each row asked for.
    pub places: Vec<i64>,
    /// Rows that are not there yet, and their places.
    pub fresh: Vec<(u64, u32)>,
}

impl Hot {
    pub fn new(capacity: usize) -> Hot {
        Hot {
            capacity,
            places: FxHashMap::default(),
            rows: Vec::new(),
            hand: 0,
            call: 0,
            array: None,
            stats: TableStats::default(),
        }
    }

    pub fn capacity(&self) -> usize {
        self.capacity
    }

    /// Gives every row a place; `None` if there are more rows than places.
    pub fn touch(&mut self, device: Device, wanted: &[i64]) -> Option<Touched> {
        if self.array.as_ref().is_some_and(|(on, _)| *on != device) {
            self.clear();
        }
        self.call += 1;
        let mut missing: Vec<u64> = Vec::new();
        let mut used = 0;
        for &row in wanted {
            match self.places.get(&(row as u64)) {
                Some(&place) => {
                    let last = &mut self.rows[place as usize].1;
                    used += usize::from(*last != self.call);
                    *last = self.call;
                }
                None => missing.push(row as u64),
            }
        }
        missing.sort_unstable();
        missing.dedup();
        if used + missing.len() > self.capacity {
            return None;
        }
        self.stats.misses += missing.len() as u64;
        self.stats.hits += (wanted.len() - missing.len()) as u64;
        let fresh: Vec<(u64, u32)> = missing.into_iter().map(|row| (row, self.admit(row))).collect();
        let places = wanted.iter().map(|&row| i64::from(self.places[&(row as u64)])).collect();
        Some(Touched { places, fresh })
    }

    /// Gives a row a place that serves no other row of this call; there is one.
    fn admit(&mut self, row: u64) -> u32 {
        let at = match self.rows.len() < self.capacity {
            true => {
                self.rows.push((row, self.call));
                self.rows.len() - 1
            }
            false => {
                let at = self.reused();
                self.places.remove(&self.rows[at].0);
                self.rows[at] = (row, self.call);
                self.stats.evictions += 1;
                at
            }
        };
        self.places.insert(row, at as u32);
        at as u32
    }

    /// A place that was not used in the last two calls, or else any not used in this one, from where the last search ended.
    fn reused(&mut self) -> usize {
        let length = self.rows.len();
        for patience in [1, 0] {
            for _ in 0..length {
                let at = self.hand;
                self.hand = (self.hand + 1) % length;
                if self.rows[at].1 + patience < self.call {
                    return at;
                }
            }
        }
        unreachable!("a call has at most as many rows as there are places")
    }

    /// Takes places back that nothing was put into.
    pub fn forget(&mut self, fresh: &[(u64, u32)]) {
        for (row, place) in fresh {
            self.places.remove(row);
            // No row has this number, and the place is the first to be used again.
            self.rows[*place as usize] = (u64::MAX, 0);
        }
    }

    /// Forgets everything but what was counted.
    pub fn clear(&mut self) {
        *self = Hot { stats: self.stats, ..Hot::new(self.capacity) };
    }

    /// Puts fresh rows into their places and looks up all rows of a call.
    pub fn look_up(
        &mut self,
        device: Device,
        rows: Option<Array>,
        touched: &Touched,
        (columns, dtype): (usize, DType),
    ) -> Result<Array> {
        let places = Array::from_vec(touched.places.clone(), [touched.places.len()]);
        let found = with_device(device, || -> Result<Array> {
            let known = self.array.take().map(|(_, array)| array);
            let known = known.unwrap_or_else(|| Array::zeros_dtype([self.capacity, columns], dtype));
            let array = match &rows {
                None => known,
                Some(rows) => {
                    let at: Vec<i64> = touched.fresh.iter().map(|(_, place)| i64::from(*place)).collect();
                    let count = at.len();
                    known.scatter(&[&Array::from_vec(at, [count])], rows, Scatter::Set)
                }
            };
            let found = array.take(&places, 0);
            eval_all(&[&array, &found])?;
            self.array = Some((device, array));
            Ok(found)
        })?;
        self.stats.served += 1;
        Ok(found)
    }
}
