//! The table of ops that are neither elementwise, nor reductions, nor scatters, nor decompositions: names, dtypes, an example.
//!
//! What always holds: the example of an op is accepted with the dtypes of its row and refused with every other (a test); the
//! reader knows an op by this table, and the reference pages are made of it.

use super::write::CUSTOM;
use crate::{DType, DTypeSet};

/// One op of the table.
///
/// ```
/// use crossover_core::graph::Other;
/// let sort = Other::ALL.iter().find(|op| op.name == "sort").expect("sort is an op");
/// assert_eq!(sort.line(), "sort %x axis 0 descending");
/// ```
#[derive(Debug, Clone, Copy)]
pub struct Other {
    /// Name in text and messages.
    pub name: &'static str,
    /// What it computes.
    pub doc: &'static str,
    /// Dtypes of what it works on.
    pub dtypes: DTypeSet,
    /// Lines of graph text whose last one is the op; `T` stands for the dtype.
    pub example: &'static str,
}

impl Other {
    /// The op as it is written, with an example of everything that follows its operands.
    pub fn line(&self) -> &'static str {
        self.example.lines().last().and_then(|line| line.split(" = ").nth(1)).unwrap_or(self.name)
    }

    /// A graph of the op on a dtype.
    pub fn text(&self, dtype: DType) -> String {
        format!("graph {{\n{}\nreturn %y\n}}\n", self.example.replace('T', dtype.name()))
    }
}

const fn other(name: &'static str, dtypes: DTypeSet, example: &'static str, doc: &'static str) -> Other {
    Other { name, doc, dtypes, example }
}

const ALL: DTypeSet = DTypeSet::ALL;
const NUMBER: DTypeSet = DTypeSet::NUMBER;
/// What is computed in its own width.
const WIDE: DTypeSet = DTypeSet::INT.or(DTypeSet::FLOAT32_64).or(DTypeSet::COMPLEX);
const COMPLEX: DTypeSet = DTypeSet::COMPLEX;

impl Other {
    /// Every op of the table, by name.
    pub const ALL: [Other; 27] = [
        other(
            "argsort",
            ALL,
            "%x = input T[4, 3]\n%y = argsort %x axis 0 descending",
            "The `i64` indices that sort lines along an axis, stably; NaN last.",
        ),
        other(
            "cast",
            ALL,
            "%x = input T[3]\n%y = cast %x to c128",
            "Conversion to another dtype: integers wrap, floats saturate on the way to integers and round to nearest on the way to floats; no complex number becomes a real one.",
        ),
        other(
            "compress",
            ALL,
            "%m = input bool[3]\n%x = input T[3, 2]\n%y = compress %m, %x count 2",
            "The first entries at which a mask is true; zeros where there are fewer.",
        ),
        other(
            "concat",
            ALL,
            "%a = input T[2]\n%b = input T[3]\n%y = concat %a, %b axis 0",
            "Operands joined along an axis.",
        ),
        other(
            "convolve",
            WIDE,
            "%x = input T[5]\n%k = input T[3]\n%f = input T[]\n%y = convolve %x, %k, %f mode same boundary fill",
            "Direct convolution in any number of dimensions: values, kernel, and the value outside.",
        ),
        other(
            "cumulative_prod",
            NUMBER,
            "%x = input T[3]\n%y = cumulative_prod %x axis 0",
            "Running product along an axis.",
        ),
        other(
            "cumulative_sum",
            NUMBER,
            "%x = input T[3]\n%y = cumulative_sum %x axis 0",
            "Running sum along an axis, in the canonical order.",
        ),
        other(CUSTOM, ALL, "", "A kernel that a user has written, with the dtypes of its signature."),
        other(
            "expand",
            ALL,
            "%x = input T[1, 3]\n%y = expand %x to [2, 3]",
            "Axes of length 1 repeated, and new leading axes. A view.",
        ),
        other(
            "fft",
            COMPLEX,
            "%x = input T[4]\n%y = fft %x axes [0] scale one",
            "Fourier transform along axes.",
        ),
        other("flip", ALL, "%x = input T[4]\n%y = flip %x axes [0]", "Axes reversed. A view."),
        other(
            "ifft",
            COMPLEX,
            "%x = input T[4]\n%y = ifft %x axes [0] scale count",
            "Inverse Fourier transform along axes.",
        ),
        other(
            "irfft",
            COMPLEX,
            "%x = input T[3]\n%y = irfft %x axes [0] length 4 scale count",
            "Inverse Fourier transform along one axis, of which half is given, to real numbers.",
        ),
        other(
            "matmul",
            NUMBER,
            "%a = input T[2, 3]\n%b = input T[3, 4]\n%y = matmul %a, %b",
            "Matrix product over the last two axes; leading axes are equal.",
        ),
        other(
            "permute",
            ALL,
            "%x = input T[2, 3]\n%y = permute %x axes [1, 0]",
            "Axes in another order. A view.",
        ),
        other(
            "random",
            DTypeSet::of(&[DType::U32]),
            "%k = input T[2]\n%y = random %k to [5] stream 0",
            "Philox bits as `u32`, a function of key, stream and position.",
        ),
        other(
            "reshape",
            ALL,
            "%x = input T[6]\n%y = reshape %x to [2, 3]",
            "The same elements in row-major order under another shape.",
        ),
        other(
            "rfft",
            DTypeSet::FLOAT32_64,
            "%x = input T[4]\n%y = rfft %x axes [0] scale one",
            "Fourier transform of real numbers along one axis, the half that says all.",
        ),
        other(
            "sample",
            DTypeSet::of(&[DType::F64]),
            "%k = input u32[2]\n%x = input T[5]\n%y = sample %k, %x gamma",
            "Random numbers of a distribution with a parameter per element: `gamma` or `poisson`.",
        ),
        other(
            "searchsorted",
            ALL,
            "%l = input T[5]\n%x = input T[2, 3]\n%y = searchsorted %l, %x right",
            "Where each value belongs in a sorted line, as `i64`: before equal elements, or after them.",
        ),
        other("slice", ALL, "%x = input T[5, 4]\n%y = slice %x [1:4:2, :]", "A span of every axis. A view."),
        other(
            "sort",
            ALL,
            "%x = input T[4, 3]\n%y = sort %x axis 0 descending",
            "Lines along an axis in order, stably; NaN last.",
        ),
        other(
            "strided",
            ALL,
            "%x = input T[6]\n%y = strided %x to [2, 2] strides [3, 1] offset 1",
            "Any strided window onto the row-major elements of the operand. A view.",
        ),
        other(
            "take",
            ALL,
            "%x = input T[5, 2]\n%i = input i64[3]\n%y = take %x, %i axis 0",
            "Entries along an axis by `i64` indices; each is clamped.",
        ),
        other(
            "take_along_axis",
            ALL,
            "%x = input T[5, 2]\n%i = input i64[3, 2]\n%y = take_along_axis %x, %i axis 0",
            "Elements along an axis, each by an `i64` index of its own; each is clamped.",
        ),
        other(
            "top_k",
            ALL,
            "%x = input T[4, 3]\n%y = top_k %x axis 0 first 2 descending",
            "The `i64` indices of the first elements of lines in order: what sorting all of them stably would put there.",
        ),
        other(
            "where",
            ALL,
            "%m = input bool[3]\n%a = input T[3]\n%b = input T[3]\n%y = where %m, %a, %b",
            "One of two values by a boolean.",
        ),
    ];
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Graph;

    #[test]
    fn examples_are_accepted_with_the_dtypes_of_their_row_alone() {
        for op in Other::ALL.iter().filter(|op| op.name != CUSTOM) {
            for dtype in DType::ALL {
                let read = Graph::parse(&op.text(dtype));
                let wanted = op.dtypes.contains(dtype);
                assert_eq!(
                    read.is_ok(),
                    wanted,
                    "{} of {dtype}: {:?}\n{}",
                    op.name,
                    read.err(),
                    op.text(dtype)
                );
            }
            assert!(op.line().starts_with(op.name), "{}", op.line());
        }
        assert!(Other::ALL.is_sorted_by_key(|op| op.name));
    }
}
