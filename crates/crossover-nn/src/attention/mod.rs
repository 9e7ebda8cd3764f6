//! Attention: softmax of scaled products of queries and keys, times values, without ever holding all scores.
//!
//! [`attention`] is the plain form, [`Attention`] the one with options. On the CPU and on GPUs it is one kernel of a plan; memory
//! beyond operands and result does not grow with the number of keys.

mod cpu;
mod kernel;
mod panel;
mod scratch;
mod shape;
mod simd;
mod text;

use crossover_array::{Array, DType, Index, Padding, Precision, Runtime};

use self::{
    cpu::Bias,
    kernel::{Kind, Tiles},
    shape::{Band, Dims, Layout},
    text::Shape4,
};

const OP: &str = "attention";

/// `softmax(q · kᵀ / √head_size) · v`, for each batch and head.
///
/// `q` is `[batch, heads, queries, head_size]`, `k` and `v` are `[batch, heads, keys, head_size]`; a divisor of q's number of heads
/// will do for k and v, which heads then share. Axes in front may be missing. Elements are `f16`, `bf16` or `f32`.
///
/// ```
/// use crossover_array::{Array, Key, random};
/// let [q, k, v] = [1, 2, 3].map(|seed| random::normal::<f32>(&Key::new(seed), [2, 4, 10, 8]));
/// let out = crossover_nn::attention(&q, &k, &v);
/// let weights = crossover_nn::Attention::new().weights(&q, &k);
/// let apart = (&out - weights.matmul(&v)).abs().max(()).item::<f32>()?;
/// assert!(apart < 1e-5);
/// # Ok::<(), crossover_array::Error>(())
/// ```
#[track_caller]
pub fn attention(q: &Array, k: &Array, v: &Array) -> Array {
    Attention::new().call(q, k, v)
}

/// The weights of [`attention`], `[batch, heads, queries, keys]`, for inspection; the same as [`Attention::weights`] without options.
///
/// ```
/// use crossover_array::{Array, Key, random};
/// let q = random::normal::<f32>(&Key::new(1), [1, 2, 5, 8]);
/// let weights = crossover_nn::attention_weights(&q, &q);
/// assert!((weights.sum(-1) - 1.0).abs().max(()).item::<f32>()? < 1e-5);
/// # Ok::<(), crossover_array::Error>(())
/// ```
#[track_caller]
pub fn attention_weights(q: &Array, k: &Array) -> Array {
    Attention::new().weights(q, k)
}

/// Attention with options.
///
/// ```
/// use crossover_array::{Key, random};
/// use crossover_nn::Attention;
/// let [q, k, v] = [1, 2, 3].map(|seed| random::normal::<f32>(&Key::new(seed), [1, 2, 6, 8]));
/// let causal = Attention::new().causal();
/// let (out, lse) = causal.call_with_lse(&q, &k, &v);
/// assert_eq!((out.shape().dims(), lse.shape().dims()), (&[1, 2, 6, 8][..], &[1, 2, 6][..]));
/// // The first query sees the first key alone.
/// let apart = (out.slice(crossover_array::s![.., .., 0]) - v.slice(crossover_array::s![.., .., 0])).abs();
/// assert!(apart.max(()).item::<f32>()? < 1e-6);
/// # Ok::<(), crossover_array::Error>(())
/// ```
///
/// ```
/// // Options together: other scores, fewer keys, and how it is computed.
/// use crossover_array::{Array, Key, Precision, random, s};
/// use crossover_nn::Attention;
/// let [q, k, v] = [1, 2, 3].map(|seed| random::normal::<f32>(&Key::new(seed), [2, 1, 6, 8]));
/// let near = Array::arange(6).expand_dims(1).equal(Array::arange(6)).logical_not();
/// let options = Attention::new()
///     .scale(0.5)
///     .bias(&Array::zeros::<f32>([6, 6]))
///     .mask(&near) // nobody sees the own place
///     .window(2, 2)
///     .lengths(&[6, 4])
///     .block_size(64)
///     .precision(Precision::Exact);
/// let weights = options.weights(&q, &k);
/// assert_eq!(weights.index(0).greater(0.0).sum(-1).to_vec::<i64>()?, [2, 3, 4, 4, 3, 2]);
/// assert_eq!(weights.index(1).slice(s![.., .., 4..]).max(()).item::<f32>()?, 0.0);
/// let apart = (options.call(&q, &k, &v) - weights.matmul(&v)).abs();
/// assert!(apart.max(()).item::<f32>()? < 1e-5);
/// # Ok::<(), crossover_array::Error>(())
/// ```
#[derive(Debug, Clone, Default)]
pub struct Attention {
    scale: Option<f64>,
    causal: bool,
    window: Option<(usize, usize)>,
    bias: Option<Array>,
    mask: Option<Array>,
    lengths: Option<Vec<i64>>,
    block_size: Option<usize>,
    precision: Option<Precision>,
}

impl Attention {
    /// Without options: every query sees every key, and scores are divided by the square root of the head size.
    pub fn new() -> Attention {
        Attention::default()
    }

    /// Multiplies scores by this instead.
    pub fn scale(mut self, scale: f64) -> Attention {
        self.scale = Some(scale);
        self
    }

    /// A query sees no key behind its own place. The last query's place is that of the last key, so that queries after a prefix
    /// of cached keys are where they belong.
    pub fn causal(mut self) -> Attention {
        self.causal = true;
        self
    }

    /// A query sees at most so many keys before and behind its own place.
    pub fn window(mut self, before: usize, behind: usize) -> Attention {
        self.window = Some((before, behind));
        self
    }

    /// Adds this to scaled scores. Its axes are those of the scores, `[batch, heads, queries, keys]`, or of length 1; axes in
    /// front may be missing.
    pub fn bias(mut self, bias: &Array) -> Attention {
        self.bias = Some(bias.clone());
        self
    }

    /// A query sees a key where this is `true`. Shaped as a [`bias`](Attention::bias).
    pub fn mask(mut self, mask: &Array) -> Attention {
        self.mask = Some(mask.clone());
        self
    }

    /// Keys of each batch; those behind are seen by nobody.
    pub fn lengths(mut self, lengths: &[i64]) -> Attention {
        self.lengths = Some(lengths.to_vec());
        self
    }

    /// Keys that are looked at together, a power of two from 16 to 1024: a hint, which the CPU takes. GPUs have tiles that fit them.
    pub fn block_size(mut self, keys: usize) -> Attention {
        self.block_size = Some(keys);
        self
    }

    /// Whether GPUs may round `f32` to TF32 in products; without this, as the [runtime](Runtime::precision) says.
    pub fn precision(mut self, precision: Precision) -> Attention {
        self.precision = Some(precision);
        self
    }

    /// The result.
    #[track_caller]
    pub fn call(&self, q: &Array, k: &Array, v: &Array) -> Array {
        match self.run([q, k, v], false) {
            Ok(out) => out,
            Err(what) => Array::refused(OP, what),
        }
    }

    /// As [`call`](Attention::call), of queries, keys and values as one projection leaves them, `[batch, length, 3, heads, head_size]`.
    /// The result is `[batch, length, heads, head_size]`; nothing is copied to bring heads together or apart.
    ///
    /// ```
    /// use crossover_array::{Key, random};
    /// use crossover_nn::Attention;
    /// let joined = random::normal::<f32>(&Key::new(1), [2, 6, 3, 4, 8]);
    /// let out = Attention::new().call_joined(&joined);
    /// let apart = joined.permute([2, 0, 3, 1, 4]);
    /// let want = Attention::new().call(&apart.index(0), &apart.index(1), &apart.index(2));
    /// assert!((out - want.swap_axes(1, 2)).abs().max(()).item::<f32>()? < 1e-6);
    /// # Ok::<(), crossover_array::Error>(())
    /// ```
    #[track_caller]
    pub fn call_joined(&self, joined: &Array) -> Array {
        self.run_rows(("joined", joined, 3), ("joined", joined, 3), [1, 2])
    }

    /// As [`call_joined`](Attention::call_joined), of queries by themselves, `[batch, queries, heads, head_size]`, and of keys and values
    /// of another sequence, `[batch, keys, 2, heads, head_size]`.
    ///
    /// ```
    /// use crossover_array::{Key, random};
    /// use crossover_nn::Attention;
    /// let q = random::normal::<f32>(&Key::new(1), [2, 6, 4, 8]);
    /// let pairs = random::normal::<f32>(&Key::new(2), [2, 9, 2, 4, 8]);
    /// assert_eq!(Attention::new().call_pairs(&q, &pairs).shape().dims(), [2, 6, 4, 8]);
    /// let wrong = Attention::new().call_pairs(&q, &q).check().unwrap_err();
    /// assert!(wrong.to_string().starts_with("attention: pairs has the shape [2, 6, 4, 8]; it takes [batch, length, 2,"));
    /// ```
    #[track_caller]
    pub fn call_pairs(&self, q: &Array, pairs: &Array) -> Array {
        if q.check().is_ok() && q.ndim() != 4 {
            let what = format!("q has the shape {}; it takes [batch, queries, heads, head size]", q.shape());
            return Array::refused(OP, what);
        }
        self.run_rows(("q", &q.expand_dims(2), 1), ("pairs", pairs, 2), [0, 1])
    }

    /// The result, and the logarithm of the sum of exponentials of the scores of each query, `f32`: minus infinity for a query
    /// that sees no key.
    #[track_caller]
    pub fn call_with_lse(&self, q: &Array, k: &Array, v: &Array) -> (Array, Array) {
        match self.run([q, k, v], true) {
            Ok(packed) => {
                let width = q.shape().dims().last().copied().unwrap_or(0);
                let last = |index: Index| {
                    let all = vec![Index::from(..); packed.ndim().saturating_sub(1)];
                    packed.slice(all.into_iter().chain([index]).collect::<Vec<_>>())
                };
                let out = last(Index::from(..width as i64)).astype(q.dtype());
                (out, last(Index::At(-1)))
            }
            Err(what) => {
                let wrong = Array::refused(OP, what);
                (wrong.clone(), wrong)
            }
        }
    }

    /// The weights, `[batch, heads, queries, keys]`, `f32`, computed by plain array code: for inspection, not for speed.
    #[track_caller]
    pub fn weights(&self, q: &Array, k: &Array) -> Array {
        match self.plain_weights(q, k) {
            Ok(weights) => weights,
            Err(what) => Array::refused("attention_weights", what),
        }
    }

    fn band(&self) -> Band {
        let (left, right) = self.window.unzip();
        Band { left, right: if self.causal { Some(0) } else { right } }
    }

    /// What does not depend on operands.
    fn check(&self, dims: &Dims) -> Result<(), String> {
        // Kernels have it in `f32`, and in powers of two.
        let held = |scale: f64| (scale as f32 * std::f32::consts::LOG2_E).is_finite();
        if let Some(scale) = self.scale.filter(|&scale| !held(scale)) {
            let most = f32::MAX / std::f32::consts::LOG2_E;
            return Err(format!("scale is {scale:?}; it must be finite, and at most {most:.1e} in size"));
        }
        if let Some(keys) = self.block_size.filter(|n| !n.is_power_of_two() || !(16..=1024).contains(n)) {
            return Err(format!("block_size is {keys}; it takes a power of two from 16 to 1024"));
        }
        if let Some(lengths) = &self.lengths {
            if lengths.len() != dims.batch {
                let given = lengths.len();
                return Err(format!(
                    "lengths has {given} numbers; it takes one for each of {} batches",
                    dims.batch
                ));
            }
            if let Some(length) = lengths.iter().find(|n| !(0..=dims.keys as i64).contains(*n)) {
                return Err(format!("lengths has {length}; it takes 0 to the {} keys there are", dims.keys));
            }
        }
        Ok(())
    }

    /// Operands of [`Layout::Rows`], each with its name and its number of parts, of which k and v are these.
    #[track_caller]
    fn run_rows(&self, q: (&str, &Array, usize), kv: (&str, &Array, usize), parts: [usize; 2]) -> Array {
        if let Some((_, failed, _)) = [q, kv].into_iter().find(|(_, x, _)| x.check().is_err()) {
            return failed.clone();
        }
        for (name, x, parts) in [q, kv] {
            if x.ndim() != 5 || x.shape().dims()[2] != parts {
                let what = format!(
                    "{name} has the shape {}; it takes [batch, length, {parts}, heads, head size]",
                    x.shape()
                );
                return Array::refused(OP, what);
            }
        }
        let (q, kv) = (q.1, kv.1);
        let size = q.shape().dims()[4];
        let out = if size.is_multiple_of(8) && self.scaled(size) > 0.0 {
            check_dtypes([("q", q), ("k", kv), ("v", kv)]).and_then(|()| {
                let layout = Layout::Rows(parts);
                let dims = Dims::new(layout, q.shape(), kv.shape(), kv.shape())?;
                self.check(&dims)?;
                self.kernel([q, kv, kv].map(Array::clone), layout, dims, self.scaled(size), false)
            })
        } else {
            // What needs operands of its own has them by heads.
            let heads = |x: &Array, part: usize| x.permute([2, 0, 3, 1, 4]).index(part as i64);
            let operands = [heads(q, 0), heads(kv, parts[0]), heads(kv, parts[1])];
            self.run(operands.each_ref(), false).map(|out| out.swap_axes(1, 2))
        };
        out.unwrap_or_else(|what| Array::refused(OP, what))
    }

    /// By what scores are multiplied.
    fn scaled(&self, head_size: usize) -> f32 {
        self.scale.unwrap_or(1.0 / (head_size as f64).sqrt()) as f32
    }

    #[track_caller]
    fn run(&self, [q, k, v]: [&Array; 3], packed: bool) -> Result<Array, String> {
        // An operand that carries an error hands it on.
        if let Some(failed) = [q, k, v].into_iter().find(|x| x.check().is_err()) {
            return Ok(failed.clone());
        }
        check_dtypes([("q", q), ("k", k), ("v", v)])?;
        let rank = q.ndim();
        let [mut q, mut k, mut v] = [("q", q), ("k", k), ("v", v)].map(|(name, x)| four(name, x));
        let shapes = (q.as_ref()?.shape(), k.as_ref()?.shape(), v.as_ref()?.shape());
        let dims = Dims::new(Layout::Heads, shapes.0, shapes.1, shapes.2)?;
        self.check(&dims)?;
        let size = dims.head_size;
        let mut scale = self.scaled(size);
        if scale <= 0.0 {
            // Kernels look for the largest score before they scale it.
            q = q.map(|q| if scale == 0.0 { q.zeros_like() } else { q.negative() });
            scale = if scale == 0.0 { 1.0 } else { -scale };
        }
        // Kernels read 16 bytes at a time.
        let whole = size.next_multiple_of(8);
        if whole != size {
            let pad = |x: Array| {
                x.pad(&[(0, 0), (0, 0), (0, 0), (0, whole - size)], Padding::Constant(0.0f64.into()))
            };
            [q, k, v] = [q, k, v].map(|x| x.map(pad));
        }
        let dims = Dims { head_size: whole, ..dims };
        let mut out = self.kernel([q?, k?, v?], Layout::Heads, dims, scale, packed)?;
        if whole != size {
            // The log-sum-exp stays last.
            let values = out.slice(crossover_array::s![.., .., .., ..size as i64]);
            out = if packed {
                Array::concat(&[&values, &out.slice(crossover_array::s![.., .., .., -1..])], -1)
            } else {
                values
            };
        }
        Ok((rank..4).fold(out, |out, _| out.squeeze(0)))
    }

    /// The call of the kernel. `dims` are those of the operands.
    #[track_caller]
    fn kernel(
        &self,
        operands: [Array; 3],
        layout: Layout,
        dims: Dims,
        scale: f32,
        packed: bool,
    ) -> Result<Array, String> {
        let (bias, extra) = self.extra(&dims)?;
        let mut operands = Vec::from(operands);
        operands.extend(extra);
        if let Some(lengths) = &self.lengths {
            let lengths: Vec<i32> = lengths.iter().map(|&n| n as i32).collect();
            operands.push(Array::from_vec(lengths, [dims.batch]));
        }
        let precision = self.precision.unwrap_or_else(|| Runtime::current().precision());
        let band = self.band();
        let kind = Kind {
            what: Shape4 {
                dtype: operands[0].dtype(),
                tf32: precision == Precision::Tf32,
                packed,
                bias,
                lengths: self.lengths.is_some(),
                splits: text::splits(&dims, band) > 1,
            },
            layout,
            band,
            scale: scale.to_bits(),
            keys: self.block_size.unwrap_or(cpu::KEYS).next_multiple_of(simd::COLUMNS),
            head_size: dims.head_size,
            tiles: Tiles::new(&dims, band),
        };
        let kernel = kernel::kernel(&kind).map_err(|error| error.to_string())?;
        Ok(kernel.call(&operands.iter().collect::<Vec<_>>()))
    }

    /// Bias and mask as one operand of four axes.
    #[track_caller]
    fn extra(&self, dims: &Dims) -> Result<(Bias, Option<Array>), String> {
        let bias = self.bias.as_ref().map(|bias| {
            let bias = four("bias", bias)?;
            if !bias.dtype().is_float() {
                return Err(format!("bias is {}; it takes floats", bias.dtype()));
            }
            shape::check_bias("bias", bias.shape(), dims)?;
            Ok(bias.astype(DType::F32))
        });
        let mask = self.mask.as_ref().map(|mask| {
            let mask = four("mask", mask)?;
            if mask.dtype() != DType::Bool {
                return Err(format!(
                    "mask is {}; it takes bool, true where a query sees a key",
                    mask.dtype()
                ));
            }
            shape::check_bias("mask", mask.shape(), dims)?;
            Ok(mask)
        });
        Ok(match (bias.transpose()?, mask.transpose()?) {
            (None, None) => (Bias::None, None),
            (Some(bias), None) => (Bias::Added, Some(bias)),
            (None, Some(mask)) => (Bias::Mask, Some(mask)),
            (Some(bias), Some(mask)) => (Bias::Added, Some(mask.where_(&bias, f32::NEG_INFINITY))),
        })
    }

    #[track_caller]
    fn plain_weights(&self, q: &Array, k: &Array) -> Result<Array, String> {
        let rank = q.ndim();
        let (q, k) = (four("q", q)?, four("k", k)?);
        let dims = Dims::new(Layout::Heads, q.shape(), k.shape(), k.shape())?;
        self.check(&dims)?;
        let scale = self.scale.unwrap_or(1.0 / (dims.head_size as f64).sqrt());
        let k = if dims.group > 1 { k.repeat(dims.group, Some(1)) } else { k };
        let mut scores = q.astype(DType::F32).matmul(&k.astype(DType::F32).swap_axes(-1, -2)) * scale;
        match self.extra(&dims)? {
            (Bias::Added, Some(bias)) => scores += bias,
            (Bias::Mask, Some(mask)) => scores = mask.where_(&scores, f32::NEG_INFINITY),
            _ => {}
        }
        let band = self.band();
        let keys = Array::arange(dims.keys as i64);
        let shift = dims.keys as i64 - dims.queries as i64;
        let place = Array::arange(dims.queries as i64).expand_dims(1) + shift;
        let hide = |scores: Array, seen: Array| seen.where_(&scores, f32::NEG_INFINITY);
        if let Some(left) = band.left {
            scores = hide(scores, keys.greater_equal(&(&place - left.min(1 << 30) as i64)));
        }
        if let Some(right) = band.right {
            scores = hide(scores, keys.less_equal(&(&place + right.min(1 << 30) as i64)));
        }
        if let Some(lengths) = &self.lengths {
            let lengths = Array::from_slice(lengths, [dims.batch, 1, 1, 1]);
            scores = hide(scores, keys.less(&lengths));
        }
        // A query that sees nothing has no largest score to subtract.
        let largest = scores.max(crossover_array::keepdims(-1));
        let largest = largest.isfinite().where_(&largest, 0.0f32);
        let weights = (scores - largest).exp();
        let sum = weights.sum(crossover_array::keepdims(-1));
        let sum = sum.equal(0.0f32).where_(1.0f32, &sum);
        Ok((rank..4).fold(weights / sum, |out, _| out.squeeze(0)))
    }
}

/// What is wrong with the types of q, k and v.
fn check_dtypes([(name, q), others @ ..]: [(&str, &Array); 3]) -> Result<(), String> {
    if !matches!(q.dtype(), DType::F16 | DType::BF16 | DType::F32) {
        return Err(format!("{name} is {}; it takes f16, bf16 and f32", q.dtype()));
    }
    match others.into_iter().find(|(_, x)| x.dtype() != q.dtype()) {
        Some((name, x)) => Err(format!("{name} is {} and q is {}; they must be equal", x.dtype(), q.dtype())),
        None => Ok(()),
    }
}

/// With axes of length 1 in front, four in all.
#[track_caller]
fn four(name: &str, x: &Array) -> Result<Array, String> {
    if x.ndim() > 4 || x.ndim() == 0 {
        return Err(format!(
            "{name} has the shape {}; it takes at most [batch, heads, length, head size]",
            x.shape()
        ));
    }
    Ok((x.ndim()..4).fold(x.clone(), |x, _| x.expand_dims(0)))
}
