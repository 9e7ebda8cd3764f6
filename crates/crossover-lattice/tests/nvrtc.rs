//! The CUDA source of the crate compiles.

use crossover_cuda::Nvrtc;

#[test]
fn kernels_compile() {
    let nvrtc = match Nvrtc::open() {
        Ok(nvrtc) => nvrtc,
        Err(reason) => return println!("not run: {reason}"),
    };
    for architecture in ["sm_80", "sm_90a"] {
        if let Err(error) = nvrtc.compile(include_str!("../src/kernels/relax.cu"), architecture) {
            panic!("{architecture}: {error}");
        }
    }
}
