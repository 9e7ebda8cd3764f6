//! Products of small matrices in f32 by our own kernel, one more algorithm beside those of the library.

use std::{
    ffi::c_void,
    sync::{Arc, OnceLock},
};

use crossover_codegen::elements;
use crossover_core::{
    DType,
    ops::{MapOp, device_function},
};
use crossover_plan::kernel::Activation;
use smallvec::SmallVec;

use super::{
    own::Ready,
    program::{Cells, Program},
};
use crate::{
    Gpu, Result,
    blas::{Run, Shape, Side},
    compiler::Compilation,
    queue::Function,
};

const PRODUCT: &str = include_str!("../kernels/product.cu");
/// Rows and columns of a tile, and threads that compute it.
const SIDE: u64 = 32;
const THREADS: u32 = 64;
/// Multiplications from which larger tiles than ours are the better ones.
const LARGE: u64 = 1 << 30;
/// Elements up to which positions are counted in 32 bits.
const REACH: u64 = 1 << 30;
/// Matrices of a batch at most that lie apart: their places are parameters of the kernel.
const APART: usize = 64;

/// The text of the kernel, the same for every product with this activation.
fn text(activation: Activation) -> String {
    let source = || device_function(MapOp::Gelu, DType::F32).map(|f| f.source().to_string());
    let (number, function) = match activation {
        Activation::None => (0, None),
        Activation::Relu => (1, None),
        Activation::Gelu => (2, source()),
    };
    let opening = elements(&[DType::F32], false).0;
    let function = function.unwrap_or_default();
    format!("{opening}\n{function}\n#define ACTIVATION {number}\n#define APART {APART}\n\n{PRODUCT}")
}

/// The program of a product, or `None` for one that is not our work: too large, of another dtype, transposed, or not made of
/// whole groups of 16 bytes.
pub(crate) fn program(shape: &Shape) -> Option<Program> {
    let Shape { rows, columns, depth, left, right, .. } = *shape;
    let batch = u64::try_from(shape.batch).ok()?.max(1);
    let whole = |side: &Side| {
        let reach = side.step.unsigned_abs() * (batch - 1) + side.pitch.unsigned_abs() * rows.max(depth);
        !side.transposed
            && side.alignment >= 16
            && side.pitch % 4 == 0
            && side.step % 4 == 0
            && reach <= REACH
    };
    let fits = shape.dtype == DType::F32
        && !shape.tf32
        && columns.is_multiple_of(4)
        && depth.is_multiple_of(4)
        && rows * columns * batch <= REACH
        && rows * columns * depth * batch < LARGE
        && whole(&left)
        && whole(&right);
    if !fits {
        return None;
    }
    let cells = Cells::new(false).input(0, 0).input(1, 0);
    let cells = if shape.bias { cells.input(2, 0) } else { cells.nothing() };
    let numbers = [rows as i64, columns as i64, depth as i64, left.pitch, right.pitch, left.step, right.step];
    let cells = cells.output().indices(&numbers.map(|n| n as isize));
    let blocks = rows.div_ceil(SIDE) * columns.div_ceil(SIDE) * batch;
    let step = cells.step("product", usize::try_from(blocks).ok()?, THREADS).early();
    Some(Program { text: text(shape.activation), scratch: 0, steps: vec![step] })
}

/// A product on its way through the compiler, or ready.
#[derive(Debug)]
pub(crate) struct OwnProduct {
    program: Program,
    compilation: Arc<Compilation>,
    ready: OnceLock<Result<Ready>>,
    shape: Shape,
    /// The entry point for matrices that lie apart, whose module `ready` keeps.
    apart: OnceLock<Result<Function>>,
}

/// The places of matrices as the kernel takes them.
#[repr(C)]
struct Places {
    left: [u64; APART],
    right: [u64; APART],
}

impl OwnProduct {
    pub(crate) fn new(shape: Shape, program: Program, compilation: Arc<Compilation>) -> OwnProduct {
        OwnProduct { program, compilation, ready: OnceLock::new(), shape, apart: OnceLock::new() }
    }

    fn ready(&self) -> Result<&Ready> {
        let make = || Ready::new(&[(self.program.clone(), self.compilation.clone())]);
        self.ready.get_or_init(make).as_ref().map_err(crate::Error::clone)
    }

    /// Queues the products of matrices that lie apart, with the bits of those that lie in a row; false, with nothing done, where the kernel
    /// cannot read them.
    ///
    /// # Safety
    /// The addresses lead to matrices of the product's shape, without gaps, and the result to as many as there are pairs.
    #[allow(unsafe_code)]
    pub(crate) unsafe fn start_apart(
        &self,
        gpu: &Gpu,
        pairs: impl ExactSizeIterator<Item = [u64; 2]>,
        result: u64,
    ) -> Result<bool> {
        let Shape { rows, columns, depth, batch, left, right, bias, .. } = self.shape;
        let whole = left.pitch == depth as i64 && right.pitch == columns as i64;
        let fits = pairs.len() <= APART && pairs.len() == batch.max(1) as usize;
        let [step] = &self.program.steps[..] else { return Ok(false) };
        if bias || !whole || !fits {
            return Ok(false);
        }
        let mut places = Places { left: [0; APART], right: [0; APART] };
        for (at, [left, right]) in pairs.enumerate() {
            if left % 16 != 0 || right % 16 != 0 {
                return Ok(false);
            }
            (places.left[at], places.right[at]) = (left, right);
        }
        self.ready()?;
        let find = || self.compilation.wait()?.function("product_apart");
        let function = *self.apart.get_or_init(find).as_ref().map_err(crate::Error::clone)?;
        let (mut to, mut numbers) = (result, [rows, columns, depth, depth, columns].map(|n| n as i32));
        let mut pointers: SmallVec<[*mut c_void; 8]> = SmallVec::new();
        pointers.push((&raw mut places).cast());
        pointers.push((&raw mut to).cast());
        pointers.extend(numbers.iter_mut().map(|number| std::ptr::from_mut(number).cast()));
        self.compilation.launched();
        // SAFETY: the parameters follow those of the entry point; sizes are below 2^31 (REACH); the caller's contract for addresses. It waits
        // for the launch before it by itself.
        unsafe { gpu.start_early(function, (step.blocks, THREADS, 0), &mut pointers)? };
        Ok(true)
    }

    /// Queues the product; the first time, once it is compiled.
    ///
    /// # Safety
    /// The addresses lead to matrices of the shape that the program was made for.
    #[allow(unsafe_code)]
    pub(crate) unsafe fn start(&self, gpu: &Gpu, run: Run) -> Result<()> {
        let ready = self.ready()?;
        let [left, right, result] = run.addresses;
        let inputs = [left, right, run.bias.unwrap_or(0)];
        self.compilation.launched();
        // SAFETY: the caller's contract.
        unsafe { ready.queue(gpu, 0..ready.len(), &inputs, result, 0) }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn shape(rows: u64, columns: u64, depth: u64) -> Shape {
        let side = |pitch: u64, step: u64| Side {
            transposed: false,
            pitch: pitch as i64,
            step: step as i64,
            alignment: 256,
        };
        Shape {
            dtype: DType::F32,
            rows,
            columns,
            depth,
            batch: 3,
            left: side(depth, rows * depth),
            right: side(columns, depth * columns),
            bias: false,
            activation: Activation::None,
            tf32: false,
        }
    }

    #[test]
    fn one_block_per_tile_and_one_text_per_activation() {
        let first = program(&shape(33, 64, 8)).unwrap();
        assert_eq!((first.steps[0].blocks, first.steps[0].threads), (2 * 2 * 3, 64));
        let other = program(&Shape { bias: true, ..shape(32, 32, 4) }).unwrap();
        assert_eq!((other.text == first.text, other.steps[0].blocks), (true, 3));
        let gelu = program(&Shape { activation: Activation::Gelu, ..shape(32, 32, 4) }).unwrap();
        assert!(gelu.text.contains("xo_gelu_f32(float") && !first.text.contains("xo_gelu_f32(float"));
    }

    #[test]
    fn what_the_kernel_cannot_read_is_left_to_the_library() {
        assert!(program(&shape(32, 30, 8)).is_none(), "columns");
        assert!(program(&shape(32, 32, 6)).is_none(), "depth");
        assert!(program(&shape(1024, 1024, 1024)).is_none(), "large");
        assert!(program(&Shape { tf32: true, ..shape(32, 32, 8) }).is_none());
        assert!(program(&Shape { dtype: DType::F64, ..shape(32, 32, 8) }).is_none());
        let turned = Side { transposed: true, ..shape(32, 32, 8).left };
        assert!(program(&Shape { left: turned, ..shape(32, 32, 8) }).is_none());
        let shifted = Side { alignment: 8, ..shape(32, 32, 8).right };
        assert!(program(&Shape { right: shifted, ..shape(32, 32, 8) }).is_none());
    }
}
