//! Values written or combined into an array along an axis.

use crossover_codegen::element;
use crossover_core::{DType, ops::scatter::ScatterOp};
use crossover_plan::kernel::Call;

use super::{
    lookup,
    order::{RADIX, Radix},
    program::{Cells, Program, Room, blocks},
    views::{Views, is_wide, moved, without},
};

const VIEWS: &str = include_str!("../kernels/views.cuh");
const SCATTER: &str = include_str!("../kernels/scatter.cu");

/// Lines from which one thread per line keeps a device busy.
const MANY: usize = 1 << 14;
/// Indices of a line up to which sorting them is not worth its launches.
const FEW: usize = 64;

/// The two halves of a scatter: the operand copied, then the values. They are compiled apart, since an element is
/// moved in other units than it is combined in.
pub(super) fn scatter(call: &Call, op: ScatterOp, axis: usize) -> [Program; 2] {
    let (index, value, wide) = (&call.operands[1], &call.operands[2], is_wide(call));
    let copy = lookup::copy(call, 0);
    let (dims, size) = (index.layout.shape.dims(), call.dtype.size());
    let others = without(dims, axis);
    let views = Views::new(
        &others,
        [
            &without(&index.layout.strides, axis),
            &without(&value.layout.strides, axis),
            &without(&call.layout.strides, axis),
        ],
    );
    let (lines, count, length) = (views.size(), dims[axis], call.layout.shape[axis]);
    if lines * count == 0 {
        return [copy, Program { text: String::new(), scratch: 0, steps: Vec::new() }];
    }
    let mut text = match op.combine() {
        // Bits are moved as they are.
        None => format!(
            "typedef {} index_t;\n\n{VIEWS}\ntypedef {} memory_t;\n#define REPLACE\n",
            if wide { "long long" } else { "int" },
            moved(size)
        ),
        // Truth values are 0 and 1, whose order is that of the numbers.
        Some(combine) => {
            let dtype = if call.dtype == DType::Bool { DType::U8 } else { call.dtype };
            format!("{}\n{VIEWS}\n", element(dtype, Some(combine), wide))
        }
    };
    text.push_str(&format!("constexpr int RANK = {};\n", views.rank()));
    let sizes = [lines as isize, count as isize, length as isize];
    let [along, beside] = [index.layout.strides[axis], value.layout.strides[axis]];
    let (indices, values) = (index.layout.offset * index.dtype.size(), value.layout.offset * size);
    let step = call.layout.strides[axis];
    if lines >= MANY || count <= FEW || length >= u32::MAX as usize || count >= u32::MAX as usize {
        text.push_str(SCATTER);
        let cells = Cells::new(wide).input(1, indices).input(2, values).output().views(&views);
        let cells = cells.indices(&sizes).indices(&[along, beside, step]);
        let steps = vec![cells.step("scatter_lines", blocks(lines, 128, 1), 128)];
        return [copy, Program { text, scratch: 0, steps }];
    }
    text.push_str(&format!("#define SORTED\n{}\n{RADIX}\n{SCATTER}", Radix::types(4, 4)));
    let mut room = Room::default();
    let mut radix = Radix::new(&mut room, (lines, count), (4, 4), wide);
    let mut steps = Vec::new();
    let cells = Cells::new(wide).input(1, indices).scratch(radix.keys()).scratch(radix.pays()).views(&views);
    let cells = cells.indices(&sizes).indices(&[along]);
    steps.push(cells.step("scatter_keys", blocks(lines * count, 256, 4), 256));
    // Keys reach the length of the axis, which stands for indices outside.
    radix.sort(usize::BITS - length.leading_zeros(), &mut steps);
    let cells = Cells::new(wide).scratch(radix.keys()).scratch(radix.pays()).input(2, values).output();
    let cells = cells.views(&views).indices(&sizes).indices(&[beside, step]);
    steps.push(cells.step("scatter_sorted", blocks(lines * count, 256, 1), 256));
    [copy, Program { text, scratch: room.bytes(), steps }]
}
