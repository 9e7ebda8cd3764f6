use super::*;

fn numbers(count: usize, seed: u32) -> Vec<f32> {
    let mut state = seed;
    let mut next = || {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        (state >> 8) as f32 / (1 << 24) as f32 - 0.5
    };
    (0..count).map(|_| next()).collect()
}

#[test]
fn products_of_every_width_agree_with_the_textbook() {
    for loops in Loops::available() {
        let (rows, depth, columns) = (2 * STRIP, 37, 2 * COLUMNS);
        let (a, b) = (numbers(rows * 40, 1), numbers(depth * columns, 2));
        let wide = loops.columns();
        let mut panels = vec![f32::NAN; columns / wide * 40 * wide];
        for (at, &x) in b.iter().enumerate() {
            let (row, column) = (at / columns, at % columns);
            panels[column / wide * 40 * wide + row * wide + column % wide] = x;
        }
        let mut c = vec![0.25f32; rows * 66];
        for adds in [false, true] {
            loops.product((rows, depth, columns), (&a, 40), (&panels, 40 * wide), (&mut c, 66), adds);
            for i in 0..rows {
                for j in 0..columns {
                    let once: f64 =
                        (0..depth).map(|k| f64::from(a[i * 40 + k]) * f64::from(b[k * columns + j])).sum();
                    let want = if adds { 2.0 * once } else { once };
                    assert!((f64::from(c[i * 66 + j]) - want).abs() < 1e-5, "{i} {j}");
                }
                assert_eq!(c[i * 66 + 65], 0.25, "beyond the columns");
            }
        }
    }
}

#[test]
#[should_panic(expected = "b holds its panels")]
fn operands_that_are_too_short_are_refused() {
    let wide = COLUMNS;
    Loops::get().product((STRIP, 2, wide), (&[0.0; 48], 2), (&[0.0; 63], 64), (&mut [0.0; 768], wide), false);
}

#[test]
fn powers_of_two_are_exact_to_the_last_places() {
    // SAFETY: every machine has plain numbers.
    let power = |x: f32| unsafe { super::powers([Plain::splat(x)])[0].largest() };
    for i in 0..100_000 {
        let x = -125.0 * (i as f32 / 100_000.0);
        let want = f64::from(x).exp2();
        assert!((f64::from(power(x)) / want - 1.0).abs() < 1.5e-7, "{x}");
    }
    assert_eq!((power(0.0), power(-1.0), power(-125.0)), (1.0, 0.5, 2f32.powi(-125)));
    assert_eq!((power(-125.1), power(f32::NEG_INFINITY), power(-1e30)), (0.0, 0.0, 0.0));
}

#[test]
fn weights_are_relative_to_the_largest_score_so_far() {
    for loops in Loops::available() {
        let columns = 2 * COLUMNS;
        let (first, mut second) = (numbers(columns, 3), numbers(columns, 4));
        second[5] = f32::NEG_INFINITY;
        second[40] = 9.0;
        let (mut largest, mut sums) = ([f32::NEG_INFINITY], [0.0; SUMS]);
        let mut out = vec![2.0; COLUMNS];
        let mut weigh = |scores: &mut [f32]| {
            loops.weigh((1, columns), (scores, columns), &mut largest, &mut sums, (&mut out, COLUMNS));
            (largest[0], sums.iter().sum::<f32>(), out[3])
        };
        let top = first.iter().copied().fold(f32::NEG_INFINITY, f32::max);
        let of = |scores: &[f32], top: f32| -> f64 {
            scores.iter().map(|&x| (f64::from(x) - f64::from(top)).exp2()).sum()
        };
        let mut scores = first.clone();
        let (found, sum, rest) = weigh(&mut scores);
        assert_eq!((found, rest), (top, 0.0), "what was there before any score weighs nothing");
        assert!((f64::from(sum) - of(&first, top)).abs() < 1e-4);
        let mut scores = second.clone();
        let (found, sum, _) = weigh(&mut scores);
        assert_eq!((found, scores[5], scores[40]), (9.0, 0.0, 1.0));
        assert!((f64::from(sum) - of(&first, 9.0) - of(&second, 9.0)).abs() < 1e-5);
        let mut hidden = vec![f32::NEG_INFINITY; columns];
        assert_eq!(weigh(&mut hidden).1, sum);
        assert!(hidden.iter().all(|&x| x == 0.0));
    }
}

#[test]
fn a_row_that_sees_nothing_weighs_nothing_and_nan_stays() {
    for loops in Loops::available() {
        let (mut largest, mut sums) = ([f32::NEG_INFINITY], [0.0; SUMS]);
        let mut scores = [f32::NEG_INFINITY; COLUMNS];
        let mut out = [0.0; COLUMNS];
        let mut weigh = |scores: &mut [f32]| {
            loops.weigh((1, COLUMNS), (scores, COLUMNS), &mut largest, &mut sums, (&mut out, COLUMNS));
            (largest[0], sums.iter().sum::<f32>())
        };
        assert_eq!(weigh(&mut scores), (f32::NEG_INFINITY, 0.0));
        assert_eq!(scores, [0.0; COLUMNS]);
        scores[3] = f32::NAN;
        let (top, sum) = weigh(&mut scores);
        assert!(top == 0.0 && sum.is_nan() && scores[3].is_nan() && scores[4] == 1.0);
    }
}
