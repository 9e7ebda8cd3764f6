//! Random calls with defined bits: operands under any layout, and the result the reference interpreter gives.

use crossover_core::{
    DType, Graph, Layout, Shape,
    graph::Op,
    ops::{
        convolve::{Boundary, ConvolveMode},
        reduce::ReduceOp,
        scatter::ScatterOp,
    },
    reference::{self, Tensor},
};
use crossover_plan::kernel::{BufferId, Call, CallOp, Operand};

use super::random::{Random, fill};

/// A call, the bytes of its operands' blocks, and the bytes of its result.
#[derive(Debug, Clone)]
pub struct CallCase {
    /// What it is, for messages.
    pub name: String,
    /// The call.
    pub call: Call,
    /// One block per operand.
    pub operands: Vec<Vec<u8>>,
    /// What the result must be.
    pub want: Vec<u8>,
}

/// Kinds of calls, in the order in which seeds go through them.
pub const KINDS: [&str; 8] =
    ["take", "gather", "scatter", "sort", "argsort", "searchsorted", "compress", "scan"];

/// Logical values under a layout.
pub(super) struct Array {
    tensor: Tensor,
    layout: Layout,
    bytes: Vec<u8>,
}

impl Array {
    /// Row-major without gaps, from the start of its block.
    pub(super) fn plain(tensor: Tensor) -> Array {
        let (layout, bytes) = (Layout::contiguous(tensor.shape.clone()), tensor.bytes.clone());
        Array { tensor, layout, bytes }
    }

    /// Axes in any order, some reversed, behind some other elements.
    pub(super) fn new(random: &mut Random, tensor: Tensor) -> Array {
        let shape = tensor.shape.clone();
        let mut axes: Vec<usize> = (0..shape.rank()).collect();
        if random.chance(60) {
            for i in (1..axes.len()).rev() {
                axes.swap(i, random.below(i + 1));
            }
        }
        let mut back = vec![0; axes.len()];
        axes.iter().enumerate().for_each(|(i, &a)| back[a] = i);
        let stored: Shape = axes.iter().map(|&a| shape[a]).collect();
        let flips: Vec<usize> = (0..shape.rank()).filter(|_| random.chance(25)).collect();
        let mut layout = Layout::contiguous(stored).permute(&back).flip(&flips);
        let before = if random.chance(50) { 0 } else { random.below(9) };
        layout.offset += before;
        let size = tensor.dtype.size();
        let mut bytes = vec![0x5a; tensor.bytes.len() + before * size];
        for (from, to) in tensor.bytes.chunks(size).zip(layout.positions()) {
            bytes[to * size..(to + 1) * size].copy_from_slice(from);
        }
        Array { tensor, layout, bytes }
    }

    /// Any values; every third case has few different ones.
    fn any(random: &mut Random, dtype: DType, shape: &[usize]) -> Array {
        let n: usize = shape.iter().product();
        let size = dtype.size();
        let mut bytes = vec![0; n * size];
        fill(&mut bytes, dtype, random.bits(), random.chance(30));
        if random.chance(33) && n > 0 {
            let few = 1 + n / 5;
            let picked: Vec<usize> = (0..n).map(|_| random.below(few)).collect();
            bytes = picked.iter().flat_map(|&i| bytes[i * size..(i + 1) * size].to_vec()).collect();
        }
        Array::new(random, Tensor { dtype, shape: Shape::from(shape), bytes })
    }

    /// Indices of an axis: a few below it and a few above.
    fn indices(random: &mut Random, length: usize, shape: &[usize]) -> Array {
        let n: usize = shape.iter().product();
        let one = |random: &mut Random| random.below(length + 4) as i64 - 2;
        let bytes = (0..n).flat_map(|_| one(random).to_le_bytes()).collect();
        Array::new(random, Tensor { dtype: DType::I64, shape: Shape::from(shape), bytes })
    }
}

/// Puts operands and op together; `None` where the op has no such operands.
pub(super) fn case(name: String, op: Op, call: CallOp, operands: Vec<Array>) -> Option<CallCase> {
    let mut graph = Graph::new();
    let mut ids = Vec::new();
    for operand in &operands {
        ids.push(graph.input(operand.tensor.dtype, operand.tensor.shape.clone()).ok()?);
    }
    let id = graph.push(op, &ids).ok()?;
    graph.output(id);
    let inputs: Vec<Tensor> = operands.iter().map(|a| a.tensor.clone()).collect();
    let want = reference::evaluate(&graph, &inputs).ok()?.pop()?;
    let operand = |(i, a): (usize, &Array)| Operand {
        buffer: BufferId(i as u32),
        dtype: a.tensor.dtype,
        layout: a.layout.clone(),
    };
    let call = Call {
        op: call,
        operands: operands.iter().enumerate().map(operand).collect(),
        output: BufferId(operands.len() as u32),
        layout: Layout::contiguous(want.shape.clone()),
        dtype: want.dtype,
    };
    let name = format!("{name} -> {} {}", want.dtype, want.shape);
    Some(CallCase { name, call, operands: operands.into_iter().map(|a| a.bytes).collect(), want: want.bytes })
}

pub(super) fn shape(random: &mut Random, large: bool) -> Vec<usize> {
    let small: [&[usize]; 8] =
        [&[1], &[5], &[3, 4], &[2, 3, 4], &[5, 1, 30], &[1, 40, 2], &[0, 3], &[2, 3, 2, 4]];
    let more: [&[usize]; 6] = [&[2500], &[2, 1100], &[1030, 2], &[7, 33, 20], &[3, 2100], &[300, 16]];
    let list: &[&[usize]] = if large { &more } else { &small };
    list[random.below(list.len())].to_vec()
}

/// A random call from a seed; `None` for seeds whose choices do not fit together. Large ones have lines that need
/// several blocks.
pub fn random_call(seed: u64, large: bool) -> Option<CallCase> {
    let random = &mut Random::new(seed);
    let kind = KINDS[seed as usize % KINDS.len()];
    let shape = shape(random, large);
    let axis = random.below(shape.len());
    let dtype = DType::ALL[random.below(DType::ALL.len())];
    let length = shape[axis];
    let with = |n: usize| {
        let mut other = shape.clone();
        other[axis] = n;
        other
    };
    let name = format!("{kind} of {dtype} {shape:?} along {axis}, seed {seed}");
    match kind {
        "take" => {
            let count = random.below(2 * length + 3);
            let operands = vec![Array::any(random, dtype, &shape), Array::indices(random, length, &[count])];
            case(name, Op::Take { axis }, CallOp::Take { axis }, operands)
        }
        "gather" => {
            let given = with(random.below(2 * length + 3));
            let operands = vec![Array::any(random, dtype, &shape), Array::indices(random, length, &given)];
            case(name, Op::Gather { axis }, CallOp::Gather { axis }, operands)
        }
        "scatter" => {
            let op = ScatterOp::ALL[random.below(4)];
            op.check(dtype).ok()?;
            let given = with(random.below(2 * length + 100));
            let index = Array::indices(random, length, &given);
            let operands = vec![Array::any(random, dtype, &shape), index, Array::any(random, dtype, &given)];
            case(format!("{op} {name}"), Op::Scatter { op, axis }, CallOp::Scatter { op, axis }, operands)
        }
        "sort" | "argsort" => {
            let (descending, indices) = (random.chance(50), kind == "argsort");
            let operands = vec![Array::any(random, dtype, &shape)];
            let call = CallOp::Sort { axis, descending, indices };
            case(name, Op::Sort { axis, descending, indices }, call, operands)
        }
        "searchsorted" => {
            let right = random.chance(50);
            let n = random.below(200);
            let operands = vec![Array::any(random, dtype, &[n]), Array::any(random, dtype, &shape)];
            case(name, Op::SearchSorted { right }, CallOp::SearchSorted { right }, operands)
        }
        "compress" => {
            let count = random.below(shape[0] + 1);
            let mask = Array::any(random, DType::Bool, &shape[..1]);
            let operands = vec![mask, Array::any(random, dtype, &shape)];
            case(name, Op::Compress { count }, CallOp::Compress, operands)
        }
        _ => {
            let op = if random.chance(50) { ReduceOp::Sum } else { ReduceOp::Prod };
            let operands = vec![Array::any(random, dtype, &shape)];
            case(format!("{op} {name}"), Op::Scan { op, axis }, CallOp::Scan { op, axis }, operands)
        }
    }
}

/// A random convolution from a seed; `None` for seeds whose choices do not fit together.
pub fn random_convolution(seed: u64, large: bool) -> Option<CallCase> {
    let random = &mut Random::new(seed ^ 0xc0);
    let shapes: [(&[usize], &[usize]); 8] = [
        (&[9], &[4]),
        (&[40], &[37]),
        (&[5, 7], &[3, 2]),
        (&[20, 30], &[1, 5]),
        (&[3, 4, 5], &[2, 2, 3]),
        (&[6, 1], &[3, 1]),
        (&[2, 3, 4, 5], &[1, 2, 2, 2]),
        (&[3, 70], &[2, 34]),
    ];
    let more: [(&[usize], &[usize]); 4] =
        [(&[70, 300], &[15, 15]), (&[1200], &[9]), (&[40, 90], &[40, 3]), (&[3, 30, 140], &[2, 5, 4])];
    let (n, k) = if large { more[random.below(4)] } else { shapes[random.below(8)] };
    let mode = ConvolveMode::ALL[random.below(3)];
    let boundary = Boundary::ALL[random.below(Boundary::ALL.len())];
    let dtype = DType::ALL[random.below(DType::ALL.len())];
    let (n, k) = if mode != ConvolveMode::Valid && random.chance(20) { (k, n) } else { (n, k) };
    let name =
        format!("{} {} convolution of {dtype} {n:?} with {k:?}, seed {seed}", mode.name(), boundary.name());
    let operands =
        vec![Array::any(random, dtype, n), Array::any(random, dtype, k), Array::any(random, dtype, &[])];
    case(name, Op::Convolve { mode, boundary }, CallOp::Convolve { mode, boundary }, operands)
}
