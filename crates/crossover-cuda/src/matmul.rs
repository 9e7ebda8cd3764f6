//! Matrix products by cuBLASLt.

#![allow(unsafe_code)]

use std::{any::Any, sync::Arc};

use crossover_core::{DType, Layout};
use crossover_plan::kernel::{Activation, Call, CallOp};
use crossover_runtime::{Block, Error, Executable, Launch, Result};

use crate::{
    Gpu,
    backend::Open,
    blas::{Product, Run, Shape, Side},
    calls::{
        Program,
        product::{self, OwnProduct},
    },
    queued::{self, Addresses, Queued},
};

/// A product made ready: one call of the library per point of `starts`.
#[derive(Debug)]
pub(crate) struct MatMul {
    /// `None` where there is nothing to add up and the result is all zeros. Before the device, which closes the library
    /// when it is dropped.
    product: Option<Arc<Product>>,
    open: Arc<Open>,
    dtype: DType,
    /// Bytes from the starts of left, right and result, one entry per call of the library.
    starts: Vec<[u64; 3]>,
    /// Bytes of the result.
    bytes: usize,
    /// Bytes from the start of the third operand, the row vector that is added.
    bias: Option<u64>,
}

/// Rows, columns, and how the library is to read them; `None` if it cannot.
fn side(layout: &Layout, step: isize, alignment: u32) -> Option<Side> {
    let (dims, strides) = (layout.shape.dims(), &layout.strides);
    let [.., rows, columns] = *dims else { return None };
    let [.., down, across] = strides[..] else { return None };
    // The stride of an axis of one element says nothing.
    let pitch = |length: usize, stride: isize, other: usize| {
        if length == 1 { other.max(1) as isize } else { stride }
    };
    let fits = |pitch: isize, width: usize| pitch >= width.max(1) as isize;
    let (plain, turned) = (pitch(rows, down, columns), pitch(columns, across, rows));
    let side = |transposed, pitch: isize| {
        Some(Side { transposed, pitch: pitch as i64, step: step as i64, alignment })
    };
    if (across == 1 || columns == 1) && fits(plain, columns) {
        side(false, plain)
    } else if (down == 1 || rows == 1) && fits(turned, rows) {
        side(true, turned)
    } else {
        None
    }
}

/// Left and right with as few matrices as can be: where all of a batch are multiplied with one and the same, and their rows follow one
/// another, they are rows of one matrix. The result, which is row-major, stays as it is.
fn gather_rows(left: &Layout, right: &Layout) -> (Layout, Layout) {
    let (mut left, mut right) = (left.clone(), right.clone());
    while let Some(axis) = left.shape.rank().checked_sub(3) {
        let (count, rows) = (left.shape[axis], left.shape[axis + 1]);
        // The stride of an axis of one element says nothing.
        let down = if rows == 1 { left.strides[axis] } else { left.strides[axis + 1] };
        let in_row = count == 1 || left.strides[axis] == rows as isize * down;
        let is_one = count == 1 || right.strides.get(axis) == Some(&0);
        if right.shape.rank() != left.shape.rank() || !is_one || !in_row {
            break;
        }
        let without = |layout: &Layout| -> (Vec<usize>, Vec<isize>) {
            let mut kept = (layout.shape.dims().to_vec(), layout.strides.to_vec());
            kept.0.remove(axis);
            kept.1.remove(axis);
            kept
        };
        let (mut dims, mut strides) = without(&left);
        (dims[axis], strides[axis]) = (count * rows, down);
        left = Layout { shape: dims.into_iter().collect(), strides: strides.into_iter().collect(), ..left };
        let (dims, strides) = without(&right);
        right = Layout { shape: dims.into_iter().collect(), strides: strides.into_iter().collect(), ..right };
    }
    (left, right)
}

/// The largest power of two up to 256 that divides all of these bytes.
fn alignment(offsets: impl Iterator<Item = u64>) -> u32 {
    offsets.fold(256u32, |a, bytes| if bytes == 0 { a } else { a.min(1 << bytes.trailing_zeros().min(8)) })
}

/// A product as the library is told of it.
struct Outline {
    /// `None` where there is nothing to add up.
    shape: Option<Shape>,
    starts: Vec<[u64; 3]>,
    bytes: usize,
    bias: Option<u64>,
}

impl Outline {
    /// The outline of a call, or what about it cannot be done. Needs no device.
    fn new(call: &Call, tf32: bool) -> std::result::Result<Outline, String> {
        let (bias, activation) = match call.op {
            CallOp::Linear { activation, .. } => (call.operands.get(2), activation),
            _ => (None, Activation::None),
        };
        let [left, right, ..] = &call.operands[..] else {
            return Err("a product of fewer than two operands".to_string());
        };
        let bias = bias.map(|b| (b.layout.offset * b.dtype.size()) as u64);
        if bias.is_some_and(|at| at % 16 != 0) {
            return Err("a bias that does not start at a multiple of 16 bytes".to_string());
        }
        let (first, second) = gather_rows(&left.layout, &right.layout);
        let layouts = [&first, &second];
        let dtype = call.dtype;
        let awkward = || format!("a product of {dtype} with strides {:?}", layouts.map(|l| &l.strides));
        let is_negative = |l: &&Layout| l.strides.iter().any(|&s| s < 0);
        if left.dtype != dtype || right.dtype != dtype || layouts.iter().any(is_negative) {
            return Err(awkward());
        }
        let size = dtype.size() as u64;
        let ([lead @ .., rows, depth], Some(columns)) = (first.shape.dims(), second.shape.dims().last())
        else {
            return Err(awkward());
        };
        let bytes = call.layout.shape.size() * dtype.size();
        if bytes == 0 || *depth == 0 {
            if call.op != CallOp::MatMul {
                return Err("a sum of nothing with a bias or an activation".to_string());
            }
            return Ok(Outline { shape: None, starts: Vec::new(), bytes, bias });
        }
        // The innermost leading axis longer than one is the batch of a call; calls walk over the others.
        let batch_axis = lead.iter().rposition(|&n| n > 1);
        let step = |layout: &Layout| batch_axis.map_or(0, |axis| layout.strides[axis]);
        let steps = layouts.map(step);
        let outer = &lead[..batch_axis.unwrap_or(0)];
        let batch = batch_axis.map_or(1, |axis| lead[axis]);
        let matrix = (rows * columns) as u64;
        let mut starts = Vec::new();
        for point in 0..outer.iter().product::<usize>() {
            let mut start = layouts.map(|l| l.offset as u64);
            let mut rest = point;
            for (axis, &length) in outer.iter().enumerate().rev() {
                let at = (rest % length) as u64;
                rest /= length;
                for (start, layout) in start.iter_mut().zip(layouts) {
                    *start += at * layout.strides[axis] as u64;
                }
            }
            let result = call.layout.offset as u64 + point as u64 * batch as u64 * matrix;
            starts.push([start[0] * size, start[1] * size, result * size]);
        }
        let aligned = |i: usize| alignment(starts.iter().map(|s| s[i]).chain([steps[i] as u64 * size]));
        let sides = (side(&first, steps[0], aligned(0)), side(&second, steps[1], aligned(1)));
        let (Some(left), Some(right)) = sides else { return Err(awkward()) };
        let Ok(batch) = i32::try_from(batch) else { return Err(awkward()) };
        let shape = Shape {
            dtype,
            rows: *rows as u64,
            columns: *columns as u64,
            depth: *depth as u64,
            batch,
            left,
            right,
            bias: bias.is_some(),
            activation,
            tf32: tf32 && dtype == DType::F32,
        };
        Ok(Outline { shape: Some(shape), starts, bytes, bias })
    }
}

impl MatMul {
    pub(crate) fn new(open: &Arc<Open>, call: &Call) -> Result<MatMul> {
        let unsupported = |what: String| Error::Unsupported { device: open.gpu.name().to_string(), what };
        let Outline { shape, starts, bytes, bias } = Outline::new(call, open.tf32).map_err(unsupported)?;
        let describe = |shape: Shape| {
            let own = || {
                let program = product::program(&shape)?;
                let compilation = open.compiler.begin(&program.text);
                Some(OwnProduct::new(shape, program, compilation))
            };
            open.blas().and_then(|blas| blas.product(&shape, own))
        };
        let product = shape.map(describe).transpose();
        let product = product.map_err(|error| unsupported(format!("a product: {error}")))?;
        Ok(MatMul { open: open.clone(), dtype: call.dtype, product, starts, bytes, bias })
    }

    /// Our own kernel for a product, if it is one that we have a kernel for.
    pub(crate) fn program(call: &Call) -> Option<Program> {
        product::program(&Outline::new(call, false).ok()?.shape?)
    }
}

impl Queued for MatMul {
    fn scratch(&self) -> usize {
        self.product.as_ref().map_or(0, |product| product.workspace())
    }

    fn is_settled(&self) -> bool {
        self.product.as_ref().is_none_or(|product| product.is_chosen())
    }

    fn queue(&self, gpu: &Gpu, addresses: &Addresses<'_>) -> crate::Result<()> {
        let ([left, right, ..], [result, ..]) = (addresses.inputs, addresses.outputs) else { return Ok(()) };
        let Some(product) = &self.product else { return gpu.zero(*result, self.bytes) };
        let bias = self.bias.zip(addresses.inputs.get(2)).map(|(at, start)| start + at);
        let (blas, workspace) = (self.open.blas()?, addresses.scratch);
        for start in &self.starts {
            let addresses = [left + start[0], right + start[1], result + start[2]];
            // SAFETY: the launch was checked against the call, so the matrices lie inside their blocks.
            unsafe { blas.run(gpu, product, Run { dtype: self.dtype, addresses, bias, workspace })? };
        }
        Ok(())
    }
}

impl Executable for MatMul {
    fn run(&self, launch: &Launch<'_>) -> Result<()> {
        queued::run(&self.open, "multiplying matrices", self, launch)
    }

    fn run_apart(&self, inputs: &[&[Block]], output: Block) -> Result<bool> {
        const DURING: &str = "multiplying matrices that lie apart";
        let ([left, right], Some(product)) = (inputs, &self.product) else { return Ok(false) };
        // Bits do not depend on where matrices lie: the library's are another kernel's.
        let Some(own) = product.own().filter(|_| self.starts.len() == 1 && left.len() == right.len()) else {
            return Ok(false);
        };
        self.open.check(DURING)?;
        self.open.gpu.bind().map_err(|error| self.open.failed(DURING, error))?;
        let pairs = left.iter().zip(*right).map(|(left, right)| [left.address.0, right.address.0]);
        // SAFETY: the executor has checked that every block is a whole matrix of an operand without gaps, and that the result is as long as
        // all of them ask for.
        let queued = unsafe { own.start_apart(&self.open.gpu, pairs, output.address.0) };
        queued.map_err(|error| self.open.failed(DURING, error))
    }

    fn as_any(&self) -> Option<&dyn Any> {
        Some(self)
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn layout(dims: &[usize], strides: &[isize]) -> Layout {
        Layout {
            shape: dims.iter().copied().collect(),
            strides: strides.iter().copied().collect(),
            offset: 0,
        }
    }

    fn form(dims: &[usize], strides: &[isize]) -> Option<(bool, i64)> {
        side(&layout(dims, strides), 0, 256).map(|s| (s.transposed, s.pitch))
    }

    #[test]
    fn rows_columns_and_vectors_are_read_in_place() {
        assert_eq!(form(&[3, 4], &[4, 1]), Some((false, 4)));
        assert_eq!(form(&[3, 4], &[9, 1]), Some((false, 9)));
        assert_eq!(form(&[3, 4], &[1, 3]), Some((true, 3)));
        assert_eq!(form(&[1, 4], &[0, 1]), Some((false, 4)));
        assert_eq!(form(&[3, 1], &[1, 0]), Some((false, 1)));
        assert_eq!(form(&[3, 1], &[5, 7]), Some((false, 5)));
        assert_eq!(form(&[7, 3, 4], &[12, 4, 1]), Some((false, 4)));
    }

    #[test]
    fn strides_along_both_axes_and_repeated_rows_are_refused() {
        assert_eq!(form(&[3, 4], &[8, 2]), None);
        assert_eq!(form(&[3, 4], &[0, 1]), None);
        assert_eq!(form(&[3, 4], &[1, 2]), None);
    }

    #[test]
    fn rows_that_meet_the_same_matrix_are_rows_of_one() {
        let gathered = |left: (&[usize], &[isize]), right: (&[usize], &[isize])| {
            let (left, right) = gather_rows(&layout(left.0, left.1), &layout(right.0, right.1));
            (left.shape.dims().to_vec(), right.shape.dims().to_vec())
        };
        let shared: (&[usize], &[isize]) = (&[2, 5, 4, 6], &[0, 0, 6, 1]);
        assert_eq!(gathered((&[2, 5, 3, 4], &[60, 12, 4, 1]), shared), (vec![30, 4], vec![4, 6]));
        // Rows of the last axis but one are apart, and so only some become one matrix.
        assert_eq!(gathered((&[2, 5, 3, 4], &[90, 12, 4, 1]), shared), (vec![2, 15, 4], vec![2, 4, 6]));
        let several: (&[usize], &[isize]) = (&[2, 5, 4, 6], &[24, 0, 6, 1]);
        assert_eq!(gathered((&[2, 5, 3, 4], &[60, 12, 4, 1]), several), (vec![2, 15, 4], vec![2, 4, 6]));
        let one: (&[usize], &[isize]) = (&[5, 4, 6], &[0, 6, 1]);
        assert_eq!(gathered((&[5, 1, 4], &[9, 0, 1]), one), (vec![5, 4], vec![4, 6]));
        let own: (&[usize], &[isize]) = (&[5, 4, 6], &[24, 6, 1]);
        assert_eq!(gathered((&[5, 3, 4], &[12, 4, 1]), own), (vec![5, 3, 4], vec![5, 4, 6]));
    }

    #[test]
    fn alignment_is_what_all_offsets_share() {
        assert_eq!(alignment([0, 512].into_iter()), 256);
        assert_eq!(alignment([0, 48, 64].into_iter()), 16);
        assert_eq!(alignment([2].into_iter()), 2);
    }
}
