//! Values that live for a while, side by side in one piece of memory.
//!
//! What always holds: two values that are alive at the same step do not overlap.

/// Starts of values are multiples of this.
const ALIGNMENT: usize = 256;

/// A value between the first and the last step that touch it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Life {
    pub bytes: usize,
    pub first: usize,
    pub last: usize,
}

impl Life {
    /// A value that one step touches.
    pub fn new(bytes: usize, step: usize) -> Life {
        Life { bytes, first: step, last: step }
    }

    /// Lets it live until a step.
    pub fn until(&mut self, step: usize) {
        self.last = self.last.max(step);
    }

    fn meets(&self, other: &Life) -> bool {
        self.first <= other.last && other.first <= self.last
    }

    fn room(&self) -> usize {
        self.bytes.next_multiple_of(ALIGNMENT)
    }
}

/// Where each value starts, and the bytes of it all. The largest are placed first, each at the lowest place that is free while it
/// lives.
pub(crate) fn arrange(lives: &[Life]) -> (Vec<usize>, usize) {
    let mut order: Vec<usize> = (0..lives.len()).collect();
    order.sort_by_key(|&i| std::cmp::Reverse(lives[i].bytes));
    let mut starts = vec![0; lives.len()];
    // Placed values by where they start.
    let mut placed: Vec<usize> = Vec::with_capacity(lives.len());
    let mut total = 0;
    for i in order {
        let mut at = 0;
        for &other in placed.iter().filter(|&&other| lives[other].meets(&lives[i])) {
            if at + lives[i].room() <= starts[other] {
                break;
            }
            at = at.max(starts[other] + lives[other].room());
        }
        starts[i] = at;
        total = total.max(at + lives[i].room());
        let behind = placed.partition_point(|&other| starts[other] <= at);
        placed.insert(behind, i);
    }
    (starts, total)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_chain_of_equal_values_needs_two_places() {
        let lives: Vec<Life> = (0..9).map(|i| Life { bytes: 1000, first: i, last: i + 1 }).collect();
        assert_eq!(arrange(&lives).1, 2 * 1024);
    }

    #[test]
    fn values_that_meet_never_overlap() {
        // Numbers without a pattern, the same in every run.
        let mut state = 7u64;
        let mut next = |below: u64| {
            state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            (state >> 33) % below
        };
        for _ in 0..200 {
            let count = 1 + next(40) as usize;
            let lives: Vec<Life> = (0..count)
                .map(|_| {
                    let first = next(20) as usize;
                    Life { bytes: next(5000) as usize, first, last: first + next(6) as usize }
                })
                .collect();
            let (starts, total) = arrange(&lives);
            for i in 0..count {
                assert!(starts[i].is_multiple_of(ALIGNMENT) && starts[i] + lives[i].bytes <= total);
                for j in 0..i {
                    let apart = starts[i] + lives[i].bytes <= starts[j]
                        || starts[j] + lives[j].bytes <= starts[i]
                        || !lives[i].meets(&lives[j]);
                    assert!(apart, "{:?} at {} and {:?} at {}", lives[i], starts[i], lives[j], starts[j]);
                }
            }
        }
    }
}
