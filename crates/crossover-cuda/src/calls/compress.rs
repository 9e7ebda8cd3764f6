//! Entries at which a mask is true.

use crossover_plan::kernel::Call;

use super::{
    lookup,
    program::{Cells, Program, Room, blocks},
    views::{Views, is_wide},
};

const COMPRESS: &str = include_str!("../kernels/compress.cu");
/// Elements of the mask that a block counts; as in the text.
const BLOCK: usize = 4096;

/// `compress`.
pub(super) fn compress(call: &Call) -> Program {
    let (mask, values, wide) = (&call.operands[0], &call.operands[1], is_wide(call));
    let (dims, strides) = (values.layout.shape.dims(), &values.layout.strides);
    let size = values.dtype.size();
    let inner = Views::new(&dims[1..], [&strides[1..]]);
    let factor = inner.together(size, &[strides[0], values.layout.offset as isize]);
    let inner = inner.widened(factor);
    let (length, count) = (mask.layout.shape[0], call.layout.shape[0]);
    let total = call.layout.shape.size() / factor;
    let index = if wide { 8 } else { 4 };
    let parts = length.div_ceil(BLOCK);
    let mut room = Room::default();
    let (starts, places) = (room.take((parts + 1) * index), room.take(count * index));
    let stride = mask.layout.strides[0];
    let number = |n: usize| n as isize;
    let cells = || Cells::new(wide);
    let masked = || cells().input(0, mask.layout.offset);
    let mut steps = Vec::new();
    if parts > 0 {
        let counted = masked().scratch(starts).indices(&[stride, number(length)]);
        steps.push(counted.step("compress_count", parts, 256));
    }
    steps.push(cells().scratch(starts).indices(&[number(parts)]).step("compress_starts", 1, 256));
    if parts > 0 {
        let found = masked().scratch(starts).scratch(places);
        let found = found.indices(&[stride, number(length), number(count)]);
        steps.push(found.step("compress_find", parts, 256));
    }
    let copied = cells()
        .input(1, values.layout.offset * size)
        .scratch(places)
        .scratch(starts + parts * index)
        .output()
        .views(&inner)
        .indices(&[number(inner.size()), strides[0] / factor as isize, number(total)]);
    steps.push(copied.step("compress_copy", blocks(total, 256, 4), 256));
    let opening = lookup::opening(factor * size, wide);
    let text = format!("{opening}constexpr int INNER = {};\n\n{COMPRESS}", inner.rank());
    Program { text, scratch: room.bytes(), steps }
}
