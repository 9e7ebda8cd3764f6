//! Every kernel is accepted by the compiler, for the architectures that it is meant for.

use crossover_array::DType;
use crossover_codegen::elements;
use crossover_cuda::Nvrtc;

use super::{
    convolve::Task,
    nearest::Form,
    source::{self, Geometry},
};

const ARCHITECTURES: [&str; 2] = ["sm_80", "sm_90a"];

/// What the library puts before a text with tensor maps.
const MAP: &str = "struct alignas(64) xo_tensor_map {\n    unsigned long long words[16];\n};\n";

fn compile_all(sources: &[(String, String)], architectures: &[&str]) {
    let nvrtc = match Nvrtc::open() {
        Ok(nvrtc) => nvrtc,
        Err(reason) => {
            println!("not run: {reason}");
            return;
        }
    };
    for (name, text) in sources {
        for architecture in architectures {
            if let Err(error) = nvrtc.compile(text, architecture) {
                panic!("{name} for {architecture}: {error}");
            }
        }
    }
}

#[test]
fn convolutions_compile_in_every_dtype() {
    let mut sources = Vec::new();
    let base = Task { d: 512, dtype: DType::F32, correlate: false, normalise: false, sum: false };
    let tasks = [
        base,
        Task { correlate: true, ..base },
        Task { normalise: true, ..base },
        Task { sum: true, ..base },
        Task { d: 64, ..base },
        Task { d: 1000, dtype: DType::BF16, ..base },
        Task { d: 8192, dtype: DType::F64, ..base },
        Task { d: 210, dtype: DType::F64, correlate: true, normalise: true, ..base },
        // Radices of two primes: 6, 9, 10, 15 and 25 are all among these.
        Task { d: 1500, ..base },
        Task { d: 2500, dtype: DType::BF16, correlate: true, ..base },
        Task { d: 3000, normalise: true, ..base },
        Task { d: 3750, sum: true, ..base },
        Task { d: 5000, ..base },
        Task { d: 6000, correlate: true, normalise: true, ..base },
        Task { d: 6250, ..base },
        Task { d: 7290, dtype: DType::F64, ..base },
        Task { d: 7500, ..base },
    ];
    for task in tasks {
        let geometry = Geometry::of(task.d).unwrap();
        let (prelude, _) = elements(&[task.dtype, task.dtype, task.dtype], false);
        sources.push((format!("{task:?}"), format!("{prelude}\n{}", source::text(task, &geometry))));
    }
    compile_all(&sources, &ARCHITECTURES);
}

#[test]
fn searches_compile() {
    compile_all(&[("nearest".to_string(), Form::Warps.text())], &ARCHITECTURES);
    compile_all(&[("nearest on Hopper".to_string(), format!("{MAP}{}", Form::Hopper.text()))], &["sm_90a"]);
}

#[test]
fn searches_of_16_bits_compile() {
    for dtype in [DType::F16, DType::BF16] {
        let (prelude, _) = elements(&[dtype, dtype, DType::U64], false);
        let text = |form: Form| format!("{MAP}{prelude}\n{}", form.kept_text(dtype));
        compile_all(&[(format!("nearest in {dtype}"), text(Form::Warps))], &ARCHITECTURES);
        compile_all(&[(format!("nearest in {dtype} on Hopper"), text(Form::Hopper))], &["sm_90a"]);
    }
}

#[test]
fn searches_of_16_bits_take_operands_as_they_are() {
    for dtype in [DType::F16, DType::BF16] {
        for form in [Form::Warps, Form::Hopper] {
            let text = form.kept_text(dtype);
            assert!(!text.contains("const float*") && !text.contains("hrr_round"), "{form:?} {dtype}");
            assert!(text.contains(&format!("f32.{dtype}.{dtype}")), "{form:?} {dtype}");
        }
    }
}
