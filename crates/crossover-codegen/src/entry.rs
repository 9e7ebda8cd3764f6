//! One entry point under construction: its parameters, in order of first use, and its body.

use crossover_core::{DType, ops::cast::cuda_type};
use crossover_plan::kernel::{Fused, Window};

use crate::{
    flat::{Flat, Group},
    functions::Uses,
    prelude::Section,
    source::{Argument, Launch},
    writer::Writer,
};

/// Threads per block of kernels whose threads are independent.
pub(crate) const THREADS: u32 = 256;

/// An entry point under construction.
pub(crate) struct Entry<'a> {
    pub(crate) kernel: &'a Fused,
    pub(crate) flat: &'a Flat,
    pub(crate) uses: &'a mut Uses,
    pub(crate) body: Writer,
    /// Whether steps may leave their slow path out, clearing the variable `fine` where it was needed.
    pub(crate) quick: bool,
    /// Blocks that a multiprocessor is to hold at once, where that bounds registers.
    pub(crate) resident: Option<u32>,
    parameters: Vec<(String, String, Argument)>,
}

impl<'a> Entry<'a> {
    pub(crate) fn new(kernel: &'a Fused, flat: &'a Flat, uses: &'a mut Uses) -> Entry<'a> {
        Entry {
            kernel,
            flat,
            uses,
            body: Writer::at(1),
            quick: false,
            resident: None,
            parameters: Vec::new(),
        }
    }

    /// The name of a parameter, declared at its first use.
    pub(crate) fn parameter(&mut self, kind: &str, name: impl Into<String>, argument: Argument) -> String {
        let name = name.into();
        if !self.parameters.iter().any(|(_, known, _)| *known == name) {
            self.parameters.push((kind.to_string(), name.clone(), argument));
        }
        name
    }

    /// A size or stride.
    pub(crate) fn index(&mut self, name: impl Into<String>, value: usize) -> String {
        self.parameter("index_t", name, Argument::Index(value as i64))
    }

    /// The pointer to a load.
    pub(crate) fn load(&mut self, load: usize) -> String {
        let kind = format!("const {}*", memory_type(self.kernel.loads[load].dtype));
        self.parameter(&kind, format!("in{load}"), Argument::Load(load as u16))
    }

    /// The pointer to a store.
    pub(crate) fn store(&mut self, store: usize) -> String {
        let kind = format!("{}*", memory_type(self.kernel.stores[store].dtype));
        self.parameter(&kind, format!("out{store}"), Argument::Store(store as u16))
    }

    /// Splits the flat index of a group into coordinates; returns one expression per axis of the group.
    ///
    /// Declares `{letter}0`, `{letter}1`, … where the group has several axes.
    pub(crate) fn coordinates(&mut self, group: Group, letter: char, index: &str) -> Vec<(usize, String)> {
        let axes = self.flat.group(group);
        self.split(&axes, letter, index)
    }

    /// The same for any run of axes.
    pub(crate) fn split(&mut self, axes: &[usize], letter: char, index: &str) -> Vec<(usize, String)> {
        match axes {
            [] => Vec::new(),
            [axis] => vec![(*axis, index.to_string())],
            _ => {
                let mut rest = index.to_string();
                for (place, &axis) in axes.iter().enumerate().skip(1).rev() {
                    let length = self.flat.axes[axis].length;
                    let name = if place == 1 { format!("{letter}0") } else { format!("{letter}0{place}") };
                    let remainder = format!("{letter}{place}");
                    self.divide(&rest, &format!("{letter}{place}_length"), length, &name, &remainder);
                    rest = name;
                }
                axes.iter().enumerate().map(|(place, &axis)| (axis, format!("{letter}{place}"))).collect()
            }
        }
    }

    /// Declares quotient and remainder of an index by a size, which becomes a parameter.
    pub(crate) fn divide(&mut self, index: &str, name: &str, size: usize, quotient: &str, remainder: &str) {
        let length = self.index(name, size);
        // A quotient by 1 has no factor of 32 bits, and nothing is ever divided by 0: such a space has no points.
        if self.flat.wide || size < 2 {
            self.body.line(format!("const index_t {quotient} = {index} / {length};"));
        } else {
            // Division of 32 bits takes some twenty instructions; a product with what the host knows takes two.
            self.uses.section(Section::Quotient);
            let (magic, shift) = magic(size);
            let magic = self.index(format!("{name}_magic"), magic);
            let shift = self.index(format!("{name}_shift"), shift);
            self.body.line(format!("const index_t {quotient} = xo_quotient({index}, {magic}, {shift});"));
        }
        self.body.line(format!("const index_t {remainder} = {index} - {quotient} * {length};"));
    }

    /// The distance of a point from the origin of a window, as a sum of the given coordinates times strides.
    ///
    /// Strides 0 and 1 are structure; any other is a parameter `{owner}_stride{axis}`.
    pub(crate) fn offset(&mut self, window: &Window, owner: &str, at: &[(usize, String)]) -> String {
        let mut terms = Vec::new();
        for (axis, coordinate) in at {
            match window.strides[*axis] {
                0 => {}
                1 => terms.push(coordinate.clone()),
                stride => {
                    let name = format!("{owner}_stride{axis}");
                    let name = self.parameter("index_t", name, Argument::Index(stride as i64));
                    let factor =
                        if coordinate.contains(' ') { format!("({coordinate})") } else { coordinate.clone() };
                    terms.push(format!("{factor} * {name}"));
                }
            }
        }
        if terms.is_empty() { "0".to_string() } else { terms.join(" + ") }
    }

    /// The finished function, and its launch.
    pub(crate) fn finish(self, comment: &str, name: &str, threads: u32, blocks: usize) -> (String, Launch) {
        let list: Vec<String> =
            self.parameters.iter().map(|(kind, name, _)| format!("{kind} {name}")).collect();
        let resident = self.resident.map_or(String::new(), |blocks| format!(", {blocks}"));
        let text = format!(
            "{comment}\nextern \"C\" __global__ void __launch_bounds__({threads}{resident})\n{name}({})\n{{\n    xo_wait();\n{}}}\n",
            list.join(", "),
            self.body.finish()
        );
        let arguments = self.parameters.iter().map(|&(_, _, argument)| argument).collect();
        let blocks = blocks.min(i32::MAX as usize);
        (text, Launch { entry: name.to_string(), threads, blocks, shared: 0, arguments })
    }
}

/// Factor and shift of `xo_quotient` for a divisor from 2 to 2^31.
fn magic(divisor: usize) -> (usize, usize) {
    let bits = usize::BITS - (divisor - 1).leading_zeros();
    ((1u64 << (31 + bits)).div_euclid(divisor as u64) as usize + 1, bits as usize - 1)
}

/// The C++ type of an element in memory: 16-bit floats are their bits.
pub(crate) fn memory_type(dtype: DType) -> &'static str {
    if dtype.is_half() { "unsigned short" } else { cuda_type(dtype) }
}

#[cfg(test)]
mod tests {
    use super::magic;

    #[test]
    fn quotients_by_multiplication_are_exact_below_two_to_the_31() {
        let quotient = |n: usize, d: usize| {
            let (magic, shift) = magic(d);
            assert!(magic < 1 << 32);
            (n * magic) >> 32 >> shift
        };
        let top = (1usize << 31) - 1;
        let sizes = [
            2,
            3,
            5,
            7,
            127,
            128,
            129,
            641,
            1000,
            65_535,
            65_536,
            65_537,
            6_700_417,
            (1 << 30) - 1,
            1 << 30,
            top,
        ];
        for d in sizes.into_iter().chain((1..2000).map(|i| i * 1_073_741 + 2)).filter(|&d| d <= top) {
            for k in
                [0, 1, 2, 3, 1000, top / d / 2, top / d - 1, top / d].into_iter().filter(|&k| k <= top / d)
            {
                for n in [(k * d).saturating_sub(1), k * d, k * d + 1, k * d + d - 1]
                    .into_iter()
                    .filter(|&n| n <= top)
                {
                    assert_eq!(quotient(n, d), n / d, "{n} / {d}");
                }
            }
        }
    }
}
