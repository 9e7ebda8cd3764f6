//! Direct convolution.

use crossover_codegen::element;
use crossover_core::ops::convolve::{Boundary, ConvolveMode};
use crossover_plan::kernel::Call;

use super::{
    program::{Cells, Program, Room, blocks},
    views::is_wide,
};

const VIEWS: &str = include_str!("../kernels/views.cuh");
const CONVOLVE: &str = include_str!("../kernels/convolve.cu");

/// Most columns of a kernel whose taps are unrolled.
const COLUMNS: usize = 32;
/// Most bytes of a slab of weights, and of staged rows, in shared memory; 48 KiB is what every device has.
const WEIGHTS: usize = 8 << 10;
const STAGE: usize = 38 << 10;
/// Warps of a block; a warp has some rows of a tile.
const DOWN: usize = 4;

/// A convolution.
pub(super) fn convolve(call: &Call, mode: ConvolveMode, boundary: Boundary) -> Program {
    let [source, kernel, fill] = [0, 1, 2].map(|i| &call.operands[i]);
    let (dtype, wide) = (call.dtype, is_wide(call));
    let size = dtype.size();
    let (n, k) = (source.layout.shape.dims(), kernel.layout.shape.dims());
    // Lengths of result, kernel and operand, stride, positions before; a line is a plane of one row.
    let axis = |a: usize| {
        let (length, before) = mode.extent(n[a], k[a]);
        [length as isize, k[a] as isize, n[a] as isize, source.layout.strides[a], before as isize]
    };
    let mut axes: Vec<[isize; 5]> = (0..n.len()).map(axis).collect();
    if axes.len() == 1 {
        axes.insert(0, [1, 1, 1, 0, 0]);
    }
    let rank = axes.len();
    let [rows, columns] = [axes[rank - 2], axes[rank - 1]];
    let (heights, widths) = (rows[1] as usize, columns[1] as usize);
    let across = (32 / size).clamp(2, 8);
    // A line, or a kernel of one row, has nothing to share between rows.
    let down = if heights == 1 { 1 } else { 4 };
    let vector = (16 / size).min(across);
    let padded = widths.next_multiple_of(vector);
    let pitch = 32 * across + padded;
    let depth = (STAGE / (pitch * size)).min(DOWN * down + heights - 1);
    let tiled = widths <= COLUMNS && heights * padded * size <= WEIGHTS && depth >= 1;

    let taps = kernel.layout.shape.size();
    let mut room = Room::default();
    let weights = room.take(taps * size);
    // The kernel has the axes of the result, with one in front for a line.
    let mut kernel_dims = k.to_vec();
    let mut kernel_strides = kernel.layout.strides.to_vec();
    if k.len() == 1 {
        kernel_dims.insert(0, 1);
        kernel_strides.insert(0, 0);
    }
    let mut flip: Vec<isize> = kernel_dims.iter().map(|&n| n as isize).collect();
    flip.extend(&kernel_strides);
    let cells = Cells::new(wide).input(1, kernel.layout.offset * size).scratch(weights).group(&flip);
    let mut steps = vec![cells.indices(&[taps as isize]).step("convolve_flip", blocks(taps, 256, 1), 256)];

    let all: Vec<isize> = axes.iter().flatten().copied().collect();
    let lead = |axis: usize| -> isize { axes[..rank - 2].iter().map(|a| a[axis]).product() };
    let cells = Cells::new(wide)
        .input(0, source.layout.offset * size)
        .scratch(weights)
        .input(2, fill.layout.offset * size)
        .output()
        .group(&all);
    let kind = if dtype.is_complex() { 2 } else { dtype.is_float() as i32 };
    let border = match boundary {
        Boundary::Fill => 0,
        Boundary::Wrap => 1,
        Boundary::Symm => 2,
        Boundary::Nearest => 3,
        Boundary::Mirror => 4,
    };
    let wide_type = if size > 4 { "unsigned long long" } else { "unsigned" };
    let mut text = format!(
        "{}\n{VIEWS}\nconstexpr int RANK = {rank}, BOUNDARY = {border};\n#define KIND {kind}\ntypedef {wide_type} wide_t;\n",
        element(dtype, None, wide)
    );
    if tiled {
        text.push_str(&format!(
            "#define TILED\nconstexpr int COLUMNS = {widths}, ROWS = {down}, ACROSS = {across}, DOWN = {DOWN};\n\
             constexpr int DEPTH = {depth}, TAPS = {};\n",
            heights * padded
        ));
        let tiles_across = (columns[0] as usize).div_ceil(32 * across);
        let tiles_down = (rows[0] as usize).div_ceil(DOWN * down);
        let cells = cells.indices(&[lead(1), tiles_across as isize, tiles_down as isize]);
        let count = lead(0) as usize * tiles_across * tiles_down;
        steps.push(cells.step("convolve_tile", count, 32 * DOWN as u32));
    } else {
        let count = call.layout.shape.size();
        let cells = cells.indices(&[lead(1) * rows[1], count as isize]);
        steps.push(cells.step("convolve_plain", blocks(count, 256, 1), 256));
    }
    text.push('\n');
    text.push_str(CONVOLVE);
    Program { text, scratch: room.bytes(), steps }
}
