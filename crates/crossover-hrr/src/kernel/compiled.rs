//! Every kernel is accepted by the compiler, for the architectures that it is meant for.

use crossover_array::DType;
use crossover_codegen::elements;
use crossover_cuda::Nvrtc;

use super::{
    convolve::Task,
    nearest,
    source::{self, Geometry},
};

const ARCHITECTURES: [&str; 2] = ["sm_80", "sm_90a"];

fn compile_all(sources: &[(String, String)]) {
    let nvrtc = match Nvrtc::open() {
        Ok(nvrtc) => nvrtc,
        Err(reason) => {
            println!("not run: {reason}");
            return;
        }
    };
    for (name, text) in sources {
        for architecture in ARCHITECTURES {
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
    ];
    for task in tasks {
        let geometry = Geometry::of(task.d).unwrap();
        let (prelude, _) = elements(&[task.dtype, task.dtype, task.dtype], false);
        sources.push((format!("{task:?}"), format!("{prelude}\n{}", source::text(task, &geometry))));
    }
    compile_all(&sources);
}

#[test]
fn searches_compile() {
    let sources = [(2, 1), (4, 2)].map(|(stages, ahead)| {
        let name = format!("nearest with {stages} stages");
        (name, nearest::text(stages, ahead))
    });
    compile_all(&sources);
}
