//! What hand-written kernels take from here: the type of an element, its conversions, and an op's device function.

use crossover_core::{
    DType,
    ops::{MapOp, cast::cuda_type},
};

use crate::{entry::memory_type, functions::Uses, prelude::Section};

/// The text that a hand-written kernel on elements of `dtype` starts with.
///
/// It defines `index_t`, `memory_t` (an element in memory), `held_t` (an element as arithmetic has it), `xo_hold` and
/// `xo_release` between them (the latter rounds and makes NaN canonical) and, for an op, `xo_join` of two held values.
///
/// ```
/// use crossover_codegen::element;
/// use crossover_core::{DType, ops::MapOp};
/// let text = element(DType::BF16, Some(MapOp::Add), false);
/// assert!(text.contains("typedef unsigned short memory_t;"));
/// assert!(text.contains("return xo_add_f32(a, b);"));
/// ```
pub fn element(dtype: DType, op: Option<MapOp>, wide: bool) -> String {
    let mut uses = Uses::default();
    let Words { memory, held, hold, release } = words(dtype, &mut uses);
    let mut text = format!(
        "typedef {memory} memory_t;\ntypedef {held} held_t;\n\n\
         __device__ __forceinline__ held_t xo_hold(memory_t x) {{ return {hold}; }}\n\
         __device__ __forceinline__ memory_t xo_release(held_t x) {{ return {release}; }}\n"
    );
    if let Some(op) = op {
        let function = uses.op(op, dtype);
        text.push_str(&format!(
            "__device__ __forceinline__ held_t xo_join(held_t a, held_t b) {{ return {function}(a, b); }}\n"
        ));
    }
    uses.assemble(wide, &[text])
}

/// A dtype in CUDA C++: its types in memory and in arithmetic, and the expressions between them, of a variable `x`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Words {
    /// The type of an element in memory.
    pub memory: &'static str,
    /// The type of an element as arithmetic has it.
    pub held: &'static str,
    /// From memory.
    pub hold: String,
    /// To memory: rounds, and makes NaN canonical.
    pub release: String,
}

/// The text that a kernel on elements of several dtypes starts with, which defines `index_t` and what the words of each dtype
/// use, and these words. A boolean is held as `bool`.
///
/// ```
/// use crossover_codegen::elements;
/// use crossover_core::DType;
/// let (text, words) = elements(&[DType::F32, DType::BF16], false);
/// assert_eq!((words[0].memory, words[1].memory), ("float", "unsigned short"));
/// assert!(text.contains("xo_widen_bf16") && !text.contains("xo_widen_f16"));
/// ```
pub fn elements(dtypes: &[DType], wide: bool) -> (String, Vec<Words>) {
    let mut uses = Uses::default();
    let all = dtypes.iter().map(|&dtype| match dtype {
        DType::Bool => Words {
            memory: memory_type(dtype),
            held: "bool",
            hold: "x != 0".to_string(),
            release: "x ? 1 : 0".to_string(),
        },
        _ => words(dtype, &mut uses),
    });
    let all = all.collect();
    (uses.assemble(wide, &[]), all)
}

fn words(dtype: DType, uses: &mut Uses) -> Words {
    uses.dtype(dtype);
    let (hold, release) = if dtype.is_half() {
        uses.half(dtype);
        (format!("xo_widen_{dtype}(x)"), format!("xo_settle_{dtype}(x)"))
    } else if dtype.is_float() || dtype.is_complex() {
        uses.section(Section::Nan);
        ("x".to_string(), "xo_canonical(x)".to_string())
    } else {
        ("x".to_string(), "x".to_string())
    };
    Words { memory: memory_type(dtype), held: cuda_type(dtype), hold, release }
}
