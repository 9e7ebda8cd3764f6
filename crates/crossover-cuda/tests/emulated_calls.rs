//! Hand-written kernels run on the host by a small emulator and agree with the reference interpreter, bit for bit.
//!
//! Needs `g++`; without it the test says that it was not run.

#![allow(unsafe_code)]

mod aligned;

use std::{collections::HashMap, ffi::c_void, fmt::Write as _, path::PathBuf, process::Command};

use crossover_core::{
    DType, Layout, Shape,
    ops::{Unary, gelu::Gelu},
};
use crossover_cuda::{
    calls::{Cell, Program, own_product, programs},
    proof::{
        calls::{CallCase, random_call, random_convolution},
        custom::random_custom,
    },
};
use crossover_plan::kernel::{Activation, BufferId, Call, CallOp, Operand};
use libloading::Library;

use aligned::Aligned;

/// Every text once, in a namespace of its own, with a wrapper per entry point.
fn library(name: &str, programs: &[&Program]) -> Option<(Library, HashMap<String, usize>)> {
    let mut numbers: HashMap<String, usize> = HashMap::new();
    let mut units = String::from("#include \"emulator.hpp\"\n");
    for program in programs.iter().filter(|p| !p.steps.is_empty()) {
        if !numbers.contains_key(&program.text) {
            let number = numbers.len();
            numbers.insert(program.text.clone(), number);
            let text = program.text.replace("extern \"C\" __global__", "static __global__");
            let _ = writeln!(units, "namespace unit{number} {{\n{text}}}");
            for name in text.lines().filter_map(|line| line.strip_prefix("#define ")) {
                let _ = writeln!(units, "#undef {}", name.split(' ').next().unwrap_or(name));
            }
        }
        let number = numbers[&program.text];
        for step in &program.steps {
            let entry = step.entry;
            let wrapper = format!("run{number}_{entry}");
            let signature = format!("void {wrapper}(unsigned");
            if !units.contains(&signature) {
                let _ = writeln!(
                    units,
                    "extern \"C\" {signature} grid, unsigned block, void** args) {{ \
                     emulated_launch(unit{number}::{entry}, grid, block, args, true); }}"
                );
            }
        }
    }
    let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR"));
    let (text, library) = (folder.join(format!("{name}.cpp")), folder.join(format!("{name}.so")));
    std::fs::write(&text, units).expect("the target folder can be written");
    let flags =
        ["-std=c++17", "-O1", "-w", "-fPIC", "-shared", "-ffp-contract=off", "-fno-strict-aliasing", "-mfma"];
    let status = Command::new("g++")
        .args(flags)
        .arg("-I")
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
    // SAFETY: the library was just built from our kernels; its initialisers do nothing.
    Some((unsafe { Library::new(&library) }.expect("a library that was just linked loads"), numbers))
}

fn run(
    library: &Library,
    numbers: &HashMap<String, usize>,
    case: &CallCase,
    programs: &[Program],
) -> Vec<u8> {
    let mut inputs: Vec<Aligned> = case.operands.iter().map(|b| Aligned::new(b)).collect();
    let mut output = Aligned::new(&vec![0xa5; case.want.len()]);
    for program in programs {
        let mut scratch = Aligned::new(&vec![0xcc; program.scratch]);
        for step in &program.steps {
            let mut addresses: Vec<u64> = step
                .cells
                .iter()
                .map(|cell| match cell {
                    Cell::Input(i, at) => inputs[*i].address() + at,
                    Cell::Output(at) => output.address() + at,
                    Cell::Scratch(at) => scratch.address() + at,
                    Cell::Value(_) => 0,
                })
                .collect();
            let pointer = |(cell, address): (&Cell, &mut u64)| match cell {
                Cell::Value(words) => words.as_ptr().cast_mut().cast::<c_void>(),
                _ => std::ptr::from_mut(address).cast(),
            };
            let mut pointers: Vec<*mut c_void> = step.cells.iter().zip(&mut addresses).map(pointer).collect();
            let name = format!("run{}_{}", numbers[&program.text], step.entry);
            // SAFETY: the wrapper takes these arguments, and the cells follow the parameters of its entry point.
            unsafe {
                let run = library
                    .get::<unsafe extern "C" fn(u32, u32, *mut *mut c_void)>(name.as_bytes())
                    .expect("every entry has its wrapper");
                run(step.blocks, step.threads, pointers.as_mut_ptr());
            }
        }
    }
    output.slice(case.want.len()).to_vec()
}

fn check(name: &str, cases: &[CallCase]) {
    let own = |c: &CallCase| programs(&c.call).or_else(|| own_product(&c.call).map(|program| vec![program]));
    let all: Vec<Vec<Program>> = cases.iter().map(|c| own(c).expect("our own kernels do these")).collect();
    let Some((library, numbers)) = library(name, &all.iter().flatten().collect::<Vec<_>>()) else { return };
    for (case, programs) in cases.iter().zip(&all) {
        let got = run(&library, &numbers, case, programs);
        let size = case.call.dtype.size();
        if let Some(place) = (0..got.len()).find(|&i| got[i] != case.want[i]) {
            let at = place / size * size;
            panic!(
                "{}: element {} is {:x?}, not {:x?}\n{:?}",
                case.name,
                place / size,
                &got[at..at + size],
                &case.want[at..at + size],
                case.call,
            );
        }
    }
}

fn calls(seeds: std::ops::Range<u64>, large: bool) -> Vec<CallCase> {
    seeds.filter_map(|seed| random_call(seed, large)).filter(|case| !case.want.is_empty()).collect()
}

#[test]
fn random_calls_agree_with_the_interpreter() {
    check("calls", &calls(0..240, false));
}

#[test]
fn calls_of_several_blocks_agree_with_the_interpreter() {
    // Two libraries, since a compiler uses one thread for each.
    std::thread::scope(|scope| {
        for (name, seeds) in [("large_calls", 1000..1028), ("more_large_calls", 1028..1056)] {
            scope.spawn(move || check(name, &calls(seeds, true)));
        }
    });
}

#[test]
fn elementwise_kernels_of_users_agree_with_their_closures() {
    let small = (0..96).filter_map(|seed| random_custom(seed, false));
    let large = (200..224).filter_map(|seed| random_custom(seed, true));
    let cases: Vec<CallCase> = small.chain(large).filter(|case| !case.want.is_empty()).collect();
    assert!(cases.len() > 80);
    check("customs", &cases);
}

#[test]
fn convolutions_agree_with_the_interpreter() {
    let mut cases: Vec<CallCase> = (0..90).filter_map(|seed| random_convolution(seed, false)).collect();
    cases.extend((200..208).filter_map(|seed| random_convolution(seed, true)));
    check("convolutions", &cases);
}

/// A product of `batch` matrices, and what one fused multiplication and addition after another makes of it.
fn product([batch, rows, depth, columns]: [usize; 4], linear: Option<(bool, Activation)>) -> CallCase {
    let mut state = 7u32;
    let mut values = |count: usize| -> Vec<f32> {
        let mut next = || {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            (state >> 8) as f32 / 8_388_608.0 - 1.0
        };
        (0..count).map(|_| next()).collect()
    };
    let (left, right) = (values(batch * rows * depth), values(batch * depth * columns));
    let bias = values(columns);
    let mut want = Vec::new();
    for (b, row, column) in
        (0..batch).flat_map(|b| (0..rows).flat_map(move |r| (0..columns).map(move |c| (b, r, c))))
    {
        let factors =
            |k: usize| (left[(b * rows + row) * depth + k], right[(b * depth + k) * columns + column]);
        let mut sum = (0..depth).fold(0f32, |sum, k| factors(k).0.mul_add(factors(k).1, sum));
        if let Some((has_bias, activation)) = linear {
            sum = if has_bias { sum + bias[column] } else { sum };
            sum = match activation {
                Activation::None => sum,
                Activation::Relu => sum.max(0.0),
                Activation::Gelu => Gelu::f32(sum),
            };
        }
        want.extend(sum.to_le_bytes());
    }
    let bytes = |values: &[f32]| values.iter().flat_map(|v| v.to_le_bytes()).collect::<Vec<u8>>();
    let operand = |at: u32, shape: &[usize]| Operand {
        buffer: BufferId(at),
        dtype: DType::F32,
        layout: Layout::contiguous(Shape::from(shape)),
    };
    let mut operands = vec![operand(0, &[batch, rows, depth]), operand(1, &[batch, depth, columns])];
    let mut blocks = vec![bytes(&left), bytes(&right)];
    if linear.is_some_and(|(has_bias, _)| has_bias) {
        operands.push(operand(2, &[columns]));
        blocks.push(bytes(&bias));
    }
    let op = linear.map_or(CallOp::MatMul, |(bias, activation)| CallOp::Linear { bias, activation });
    let call = Call {
        op,
        operands,
        output: BufferId(9),
        layout: Layout::contiguous(Shape::from([batch, rows, columns])),
        dtype: DType::F32,
    };
    CallCase {
        name: format!("product of {batch} x {rows} x {depth} x {columns}"),
        call,
        operands: blocks,
        want,
    }
}

#[test]
fn products_of_matrices_that_lie_apart_have_the_same_bits() {
    let case = product([3, 33, 20, 36], None);
    let mut program = own_product(&case.call).unwrap();
    let together = program.clone();
    program.steps[0].entry = "product_apart";
    let Some((library, numbers)) = library("apart", &[&together, &program]) else { return };
    let want = run(&library, &numbers, &case, &[together]);
    assert_eq!(want, case.want);
    // Each matrix in memory of its own, the last ones first.
    let (rows, depth, columns) = (33usize, 20usize, 36usize);
    let split = |bytes: &[u8], each: usize| -> Vec<Aligned> {
        bytes.chunks(each * 4).rev().map(Aligned::new).collect()
    };
    let (mut left, mut right) =
        (split(&case.operands[0], rows * depth), split(&case.operands[1], depth * columns));
    let mut places = [0u64; 128];
    for at in 0..3 {
        (places[at], places[64 + at]) = (left[2 - at].address(), right[2 - at].address());
    }
    let mut output = Aligned::new(&vec![0xa5; case.want.len()]);
    let (mut to, mut numbers_of) =
        (output.address(), [rows, columns, depth, depth, columns].map(|n| n as i32));
    let mut pointers: Vec<*mut c_void> = vec![places.as_mut_ptr().cast(), (&raw mut to).cast()];
    pointers.extend(numbers_of.iter_mut().map(|number| std::ptr::from_mut(number).cast::<c_void>()));
    let name = format!("run{}_product_apart", numbers[&program.text]);
    // SAFETY: the wrapper takes these arguments, which follow the parameters of its entry point.
    unsafe {
        let run = library
            .get::<unsafe extern "C" fn(u32, u32, *mut *mut c_void)>(name.as_bytes())
            .expect("every entry has its wrapper");
        run(program.steps[0].blocks, program.steps[0].threads, pointers.as_mut_ptr());
    }
    assert!(output.slice(case.want.len()) == want, "the bits differ");
}

#[test]
fn products_are_sums_in_order() {
    let cases = [
        product([1, 32, 16, 32], None),
        product([3, 33, 20, 36], None),
        product([2, 1, 100, 4], None),
        product([1, 70, 4, 68], Some((true, Activation::None))),
        product([1, 40, 60, 32], Some((true, Activation::Gelu))),
        product([1, 31, 68, 64], Some((false, Activation::Relu))),
    ];
    check("products", &cases);
}
