//! Random choices: shapes, dtypes, values and the views through which operands are seen.

use crossover::{Array, Complex, DType, Element, Index, Indices, Kind, Scalar, Shape, bf16, f16};

/// The dtypes of some kinds, in the order of [`DType::ALL`].
const fn of_kinds<const N: usize>(kinds: &[Kind]) -> [DType; N] {
    let mut out = [DType::Bool; N];
    let (mut i, mut n) = (0, 0);
    while i < DType::ALL.len() {
        let mut k = 0;
        while k < kinds.len() {
            if DType::ALL[i].kind() as u8 == kinds[k] as u8 {
                out[n] = DType::ALL[i];
                n += 1;
            }
            k += 1;
        }
        i += 1;
    }
    assert!(n == N);
    out
}

/// Every dtype that is a number.
pub const NUMBERS: [DType; 14] = of_kinds(&[Kind::Int, Kind::Float, Kind::Complex]);
/// Integers and real floats.
pub const REALS: [DType; 12] = of_kinds(&[Kind::Int, Kind::Float]);
/// What has a smallest and a largest element: booleans, integers and real floats.
pub const ORDERED: [DType; 13] = of_kinds(&[Kind::Bool, Kind::Int, Kind::Float]);
/// Integers.
pub const INTEGERS: [DType; 8] = of_kinds(&[Kind::Int]);
/// Real floats.
pub const FLOATS: [DType; 4] = of_kinds(&[Kind::Float]);

/// Where values come from.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Values {
    /// Every bit pattern: NaN, infinities, subnormals, the extremes of integers.
    Bits,
    /// Zeros of both signs, ones, infinities, NaN, the largest and smallest of the dtype.
    Special,
    /// Evenly between two numbers, cut to what the dtype holds.
    Between(f64, f64),
    /// Magnitudes over many powers of two, finite.
    Spread,
    /// Few different values, so that there are ties.
    Few,
}

/// A stream of choices.
pub struct Dice(u64);

impl Dice {
    /// The stream of case `index` of an operation.
    pub fn new(name: &str, seed: u64, index: u64) -> Dice {
        let named = name.bytes().fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
            (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
        });
        let mut dice = Dice(named ^ seed.wrapping_mul(0x9e37_79b9_7f4a_7c15));
        dice.0 = dice.word() ^ index.wrapping_mul(0xd134_2543_de82_ef95);
        dice.word();
        dice
    }

    /// 64 random bits, by SplitMix64.
    pub fn word(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let z = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// Below `n`, which is not 0.
    pub fn below(&mut self, n: usize) -> usize {
        (self.word() % n as u64) as usize
    }

    /// From `low` to `high`, both included.
    pub fn between(&mut self, low: i64, high: i64) -> i64 {
        low + self.below((high - low + 1) as usize) as i64
    }

    /// True once in `n` times.
    pub fn once_in(&mut self, n: usize) -> bool {
        self.below(n) == 0
    }

    /// From 0 to before 1.
    pub fn unit(&mut self) -> f64 {
        (self.word() >> 11) as f64 / (1u64 << 53) as f64
    }

    /// One of a list.
    pub fn pick<T: Copy>(&mut self, from: &[T]) -> T {
        from[self.below(from.len())]
    }

    /// A length: mostly small, rarely 0, sometimes past the size of a tile.
    pub fn length(&mut self) -> usize {
        match self.below(60) {
            0 => 0,
            1..=5 => 1,
            6..=52 => self.below(9) + 1,
            53..=57 => self.below(60) + 1,
            _ => self.below(1500) + 1,
        }
    }

    /// A shape of some ranks; at most a few thousand elements.
    pub fn shape(&mut self, least: usize, most: usize) -> Vec<usize> {
        let rank = least + self.below(most - least + 1);
        let mut dims: Vec<usize> = Vec::new();
        for _ in 0..rank {
            let room = 4000 / dims.iter().product::<usize>().max(1);
            dims.push(self.length().min(room.max(2)));
        }
        dims
    }

    /// A shape without empty axes.
    pub fn filled_shape(&mut self, least: usize, most: usize) -> Vec<usize> {
        self.shape(least, most).into_iter().map(|n| n.max(1)).collect()
    }

    /// A shape that broadcasts against `shape`.
    pub fn broadcasting(&mut self, shape: &[usize]) -> Vec<usize> {
        if !self.once_in(3) {
            return shape.to_vec();
        }
        let keep = self.below(shape.len() + 1);
        shape[keep..].iter().map(|&n| if self.once_in(3) { 1 } else { n }).collect()
    }

    /// An axis of a rank, counted from either end.
    pub fn axis(&mut self, rank: usize) -> i64 {
        let axis = self.below(rank) as i64;
        if self.once_in(2) { axis - rank as i64 } else { axis }
    }

    /// Axes of a reduction: all (empty), one or several.
    pub fn axes(&mut self, rank: usize) -> Vec<i64> {
        if rank == 0 || self.once_in(4) {
            return Vec::new();
        }
        if self.once_in(2) {
            return vec![self.axis(rank)];
        }
        let mut axes: Vec<i64> = (0..rank as i64).filter(|_| self.once_in(2)).collect();
        if axes.is_empty() {
            axes.push(self.axis(rank));
        }
        axes
    }

    /// Numbers 0, 1, … in some order.
    pub fn permutation(&mut self, n: usize) -> Vec<i64> {
        let mut order: Vec<i64> = (0..n as i64).collect();
        for i in (1..n).rev() {
            let j = self.below(i + 1);
            order.swap(i, j);
        }
        order
    }

    /// Any source of values.
    pub fn values(&mut self) -> Values {
        match self.below(8) {
            0 => Values::Bits,
            1 => Values::Special,
            2 => Values::Between(-1.5, 1.5),
            3 => Values::Between(-9.0, 9.0),
            4 => Values::Between(-800.0, 800.0),
            5 => Values::Few,
            _ => Values::Spread,
        }
    }

    /// A source of finite values of moderate size.
    pub fn moderate(&mut self) -> Values {
        match self.below(4) {
            0 => Values::Between(-1.0, 1.0),
            1 => Values::Between(0.0, 1.0),
            2 => Values::Few,
            _ => Values::Between(-100.0, 100.0),
        }
    }

    /// One value.
    pub fn value(&mut self, dtype: DType, values: Values) -> Scalar {
        if dtype.is_complex() {
            let [re, im] = [(); 2].map(|()| self.value(dtype.real(), values).bits()[0]);
            return Scalar::from_bits(dtype, [re, im]);
        }
        match values {
            Values::Bits if dtype == DType::Bool => Scalar::from_bits(dtype, [self.word() & 1, 0]),
            Values::Bits => Scalar::from_bits(dtype, [self.word(), 0]),
            Values::Special => self.special(dtype),
            Values::Between(low, high) => real(dtype, low + (high - low) * self.unit()),
            Values::Spread => {
                let size = ((self.unit() - 0.5) * 80.0).exp2() * (1.0 + self.unit());
                let sign = if self.once_in(2) { -1.0 } else { 1.0 };
                // What a 16-bit float cannot hold stays in reach.
                let size = if dtype == DType::F16 { size.sqrt().sqrt() } else { size };
                real(dtype, sign * size)
            }
            Values::Few => real(dtype, self.between(-3, 3) as f64 / if self.once_in(2) { 1.0 } else { 2.0 }),
        }
    }

    fn special(&mut self, dtype: DType) -> Scalar {
        if dtype.is_float() {
            let (smallest, largest) = match dtype {
                DType::F16 => (5.960464477539063e-8, 65504.0),
                DType::BF16 => (9.183549615799121e-41, 3.3895313892515355e38),
                DType::F32 => (f32::from_bits(1) as f64, f32::MAX as f64),
                _ => (f64::from_bits(1), f64::MAX),
            };
            let list = [0.0, -0.0, 1.0, -1.0, 0.5, 2.0, -3.0, smallest, -smallest, largest, -largest];
            return match self.below(14) {
                0 => real(dtype, f64::INFINITY),
                1 => real(dtype, f64::NEG_INFINITY),
                2 => real(dtype, f64::NAN),
                n => real(dtype, list[n - 3]),
            };
        }
        let width = dtype.size() * 8;
        let lowest = 1u64 << (width - 1);
        let words = [0, 1, 2, 3, 7, u64::MAX, u64::MAX - 1, lowest, lowest.wrapping_sub(1), lowest | 1];
        let word = self.pick(&words);
        Scalar::from_bits(dtype, [if dtype == DType::Bool { word & 1 } else { word }, 0])
    }

    /// A contiguous array.
    pub fn array(&mut self, dtype: DType, shape: &[usize], values: Values) -> Array {
        let count = shape.iter().product();
        let scalars: Vec<Scalar> = (0..count).map(|_| self.value(dtype, values)).collect();
        from_scalars(dtype, &scalars, shape)
    }

    /// An array seen through some view: axes stored in another order, flipped, every second or third entry of a larger
    /// one, repeated by broadcasting, or as it is.
    pub fn operand(&mut self, dtype: DType, shape: &[usize], values: Values) -> Array {
        if shape.is_empty() || self.once_in(3) {
            return self.array(dtype, shape, values);
        }
        let order =
            if self.once_in(3) { self.permutation(shape.len()) } else { (0..shape.len() as i64).collect() };
        let mut spans: Vec<Index> = Vec::new();
        let mut stored = vec![0; shape.len()];
        let mut repeated = false;
        for (axis, &n) in shape.iter().enumerate() {
            let (length, span) = match self.below(8) {
                0 if n > 0 => {
                    repeated = true;
                    (1, Index::from(..))
                }
                1 | 2 => (n, Index::from(..).step(-1)),
                3 => {
                    let (step, start) = (self.between(2, 3), self.between(0, 2));
                    let stop = start + (n as i64) * step;
                    let extra = self.between(0, 2);
                    ((stop + extra) as usize, Index::Range { start: Some(start), stop: Some(stop), step })
                }
                _ => (n, Index::from(..)),
            };
            stored[order[axis] as usize] = length;
            spans.push(span);
        }
        let base = self.array(dtype, &stored, values);
        // Axis `axis` of the view is axis `order[axis]` of what is stored.
        let view = base.permute(order).slice(Indices::from(spans));
        if repeated { view.broadcast_to(Shape::from(shape.to_vec())) } else { view }
    }

    /// An operand of a dtype from a list, with any shape of up to three axes and any values.
    pub fn any(&mut self, dtypes: &[DType], least: usize, most: usize) -> Array {
        let (dtype, shape, values) = (self.pick(dtypes), self.shape(least, most), self.values());
        self.operand(dtype, &shape, values)
    }

    /// Indices into an axis, negative ones too, of an integer dtype.
    pub fn indices(&mut self, length: usize, shape: &[usize]) -> Array {
        let dtype = self.pick(&[DType::I64, DType::I32, DType::U16, DType::I16]);
        let low = if dtype.is_signed_int() { -(length as i64) } else { 0 };
        let count: usize = shape.iter().product();
        let scalars: Vec<Scalar> =
            (0..count).map(|_| real(dtype, self.between(low, length as i64 - 1) as f64)).collect();
        from_scalars(dtype, &scalars, shape)
    }
}

/// A number in a dtype: what the dtype's conversion makes of it.
fn real(dtype: DType, value: f64) -> Scalar {
    match dtype.kind() {
        Kind::Bool => Scalar::from_bits(dtype, [u64::from(value > 0.0), 0]),
        _ => value.to_scalar().cast(dtype),
    }
}

/// An array of scalars of one dtype.
fn from_scalars(dtype: DType, scalars: &[Scalar], shape: &[usize]) -> Array {
    fn typed<T: Element>(scalars: &[Scalar], shape: &[usize]) -> Array {
        Array::from_vec(scalars.iter().map(|&s| T::from_scalar(s)).collect(), Shape::from(shape.to_vec()))
    }
    match dtype {
        DType::Bool => typed::<bool>(scalars, shape),
        DType::I8 => typed::<i8>(scalars, shape),
        DType::I16 => typed::<i16>(scalars, shape),
        DType::I32 => typed::<i32>(scalars, shape),
        DType::I64 => typed::<i64>(scalars, shape),
        DType::U8 => typed::<u8>(scalars, shape),
        DType::U16 => typed::<u16>(scalars, shape),
        DType::U32 => typed::<u32>(scalars, shape),
        DType::U64 => typed::<u64>(scalars, shape),
        DType::F16 => typed::<f16>(scalars, shape),
        DType::BF16 => typed::<bf16>(scalars, shape),
        DType::F32 => typed::<f32>(scalars, shape),
        DType::F64 => typed::<f64>(scalars, shape),
        DType::C64 => typed::<Complex<f32>>(scalars, shape),
        DType::C128 => typed::<Complex<f64>>(scalars, shape),
    }
}
