//! Goodness of fit: Kolmogorov and Smirnov's test, the chi-square test, and the functions they need.

/// Regularised lower incomplete gamma function P(a, x), to about 12 digits.
pub fn lower_gamma(a: f64, x: f64) -> f64 {
    if x <= 0.0 {
        return 0.0;
    }
    let scale = (a * x.ln() - x - log_gamma(a)).exp();
    if x < a + 1.0 {
        let (mut term, mut sum) = (1.0 / a, 1.0 / a);
        for n in 1..100_000 {
            term *= x / (a + n as f64);
            sum += term;
            if term < sum * 1e-16 {
                break;
            }
        }
        return (scale * sum).min(1.0);
    }
    // Lentz's evaluation of the continued fraction of Q(a, x).
    let (mut b, mut c) = (x + 1.0 - a, 1e300);
    let mut d = 1.0 / b;
    let mut h = d;
    for n in 1..100_000 {
        let an = -(n as f64) * (n as f64 - a);
        b += 2.0;
        d = 1.0 / (an * d + b);
        c = b + an / c;
        h *= d * c;
        if (d * c - 1.0).abs() < 1e-16 {
            break;
        }
    }
    1.0 - scale * h
}

/// Logarithm of the gamma function, by Stirling's series after moving the argument up.
pub fn log_gamma(mut x: f64) -> f64 {
    let mut shift = 0.0;
    while x < 20.0 {
        shift -= x.ln();
        x += 1.0;
    }
    let series = 1.0 / (12.0 * x) - 1.0 / (360.0 * x.powi(3)) + 1.0 / (1260.0 * x.powi(5));
    shift + (x - 0.5) * x.ln() - x + 0.5 * std::f64::consts::TAU.ln() + series
}

/// Probability of a distance at least this large between a sample of a continuous distribution and that distribution.
pub fn kolmogorov(mut sample: Vec<f64>, cumulative: impl Fn(f64) -> f64) -> f64 {
    sample.sort_by(f64::total_cmp);
    let n = sample.len() as f64;
    let mut distance = 0f64;
    for (i, &x) in sample.iter().enumerate() {
        let p = cumulative(x);
        distance = distance.max(p - i as f64 / n).max((i + 1) as f64 / n - p);
    }
    let t = distance * (n.sqrt() + 0.12 + 0.11 / n.sqrt());
    let tail: f64 =
        (1..=100).map(|k| (-2.0 * (k as f64 * t).powi(2)).exp() * if k % 2 == 1 { 2.0 } else { -2.0 }).sum();
    tail.clamp(0.0, 1.0)
}

/// Probability of counts at least this far from the expected ones; neighbours expected less than 10 times are merged.
pub fn chi_square(counts: &[u64], probabilities: &[f64]) -> f64 {
    assert_eq!(counts.len(), probabilities.len());
    let total: f64 = counts.iter().sum::<u64>() as f64;
    let mut cells: Vec<(f64, f64)> = Vec::new();
    let (mut seen, mut wanted) = (0.0, 0.0);
    for (&count, &p) in counts.iter().zip(probabilities) {
        seen += count as f64;
        wanted += p * total;
        if wanted >= 10.0 {
            cells.push((seen, wanted));
            (seen, wanted) = (0.0, 0.0);
        }
    }
    if let Some(last) = cells.last_mut() {
        last.0 += seen;
        last.1 += wanted;
    }
    let statistic: f64 = cells.iter().map(|(seen, wanted)| (seen - wanted).powi(2) / wanted).sum();
    1.0 - lower_gamma((cells.len() - 1) as f64 / 2.0, statistic / 2.0)
}

/// How often each of `0..length` occurs.
pub fn counts(values: impl IntoIterator<Item = i64>, length: usize) -> Vec<u64> {
    let mut counts = vec![0; length];
    for value in values {
        counts[value as usize] += 1;
    }
    counts
}

/// As [`chi_square`], for a continuous distribution whose numbers are rounded to a grid, of which these are all the values in ascending
/// order: a value has the probability of what lies nearer to it than to its neighbours.
pub fn chi_square_rounded(sample: &[f64], grid: &[f64], cumulative: impl Fn(f64) -> f64) -> f64 {
    let mut seen = vec![0u64; grid.len()];
    for &x in sample {
        let at = grid.binary_search_by(|value| value.total_cmp(&(x + 0.0)));
        seen[at.unwrap_or_else(|_| panic!("{x} is not on the grid"))] += 1;
    }
    let borders: Vec<f64> = grid.windows(2).map(|pair| cumulative(pair[0].midpoint(pair[1]))).collect();
    let below = std::iter::once(0.0).chain(borders.iter().copied());
    let above = borders.iter().copied().chain(std::iter::once(1.0));
    let probabilities: Vec<f64> = below.zip(above).map(|(low, high)| high - low).collect();
    chi_square(&seen, &probabilities)
}

/// Probability of pairs at least this far from independent uniform ones in [0, 1), counted in 16 times 16 cells.
pub fn independence(first: &[f64], second: &[f64]) -> f64 {
    const CELLS: i64 = 16;
    let cell = |x: f64| (x * CELLS as f64) as i64;
    let pairs = first.iter().zip(second).map(|(&a, &b)| cell(a) * CELLS + cell(b));
    let all = (CELLS * CELLS) as usize;
    chi_square(&counts(pairs, all), &vec![1.0 / all as f64; all])
}

/// Mean and variance.
pub fn moments(sample: &[f64]) -> (f64, f64) {
    let n = sample.len() as f64;
    let mean = sample.iter().sum::<f64>() / n;
    (mean, sample.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / n)
}
