//! Kernels cut along an axis that they keep, for operands that do not fit together.
//!
//! Only axes along which every result is independent of the others are cut, so bits stay: an outer axis of a fused kernel, an
//! inner one of a column kernel, the first axis of a call that works along another. Reductions are never cut. Results go to the host
//! part by part; so every part of a result must be one range of its buffer.

use std::ops::Range;

use crossover_plan::kernel::{Call, CallOp, Fused, Kernel, StepOp, Window};

use crossover_core::{Layout, Span};

/// A kernel that can be cut.
#[derive(Debug)]
pub(crate) struct Cut<'a> {
    kernel: &'a Kernel,
    /// The axis, among those of the whole space.
    axis: usize,
    /// Its length.
    length: usize,
}

/// A part of a cut kernel.
#[derive(Debug)]
pub(crate) struct Part {
    /// What is to be run, on the ranges alone; on whole buffers where those are on the device.
    pub kernel: Kernel,
    /// Bytes that each operand needs; `None` if it is on the device as a whole.
    pub inputs: Vec<Option<Range<usize>>>,
    /// Bytes that each result has.
    pub outputs: Vec<Range<usize>>,
}

impl Part {
    /// Bytes of device memory that the part takes.
    pub fn bytes(&self) -> usize {
        let inputs = self.inputs.iter().flatten().map(ExactSizeIterator::len);
        inputs.chain(self.outputs.iter().map(ExactSizeIterator::len)).sum()
    }
}

impl<'a> Cut<'a> {
    /// A kernel, if it can be cut.
    pub fn new(kernel: &'a Kernel) -> Option<Cut<'a>> {
        let (axis, length) = match kernel {
            Kernel::Fused(fused) => fused_axis(fused)?,
            Kernel::Call(call) => (0, call_length(call)?),
        };
        let cut = Cut { kernel, axis, length };
        let whole = cut.part(0..length, &mut |_| false)?;
        let half = cut.part(0..length.div_ceil(2), &mut |_| false)?;
        // Parts of a dense result that are as long as their share are dense and apart.
        let shares = whole.outputs.iter().zip(&half.outputs);
        let even = |(whole, half): (&Range<usize>, &Range<usize>)| {
            whole.len() / length * length.div_ceil(2) == half.len() && whole.len().is_multiple_of(length)
        };
        shares.into_iter().all(even).then_some(cut)
    }

    /// The length of the axis.
    pub fn length(&self) -> usize {
        self.length
    }

    /// The part over a range of the axis; `resident` says which operands are on the device as a whole. `None` if a result has gaps.
    pub fn part(&self, range: Range<usize>, resident: &mut dyn FnMut(usize) -> bool) -> Option<Part> {
        match self.kernel {
            Kernel::Fused(fused) => self.fused_part(fused, range, resident),
            Kernel::Call(call) => call_part(call, range, resident),
        }
    }

    fn fused_part(
        &self,
        fused: &Fused,
        range: Range<usize>,
        resident: &mut dyn FnMut(usize) -> bool,
    ) -> Option<Part> {
        let mut part = fused.clone();
        let space = &mut part.space;
        let inner = fused.space.outer.len() + fused.space.reduce.len();
        match self.axis.checked_sub(inner) {
            Some(at) => space.inner[at] = range.len(),
            None => space.outer[self.axis] = range.len(),
        }
        let dims = part.space.dims();
        for step in &mut part.steps {
            if let StepOp::Index { window, .. } | StepOp::Random { window, .. } = &mut step.op {
                *window = self.shifted(window, range.start)?;
            }
        }
        let keys: Vec<u16> = fused
            .steps
            .iter()
            .filter_map(|s| if let StepOp::Random { key, .. } = s.op { Some(key) } else { None })
            .collect();
        let mut inputs = Vec::with_capacity(part.loads.len());
        for (i, load) in part.loads.iter_mut().enumerate() {
            let size = load.dtype.size();
            load.window = self.shifted(&load.window, range.start)?;
            if resident(i) {
                inputs.push(None);
                continue;
            }
            let touched = if keys.contains(&(i as u16)) {
                load.window.offset..load.window.offset + 2
            } else {
                touched(&dims, &load.window)?
            };
            load.window.offset -= touched.start;
            inputs.push(Some(touched.start * size..touched.end * size));
        }
        let mut outputs = Vec::with_capacity(part.stores.len());
        for store in &mut part.stores {
            let size = store.dtype.size();
            store.window = self.shifted(&store.window, range.start)?;
            let touched = touched(&dims, &store.window)?;
            let lengths = dims.iter().zip(&store.window.strides);
            let points: usize =
                lengths.filter(|(_, stride)| **stride != 0).map(|(length, _)| *length).product();
            if points != touched.len() || store.window.strides[self.axis] == 0 {
                return None;
            }
            store.window.offset -= touched.start;
            outputs.push(touched.start * size..touched.end * size);
        }
        Some(Part { kernel: Kernel::Fused(part), inputs, outputs })
    }

    /// A window that starts further along the axis.
    fn shifted(&self, window: &Window, by: usize) -> Option<Window> {
        let offset = window.offset.checked_add_signed(by as isize * window.strides[self.axis])?;
        Some(Window { offset, strides: window.strides.clone() })
    }
}

/// Elements that a window touches.
fn touched(dims: &[usize], window: &Window) -> Option<Range<usize>> {
    let (mut low, mut high) = (window.offset as isize, window.offset as isize);
    for (&length, &stride) in dims.iter().zip(&window.strides) {
        let reach = (length as isize).checked_sub(1).filter(|&n| n >= 0)? * stride;
        low += reach.min(0);
        high += reach.max(0);
    }
    (low >= 0).then_some(low as usize..high as usize + 1)
}

/// The first axis that is kept and longer than one, if only axes of length one come before it.
fn fused_axis(fused: &Fused) -> Option<(usize, usize)> {
    let space = &fused.space;
    if space.size() == 0 {
        return None;
    }
    let long = |lengths: &[usize]| lengths.iter().position(|&length| length > 1);
    if let Some(axis) = long(&space.outer) {
        return Some((axis, space.outer[axis]));
    }
    let axis = long(&space.inner)?;
    Some((space.outer.len() + space.reduce.len() + axis, space.inner[axis]))
}

/// The length of the first axis of a call that works along another one, and whose bits are the same everywhere.
fn call_length(call: &Call) -> Option<usize> {
    let axis = match call.op {
        CallOp::Scan { axis, .. }
        | CallOp::Gather { axis }
        | CallOp::Sort { axis, .. }
        | CallOp::TopK { axis, .. } => axis,
        _ => return None,
    };
    let length = *call.layout.shape.dims().first()?;
    let same = call.operands.iter().all(|operand| operand.layout.shape.dims().first() == Some(&length));
    (axis > 0 && length > 1 && same && call.layout.shape.size() > 0).then_some(length)
}

fn call_part(call: &Call, range: Range<usize>, resident: &mut dyn FnMut(usize) -> bool) -> Option<Part> {
    let mut part = call.clone();
    let cut = |layout: &Layout| {
        let whole = layout.shape.dims().iter().map(|&length| Span { start: 0, step: 1, length });
        let mut spans: Vec<Span> = whole.collect();
        spans[0] = Span { start: range.start, step: 1, length: range.len() };
        layout.slice(&spans)
    };
    let mut inputs = Vec::with_capacity(part.operands.len());
    for (i, operand) in part.operands.iter_mut().enumerate() {
        let size = operand.dtype.size();
        operand.layout = cut(&operand.layout);
        if resident(i) {
            inputs.push(None);
            continue;
        }
        let (low, high) = operand.layout.extent();
        if high <= low {
            return None;
        }
        operand.layout.offset -= low;
        inputs.push(Some(low * size..high * size));
    }
    let (size, layout) = (part.dtype.size(), cut(&call.layout));
    let (low, high) = layout.extent();
    part.layout = Layout::contiguous(layout.shape.clone());
    (high - low == layout.shape.size()).then_some(())?;
    #[allow(clippy::single_range_in_vec_init)]
    let outputs = vec![low * size..high * size];
    Some(Part { kernel: Kernel::Call(part), inputs, outputs })
}
