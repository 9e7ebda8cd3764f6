//! Generated kernels run on the host by a small emulator and agree with the interpreter, bit for bit.
//!
//! Needs `g++`; without it the test says that it was not run.

#![allow(unsafe_code)]

mod aligned;

use std::{ffi::c_void, fmt::Write as _, path::PathBuf, process::Command};

use crossover_codegen::{Source, fused, fused_within};
use crossover_cuda::{
    Arguments,
    proof::{
        cases::{cast_case, cast_list, op_case, op_list},
        generate::{Case, Limits, case},
        interpreter,
        planned::{lookup, planned},
    },
};
use libloading::Library;

use aligned::Aligned;

/// Cases per compiled library.
const BATCH: u64 = 60;

fn unit(index: usize, source: &Source) -> String {
    let text = source.text.replace("extern \"C\" __global__", "static __global__");
    let mut out = format!("namespace unit{index} {{\n{text}}}\n");
    let mut entries: Vec<&str> = source.launches.iter().map(|l| l.entry.as_str()).collect();
    entries.sort_unstable();
    entries.dedup();
    let fibers = source.text.contains("__shfl") || source.text.contains("__syncthreads");
    for entry in entries {
        let _ = writeln!(
            out,
            "extern \"C\" void run{index}_{entry}(unsigned grid, unsigned block, void** args) {{ \
             emulated_launch(unit{index}::{entry}, grid, block, args, {fibers}); }}"
        );
    }
    out
}

/// Compiles the sources into one library, or `None` where there is no compiler.
fn compile(name: &str, sources: &[Source]) -> Option<Library> {
    let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR"));
    let (text, library) = (folder.join(format!("{name}.cpp")), folder.join(format!("{name}.so")));
    let mut units = String::from("#include \"emulator.hpp\"\n");
    for (index, source) in sources.iter().enumerate() {
        units.push_str(&unit(index, source));
    }
    std::fs::write(&text, units).expect("the target folder can be written");
    let status = Command::new("g++")
        .args([
            "-std=c++17",
            "-O1",
            "-w",
            "-fPIC",
            "-shared",
            "-ffp-contract=off",
            "-fno-strict-aliasing",
            "-I",
        ])
        .arg(concat!(env!("CARGO_MANIFEST_DIR"), "/tests"))
        .arg(&text)
        .arg("-o")
        .arg(&library)
        .status();
    match status {
        Ok(status) => assert!(status.success(), "g++ refused {}", text.display()),
        Err(error) => {
            println!("not run: g++ could not be started: {error}");
            return None;
        }
    }
    // SAFETY: the library was just built from generated code; its initialisers do nothing.
    Some(unsafe { Library::new(&library) }.expect("a library that was just linked loads"))
}

fn run_case(library: &Library, index: usize, case: &Case, source: &Source) -> Vec<Vec<u8>> {
    let mut inputs: Vec<Aligned> = case.inputs.iter().map(|b| Aligned::new(b)).collect();
    let mut outputs: Vec<Aligned> = case.outputs.iter().map(|&n| Aligned::new(&vec![0xa5; n])).collect();
    let mut scratch = Aligned::new(&vec![0xcc; source.scratch]);
    let from: Vec<u64> = inputs.iter_mut().map(Aligned::address).collect();
    let to: Vec<u64> = outputs.iter_mut().map(Aligned::address).collect();
    for launch in &source.launches {
        let arguments =
            Arguments::new(&case.kernel, source, launch, &from, &to, scratch.address(), &case.scalars);
        let mut arguments = arguments.expect("every operand of a case is there");
        let mut pointers = arguments.pointers();
        let name = format!("run{index}_{}", launch.entry);
        // A small grid makes the kernels stride.
        let grid = launch.blocks.min(3) as u32;
        // SAFETY: the function was generated with this signature; the arguments fit its parameters.
        unsafe {
            let run = library
                .get::<unsafe extern "C" fn(u32, u32, *mut *mut c_void)>(name.as_bytes())
                .expect("every entry has its wrapper");
            run(grid, launch.threads, pointers.as_mut_ptr());
        }
    }
    outputs.iter_mut().zip(&case.outputs).map(|(o, &n)| o.slice(n).to_vec()).collect()
}

/// The same source with 64-bit index arithmetic, which otherwise needs spaces too large to emulate.
fn widened(source: Source) -> Source {
    let text = source.text.replace("typedef int index_t;", "typedef long long index_t;");
    Source { text, wide: true, ..source }
}

fn check(name: &str, cases: &[Case], wide: bool) {
    let source = |c: &Case| if wide { widened(fused(&c.kernel)) } else { fused(&c.kernel) };
    check_sources(name, cases, cases.iter().map(source).collect());
}

fn check_sources(name: &str, cases: &[Case], sources: Vec<Source>) {
    let Some(library) = compile(name, &sources) else { return };
    for (index, (case, source)) in cases.iter().zip(&sources).enumerate() {
        let got = run_case(&library, index, case, source);
        let mut want: Vec<Vec<u8>> = case.outputs.iter().map(|&n| vec![0xa5; n]).collect();
        interpreter::run(&case.kernel, &case.inputs, &case.scalars, &mut want);
        for (store, (got, want)) in got.iter().zip(&want).enumerate() {
            if let Some(place) = (0..want.len()).find(|&i| got[i] != want[i]) {
                let size = case.kernel.stores[store].dtype.size();
                let element = place / size * size;
                panic!(
                    "{}: output {store} element {} is {:x?}, not {:x?}\n{:#?}\n{}",
                    case.name,
                    place / size,
                    &got[element..element + size],
                    &want[element..element + size],
                    case.kernel,
                    source.text,
                );
            }
        }
    }
}

fn batch(number: u64, wide: bool) {
    let limits = Limits { points: 40_000 };
    let cases: Vec<Case> = (number * BATCH..(number + 1) * BATCH).map(|seed| case(seed, limits)).collect();
    check(&format!("batch{number}"), &cases, wide);
}

#[test]
fn random_kernels_agree_with_the_interpreter() {
    batch(0, false);
}

#[test]
fn random_kernels_with_64_bit_indices_agree_with_the_interpreter() {
    batch(1, true);
}

#[test]
fn planned_kernels_agree_with_the_interpreter() {
    let cases: Vec<Case> = (0..40).flat_map(|seed| planned(seed, 4096)).collect();
    check("planned", &cases, false);
}

#[test]
fn kernels_that_look_their_operands_up_agree_with_the_interpreter() {
    let cases: Vec<Case> = (0..60).filter_map(lookup).collect();
    assert_eq!(cases.len(), 60, "every lookup is folded");
    check("lookups", &cases, false);
    check("wide_lookups", &cases[..12], true);
}

#[test]
fn functions_of_16_bits_that_are_looked_up_agree() {
    let limits = crossover_codegen::Limits { shared: 1 << 17, table: 1 };
    let all: Vec<Case> = op_list().into_iter().map(|op| op_case(op, 3001)).collect();
    let tables = all.into_iter().map(|case| (fused_within(&case.kernel, limits), case));
    let (sources, cases): (Vec<Source>, Vec<Case>) =
        tables.filter(|(source, _)| source.launches.iter().any(|l| l.shared > 0)).step_by(9).unzip();
    assert!(cases.len() > 3, "{} tables", cases.len());
    check_sources("tables", &cases, sources);
}

#[test]
fn every_op_agrees_on_every_dtype() {
    let cases: Vec<Case> = op_list().into_iter().map(|op| op_case(op, 3000)).collect();
    check("ops", &cases, false);
}

#[test]
fn every_conversion_agrees() {
    let cases: Vec<Case> = cast_list().into_iter().map(|pair| cast_case(pair, 3000)).collect();
    check("casts", &cases, false);
}
