//! Moving elements: strided copies, `take` and `gather`.

use crossover_codegen::{STREAMED, elements};
use crossover_plan::kernel::Call;

use super::{
    program::{Cells, Program, blocks},
    views::{Views, index_type, is_wide, moved},
};

const VIEWS: &str = include_str!("../kernels/views.cuh");
const COPY: &str = include_str!("../kernels/copy.cu");
const ENTRIES: &str = include_str!("../kernels/entries.cu");
const TAKE: &str = include_str!("../kernels/take.cu");

/// Threads of a block that moves entries.
const THREADS: usize = 128;

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
        .output();
    let numbers = [
        inner.size() as isize,
        count as isize,
        index.layout.strides.first().copied().unwrap_or(0),
        narrow(strides[axis]),
        dims[axis] as isize,
    ];
    if outer.size() == 1 && inner.rank() == 1 && (inner.strides[0][0] == 1 || inner.size() == 1) {
        let cells = cells.indices(&numbers);
        return entries(cells, factor * size, wide, [inner.size(), count]);
    }
    let cells = cells.views(&outer).views(&inner).indices(&numbers).indices(&[total as isize]);
    let step = cells.step("take", blocks(total, 256, 4), 256);
    let text = taking(factor * size, wide, [outer.rank(), inner.rank(), 1]);
    Program { text, scratch: 0, steps: vec![step] }
}

/// Runs of `length` elements of so many bytes, `count` of them.
fn entries(cells: Cells, bytes: usize, wide: bool, [length, count]: [usize; 2]) -> Program {
    let lanes = length.next_power_of_two().min(THREADS);
    let streams = bytes * length * count >= STREAMED;
    let step = cells.step("entries", blocks(count, THREADS / lanes, 2), THREADS as u32).early();
    let start = elements(&[], wide).0;
    let element = moved(bytes);
    let text = format!(
        "{start}\n{VIEWS}\ntypedef {element} element_t;\nconstexpr int LANES = {lanes};\n\
         constexpr bool STREAMS = {streams};\n\n{ENTRIES}"
    );
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
