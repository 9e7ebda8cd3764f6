//! The relative term: for each position, the mean over all others of a row that depends on how far they are.

use crossover_array::{Array, DType};

/// The term of each position of a sequence: the mean over all positions of the row for the distance to them, where what is farther than the
/// window counts as the farthest. `rows` has one row per distance from -window to window, and the window is shorter than the sequence.
///
/// Rows nearer than the window count once each, from one distance to another, which running sums give for every position at once; the two
/// farthest count as often as there are positions that far. Sums are `f64`, and nothing larger than rows and term is made.
pub(crate) fn means(rows: &Array, length: usize, window: usize) -> Array {
    if window == 0 {
        // Every distance counts as the only one.
        return rows.index(0).astype(DType::F32);
    }
    let (length, window) = (length as i64, window as i64);
    let rows = rows.astype(DType::F64);
    let positions = Array::arange(length);
    // Sums of all rows before each, the first of which is 0; the row of a distance is number `distance + window`.
    let sums = rows.cumulative_sum_with(0, true);
    let end = (&positions + (window + 1)).minimum(2 * window);
    let first = (&positions + (window + 1 - length)).maximum(1);
    let near = sums.take_clipped(&end, 0) - sums.take_clipped(&first, 0);
    let count = |count: Array| count.maximum(0).astype(DType::F64).expand_dims(-1);
    let ahead = count(length - window - &positions) * rows.index(0);
    let behind = count(&positions + (1 - window)) * rows.index(-1);
    ((near + ahead + behind) / length as f64).astype(DType::F32)
}

#[cfg(test)]
mod tests {
    use crossover_array::{Key, random};

    use super::*;

    /// What the formula says, summed up in the order of positions.
    fn counted(rows: &[f32], length: usize, window: usize, width: usize) -> Vec<f64> {
        let mut wanted = vec![0f64; length * width];
        for (p, term) in wanted.chunks_mut(width).enumerate() {
            for q in 0..length {
                let distance = (p as i64 - q as i64).clamp(-(window as i64), window as i64);
                let row = &rows[(distance + window as i64) as usize * width..][..width];
                term.iter_mut().zip(row).for_each(|(sum, x)| *sum += f64::from(*x) / length as f64);
            }
        }
        wanted
    }

    #[test]
    fn terms_are_those_of_counting() {
        for (length, window) in
            [(1, 0), (5, 0), (2, 1), (7, 2), (8, 4), (9, 5), (11, 10), (20, 3), (64, 31), (65, 63)]
        {
            let rows = random::normal::<f32>(&Key::new(length as u64), [2 * window + 1, 3]);
            let found = means(&rows, length, window).broadcast_to([length, 3]).to_vec::<f32>().unwrap();
            let wanted = counted(&rows.to_vec::<f32>().unwrap(), length, window, 3);
            for (at, (found, wanted)) in found.into_iter().zip(wanted).enumerate() {
                let unit = f64::from(f32::EPSILON) * wanted.abs().max(1e-7);
                let apart = (f64::from(found) - wanted).abs();
                assert!(apart <= unit, "{at} of {length}, window {window}: {found} {wanted}");
            }
        }
        // One row alone is not rounded.
        let rows = random::normal::<f32>(&Key::new(1), [1, 5]);
        assert_eq!(means(&rows, 7, 0).to_vec::<f32>().unwrap(), rows.to_vec::<f32>().unwrap());
    }

    #[test]
    fn a_window_as_wide_as_a_long_sequence_takes_memory_for_the_term_alone() {
        let length = 20_000;
        let rows = Array::ones::<f32>([2 * length - 1, 2]);
        let term = means(&rows, length, length - 1);
        let peak = term.peak_bytes(crossover_array::Device::Cpu).unwrap();
        // A share per position and distance would be 3.2 GB.
        assert!(peak < 10 << 20, "{peak}");
        let values = term.to_vec::<f32>().unwrap();
        assert!(values.iter().all(|&x| x == 1.0));
    }
}
