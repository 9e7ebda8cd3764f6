//! Functions that are array expressions: they fuse with what is around them.

use crossover_array::{Array, DType, keepdims};

/// Gaussian error linear unit, tanh form.
///
/// ```
/// use crossover_array::Array;
/// assert_eq!(crossover_nn::gelu(&Array::from([0.0f32, 100.0])).to_vec::<f32>()?, [0.0, 100.0]);
/// # Ok::<(), crossover_array::Error>(())
/// ```
#[track_caller]
pub fn gelu(x: &Array) -> Array {
    x.gelu()
}

/// Gaussian error linear unit, by the error function: what PyTorch's `gelu` is unless told otherwise.
///
/// ```
/// use crossover_array::Array;
/// assert_eq!(crossover_nn::gelu_exact(&Array::from([0.0f32, 100.0])).to_vec::<f32>()?, [0.0, 100.0]);
/// # Ok::<(), crossover_array::Error>(())
/// ```
#[track_caller]
pub fn gelu_exact(x: &Array) -> Array {
    x.gelu_exact()
}

/// Sigmoid linear unit, `x * sigmoid(x)`.
///
/// ```
/// use crossover_array::Array;
/// assert_eq!(crossover_nn::silu(&Array::from([0.0f32, 200.0])).to_vec::<f32>()?, [0.0, 200.0]);
/// # Ok::<(), crossover_array::Error>(())
/// ```
#[track_caller]
pub fn silu(x: &Array) -> Array {
    x.silu()
}

/// Exponentials that add up to one along an axis.
///
/// ```
/// use crossover_array::Array;
/// assert_eq!(crossover_nn::softmax(&Array::from([1.0f32, 1.0]), -1).to_vec::<f32>()?, [0.5, 0.5]);
/// # Ok::<(), crossover_array::Error>(())
/// ```
#[track_caller]
pub fn softmax(x: &Array, axis: i64) -> Array {
    x.softmax(axis)
}

/// What is wrong with a parameter of rows: it has one element for each of the last axis.
fn check_row(name: &str, row: Option<&Array>, x: &Array) -> Result<(), String> {
    let Some(row) = row else { return Ok(()) };
    let last = x.shape().dims().last().copied();
    if row.ndim() == 1 && Some(row.size()) == last {
        return Ok(());
    }
    Err(format!(
        "{name} has the shape {}; it takes one number for each of the last axis of x, {}",
        row.shape(),
        x.shape()
    ))
}

/// Rows with mean 0 and variance 1, times `weight` and plus `bias` where given.
///
/// ```
/// use crossover_array::Array;
/// let x = Array::from([[1.0f32, 3.0], [10.0, 30.0]]);
/// let y = crossover_nn::layer_norm(&x, Some(&Array::from([2.0f32, 2.0])), None, 0.0);
/// assert_eq!(y.to_vec::<f32>()?, [-2.0, 2.0, -2.0, 2.0]);
/// let wrong = crossover_nn::layer_norm(&x, Some(&Array::from([2.0f32])), None, 0.0);
/// assert!(wrong.check().unwrap_err().to_string().starts_with("layer_norm: weight has the shape [1]"));
/// # Ok::<(), crossover_array::Error>(())
/// ```
#[track_caller]
pub fn layer_norm(x: &Array, weight: Option<&Array>, bias: Option<&Array>, epsilon: f64) -> Array {
    match check_row("weight", weight, x).and_then(|()| check_row("bias", bias, x)) {
        Ok(()) => x.layer_norm(weight, bias, epsilon),
        Err(what) => Array::refused("layer_norm", what),
    }
}

/// Rows divided by the root of the mean of their squares, times `weight` where given. Sixteen-bit elements are computed in `f32` and
/// rounded once.
///
/// ```
/// use crossover_array::Array;
/// let x = Array::from([[3.0f32, 4.0, 0.0, 0.0]]);
/// let y = crossover_nn::rms_norm(&x, None, 0.0);
/// assert_eq!(y.to_vec::<f32>()?, [1.2, 1.6, 0.0, 0.0]);
/// # Ok::<(), crossover_array::Error>(())
/// ```
#[track_caller]
pub fn rms_norm(x: &Array, weight: Option<&Array>, epsilon: f64) -> Array {
    if let Err(what) = check_row("weight", weight, x) {
        return Array::refused("rms_norm", what);
    }
    let wide = widened(x);
    let mean = wide.square().mean(keepdims(-1));
    let out = &wide * (1.0 / (mean + epsilon).sqrt());
    let out = match weight {
        Some(weight) => out * widened(weight),
        None => out,
    };
    out.astype(x.dtype())
}

/// Sixteen-bit elements as `f32`.
#[track_caller]
fn widened(x: &Array) -> Array {
    match x.dtype() {
        DType::F16 | DType::BF16 => x.astype(DType::F32),
        _ => x.clone(),
    }
}

/// What is wrong with the weight of a linear map.
fn check_linear(x: &Array, weight: &Array, bias: Option<&Array>) -> Result<(), String> {
    let &[outputs, inputs] = weight.shape().dims() else {
        return Err(format!("weight has the shape {}; it takes [outputs, inputs]", weight.shape()));
    };
    if x.shape().dims().last() != Some(&inputs) {
        return Err(format!(
            "x has the shape {} and weight {}; x's last axis and weight's must be equal",
            x.shape(),
            weight.shape()
        ));
    }
    match bias {
        Some(bias) if bias.shape().dims() != [outputs] => {
            Err(format!("bias has the shape {}; it takes [{outputs}], weight's first axis", bias.shape()))
        }
        _ => Ok(()),
    }
}

/// `x · weightᵀ + bias`; the weight is `[outputs, inputs]`, as PyTorch has it.
///
/// ```
/// use crossover_array::Array;
/// let weight = Array::from([[1.0f32, 2.0], [0.0, 1.0], [1.0, 0.0]]);
/// let y = crossover_nn::linear(&Array::from([[1.0f32, 10.0]]), &weight, Some(&Array::from([0.5f32, 0.0, 0.0])));
/// assert_eq!(y.to_vec::<f32>()?, [21.5, 10.0, 1.0]);
/// let wrong = crossover_nn::linear(&Array::from([1.0f32]), &weight, None);
/// assert!(wrong.check().unwrap_err().to_string().starts_with("linear: x has the shape [1] and weight [3, 2]"));
/// # Ok::<(), crossover_array::Error>(())
/// ```
#[track_caller]
pub fn linear(x: &Array, weight: &Array, bias: Option<&Array>) -> Array {
    if let Err(what) = check_linear(x, weight, bias) {
        return Array::refused("linear", what);
    }
    let out = match x.shape().dims() {
        // One product of all rows: a product for each of the leading axes would prepare the weight again and again.
        [lead @ .., inputs] if lead.len() > 1 => {
            let rows: usize = lead.iter().product();
            let dims: Vec<i64> = lead.iter().chain(&weight.shape().dims()[..1]).map(|&n| n as i64).collect();
            x.reshape([rows as i64, *inputs as i64]).matmul(&weight.t()).reshape(dims)
        }
        _ => x.matmul(&weight.t()),
    };
    match bias {
        Some(bias) => out + bias,
        None => out,
    }
}

/// [`gelu`] of [`linear`]: one call of a library on a GPU.
///
/// ```
/// use crossover_array::{Array, Key, random};
/// let [x, weight] = [1, 2].map(|seed| random::normal::<f32>(&Key::new(seed), [4, 4]));
/// let y = crossover_nn::linear_gelu(&x, &weight, None);
/// assert_eq!(y.to_vec::<f32>()?, crossover_nn::linear(&x, &weight, None).gelu().to_vec::<f32>()?);
/// # Ok::<(), crossover_array::Error>(())
/// ```
#[track_caller]
pub fn linear_gelu(x: &Array, weight: &Array, bias: Option<&Array>) -> Array {
    match check_linear(x, weight, bias) {
        Ok(()) => linear(x, weight, bias).gelu(),
        Err(what) => Array::refused("linear_gelu", what),
    }
}

/// `silu(gate) * up`. Without `up`, `gate`'s last axis is cut in two halves, gate first.
///
/// ```
/// use crossover_array::Array;
/// let both = Array::from([0.0f32, 200.0, 3.0, 0.5]);
/// assert_eq!(crossover_nn::swiglu(&both, None).to_vec::<f32>()?, [0.0, 100.0]);
/// # Ok::<(), crossover_array::Error>(())
/// ```
#[track_caller]
pub fn swiglu(gate: &Array, up: Option<&Array>) -> Array {
    if let Some(up) = up {
        return gate.silu() * up;
    }
    let last = gate.shape().dims().last().copied().unwrap_or(0);
    if last == 0 || !last.is_multiple_of(2) {
        let what =
            format!("gate has the shape {}; without up its last axis must have two halves", gate.shape());
        return Array::refused("swiglu", what);
    }
    let axes = gate.ndim() as i64;
    // The last axis as two, the first of them in front.
    let dims: Vec<i64> = gate.shape().dims()[..gate.ndim() - 1].iter().map(|&n| n as i64).collect();
    let halves = gate.reshape([&dims[..], &[2, last as i64 / 2]].concat()).move_axis(axes - 1, 0);
    halves.index(0).silu() * halves.index(1)
}

/// How losses of rows become one number.
///
/// ```
/// use crossover_array::Array;
/// use crossover_nn::Reduction;
/// let (logits, targets) = (Array::zeros::<f32>([3, 4]), Array::from([0i64, 1, 2]));
/// let loss = |reduction| crossover_nn::cross_entropy_with(&logits, &targets, reduction, None);
/// assert_eq!(loss(Reduction::None).shape().dims(), [3]);
/// assert_eq!(loss(Reduction::Sum).ndim(), 0);
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Reduction {
    /// Their mean, over rows that are not ignored.
    #[default]
    Mean,
    /// Their sum.
    Sum,
    /// They stay as they are; ignored rows have 0.
    None,
}

/// The mean over rows of `-log(softmax(logits)[target])`, without ever exponentiating what could overflow.
///
/// ```
/// use crossover_array::Array;
/// let logits = Array::from([[2.0f32, 0.0], [0.0, 0.0]]);
/// let loss = crossover_nn::cross_entropy(&logits, &Array::from([0i64, 1]));
/// assert!((loss.item::<f32>()? - 0.410038).abs() < 1e-5);
/// # Ok::<(), crossover_array::Error>(())
/// ```
#[track_caller]
pub fn cross_entropy(logits: &Array, targets: &Array) -> Array {
    cross_entropy_with(logits, targets, Reduction::Mean, None)
}

/// [`cross_entropy`] with another reduction; rows whose target is `ignored` do not count. A target that is no class gives NaN.
///
/// ```
/// use crossover_array::Array;
/// use crossover_nn::{Reduction, cross_entropy_with};
/// let logits = Array::from([[0.0f32, 0.0], [5.0, 0.0]]);
/// let losses = cross_entropy_with(&logits, &Array::from([1i64, -100]), Reduction::None, Some(-100));
/// assert_eq!(losses.to_vec::<f32>()?, [2f32.ln(), 0.0]);
/// # Ok::<(), crossover_array::Error>(())
/// ```
#[track_caller]
pub fn cross_entropy_with(
    logits: &Array,
    targets: &Array,
    reduction: Reduction,
    ignored: Option<i64>,
) -> Array {
    let (rows, classes) = match logits.shape().dims() {
        [rows @ .., classes] if *classes > 0 => (rows, *classes),
        _ => {
            let what = format!("logits has the shape {}; it takes [rows, classes]", logits.shape());
            return Array::refused("cross_entropy", what);
        }
    };
    if targets.shape().dims() != rows {
        let what = format!(
            "targets has the shape {}; it takes that of the rows of logits, {rows:?}",
            targets.shape()
        );
        return Array::refused("cross_entropy", what);
    }
    if !targets.dtype().is_int() {
        let what = format!("targets is {}; it takes integers, the class of each row", targets.dtype());
        return Array::refused("cross_entropy", what);
    }
    let targets = targets.astype(DType::I64);
    let counted = ignored.map(|ignored| targets.not_equal(ignored));
    let inside = targets.greater_equal(0i64).logical_and(targets.less(classes as i64));
    let wide = widened(logits);
    let picked = wide.take_along_axis(&inside.where_(&targets, 0i64).expand_dims(-1), -1).squeeze(-1);
    let mut losses = inside.where_(wide.logsumexp(-1) - picked, f32::NAN);
    if let Some(counted) = &counted {
        losses = counted.where_(&losses, 0.0f32);
    }
    match (reduction, counted) {
        (Reduction::None, _) => losses,
        (Reduction::Sum, _) => losses.sum(()),
        (Reduction::Mean, None) => losses.mean(()),
        (Reduction::Mean, Some(counted)) => losses.sum(()) / counted.astype(DType::F32).sum(()),
    }
}
