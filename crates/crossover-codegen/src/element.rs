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
    uses.dtype(dtype);
    let (memory, held) = (memory_type(dtype), cuda_type(dtype));
    let (hold, release) = if dtype.is_half() {
        uses.half(dtype);
        (format!("xo_widen_{dtype}(x)"), format!("xo_settle_{dtype}(x)"))
    } else if dtype.is_float() || dtype.is_complex() {
        uses.section(Section::Nan);
        ("x".to_string(), "xo_canonical(x)".to_string())
    } else {
        ("x".to_string(), "x".to_string())
    };
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
