//! Which NaN an operand is must not matter to an op, unless the op says so: inside a fused kernel the sign of a NaN is
//! whatever the device makes.
#![allow(clippy::unwrap_used)]

use crossover_core::{
    DType, Graph, Scalar, Shape,
    graph::Op,
    ops::MapOp,
    reference::{self, Tensor},
};

/// Every pair of edge values as the parts of a complex number, or every edge value.
fn values(dtype: DType) -> Vec<Scalar> {
    let parts: Vec<u64> = reference::edges(dtype.real()).iter().map(|s| s.bits()[0]).collect();
    if !dtype.is_complex() {
        return parts.iter().map(|&re| Scalar::from_bits(dtype, [re, 0])).collect();
    }
    let pairs = parts.iter().flat_map(|&re| parts.iter().map(move |&im| [re, im]));
    pairs.map(|bits| Scalar::from_bits(dtype, bits)).collect()
}

/// The value with the sign of every part that is NaN set or cleared.
fn with_nans(value: Scalar, negative: bool) -> Scalar {
    let dtype = value.dtype();
    let (top, infinity) = match dtype.real() {
        DType::F32 => (1 << 31, f32::INFINITY.to_bits() as u64),
        _ => (1 << 63, f64::INFINITY.to_bits()),
    };
    let part = |bits: u64| match bits & !top > infinity {
        true if negative => bits | top,
        true => bits & !top,
        false => bits,
    };
    let [re, im] = value.bits();
    Scalar::from_bits(dtype, [part(re), part(im)])
}

fn tensor(values: &[Scalar], negative: bool) -> Tensor {
    let dtype = values[0].dtype();
    let mut bytes = vec![0; values.len() * dtype.size()];
    for (slot, &value) in bytes.chunks_mut(dtype.size()).zip(values) {
        with_nans(value, negative).write_to(slot);
    }
    Tensor { dtype, shape: Shape::from([values.len()]), bytes }
}

#[test]
fn ops_that_do_not_say_so_ignore_the_sign_of_a_nan() {
    let mut found = Vec::new();
    for &op in MapOp::ALL {
        for dtype in [DType::F32, DType::F64, DType::C64, DType::C128] {
            if !op.supports(dtype) || op.info().sees_nan(dtype) {
                continue;
            }
            let values = values(dtype);
            // All of them for the first operand; the others run through them at other speeds.
            let operands: Vec<Vec<Scalar>> = (0..op.arity())
                .map(|i| (0..4 * values.len()).map(|k| values[k * (i * 6 + 1) % values.len()]).collect())
                .collect();
            let mut graph = Graph::new();
            let shape = Shape::from([operands[0].len()]);
            let ids: Vec<_> = operands.iter().map(|_| graph.input(dtype, shape.clone()).unwrap()).collect();
            let out = graph.push(Op::Map(op), &ids).unwrap();
            graph.output(out);
            let results = [false, true].map(|negative| {
                let inputs: Vec<Tensor> = operands.iter().map(|o| tensor(o, negative)).collect();
                reference::evaluate(&graph, &inputs).unwrap().remove(0).bytes
            });
            let size = op.result(dtype).unwrap().size();
            let mut pairs = results[0].chunks(size).zip(results[1].chunks(size));
            if let Some(at) = pairs.position(|(a, b)| a != b) {
                let given: Vec<Scalar> = operands.iter().map(|o| o[at]).collect();
                found.push(format!("{op} of {dtype}, for example at {given:?}"));
            }
        }
    }
    assert!(found.is_empty(), "these depend on the sign of a NaN and do not say so:\n{}", found.join("\n"));
}
