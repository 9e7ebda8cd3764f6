//! What a source needs besides its entry points: prelude sections, device functions of ops, joins of reductions.

use std::collections::BTreeMap;

use crossover_core::{
    DType,
    ops::{
        MapOp,
        cast::{self, cuda_type},
        device_function,
        reduce::ReduceOp,
    },
};

use crate::prelude::{self, Section};

/// The parts of a source that its entry points use, collected while they are written.
#[derive(Debug, Default)]
pub(crate) struct Uses {
    sections: Vec<Section>,
    /// By name, so that the order of the text does not depend on the order of use.
    functions: BTreeMap<String, String>,
    joins: BTreeMap<String, String>,
}

impl Uses {
    /// Includes a section of the prelude.
    pub(crate) fn section(&mut self, section: Section) {
        if !self.sections.contains(&section) {
            self.sections.push(section);
        }
    }

    /// Includes whatever the type of a value needs.
    pub(crate) fn dtype(&mut self, dtype: DType) {
        if dtype.is_complex() {
            self.section(Section::Complex);
        }
    }

    /// The device function of an op on operands of `dtype`; returns its name.
    pub(crate) fn op(&mut self, op: MapOp, dtype: DType) -> String {
        self.dtype(dtype);
        let name = format!("xo_{}_{}", op.name(), dtype.compute());
        // A kernel that passed the plan's dtype check always finds its body; text that cannot compile is the
        // loudest answer to one that did not.
        let mut text = device_function(op, dtype)
            .map_or_else(|| format!("#error {op} is not defined for {dtype}\n"), |f| f.source().to_string());
        if dtype == DType::I16 {
            let trimmed = trim_differences(&text);
            if trimmed != text {
                self.section(Section::Trim);
                text = trimmed;
            }
        }
        self.functions.insert(name.clone(), text);
        name
    }

    /// The expression of a primitive conversion.
    pub(crate) fn cast(&mut self, step: cast::Step, x: &str) -> String {
        match step {
            cast::Step::Odd => self.section(Section::Odd),
            cast::Step::Round(dtype) => self.half(dtype),
            cast::Step::Plain(from, to) => {
                self.dtype(to);
                if from.is_float() && to.is_int() {
                    let (name, text) = saturating(from, to);
                    self.section(Section::Saturate);
                    self.functions.insert(name, text);
                }
            }
        }
        cast::source(step, x)
    }

    /// The functions between a 16-bit dtype and `float`.
    pub(crate) fn half(&mut self, dtype: DType) {
        self.section(if dtype == DType::F16 { Section::F16 } else { Section::Bf16 });
    }

    /// The join of a reduction of `dtype` values; returns the name of its struct.
    pub(crate) fn join(&mut self, op: ReduceOp, dtype: DType) -> String {
        let name = format!("xo_join_{op}_{dtype}");
        let (kind, body) = if op.is_arg() {
            self.section(Section::Arg);
            let largest = op == ReduceOp::ArgMax;
            (join_type(op, dtype), format!("xo_arg_join<{largest}>(a, b)"))
        } else {
            (join_type(op, dtype), format!("{}(a, b)", self.op(op.combine(), dtype)))
        };
        let text = format!(
            "struct {name} {{\n    typedef {kind} type;\n    \
             static __device__ __forceinline__ type join(type a, type b) {{ return {body}; }}\n}};\n"
        );
        self.joins.insert(name.clone(), text);
        name
    }

    /// The whole source: index type, prelude, functions, joins, entry points.
    pub(crate) fn assemble(&self, wide: bool, entries: &[String]) -> String {
        let mut parts = vec![format!("typedef {} index_t;\n", if wide { "long long" } else { "int" })];
        parts.extend(prelude::text(&[&[Section::Start], self.sections.as_slice()].concat()));
        parts.extend(self.functions.values().cloned());
        parts.extend(self.joins.values().cloned());
        parts.extend(entries.iter().cloned());
        parts.join("\n")
    }
}

/// The type that a reduction combines: the value, or the value with its index.
pub(crate) fn join_type(op: ReduceOp, dtype: DType) -> String {
    if op.is_arg() { format!("xo_arg<{}>", cuda_type(dtype)) } else { cuda_type(dtype).to_string() }
}

/// Bytes of a [`join_type`] in memory.
pub(crate) fn join_size(op: ReduceOp, dtype: DType) -> usize {
    if op.is_arg() { 16 } else { dtype.compute().size() }
}

/// The conversion from a float to an integer that truncates and saturates.
fn saturating(from: DType, to: DType) -> (String, String) {
    let name = format!("xo_{from}_to_{to}");
    let (source, target) = (cuda_type(from), cuda_type(to));
    let bits = to.size() as u32 * 8;
    let suffix = if from == DType::F32 { "f" } else { "" };
    // Both bounds are powers of two or zero, exact in every float.
    let (low, top, least, most) = if to.is_signed_int() {
        let half = 2f64.powi(bits as i32 - 1);
        (-half, half, 1u64 << (bits - 1), (1u64 << (bits - 1)) - 1)
    } else {
        (0.0, 2f64.powi(bits as i32), 0, u64::MAX >> (64 - bits))
    };
    let text = format!(
        "__device__ __forceinline__ {target} {name}({source} x) {{\n    \
         return xo_saturate<{target}>(x, {low:?}{suffix}, {top:?}{suffix}, \
         ({target}){least:#x}ull, ({target}){most:#x}ull);\n}}\n"
    );
    (name, text)
}

/// A source with the device function of every op and dtype, one kernel that keeps them all alive.
pub fn op_functions() -> Vec<(String, String)> {
    let mut out = Vec::new();
    for &op in MapOp::ALL {
        for dtype in DType::ALL.into_iter().filter(|d| op.supports(*d) && !d.is_half()) {
            let mut uses = Uses::default();
            let name = uses.op(op, dtype);
            let result = op.result(dtype).map(cuda_type).unwrap_or("void");
            let operand = cuda_type(dtype);
            let args: Vec<String> = (0..op.arity()).map(|i| format!("in[{i}]")).collect();
            let entry = format!(
                "extern \"C\" __global__ void use_{name}(const {operand}* in, {result}* out)\n{{\n    \
                 out[0] = {name}({});\n}}\n",
                args.join(", ")
            );
            out.push((name, uses.assemble(false, &[entry])));
        }
    }
    out
}

/// A source per pair of dtypes with the conversion between them.
pub fn cast_functions() -> Vec<(String, String)> {
    let mut out = Vec::new();
    for from in DType::ALL {
        for to in DType::ALL.into_iter().filter(|&to| cast::check(from, to).is_ok()) {
            let mut uses = Uses::default();
            uses.dtype(from);
            uses.dtype(to);
            let mut value = "in[0]".to_string();
            for step in cast::path(from, to) {
                value = uses.cast(step, &value);
            }
            let (operand, result) = (cuda_type(from), cuda_type(to));
            let entry = format!(
                "extern \"C\" __global__ void cast_{from}_{to}(const {operand}* in, {result}* out)\n{{\n    \
                 out[0] = {value};\n}}\n"
            );
            out.push((format!("cast_{from}_{to}"), uses.assemble(false, &[entry])));
        }
    }
    out
}

/// Takes differences of 16-bit integers through `xo_trim_i16`, which says why.
fn trim_differences(text: &str) -> String {
    let line = |line: &str| {
        let difference = line.split_once(" = (short)(").filter(|(_, rest)| rest.contains(" - (unsigned)"));
        match difference {
            Some((head, rest)) => format!("{head} = xo_trim_i16({rest}\n"),
            None => format!("{line}\n"),
        }
    };
    text.lines().map(line).collect()
}
