//! One entry point under construction: its parameters, in order of first use, and its body.

use crossover_core::{DType, ops::cast::cuda_type};
use crossover_plan::kernel::{Fused, Window};

use crate::{
    flat::{Flat, Group},
    functions::Uses,
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
    parameters: Vec<(String, String, Argument)>,
}

impl<'a> Entry<'a> {
    pub(crate) fn new(kernel: &'a Fused, flat: &'a Flat, uses: &'a mut Uses) -> Entry<'a> {
        Entry { kernel, flat, uses, body: Writer::at(1), parameters: Vec::new() }
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
                    let length = self.index(format!("{letter}{place}_length"), self.flat.axes[axis].length);
                    self.body.line(format!("const index_t {letter}{place} = {rest} % {length};"));
                    let name = if place == 1 { format!("{letter}0") } else { format!("{letter}0{place}") };
                    self.body.line(format!("const index_t {name} = {rest} / {length};"));
                    rest = name;
                }
                axes.iter().enumerate().map(|(place, &axis)| (axis, format!("{letter}{place}"))).collect()
            }
        }
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
        let text = format!(
            "{comment}\nextern \"C\" __global__ void __launch_bounds__({threads})\n{name}({})\n{{\n{}}}\n",
            list.join(", "),
            self.body.finish()
        );
        let arguments = self.parameters.iter().map(|&(_, _, argument)| argument).collect();
        let blocks = blocks.min(i32::MAX as usize);
        (text, Launch { entry: name.to_string(), threads, blocks, arguments })
    }
}

/// The C++ type of an element in memory: 16-bit floats are their bits.
pub(crate) fn memory_type(dtype: DType) -> &'static str {
    if dtype.is_half() { "unsigned short" } else { cuda_type(dtype) }
}
