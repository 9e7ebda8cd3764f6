//! Random fused kernels, bit for bit against the interpreter, for every SIMD level and several thread counts.

mod generator;
mod interpreter;

use crossover_core::{DType, Scalar};
use crossover_cpu::{CpuBackend, Simd};
use crossover_plan::kernel::{Fused, Kernel, Kind};
use crossover_runtime::{Address, Backend, Block, Launch};

use generator::{Case, Dice, generate};

/// Every level with one thread, and the widest with several.
fn backends() -> Vec<CpuBackend> {
    let mut out = Vec::new();
    for simd in Simd::available() {
        out.push(CpuBackend::builder().threads(1).simd(simd).build().unwrap());
    }
    for threads in [2, 7] {
        out.push(CpuBackend::builder().threads(threads).parallel_threshold(0.0).build().unwrap());
    }
    out
}

fn block(bytes: &mut [u8]) -> Block {
    Block { address: Address(bytes.as_mut_ptr() as u64), bytes: bytes.len() }
}

/// Bytes aligned for every dtype.
struct Aligned {
    words: Vec<u128>,
    len: usize,
}

impl Aligned {
    fn of(bytes: &[u8]) -> Aligned {
        let mut out = Aligned { words: vec![0; bytes.len().div_ceil(16).max(1)], len: bytes.len() };
        out.bytes().copy_from_slice(bytes);
        out
    }
    fn bytes(&mut self) -> &mut [u8] {
        #[allow(unsafe_code)]
        // SAFETY: the words are initialised and at least `len` bytes long.
        unsafe {
            std::slice::from_raw_parts_mut(self.words.as_mut_ptr().cast(), self.len)
        }
    }
}

fn run(cpu: &CpuBackend, fused: &Fused, inputs: &[Vec<u8>], outputs: &[Vec<u8>], scalars: &[Scalar]) -> Vec<Vec<u8>> {
    let mut inputs: Vec<Aligned> = inputs.iter().map(|b| Aligned::of(b)).collect();
    let mut outputs: Vec<Aligned> = outputs.iter().map(|b| Aligned::of(b)).collect();
    let kernel = Kernel::Fused(fused.clone());
    let ready = cpu.prepare(&kernel).unwrap();
    let ins: Vec<Block> = inputs.iter_mut().map(|b| block(b.bytes())).collect();
    let outs: Vec<Block> = outputs.iter_mut().map(|b| block(b.bytes())).collect();
    ready.run(&Launch::new(&kernel, &ins, &outs, scalars).unwrap()).unwrap();
    outputs.iter_mut().map(|b| b.bytes().to_vec()).collect()
}

/// Whether two stored elements are the same; NaNs that were not made canonical may differ in their bits.
fn same(dtype: DType, a: &[u8], b: &[u8]) -> bool {
    let part = dtype.real();
    let nan = |bytes: &[u8]| {
        part.is_float()
            && f64::from_bits(Scalar::read_from(part, bytes).cast(DType::F64).bits()[0]).is_nan()
    };
    a == b || a.chunks(part.size()).zip(b.chunks(part.size())).all(|(a, b)| a == b || (nan(a) && nan(b)))
}

fn check(case: &Case, backends: &[CpuBackend], name: &str) {
    let Case { fused, inputs, outputs, scalars } = case;
    let mut want = outputs.clone();
    interpreter::interpret(fused, inputs, &mut want, scalars);
    for cpu in backends {
        let got = run(cpu, fused, inputs, outputs, scalars);
        for (s, store) in fused.stores.iter().enumerate() {
            let size = store.dtype.size();
            for (i, (a, b)) in got[s].chunks(size).zip(want[s].chunks(size)).enumerate() {
                let (sa, sb) = (a, b);
                assert!(
                    same(store.dtype, sa, sb),
                    "{name}: store {s} element {i}: got {sa:x?}, want {sb:x?} with {} threads, {}\n{fused:#?}",
                    cpu.threads(),
                    cpu.simd(),
                );
            }
        }
    }
}

fn random(kind: Kind, seeds: std::ops::Range<u64>) {
    let backends = backends();
    for seed in seeds {
        let case = generate(&mut Dice::new(seed), kind);
        check(&case, &backends, &format!("{kind:?} seed {seed}"));
    }
}

/// Kernels per kind; the variable asks for more.
fn count() -> u64 {
    std::env::var("CROSSOVER_CASES").ok().and_then(|s| s.parse().ok()).unwrap_or(300)
}

#[test]
fn map_kernels_give_the_same_bits_everywhere() {
    random(Kind::Map, 0..count());
}

#[test]
fn row_kernels_give_the_same_bits_everywhere() {
    random(Kind::Row, 0..count());
}

#[test]
fn column_kernels_give_the_same_bits_everywhere() {
    random(Kind::Column, 0..count());
}
