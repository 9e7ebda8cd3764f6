//! What the tour runs: the first things that users of array libraries ask for, at three sizes each.

use anyhow::Result;
use crossover::{
    Array, DType,
    random::{self, Key},
};

use crate::expressions;

/// One kind of work.
pub struct Workload {
    /// Name in the table.
    pub title: &'static str,
    /// Name in JSON.
    pub name: &'static str,
    /// Sizes, smallest first. `--quick` leaves out the last.
    pub sizes: [&'static [usize]; 3],
    /// Random operands of a size, evaluated.
    pub operands: fn(&Key, &[usize]) -> Vec<Operand>,
    /// The expression. Builds, does not evaluate.
    pub build: fn(&[usize], &[Array]) -> Array,
    /// What its speed is given in.
    pub unit: Unit,
    /// How its result is judged.
    pub check: Check,
}

/// An operand, with the axis along which the check may take a sample of it; `None` takes all.
pub struct Operand {
    pub array: Array,
    pub axis: Option<usize>,
}

/// What speed is given in.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Unit {
    /// Bytes read and written.
    Bytes,
    /// Arithmetic operations of a matrix product.
    Flops,
    /// Random points drawn.
    Points,
}

/// How a result is judged.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Check {
    /// Bit for bit against the reference on entries along an axis of the result, which depend only on the same
    /// entries of the operands.
    Sample(usize),
    /// Bit for bit against the reference, whole.
    Whole,
    /// Against a count made one point at a time.
    Count,
    /// Against float64, within the error bound that `matmul` states, on some rows.
    Bound,
}

/// Seeds of the two coordinates of the points that are counted.
pub const ACROSS: u64 = 2026;
pub const UP: u64 = 2027;

/// Every kind of work, in the order of the table.
pub const WORKLOADS: [Workload; 11] = [
    Workload {
        title: "GELU",
        name: "gelu",
        sizes: [&[64, 1024], &[1024, 1024], &[4096, 1024]],
        operands: |key, size| vec![normal(key, 0, size, DType::F32, Some(0))],
        build: |_, x| x[0].gelu(),
        unit: Unit::Bytes,
        check: Check::Sample(0),
    },
    Workload {
        title: "a*b+sqrt(a)-b/2",
        name: "expression",
        sizes: [&[10_000], &[1_000_000], &[10_000_000]],
        operands: |key, size| {
            let positive = random::uniform::<f64>(&key.fold(0), size) + 0.1;
            vec![Operand { array: positive, axis: Some(0) }, normal(key, 1, size, DType::F64, Some(0))]
        },
        build: |_, x| expressions::expression(&x[0], &x[1]),
        unit: Unit::Bytes,
        check: Check::Sample(0),
    },
    Workload {
        title: "layer norm",
        name: "layer_norm",
        sizes: [&[64, 768], &[1024, 768], &[16384, 768]],
        operands: |key, size| {
            let row = &size[1..];
            vec![
                normal(key, 0, size, DType::F32, Some(0)),
                normal(key, 1, row, DType::F32, None),
                normal(key, 2, row, DType::F32, None),
            ]
        },
        build: |_, x| expressions::layer_norm(&x[0], &x[1], &x[2]),
        unit: Unit::Bytes,
        check: Check::Sample(0),
    },
    Workload {
        title: "softmax",
        name: "softmax",
        sizes: [&[64, 1024], &[1024, 1024], &[4096, 1024]],
        operands: |key, size| vec![normal(key, 0, size, DType::F32, Some(0))],
        build: |_, x| expressions::softmax(&x[0]),
        unit: Unit::Bytes,
        check: Check::Sample(0),
    },
    Workload {
        title: "standardise",
        name: "standardise",
        sizes: [&[1000, 100], &[10_000, 100], &[10_000, 1000]],
        operands: |key, size| vec![normal(key, 0, size, DType::F32, Some(1))],
        build: |_, x| expressions::standardise(&x[0]),
        unit: Unit::Bytes,
        check: Check::Sample(1),
    },
    Workload {
        title: "sinusoid",
        name: "sinusoid",
        sizes: [&[1, 128, 512], &[8, 256, 512], &[8, 2048, 512]],
        operands: |_, size| {
            let positions: Vec<i32> = (0..size[0]).flat_map(|_| 0..size[1] as i32).collect();
            vec![
                Operand { array: Array::from_vec(positions, &size[..2]), axis: Some(1) },
                Operand { array: Array::from(expressions::frequencies()), axis: None },
            ]
        },
        build: |_, x| expressions::sinusoid(&x[0], &x[1]),
        unit: Unit::Bytes,
        check: Check::Sample(1),
    },
    Workload {
        title: "pi by sampling",
        name: "pi",
        sizes: [&[100_000], &[1_000_000], &[10_000_000]],
        operands: |_, _| Vec::new(),
        build: |size, _| expressions::points_inside(&Key::new(ACROSS), &Key::new(UP), size[0]),
        unit: Unit::Points,
        check: Check::Count,
    },
    Workload {
        title: "sum",
        name: "sum",
        sizes: [&[10_000], &[1_000_000], &[10_000_000]],
        operands: |key, size| vec![normal(key, 0, size, DType::F32, None)],
        build: |_, x| x[0].sum(()),
        unit: Unit::Bytes,
        check: Check::Whole,
    },
    Workload {
        title: "XOR of bytes",
        name: "xor",
        sizes: [&[1 << 16], &[1 << 22], &[1 << 26]],
        operands: |key, size| vec![bytes(key, 0, size), bytes(key, 1, size)],
        build: |_, x| &x[0] ^ &x[1],
        unit: Unit::Bytes,
        check: Check::Sample(0),
    },
    Workload {
        title: "matmul f32",
        name: "matmul_f32",
        sizes: [&[64, 64], &[256, 256], &[1024, 1024]],
        operands: |key, size| square(key, size, DType::F32),
        build: |_, x| x[0].matmul(&x[1]),
        unit: Unit::Flops,
        check: Check::Bound,
    },
    Workload {
        title: "matmul f64",
        name: "matmul_f64",
        sizes: [&[64, 64], &[256, 256], &[1024, 1024]],
        operands: |key, size| square(key, size, DType::F64),
        build: |_, x| x[0].matmul(&x[1]),
        unit: Unit::Flops,
        check: Check::Bound,
    },
];

impl Workload {
    /// Operands of a size, computed now so that making them is not timed.
    pub fn prepare(&self, size: &[usize]) -> Result<Vec<Operand>> {
        let operands = (self.operands)(&Key::new(size.iter().sum::<usize>() as u64), size);
        for operand in &operands {
            operand.array.eval()?;
        }
        Ok(operands)
    }
}

fn normal(key: &Key, index: u64, size: &[usize], dtype: DType, axis: Option<usize>) -> Operand {
    Operand { array: random::normal_dtype(&key.fold(index), size, dtype), axis }
}

fn bytes(key: &Key, index: u64, size: &[usize]) -> Operand {
    let values = random::uniform::<f32>(&key.fold(index), size) * 256.0;
    Operand { array: values.astype(DType::U8), axis: Some(0) }
}

fn square(key: &Key, size: &[usize], dtype: DType) -> Vec<Operand> {
    vec![normal(key, 0, size, dtype, None), normal(key, 1, size, dtype, None)]
}
