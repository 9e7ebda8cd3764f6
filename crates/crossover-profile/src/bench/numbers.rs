//! Medians, quantiles and random numbers of comparisons: the same input gives the same answer, always.

/// In ascending order.
pub(crate) fn sorted(values: &[f64]) -> Vec<f64> {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    sorted
}

/// A quantile of sorted values, between neighbours where it falls there. NaN of none.
pub(crate) fn quantile(sorted: &[f64], share: f64) -> f64 {
    let Some(last) = sorted.len().checked_sub(1) else { return f64::NAN };
    let place = share.clamp(0.0, 1.0) * last as f64;
    let (below, part) = (place.floor() as usize, place.fract());
    if part == 0.0 { sorted[below] } else { sorted[below] + part * (sorted[below + 1] - sorted[below]) }
}

/// The middle. NaN of none.
pub(crate) fn median(values: &[f64]) -> f64 {
    quantile(&sorted(values), 0.5)
}

/// The middle, with the values reordered.
pub(crate) fn median_of(values: &mut [f64]) -> f64 {
    let half = values.len() / 2;
    if values.is_empty() {
        return f64::NAN;
    }
    let (below, &mut middle, _) = values.select_nth_unstable_by(half, f64::total_cmp);
    match below.iter().copied().max_by(f64::total_cmp) {
        Some(other) if values.len().is_multiple_of(2) => 0.5 * (other + middle),
        _ => middle,
    }
}

/// SplitMix64: small, and good enough to choose samples.
pub(crate) struct Random(pub u64);

impl Random {
    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    }

    /// A number below `bound`.
    pub fn below(&mut self, bound: usize) -> usize {
        ((u128::from(self.next()) * bound as u128) >> 64) as usize
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn medians_of_even_and_odd_numbers_of_values() {
        for values in [vec![3.0, 1.0, 2.0], vec![4.0, 1.0, 3.0, 2.0], vec![7.0], vec![2.0, 9.0]] {
            assert_eq!(median_of(&mut values.clone()), median(&values), "{values:?}");
        }
        assert!(median(&[]).is_nan() && median_of(&mut []).is_nan());
        assert_eq!(quantile(&[0.0, 10.0], 0.25), 2.5);
    }

    #[test]
    fn numbers_below_a_bound_are_below_it_and_reach_all() {
        let mut random = Random(1);
        let mut seen = [0; 7];
        (0..7000).for_each(|_| seen[random.below(7)] += 1);
        assert!(seen.iter().all(|&count| (800..1200).contains(&count)), "{seen:?}");
    }
}
