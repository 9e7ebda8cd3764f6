//! Rows of keys and values as panels, which products read from the first element to the last.

/// Neighbouring rows and columns that are exchanged in registers.
const SIDE: usize = 4;

/// Keys with axes exchanged: a panel has `wide` keys, one in each column. Columns beyond the last key of a panel become zeros.
pub(super) fn keys(rows: &[f32], size: usize, panels: &mut [f32], wide: usize) {
    match wide {
        8 => keys_of::<8>(rows, size, panels),
        16 => keys_of::<16>(rows, size, panels),
        _ => keys_of::<32>(rows, size, panels),
    }
}

fn keys_of<const WIDE: usize>(rows: &[f32], size: usize, panels: &mut [f32]) {
    for (rows, panel) in rows.chunks(WIDE * size).zip(panels.chunks_exact_mut(WIDE * size)) {
        let (lines, _) = panel.as_chunks_mut::<WIDE>();
        turn(rows, size, lines);
    }
}

fn turn<const WIDE: usize>(rows: &[f32], size: usize, lines: &mut [[f32; WIDE]]) {
    let many = rows.len() / size;
    let (whole, tall) = (many / SIDE * SIDE, size / SIDE * SIDE);
    for (at, four) in (0..whole).step_by(SIDE).zip(rows.chunks_exact(SIDE * size)) {
        let (a, rest) = four.split_at(size);
        let (b, rest) = rest.split_at(size);
        let (c, d) = rest.split_at(size);
        let [a, b, c, d] = [a, b, c, d].map(|row| row.as_chunks::<SIDE>().0);
        let (squares, _) = lines.as_chunks_mut::<SIDE>();
        for ((a, b), ((c, d), square)) in a.iter().zip(b).zip(c.iter().zip(d).zip(squares)) {
            for (i, line) in square.iter_mut().enumerate() {
                // Below WIDE, since there are at most as many rows.
                let to = &mut line.as_chunks_mut::<SIDE>().0[at / SIDE];
                *to = [a[i], b[i], c[i], d[i]];
            }
        }
    }
    for (d, line) in lines.iter_mut().enumerate() {
        let first = if d < tall { whole } else { 0 };
        for (i, to) in line.iter_mut().enumerate().skip(first) {
            *to = if i < many { rows[i * size + d] } else { 0.0 };
        }
    }
}

/// Values as they are: a panel has `wide` columns of up to `most` rows. Columns beyond the last become zeros, and so do rows up to the next
/// multiple of `wide`.
pub(super) fn values(rows: &[f32], size: usize, panels: &mut [f32], wide: usize, most: usize) {
    match wide {
        8 => values_of::<8>(rows, size, panels, most),
        16 => values_of::<16>(rows, size, panels, most),
        _ => values_of::<32>(rows, size, panels, most),
    }
}

fn values_of<const WIDE: usize>(rows: &[f32], size: usize, panels: &mut [f32], most: usize) {
    let many = rows.len() / size;
    let whole = many.next_multiple_of(WIDE).min(most);
    for (first, panel) in (0..size).step_by(WIDE).zip(panels.chunks_exact_mut(WIDE * most)) {
        let (lines, _) = panel.as_chunks_mut::<WIDE>();
        for (row, line) in rows.chunks_exact(size).zip(lines.iter_mut()) {
            let row = &row[first..];
            match row.first_chunk::<WIDE>() {
                Some(all) => *line = *all,
                None => {
                    line[..row.len()].copy_from_slice(row);
                    line[row.len()..].fill(0.0);
                }
            }
        }
        lines[many..whole].fill([0.0; WIDE]);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_become_columns_whatever_their_number() {
        for wide in [8usize, 16, 32] {
            for (many, size) in [(8usize, 8usize), (5, 9), (16, 64), (1, 3), (47, 6)] {
                let rows: Vec<f32> = (0..many * size).map(|i| i as f32).collect();
                let count = many.div_ceil(wide);
                let mut panels = vec![f32::NAN; count * size * wide];
                keys(&rows, size, &mut panels, wide);
                for key in 0..count * wide {
                    for d in 0..size {
                        let want = if key < many { rows[key * size + d] } else { 0.0 };
                        let got = panels[key / wide * size * wide + d * wide + key % wide];
                        assert_eq!(got, want, "{many} keys of {size}, {wide}: {key} {d}");
                    }
                }
            }
        }
    }

    #[test]
    fn values_stay_rows_and_are_padded_with_zeros() {
        for wide in [8usize, 16, 32] {
            for (many, size, most) in [(64usize, 64usize, 64), (5, 9, 64), (33, 40, 64), (1, 3, 32)] {
                let rows: Vec<f32> = (0..many * size).map(|i| i as f32).collect();
                let count = size.div_ceil(wide);
                let mut panels = vec![f32::NAN; count * wide * most];
                values(&rows, size, &mut panels, wide, most);
                for row in 0..many.next_multiple_of(wide).min(most) {
                    for d in 0..count * wide {
                        let want = if row < many && d < size { rows[row * size + d] } else { 0.0 };
                        let got = panels[d / wide * wide * most + row * wide + d % wide];
                        assert_eq!(got, want, "{many} values of {size}, {wide}: {row} {d}");
                    }
                }
            }
        }
    }
}
