//! Everything that can be generated is accepted by the compiler, for the oldest and the newest architecture.

use crossover_codegen::{cast_functions, fused, op_functions, samples};
use crossover_cuda::Nvrtc;

const ARCHITECTURES: [&str; 2] = ["sm_80", "sm_90a"];

fn compiler() -> Option<Nvrtc> {
    match Nvrtc::open() {
        Ok(nvrtc) => Some(nvrtc),
        Err(reason) => {
            println!("not run: {reason}");
            None
        }
    }
}

fn compile_all(sources: &[(String, String)]) {
    let Some(nvrtc) = compiler() else { return };
    let jobs: Vec<_> = sources.iter().flat_map(|s| ARCHITECTURES.map(|a| (s, a))).collect();
    let next = std::sync::atomic::AtomicUsize::new(0);
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    std::thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(|| {
                while let Some(((name, text), architecture)) =
                    jobs.get(next.fetch_add(1, std::sync::atomic::Ordering::Relaxed))
                {
                    if let Err(error) = nvrtc.compile(text, architecture) {
                        panic!("{name}: {error}\n{text}");
                    }
                }
            });
        }
    });
}

#[test]
fn golden_kernels_compile() {
    let mut sources: Vec<_> =
        samples::golden().into_iter().map(|(name, kernel)| (name.to_string(), fused(&kernel).text)).collect();
    // With 64-bit index arithmetic too, as for spaces beyond 2^30 points.
    let wide = |(name, text): &(String, String)| {
        (format!("{name} wide"), text.replace("typedef int index_t;", "typedef long long index_t;"))
    };
    sources.extend(sources.iter().map(wide).collect::<Vec<_>>());
    compile_all(&sources);
}

/// Sources with the same entry shape can share a translation unit, which saves most of the compiler's start-up.
fn bundle(sources: Vec<(String, String)>, per_unit: usize) -> Vec<(String, String)> {
    let unit = |part: &[(String, String)]| {
        let names: Vec<&str> = part.iter().map(|(name, _)| name.as_str()).collect();
        let texts: Vec<String> =
            part.iter().map(|(name, text)| format!("namespace unit_{name} {{\n{text}}}\n")).collect();
        (names.join(" "), texts.join("\n"))
    };
    sources.chunks(per_unit).map(unit).collect()
}

#[test]
fn every_op_compiles_for_every_dtype() {
    compile_all(&bundle(op_functions(), 16));
}

#[test]
fn every_conversion_compiles() {
    compile_all(&bundle(cast_functions(), 32));
}
