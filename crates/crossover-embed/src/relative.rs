//! The relative term: for each position, the mean over all others of a row that depends on how far they are.

use crossover_array::Array;

/// For position p of `length` and each distance from -window to window, the share of positions that far behind p, where what is farther
/// counts as the farthest. Rows add up to 1.
pub(crate) fn shares(length: usize, window: usize) -> Array {
    let width = 2 * window + 1;
    let mut shares = vec![0f32; length * width];
    for (position, row) in shares.chunks_mut(width).enumerate() {
        // Distance `position - other`, clipped, and moved so that it starts at 0.
        for (bucket, share) in row.iter_mut().enumerate() {
            let distance = bucket as i64 - window as i64;
            let (low, high) = match bucket {
                _ if window == 0 => (0, length as i64 - 1),
                0 => (position as i64 - distance, length as i64 - 1),
                _ if bucket == width - 1 => (0, position as i64 - distance),
                _ => (position as i64 - distance, position as i64 - distance),
            };
            let (low, high) = (low.max(0), high.min(length as i64 - 1));
            *share = ((high - low + 1).max(0) as f64 / length as f64) as f32;
        }
    }
    Array::from_vec(shares, [length, width])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_are_those_of_counting() {
        for (length, window) in [(1, 0), (5, 0), (7, 2), (4, 10), (20, 3)] {
            let found = shares(length, window).to_vec::<f32>().unwrap();
            for p in 0..length {
                let mut counts = vec![0; 2 * window + 1];
                for q in 0..length {
                    let distance = (p as i64 - q as i64).clamp(-(window as i64), window as i64);
                    counts[(distance + window as i64) as usize] += 1;
                }
                for (bucket, count) in counts.into_iter().enumerate() {
                    let wanted = (f64::from(count) / length as f64) as f32;
                    assert_eq!(
                        found[p * (2 * window + 1) + bucket],
                        wanted,
                        "{p} of {length}, window {window}"
                    );
                }
            }
        }
    }
}
