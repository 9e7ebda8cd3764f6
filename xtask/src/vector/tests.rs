//! The judgement on sample disassembly, cut from real compiler output.

use super::*;

/// A main loop in zmm, a ymm tail and a scalar tail: the usual shape.
const VECTORISED: &str = "
0000000000015430 <crossover_cpu::tile::avx512::unary::<crossover_core::ops::exp::Exp, crossover_core::dtype::F32>>:
   15430:\tcmp    %rsi,%rcx
   1543a:\tje     1551b <crossover_cpu::tile::avx512::unary::<crossover_core::ops::exp::Exp, F32>+0xeb>
   15472:\tvxorps %zmm0,%zmm0,%zmm0
   15480:\tvmovups (%rdx,%r9,1),%zmm1
   15488:\tvfmadd213ps %zmm0,%zmm1,%zmm1
   154a3:\tvmovups %zmm1,(%rdi,%r9,1)
   154c2:\tadd    $0x100,%r9
   154cc:\tjne    15480 <crossover_cpu::tile::avx512::unary::<crossover_core::ops::exp::Exp, F32>+0x50>
   1550b:\tvmovss (%rdx,%rax,4),%xmm0
   1550e:\tvmulss %xmm0,%xmm0,%xmm0
   15516:\tcmp    %rax,%rsi
   15519:\tjne    1550b <crossover_cpu::tile::avx512::unary::<crossover_core::ops::exp::Exp, F32>+0xdb>
   1551b:\tvzeroupper
   1551e:\tret
";

/// Moves and zeroing on wide registers, arithmetic on scalars.
const SCALAR: &str = "
0000000000020000 <crossover_cpu::tile::avx2::binary::<crossover_core::ops::floor_divide::FloorDivide, i32>>:
   20000:\tvpxor  %ymm0,%ymm0,%ymm0
   20004:\tvmovdqu (%rdx),%ymm1
   20008:\tmov    (%rdx,%rax,4),%eax
   2000b:\tidivl  (%rcx)
   2000e:\tmov    %eax,(%rdi)
   20010:\tjne    20004 <x+0x4>
   20012:\tret
";

/// A vector loop whose conversion fell apart into scalars.
const BROKEN_UP: &str = "
0000000000030000 <crossover_cpu::tile::avx2::unary::<crossover_core::ops::cast::Cast, f32, i32>>:
   30000:\tvminps %ymm0,%ymm1,%ymm1
   30004:\tvcvttss2si %xmm1,%eax
   30008:\tvcvttss2si %xmm2,%ecx
   3000c:\tjne    30000 <x>
   3000e:\tret
";

const THUNK: &str = "
0000000000040000 <crossover_cpu::tile::avx512::unary::<crossover_core::ops::neg::Neg, u32>>:
   40000:\tjmp    15430 <crossover_cpu::tile::avx512::unary::<crossover_core::ops::exp::Exp, F32>>
   40005:\tint3
";

fn sample(texts: &[&str]) -> Vec<(Tile, Verdict)> {
    let text = texts.concat();
    tile::verdicts(&Listing::parse(&text))
}

fn none() -> Exceptions {
    Exceptions::parse("# nothing\n").unwrap()
}

#[test]
fn symbols_name_operation_dtype_and_level() {
    let tile = Tile::from_symbol("crossover_cpu::tile::avx512::unary::<crossover_core::ops::exp::Exp, F32>");
    assert_eq!(tile.unwrap().to_string(), "exp f32 avx512 (unary)");
    let nested = "crossover_cpu::tile::avx2::convert::<a::Cast<a::X, b::Y>, half::bfloat::bf16, f32>";
    assert_eq!(Tile::from_symbol(nested).unwrap().to_string(), "cast bf16_f32 avx2 (convert)");
    assert_eq!(Tile::from_symbol("crossover_cpu::tile::scalar::unary::<a::Exp, f32>"), None);
    assert_eq!(Tile::from_symbol("crossover_cpu::tile::avx2::unary::<a::Exp, f32>::{closure#0}"), None);
    assert_eq!(Tile::from_symbol("crossover_cpu::tile::avx2::unary").unwrap().operation, tile::UNKNOWN);
}

#[test]
fn a_loop_with_packed_arithmetic_holds() {
    let verdicts = sample(&[VECTORISED]);
    assert_eq!(verdicts.len(), 1);
    assert_eq!(verdicts[0].1, Verdict::Packed { full_width: true });
    assert!(matches!(judge(&verdicts, &none()), Finding::Holds { .. }));
}

#[test]
fn ymm_at_avx512_is_packed_but_narrow() {
    let narrow = VECTORISED.replace("%zmm", "%ymm");
    assert_eq!(sample(&[&narrow])[0].1, Verdict::Packed { full_width: false });
}

#[test]
fn xmm_alone_is_not_enough() {
    let narrow = VECTORISED.replace("%zmm", "%xmm");
    assert!(matches!(sample(&[&narrow])[0].1, Verdict::Scalar { .. }));
}

#[test]
fn packed_work_outside_a_loop_does_not_count() {
    let straight = VECTORISED.replace("jne    15480", "jne    1551b");
    assert!(matches!(sample(&[&straight])[0].1, Verdict::Scalar { .. }));
}

#[test]
fn moves_and_zeroing_are_not_arithmetic() {
    let Finding::Broken { evidence, .. } = judge(&sample(&[SCALAR]), &none()) else {
        panic!("a scalar division must fail");
    };
    assert_eq!(evidence, "floordivide i32 avx2 (binary): no packed arithmetic in any loop");
}

#[test]
fn a_mostly_scalar_loop_fails() {
    let why = "2 scalar and 1 packed operations in the main loop".to_owned();
    assert_eq!(sample(&[BROKEN_UP])[0].1, Verdict::Scalar { why });
}

#[test]
fn merged_functions_are_judged_by_the_code_they_jump_to() {
    let verdicts = sample(&[VECTORISED, THUNK]);
    assert_eq!(verdicts.len(), 2);
    assert!(verdicts.iter().all(|(_, verdict)| *verdict == Verdict::Packed { full_width: true }));
}

#[test]
fn exceptions_excuse_with_a_reason_and_must_be_needed() {
    let scalar = sample(&[SCALAR]);
    let excused = Exceptions::parse("FloorDivide * avx2 : x86 has no packed integer division").unwrap();
    assert!(matches!(judge(&scalar, &excused), Finding::Holds { .. }));
    let stale = judge(&sample(&[VECTORISED]), &excused);
    assert!(matches!(stale, Finding::Broken { evidence, .. } if evidence.contains("excuses nothing")));
}

#[test]
fn exceptions_without_a_reason_are_refused() {
    for text in ["exp f32 avx2", "exp f32 avx2 :  ", "exp f32 : too few words"] {
        assert!(Exceptions::parse(text).is_err(), "{text}");
    }
}

#[test]
fn selection_and_comparison_count_as_work() {
    let packed =
        |mnemonic, operands| instruction::Instruction { address: 0, mnemonic, operands }.packed().is_some();
    assert!(packed("vcmpltps", "%zmm1,%zmm0,%k1"));
    assert!(packed("vmovdqu32", "%zmm1,%zmm0{%k1}"));
    assert!(packed("vpternlogd", "$0xca,%zmm1,%zmm0,%zmm2"));
    assert!(packed("vcvtps2pd", "%ymm0,%zmm0"));
    assert!(packed("vpmovzxbd", "(%rax),%ymm0"));
    assert!(!packed("vmovups", "(%rax),%zmm0"));
    assert!(!packed("vpbroadcastd", "%xmm0,%zmm0"));
    assert!(!packed("vpermd", "%zmm0,%zmm1,%zmm2"));
    assert!(!packed("vaddss", "%xmm0,%xmm1,%xmm1"));
}
