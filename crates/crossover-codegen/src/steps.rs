//! Steps as C++ statements: step `i` becomes the constant `s{i}`.

use crossover_core::{
    DType,
    ops::{MapOp, cast::cuda_type},
};
use crossover_plan::kernel::StepOp;

use crate::{entry::Entry, functions::join_type, prelude::Section, source::Argument, stages::store_roots};

/// Where the steps being written find what is not a step: memory elements and the coordinates of the point.
pub(crate) struct Point<'p> {
    /// The element of a load, in its memory type.
    pub(crate) element: &'p dyn Fn(usize) -> String,
    /// Coordinates by axis; axes a value does not vary over may be missing.
    pub(crate) at: &'p [(usize, String)],
    /// Whether the last coordinate ends in ` + k` behind a multiple of 4.
    pub(crate) quads: bool,
}

impl Entry<'_> {
    /// Writes `const T s{id} = …;`.
    pub(crate) fn step(&mut self, id: usize, point: &Point<'_>) {
        let dtype = self.kernel.steps[id].dtype;
        self.uses.dtype(dtype);
        let value = self.value(id, point);
        self.body.line(format!("const {} s{id} = {value};", cuda_type(dtype)));
    }

    fn value(&mut self, id: usize, point: &Point<'_>) -> String {
        let step = &self.kernel.steps[id];
        let arg = |i: usize| format!("s{}", step.args[i]);
        match &step.op {
            StepOp::Load(load) | StepOp::Take { from: load, .. } => {
                let element = (point.element)(*load as usize);
                self.widened(self.kernel.loads[*load as usize].dtype, element)
            }
            StepOp::Scalar(slot) => {
                let name = format!("scalar{slot}");
                self.parameter(cuda_type(step.dtype), name, Argument::Scalar(*slot, step.dtype))
            }
            StepOp::Index { divisor, modulus, .. } => {
                let position = self.position(id, point);
                let divisor = self.index(format!("s{id}_divisor"), *divisor);
                let modulus = self.index(format!("s{id}_modulus"), *modulus);
                format!("(long long)(({position}) / {divisor} % {modulus})")
            }
            StepOp::Random { key, stream, .. } => {
                self.uses.section(Section::Philox);
                if let Some(quad) = self.quad(id, point) {
                    let key = self.load(*key as usize);
                    let block = format!("((unsigned long long)({quad}) >> 2) + k / 4");
                    return format!(
                        "xo_philox_word(xo_philox_block({block}, {stream}u, {key}[0], {key}[1]), k % 4)"
                    );
                }
                let position = self.position(id, point);
                let key = self.load(*key as usize);
                format!("xo_philox((unsigned long long)({position}), {stream}u, {key}[0], {key}[1])")
            }
            StepOp::Map(MapOp::Divide) if self.quick && self.is_quick(id) => {
                self.uses.section(Section::Divide);
                format!("xo_quick_divide({}, {}, fine)", arg(0), arg(1))
            }
            StepOp::Map(op) => {
                let operand = self.kernel.steps[step.args[0] as usize].dtype;
                let name = self.uses.op(*op, operand);
                let args: Vec<String> = (0..step.args.len()).map(arg).collect();
                format!("{name}({})", args.join(", "))
            }
            StepOp::Cast(cast) => self.uses.cast(*cast, &arg(0)),
            StepOp::Where => format!("{} ? {} : {}", arg(0), arg(1), arg(2)),
            // Where a quick quotient is fine it is no NaN.
            StepOp::Canonical if self.quick && self.is_quick(step.args[0] as usize) => arg(0),
            StepOp::Canonical if step.dtype.is_float() || step.dtype.is_complex() => {
                self.uses.section(Section::Nan);
                format!("xo_canonical({})", arg(0))
            }
            StepOp::Canonical | StepOp::Expand => arg(0),
            StepOp::Reduce(op) => empty_reduction(*op, step.dtype),
        }
    }

    /// Whether a step has a form that leaves its slow path out.
    pub(crate) fn is_quick(&self, id: usize) -> bool {
        let step = &self.kernel.steps[id];
        matches!(step.op, StepOp::Map(MapOp::Divide)) && step.dtype == DType::F32
    }

    /// The position of the point in the shape that an `Index` or `Random` step counts in.
    fn position(&mut self, id: usize, point: &Point<'_>) -> String {
        let Some(window) = self.flat.positions[id].clone() else { return "0".to_string() };
        let distance = self.offset(&window, &format!("s{id}"), point.at);
        if window.offset == 0 {
            return distance;
        }
        let origin = self.index(format!("s{id}_origin"), window.offset);
        format!("{origin} + {distance}")
    }

    /// The position of element 0 of the point's neighbours `k`, if it is a multiple of 4 and they lie side by side:
    /// then four of them share a block of random words, which the compiler computes once.
    fn quad(&mut self, id: usize, point: &Point<'_>) -> Option<String> {
        if !point.quads {
            return None;
        }
        let window = self.flat.positions[id].as_ref()?;
        let (last, start) = point.at.last().and_then(|(axis, c)| Some((*axis, c.strip_suffix(" + k")?)))?;
        let others = window.strides.iter().enumerate().filter(|&(axis, _)| axis != last);
        let fits = window.strides[last] == 1
            && window.offset.is_multiple_of(4)
            && others.into_iter().all(|(_, stride)| stride.unsigned_abs().is_multiple_of(4));
        if !fits {
            return None;
        }
        let mut at = point.at.to_vec();
        at.pop();
        at.push((last, start.to_string()));
        Some(self.position(id, &Point { element: point.element, at: &at, quads: false }))
    }

    fn widened(&mut self, dtype: DType, element: String) -> String {
        if dtype == DType::I8 {
            self.uses.section(Section::Apart);
            return format!("xo_apart_i8({element})");
        }
        if !dtype.is_half() {
            return element;
        }
        self.uses.half(dtype);
        format!("xo_widen_{dtype}({element})")
    }

    /// The value of a store in its memory type.
    pub(crate) fn stored(&mut self, store: usize) -> String {
        let kernel = self.kernel;
        let (dtype, step) = (kernel.stores[store].dtype, kernel.stores[store].step as usize);
        let root = store_roots(kernel, store)[0];
        if !dtype.is_half() {
            return format!("s{root}");
        }
        self.uses.half(dtype);
        // Anything but the value of the step itself is what that step rounds: then NaNs are made canonical here.
        let narrow = if root == step { "narrow" } else { "settle" };
        format!("xo_{narrow}_{dtype}(s{root})")
    }

    /// Whether a store rounds computed values to 16 bits; brings the functions for it.
    pub(crate) fn settles(&mut self, store: usize) -> bool {
        let stored = &self.kernel.stores[store];
        if !stored.dtype.is_half() || store_roots(self.kernel, store)[0] == stored.step as usize {
            return false;
        }
        self.uses.half(stored.dtype);
        true
    }

    /// The type in which a `Reduce` step combines.
    pub(crate) fn combined_type(&mut self, id: usize) -> String {
        let step = &self.kernel.steps[id];
        let StepOp::Reduce(op) = step.op else { return cuda_type(step.dtype).to_string() };
        join_type(op, self.kernel.steps[step.args[0] as usize].dtype)
    }

    /// The struct that joins the values of a `Reduce` step.
    pub(crate) fn join(&mut self, id: usize) -> String {
        let step = &self.kernel.steps[id];
        let StepOp::Reduce(op) = step.op else { return String::new() };
        self.uses.join(op, self.kernel.steps[step.args[0] as usize].dtype)
    }

    /// What a `Reduce` step combines for one element: its argument, or that with its place along the row.
    pub(crate) fn combined(&mut self, id: usize, place: &str) -> String {
        let step = &self.kernel.steps[id];
        let value = format!("s{}", step.args[0]);
        match step.op {
            StepOp::Reduce(op) if op.is_arg() => {
                let kind = self.combined_type(id);
                format!("{kind}{{{value}, (long long)({place})}}")
            }
            _ => value,
        }
    }

    /// Writes `const T s{id} = …;` for a `Reduce` step from its combined value.
    pub(crate) fn reduced(&mut self, id: usize, combined: &str) {
        let step = &self.kernel.steps[id];
        let part = match step.op {
            StepOp::Reduce(op) if op.is_arg() => ".index",
            _ => "",
        };
        self.body.line(format!("const {} s{id} = {combined}{part};", cuda_type(step.dtype)));
    }
}

/// The value of a reduction over nothing. Reductions without an identity are refused before a kernel exists.
fn empty_reduction(op: crossover_core::ops::reduce::ReduceOp, dtype: DType) -> String {
    use crossover_core::ops::reduce::ReduceOp;
    let value = if op == ReduceOp::Prod { 1 } else { 0 };
    match dtype.is_complex() {
        true => format!("{}{{{value}, 0}}", cuda_type(dtype)),
        false => format!("({}){value}", cuda_type(dtype)),
    }
}
