//! Sets of group numbers that share what they have in common: in a chain of kernels each has all that the one before it has.

use std::sync::Arc;

/// Words of a part.
const WORDS: usize = 32;
/// Numbers of a part.
const NUMBERS: usize = 64 * WORDS;

/// A set of group numbers.
#[derive(Debug, Clone, Default)]
pub(super) struct Set(Vec<Option<Arc<[u64; WORDS]>>>);

impl Set {
    pub fn insert(&mut self, i: usize) {
        if self.0.len() <= i / NUMBERS {
            self.0.resize(i / NUMBERS + 1, None);
        }
        let part = self.0[i / NUMBERS].get_or_insert_with(|| Arc::new([0; WORDS]));
        let (word, bit) = (i % NUMBERS / 64, 1 << (i % 64));
        if part[word] & bit == 0 {
            Arc::make_mut(part)[word] |= bit;
        }
    }

    pub fn contains(&self, i: usize) -> bool {
        let part = self.0.get(i / NUMBERS).and_then(Option::as_ref);
        part.is_some_and(|part| part[i % NUMBERS / 64] >> (i % 64) & 1 == 1)
    }

    pub fn union(&mut self, other: &Set) {
        if self.0.len() < other.0.len() {
            self.0.resize(other.0.len(), None);
        }
        for (mine, theirs) in self.0.iter_mut().zip(&other.0) {
            match (mine, theirs) {
                (_, None) => {}
                (mine @ None, Some(theirs)) => *mine = Some(theirs.clone()),
                (Some(mine), Some(theirs)) => {
                    let has_all = mine.iter().zip(theirs.iter()).all(|(a, b)| a & b == *b);
                    if !Arc::ptr_eq(mine, theirs) && !has_all {
                        Arc::make_mut(mine).iter_mut().zip(theirs.iter()).for_each(|(a, b)| *a |= b);
                    }
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sets_hold_what_was_put_in_and_share_no_changes() {
        let numbers = [0, 63, 64, NUMBERS - 1, NUMBERS, 5 * NUMBERS + 7];
        let mut set = Set::default();
        numbers.iter().for_each(|&i| set.insert(i));
        let mut more = Set::default();
        more.insert(1);
        more.union(&set);
        more.insert(2 * NUMBERS);
        more.insert(NUMBERS + 1);
        assert!(numbers.iter().all(|&i| set.contains(i) && more.contains(i)));
        assert!([1, 2 * NUMBERS, NUMBERS + 1].iter().all(|&i| more.contains(i) && !set.contains(i)));
        set.union(&more);
        assert!(set.contains(1) && !set.contains(2) && !set.contains(9 * NUMBERS));
    }
}
