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
    held: Option<Held>,
    pub stats: TableStats,
}

/// What is on the GPU.
struct Held {
    device: Device,
    /// `[capacity, columns]`.
    rows: Array,
    /// The place of every row of the table, or -1; only where that takes little memory beside the rows.
    places: Option<Array>,
}

/// Bytes of places up to which they are kept on the GPU whatever the rows take.
const SMALL: usize = 64 << 20;

/// Where the rows of a call are.
pub(crate) struct Touched {
    /// A place for each row asked for.
    pub places: Vec<i64>,
    /// Rows that are not there yet, and their places.
    pub fresh: Vec<(u64, u32)>,
    /// Rows that have lost their places.
    gone: Vec<u64>,
}

/// What the rows of a table are.
#[derive(Clone, Copy)]
pub(crate) struct Kind {
    pub rows: usize,
    pub columns: usize,
    pub dtype: DType,
}

impl Hot {
    pub fn new(capacity: usize) -> Hot {
        Hot {
            capacity,
            places: FxHashMap::default(),
            rows: Vec::new(),
            hand: 0,
            call: 0,
            held: None,
            stats: TableStats::default(),
        }
    }

    pub fn capacity(&self) -> usize {
        self.capacity
    }

    /// Gives every row a place; `None` if there are more rows than places.
    pub fn touch(&mut self, device: Device, wanted: &[i64]) -> Option<Touched> {
        if self.held.as_ref().is_some_and(|held| held.device != device) {
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
        let mut gone = Vec::new();
        let fresh: Vec<(u64, u32)> =
            missing.into_iter().map(|row| (row, self.admit(row, &mut gone))).collect();
        let places = wanted.iter().map(|&row| i64::from(self.places[&(row as u64)])).collect();
        Some(Touched { places, fresh, gone })
    }

    /// Gives a row a place that serves no other row of this call; there is one.
    fn admit(&mut self, row: u64, gone: &mut Vec<u64>) -> u32 {
        let at = match self.rows.len() < self.capacity {
            true => {
                self.rows.push((row, self.call));
                self.rows.len() - 1
            }
            false => {
                let at = self.reused();
                if self.places.remove(&self.rows[at].0).is_some() {
                    gone.push(self.rows[at].0);
                    self.stats.evictions += 1;
                }
                self.rows[at] = (row, self.call);
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

    /// Takes places back that nothing was put into. What the GPU knows of rows that made room for them is out of date.
    pub fn forget(&mut self, touched: &Touched) {
        for (row, place) in &touched.fresh {
            self.places.remove(row);
            // No row has this number, and the place is the first to be used again.
            self.rows[*place as usize] = (u64::MAX, 0);
        }
        if !touched.gone.is_empty() {
            self.clear();
        }
    }

    /// Forgets everything but what was counted.
    pub fn clear(&mut self) {
        *self = Hot { stats: self.stats, ..Hot::new(self.capacity) };
    }

    /// The rows of tokens if all of them are there, found by the GPU alone; tokens outside of the table are not.
    pub fn all_there(&mut self, device: Device, tokens: &Array) -> Result<Option<Array>> {
        let Some(Held { device: on, rows, places: Some(places) }) = &self.held else { return Ok(None) };
        if *on != device || tokens.size() == 0 {
            return Ok(None);
        }
        let last = places.size() as i64 - 1;
        let found = with_device(device, || -> Result<Option<Array>> {
            let wanted = tokens.astype(DType::I64).flatten();
            let at = places.take_clipped(&wanted, 0);
            let known = wanted.greater_equal(0).logical_and(wanted.less_equal(last));
            let there = known.logical_and(at.greater_equal(0)).all(());
            // Looked up before that is known, so that the host waits once: places that no row has are those of some row or other, and what
            // lies there is dropped.
            let found = rows.take_clipped(&at, 0);
            eval_all(&[&found, &there])?;
            Ok(if there.item::<bool>()? { Some(found) } else { None })
        })?;
        if found.is_some() {
            // Which rows these were is not known here: the places of a call that fetches something are marked, those of this one are not.
            self.stats.hits += tokens.size() as u64;
            self.stats.served += 1;
        }
        Ok(found)
    }

    /// Puts fresh rows into their places and looks up all rows of a call.
    pub fn look_up(
        &mut self,
        device: Device,
        fresh: Option<Array>,
        touched: &Touched,
        kind: Kind,
    ) -> Result<Array> {
        let found = with_device(device, || -> Result<Array> {
            let places = Array::from_vec(touched.places.clone(), [touched.places.len()]);
            let held = match self.held.take() {
                Some(held) => held,
                None => self.nothing(device, kind),
            };
            let held = match &fresh {
                None => held,
                Some(fresh) => held.updated(fresh, touched),
            };
            let found = held.rows.take(&places, 0);
            let mut all = vec![&held.rows, &found];
            all.extend(&held.places);
            eval_all(&all)?;
            self.held = Some(held);
            Ok(found)
        })?;
        self.stats.served += 1;
        Ok(found)
    }

    /// A cache without rows.
    fn nothing(&self, device: Device, kind: Kind) -> Held {
        let bytes = self.capacity * kind.columns * kind.dtype.size();
        let small = kind.rows * 4 <= SMALL.max(bytes / 4) && i32::try_from(self.capacity).is_ok();
        Held {
            device,
            rows: Array::zeros_dtype([self.capacity, kind.columns], kind.dtype),
            places: small.then(|| Array::full_dtype([kind.rows], -1, DType::I32)),
        }
    }
}

impl Held {
    /// With fresh rows in their places, and none for those that are gone.
    fn updated(self, fresh: &Array, touched: &Touched) -> Held {
        let at: Vec<i64> = touched.fresh.iter().map(|(_, place)| i64::from(*place)).collect();
        let count = at.len();
        let places = self.places.map(|places| {
            let numbers = touched.gone.iter().chain(touched.fresh.iter().map(|(row, _)| row));
            let numbers: Vec<i64> = numbers.map(|&row| row as i64).collect();
            let gone = std::iter::repeat_n(-1, touched.gone.len());
            let values: Vec<i32> = gone.chain(at.iter().map(|&place| place as i32)).collect();
            let length = numbers.len();
            let numbers = Array::from_vec(numbers, [length]);
            places.scatter(&[&numbers], Array::from_vec(values, [length]), Scatter::Set)
        });
        let rows = self.rows.scatter(&[&Array::from_vec(at, [count])], fresh, Scatter::Set);
        Held { rows, places, ..self }
    }
}
