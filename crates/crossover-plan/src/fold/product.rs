//! Finds products whose result only goes through a bias and an activation: one call of a library that can do both.
//!
//! Products are computed within a bound, and so is what is folded into one: the sum and the activation then see the product before it is rounded to its dtype.

use crossover_core::{
    DType, Layout, Shape,
    ops::{MapOp, cast},
};

use super::Uses;
use crate::{
    cost,
    kernel::{Activation, BufferId, Call, CallOp, Fused, Kernel, Kind, Operand, StepOp, Window},
    plan::{Fold, Launch, Plan},
};

/// The call for the product at `at` and the kernel after it.
pub(super) fn fold(plan: &Plan, uses: &Uses, at: usize) -> Option<Fold> {
    let Kernel::Call(product) = &plan.launches[at].kernel else { return None };
    let Kernel::Fused(after) = &plan.launches[at + 1].kernel else { return None };
    let can = matches!(product.dtype, DType::F32 | DType::F16 | DType::BF16);
    if product.op != CallOp::MatMul || !can || uses.only_user(product.output) != Some(at + 1) {
        return None;
    }
    let size = product.layout.shape.size();
    let [store] = &after.stores[..] else { return None };
    let whole = |id: BufferId| plan.buffers[id.0 as usize].elements == size;
    if after.kind != Kind::Map
        || store.dtype != product.dtype
        || !whole(product.output)
        || !whole(store.buffer)
    {
        return None;
    }
    let is_plain = |window: &Window| {
        let dims: Shape = after.space.dims().iter().copied().collect();
        window.offset == 0 && Layout::contiguous(dims).strides[..] == window.strides[..]
    };
    let source = after.loads.iter().position(|load| load.buffer == product.output)?;
    if !is_plain(&after.loads[source].window) || !is_plain(&store.window) || after.space.size() != size {
        return None;
    }
    let chain = Chain::read(after, source, product.dtype, store.step)?;
    let mut operands = product.operands.clone();
    if let Some(load) = chain.bias {
        operands.push(row_vector(after, load, product)?);
    }
    let op = CallOp::Linear { bias: chain.bias.is_some(), activation: chain.activation };
    let call = Call { op, operands, output: store.buffer, ..product.clone() };
    let kernel = Kernel::Call(call);
    let cost = cost::kernel(&kernel, &plan.buffers);
    let launch = Launch { name: cost::name(&kernel), kernel, cost, free: Vec::new(), fold: None };
    Some(Fold { launch, zero: chain.zero })
}

/// A load that repeats one row of as many elements as the product has columns.
fn row_vector(after: &Fused, load: usize, product: &Call) -> Option<Operand> {
    let (load, dims) = (&after.loads[load], after.space.dims());
    let columns = *product.layout.shape.dims().last()?;
    let ((&last, &stride), rest) =
        (dims.last().zip(load.window.strides.last())?, &load.window.strides[..dims.len() - 1]);
    if last != columns || stride != 1 || rest.iter().any(|&s| s != 0) || load.dtype != product.dtype {
        return None;
    }
    let layout = Layout { offset: load.window.offset, ..Layout::contiguous(Shape::from([columns])) };
    Some(Operand { buffer: load.buffer, dtype: load.dtype, layout })
}

/// What happens to the product.
struct Chain {
    /// The load that is added.
    bias: Option<usize>,
    activation: Activation,
    /// The scalar that must be 0.
    zero: Option<u16>,
}

impl Chain {
    /// Reads the steps; `None` if there is anything but a sum, an activation and roundings, in this order.
    fn read(after: &Fused, source: usize, dtype: DType, last: u16) -> Option<Chain> {
        let mut chain = Chain { bias: None, activation: Activation::None, zero: None };
        let mut value = None;
        for (at, step) in after.steps.iter().enumerate() {
            let other = || step.args.iter().copied().find(|&a| Some(a) != value);
            let operand = || other().map(|a| &after.steps[a as usize].op);
            let on_chain = step.args.iter().any(|&a| Some(a) == value);
            match &step.op {
                StepOp::Load(load) if *load as usize == source && value.is_none() => {}
                StepOp::Load(_) | StepOp::Scalar(_) => continue,
                StepOp::Canonical if on_chain => {}
                StepOp::Cast(cast::Step::Round(to)) if on_chain && *to == dtype => {}
                StepOp::Map(MapOp::Add)
                    if on_chain && chain.bias.is_none() && chain.activation == Activation::None =>
                {
                    let StepOp::Load(load) = operand()? else { return None };
                    chain.bias = Some(*load as usize);
                }
                StepOp::Map(MapOp::Gelu) if on_chain && chain.activation == Activation::None => {
                    chain.activation = Activation::Gelu;
                }
                StepOp::Map(MapOp::Maximum) if on_chain && chain.activation == Activation::None => {
                    let StepOp::Scalar(slot) = operand()? else { return None };
                    (chain.activation, chain.zero) = (Activation::Relu, Some(*slot));
                }
                _ => return None,
            }
            value = Some(u16::try_from(at).ok()?);
        }
        let does_something = chain.bias.is_some() || chain.activation != Activation::None;
        let loads = 1 + usize::from(chain.bias.is_some());
        (value == Some(last) && does_something && after.loads.len() == loads).then_some(chain)
    }
}
