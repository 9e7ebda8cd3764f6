//! Rows of keys and values as panels, which products read from the first element to the last.

/// Neighbouring rows and columns that are exchanged in registers.
const SIDE: usize = 4;

/// So many rows of `size` numbers, `stride` numbers from one to the next.
#[derive(Clone, Copy)]
pub(super) struct Rows<'a> {
    pub(super) numbers: &'a [f32],
    pub(super) many: usize,
    pub(super) size: usize,
    pub(super) stride: usize,
}

impl<'a> Rows<'a> {
    pub(super) fn row(&self, at: usize) -> &'a [f32] {
        &self.numbers[at * self.stride..][..self.size]
    }

    /// Those from one on, at most so many.
    fn from(&self, first: usize, most: usize) -> Rows<'a> {
        Rows { numbers: &self.numbers[first * self.stride..], many: most.min(self.many - first), ..*self }
    }
}

/// Keys with axes exchanged: a panel has `wide` keys, one in each column. Columns beyond the last key of a panel become zeros.
pub(super) fn keys(rows: Rows<'_>, panels: &mut [f32], wide: usize) {
    match wide {
        8 => keys_of::<8>(rows, panels),
        16 => keys_of::<16>(rows, panels),
        _ => keys_of::<32>(rows, panels),
    }
}

fn keys_of<const WIDE: usize>(rows: Rows<'_>, panels: &mut [f32]) {
    for (first, panel) in (0..rows.many).step_by(WIDE).zip(panels.chunks_exact_mut(WIDE * rows.size)) {
        let (lines, _) = panel.as_chunks_mut::<WIDE>();
        turn(rows.from(first, WIDE), lines);
    }
}

fn turn<const WIDE: usize>(rows: Rows<'_>, lines: &mut [[f32; WIDE]]) {
    let Rows { many, size, .. } = rows;
    let (whole, tall) = (many / SIDE * SIDE, size / SIDE * SIDE);
    for at in (0..whole).step_by(SIDE) {
        let [a, b, c, d] = [0, 1, 2, 3].map(|i| rows.row(at + i).as_chunks::<SIDE>().0);
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
            *to = if i < many { rows.row(i)[d] } else { 0.0 };
        }
    }
}

/// Values as they are: a panel has `wide` columns of up to `most` rows. Columns beyond the last become zeros, and so do rows up to the next
/// multiple of `wide`.
pub(super) fn values(rows: Rows<'_>, panels: &mut [f32], wide: usize, most: usize) {
    match wide {
        8 => values_of::<8>(rows, panels, most),
        16 => values_of::<16>(rows, panels, most),
        _ => values_of::<32>(rows, panels, most),
    }
}

fn values_of<const WIDE: usize>(rows: Rows<'_>, panels: &mut [f32], most: usize) {
    let Rows { many, size, .. } = rows;
    let whole = many.next_multiple_of(WIDE).min(most);
    for (first, panel) in (0..size).step_by(WIDE).zip(panels.chunks_exact_mut(WIDE * most)) {
        let (lines, _) = panel.as_chunks_mut::<WIDE>();
        for (at, line) in lines.iter_mut().take(many).enumerate() {
            let row = &rows.row(at)[first..];
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

    /// Rows with `gap` numbers between them that nobody may read.
    fn apart(rows: &[f32], size: usize, gap: usize) -> Vec<f32> {
        let mut out: Vec<f32> =
            rows.chunks(size).flat_map(|row| row.iter().copied().chain(vec![f32::NAN; gap])).collect();
        out.truncate(out.len() - gap);
        out
    }

    #[test]
    fn keys_become_columns_whatever_their_number() {
        for wide in [8usize, 16, 32] {
            for (many, size) in [(8usize, 8usize), (5, 9), (16, 64), (1, 3), (47, 6)] {
                let rows: Vec<f32> = (0..many * size).map(|i| i as f32).collect();
                let count = many.div_ceil(wide);
                let mut panels = vec![f32::NAN; count * size * wide];
                let (numbers, stride) = (apart(&rows, size, many % 3), size + many % 3);
                keys(Rows { numbers: &numbers, many, size, stride }, &mut panels, wide);
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
                let (numbers, stride) = (apart(&rows, size, many % 3), size + many % 3);
                values(Rows { numbers: &numbers, many, size, stride }, &mut panels, wide, most);
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
