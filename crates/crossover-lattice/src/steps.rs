//! Neighbours of a vertex without divisions.

use smallvec::SmallVec;

use crate::Lattice;

/// One axis of more than one vertex.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Axis {
    pub size: u32,
    pub stride: u32,
    /// 2^64 / size, rounded up: the high half of its product with a 32-bit number is the quotient.
    reciprocal: u64,
}

/// How neighbours are reached; the last axis first.
#[derive(Debug, Clone)]
pub(crate) struct Steps {
    axes: SmallVec<[Axis; 4]>,
    periodic: bool,
}

impl Steps {
    /// For a lattice whose vertices have 32-bit numbers.
    pub fn new(lattice: &Lattice) -> Steps {
        let both = lattice.sizes().iter().zip(lattice.strides());
        // An axis of length 1 has no neighbours, and its coordinate is always 0.
        let axes = both.rev().filter(|(size, _)| **size > 1).map(|(&size, &stride)| Axis {
            size: size as u32,
            stride: stride as u32,
            reciprocal: u64::MAX / size as u64 + 1,
        });
        Steps { axes: axes.collect(), periodic: lattice.is_periodic() }
    }

    /// Calls `visit` with each neighbour: down, then up, along each axis from the last to the first.
    #[inline(always)]
    pub fn each(&self, vertex: u32, mut visit: impl FnMut(u32)) {
        self.moves(vertex, |_, _, _, next| visit(next));
    }

    /// Calls `visit` with axis, coordinate along it, coordinate of the neighbour, and neighbour.
    #[inline(always)]
    pub fn moves(&self, vertex: u32, mut visit: impl FnMut(usize, u32, u32, u32)) {
        let mut rest = vertex;
        for (number, axis) in self.axes.iter().enumerate() {
            let quotient = ((u128::from(axis.reciprocal) * u128::from(rest)) >> 64) as u32;
            let at = rest - quotient * axis.size;
            rest = quotient;
            let last = axis.size - 1;
            let around = last * axis.stride;
            if at > 0 {
                visit(number, at, at - 1, vertex - axis.stride);
            } else if self.periodic && axis.size > 2 {
                visit(number, at, last, vertex + around);
            }
            if at < last {
                visit(number, at, at + 1, vertex + axis.stride);
            } else if self.periodic && axis.size > 2 {
                visit(number, at, 0, vertex - around);
            }
        }
    }

    /// The coordinates along the axes, last first.
    pub fn coordinates(&self, vertex: u32) -> SmallVec<[u32; 4]> {
        self.axes.iter().map(|axis| vertex / axis.stride % axis.size).collect()
    }

    /// Steps between two coordinates of an axis.
    #[inline(always)]
    pub fn apart(&self, axis: usize, from: u32, to: u32) -> u32 {
        let straight = from.abs_diff(to);
        if self.periodic { straight.min(self.axes[axis].size - straight) } else { straight }
    }

    /// Steps from a vertex to coordinates when nothing is in the way.
    pub fn distance(&self, vertex: u32, to: &[u32]) -> u32 {
        let at = self.coordinates(vertex);
        at.iter().zip(to).enumerate().map(|(axis, (&from, &to))| self.apart(axis, from, to)).sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn neighbours_are_those_of_the_lattice() {
        for sizes in [&[7][..], &[3, 4], &[1, 5, 1], &[2, 3, 4], &[2, 2, 2, 2], &[65_537, 3]] {
            for lattice in [Lattice::new(sizes).unwrap(), Lattice::new(sizes).unwrap().periodic()] {
                let steps = Steps::new(&lattice);
                for vertex in (0..lattice.len()).step_by(1 + lattice.len() / 500) {
                    let mut found = Vec::new();
                    steps.each(vertex as u32, |next| found.push(next as usize));
                    assert_eq!(found, lattice.neighbours(vertex).unwrap(), "{vertex} of {sizes:?}");
                }
            }
        }
    }
}
