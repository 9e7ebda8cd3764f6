//! Moving elements: strided copies, `take` and `gather`.

use crossover_plan::kernel::Call;

use super::{
    program::{Cells, Program, blocks},
    views::{Views, index_type, is_wide, moved},
};

const VIEWS: &str = include_str!("../kernels/views.cuh");
const COPY: &str = include_str!("../kernels/copy.cu");
const TAKE: &str = include_str!("../kernels/take.cu");

/// The start of a text that moves elements of so many bytes.
pub(super) fn opening(bytes: usize, wide: bool) -> String {
    format!("typedef {} index_t;\n\n{VIEWS}\ntypedef {} element_t;\n", index_type(wide), moved(bytes))
}

/// An operand, row-major in the result.
pub(super) fn copy(call: &Call, operand: usize) -> Program {
    let (source, wide) = (&call.operands[operand], is_wide(call));
    let view = Views::new(source.layout.shape.dims(), [&source.layout.strides]);
    let size = source.dtype.size();
    let factor = view.together(size, &[source.layout.offset as isize]);
    let view = view.widened(factor);
    let count = view.size();
    let cells = Cells::new(wide).input(operand, source.layout.offset * size).output().views(&view);
    let step = cells.indices(&[count as isize]).step("copy", blocks(count, 256, 4), 256);
    let text = format!("{}constexpr int RANK = {};\n\n{COPY}", opening(factor * size, wide), view.rank());
    Program { text, scratch: 0, steps: vec![step] }
}

/// Entries along an axis.
pub(super) fn take(call: &Call, axis: usize) -> Program {
    let (source, index, wide) = (&call.operands[0], &call.operands[1], is_wide(call));
    let (dims, strides) = (source.layout.shape.dims(), &source.layout.strides);
    let outer = Views::new(&dims[..axis], [&strides[..axis]]);
    let inner = Views::new(&dims[axis + 1..], [&strides[axis + 1..]]);
    let size = source.dtype.size();
    let mut others = outer.strides[0].clone();
    others.extend([strides[axis], source.layout.offset as isize]);
    let factor = inner.together(size, &others);
    let inner = inner.widened(factor);
    let narrow = |stride: isize| stride / factor as isize;
    let outer = Views { strides: outer.strides.map(|s| s.into_iter().map(narrow).collect()), ..outer };
    let (count, total) = (index.layout.shape.size(), call.layout.shape.size() / factor);
    let cells = Cells::new(wide)
        .input(0, source.layout.offset * size)
        .input(1, index.layout.offset * index.dtype.size())
        .output()
        .views(&outer)
        .views(&inner)
        .indices(&[
            inner.size() as isize,
            count as isize,
            index.layout.strides.first().copied().unwrap_or(0),
            narrow(strides[axis]),
            dims[axis] as isize,
            total as isize,
        ]);
    let step = cells.step("take", blocks(total, 256, 4), 256);
    let text = taking(factor * size, wide, [outer.rank(), inner.rank(), 1]);
    Program { text, scratch: 0, steps: vec![step] }
}

/// Elements along an axis.
pub(super) fn gather(call: &Call, axis: usize) -> Program {
    let (source, index, wide) = (&call.operands[0], &call.operands[1], is_wide(call));
    let mut still = source.layout.strides.clone();
    let stride = std::mem::replace(&mut still[axis], 0);
    let views = Views::new(call.layout.shape.dims(), [&still, &index.layout.strides]);
    let (size, total) = (source.dtype.size(), call.layout.shape.size());
    let cells = Cells::new(wide)
        .input(0, source.layout.offset * size)
        .input(1, index.layout.offset * index.dtype.size())
        .output()
        .views(&views)
        .indices(&[stride, source.layout.shape[axis] as isize, total as isize]);
    let step = cells.step("gather", blocks(total, 256, 4), 256);
    Program { text: taking(size, wide, [1, 1, views.rank()]), scratch: 0, steps: vec![step] }
}

fn taking(bytes: usize, wide: bool, [outer, inner, rank]: [usize; 3]) -> String {
    let opening = opening(bytes, wide);
    format!("{opening}constexpr int OUTER = {outer}, INNER = {inner}, RANK = {rank};\n\n{TAKE}")
}
