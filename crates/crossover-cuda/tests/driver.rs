//! Drivers that are missing, old, incomplete, broken or out of memory, each a shared object built for the occasion.
//!
//! Needs a C compiler; without it the tests say that they were not run. Every case runs in a process of its own,
//! because a process loads one driver.
#![allow(clippy::unwrap_used)]

mod host;

use std::{
    path::{Path, PathBuf},
    process::Command,
    sync::Arc,
};

use crossover_core::{
    DType, Graph, Layout, Shape,
    custom::{CustomKernel, Grid},
    graph::Op,
    ops::{
        MapOp,
        fft::{FftKind, FftScale},
        linalg::LinalgOp,
    },
};
use crossover_cuda::{CudaBackend, Gpu, Nvrtc};
use crossover_plan::{
    Options,
    kernel::{BufferId, Call, CallOp, Kernel, Operand},
};
use crossover_runtime::{Backend, Buffer, Device, Executor, Machine, Placement};

use host::Host;

/// Builds the fake driver into a folder of its own, or `None` where there is no compiler.
fn build(name: &str, flags: &[&str]) -> Option<PathBuf> {
    let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(name);
    std::fs::create_dir_all(&folder).unwrap();
    let source = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/fake_driver.c");
    let mut compiler = Command::new("cc");
    compiler.args(["-shared", "-fPIC", "-O1", "-w"]).args(flags).arg(source);
    match compiler.arg("-o").arg(folder.join("libcuda.so.1")).status() {
        Ok(status) => assert!(status.success(), "cc refused {source}"),
        Err(error) => {
            println!("not run: cc could not be started: {error}");
            if let Ok(log) = std::env::var("CROSSOVER_NOT_RUN") {
                use std::io::Write;
                let mut file = std::fs::File::options().append(true).create(true).open(log).unwrap();
                writeln!(file, "fake driver {name}: cc could not be started").unwrap();
            }
            return None;
        }
    }
    Some(folder)
}

/// What the scene of [`child`] prints in a process with this driver and these variables.
fn play(folder: &Path, scene: &str, variables: &[(&str, &str)]) -> String {
    let output = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "child", "--nocapture"])
        .env("LD_LIBRARY_PATH", folder)
        .env("FAKE_SCENE", scene)
        .env("CROSSOVER_CACHE", "off")
        .envs(variables.iter().copied())
        .output()
        .unwrap();
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(output.status.success(), "{scene}: {text}\n{}", String::from_utf8_lossy(&output.stderr));
    text
}

/// The scenes; does nothing unless one is named.
#[test]
fn child() {
    match std::env::var("FAKE_SCENE").as_deref() {
        Ok("open") => println!("answer: {:?}", Gpu::open(0).map(|gpu| gpu.name().to_string())),
        Ok("message") => println!("answer: {}", Gpu::open(0).unwrap_err()),
        Ok("ordinal") => println!("answer: {:?}", Gpu::open(7).map(drop)),
        Ok("transfers") => transfers(),
        Ok("sticky") => {
            let device = failing();
            println!("then: {}", device.allocate(10).unwrap_err());
            println!("usable: {}", device.check().is_ok());
        }
        Ok("passing") => println!("usable: {}", failing().check().is_ok()),
        Ok("libraries") => libraries(),
        Ok("peers") => peers(),
        Ok("custom") => custom(),
        Ok("replay") => replay(false),
        Ok("replay calls") => replay(true),
        Ok("stream") => stream(),
        Ok("many") => many(),
        Ok("full") => {
            let device = CudaBackend::new(0);
            println!("answer: {:?}", device.allocate(5000));
            println!("still open: {:?}", device.check().is_ok());
        }
        _ => {}
    }
}

/// What is said about libraries, and about a call that needs one.
fn libraries() {
    let device = CudaBackend::new(0);
    for line in device.missing() {
        println!("missing: {line}");
    }
    let kind = FftKind::Forward;
    let op = CallOp::Fft { kind, axes: [0].into_iter().collect(), scale: FftScale::One };
    for op in [op, CallOp::Linalg(LinalgOp::Inv)] {
        let layout = Layout::contiguous(Shape::from([600, 600]));
        let operand = Operand { buffer: BufferId(0), dtype: DType::C64, layout: layout.clone() };
        let call = Call { op, operands: vec![operand], output: BufferId(1), layout, dtype: DType::C64 };
        match device.prepare(&Kernel::Call(call)) {
            Ok(_) => println!("answer: ready"),
            Err(error) => println!("answer: {error}"),
        }
    }
}

fn transfers() {
    let device = CudaBackend::new(0);
    let source: Vec<u8> = (0..9_000_000u32).map(|i| (i.wrapping_mul(2_654_435_761) >> 13) as u8).collect();
    for size in [0, 1, 65_535, 65_536, 65_537, 1 << 20, (1 << 20) + 1, 9_000_000] {
        let block = device.receive(&source[..size]).unwrap();
        let other = device.allocate(size).unwrap();
        device.upload(&source[..size], other).unwrap();
        for block in [block, other] {
            let mut back = vec![0; size];
            device.download(block, &mut back).unwrap();
            assert!(back == source[..size], "{size} bytes");
            device.free(block);
        }
    }
    underway(&device, &source);
    println!("answer: all arrived");
}

/// Copies that are waited for later, several at once.
#[allow(unsafe_code)]
fn underway(device: &CudaBackend, source: &[u8]) {
    // Items that lie apart, so many in a group, and of lengths that pieces do not end at.
    for (count, length) in [(3, 40_000), (20, 256 << 10), (7, 700_001)] {
        let parts: Vec<&[u8]> = (0..count).map(|i| &source[i * 1001..i * 1001 + length]).collect();
        // SAFETY: the source outlives the copies, which are waited for.
        let begun: Vec<_> = (0..3).map(|_| unsafe { device.begin_parts(&parts) }.unwrap().unwrap()).collect();
        for (block, copy) in begun {
            copy.wait().unwrap();
            let mut back = vec![0; count * length];
            // SAFETY: as above.
            unsafe { device.begin_download(block, &mut back) }.unwrap().unwrap().wait().unwrap();
            assert!(back == parts.concat(), "{count} of {length}");
            let landed = (0..4).find_map(|_| device.begin_landing(block).unwrap());
            let landed = landed.unwrap().wait().unwrap();
            assert!((*landed).as_ref() == back, "{count} of {length}, landed");
            device.free(block);
        }
    }
    // Dropped before it is over, a copy has been waited for.
    let parts: Vec<&[u8]> = vec![&source[..1 << 20]; 4];
    // SAFETY: as above.
    let (block, copy) = unsafe { device.begin_parts(&parts) }.unwrap().unwrap();
    drop(copy);
    drop((0..4).find_map(|_| device.begin_landing(block).unwrap()));
    device.free(block);
    device.trim().unwrap();
}

/// Kernels of users: one that does not compile, some whose launches the device cannot do, one without CUDA source.
fn custom() {
    if let Err(reason) = Nvrtc::open() {
        return println!("not run: {reason}");
    }
    let start = |name| CustomKernel::builder(name).input("x", DType::F32).output("out", DType::F32);
    let whole = || start("whole").shape(|shapes| Ok(shapes[0].clone())).cpu(|_, _| Ok(()));
    let source = "extern \"C\" __global__ void whole(const float* x, float* out) {}";
    let device = CudaBackend::new(0);
    for builder in [
        start("wrong").elementwise("float y = x;\nout = y * nowhere", |x: f32| x),
        whole().cuda(source, |_, _| Grid::new([1, 1, 1], [64, 1, 1]).shared(1 << 30)),
        whole().cuda(source, |_, _| Grid::new([1, 1, 1], [64, 64, 1])),
        whole().cuda(source, |shapes, _| Grid::covering(shapes[7][0], 64)),
        whole(),
    ] {
        let layout = Layout::contiguous(Shape::from([100]));
        let operand = Operand { buffer: BufferId(0), dtype: DType::F32, layout: layout.clone() };
        let op = CallOp::Custom(builder.build().unwrap());
        let call = Call { op, operands: vec![operand], output: BufferId(1), layout, dtype: DType::F32 };
        match device.prepare(&Kernel::Call(call)) {
            Ok(_) => println!("answer: ready"),
            Err(error) => println!("answer: {error}\n{error:?}"),
        }
    }
}

/// Bytes of every size from one device to another.
fn peers() {
    let (first, second) = (CudaBackend::new(0), CudaBackend::new(1));
    let source: Vec<u8> = (0..9_000_000u32).map(|i| (i.wrapping_mul(2_654_435_761) >> 13) as u8).collect();
    for size in [0, 1, 65_537, 4 << 20, 9_000_000] {
        let from = first.receive(&source[..size]).unwrap();
        let to = second.allocate(size).unwrap();
        println!("copy of {size}");
        assert!(second.copy_from(&first, from, to, size).unwrap());
        println!("copied {size}");
        let mut back = vec![0; size];
        second.download(to, &mut back).unwrap();
        assert!(back == source[..size], "{size} bytes");
        first.free(from);
        second.free(to);
    }
    println!("absent: {}", CudaBackend::new(2).check().unwrap_err());
    println!("answer: all arrived");
}

/// A chain of unfused kernels, again and again: the same input and others, results held and dropped. The fake's kernels
/// add 1, whatever they are called. With `calls` every other kernel is a user's.
fn replay(calls: bool) {
    let cuda = Arc::new(CudaBackend::new(0));
    let machine = Machine::new(Arc::new(Host), vec![cuda.clone()]).unwrap();
    let executor = Executor::new(machine.clone(), Options { fusion: false }, Placement::On(Device(1)));
    let mut graph = Graph::new();
    let mut x = graph.input(DType::F32, Shape::from([1000])).unwrap();
    let source = "extern \"C\" __global__ void whole(const float* x, float* out, long long count) {}";
    let whole = CustomKernel::builder("whole")
        .input("x", DType::F32)
        .output("out", DType::F32)
        .shape(|shapes| Ok(shapes[0].clone()))
        .cpu(|_, _| Ok(()))
        .cuda(source, |_, _| Grid::new([1, 1, 1], [64, 1, 1]).argument(1000))
        .build()
        .unwrap();
    for at in 0..KERNELS {
        let op = if calls && at % 2 == 1 { Op::Custom(whole.clone()) } else { Op::Map(MapOp::Square) };
        x = graph.push(op, &[x]).unwrap();
    }
    graph.output(x);
    let input = |start: f32| {
        let bytes: Vec<u8> = (0..1000).flat_map(|i| (start + i as f32).to_le_bytes()).collect();
        Buffer::from_bytes(&machine, &bytes).unwrap()
    };
    let inputs = [input(0.0), input(5000.0)];
    let mut held = Vec::new();
    for round in 0..12 {
        let which = [0, 0, 0, 0, 1, 1, 0, 1, 0, 0, 0, 0][round];
        let before = starts();
        let result = executor.evaluate(&graph, std::slice::from_ref(&inputs[which])).unwrap();
        println!("round {round}: {} starts", starts() - before);
        let got: Vec<f32> = (result[0].host_bytes().unwrap().chunks_exact(4))
            .map(|b| f32::from_le_bytes(b.try_into().unwrap()))
            .collect();
        let first = which as f32 * 5000.0 + KERNELS as f32;
        assert!(
            got.iter().enumerate().all(|(i, &v)| v == first + i as f32),
            "round {round}: {:?}",
            &got[..4]
        );
        if round < 8 {
            // Held results keep their memory, so the next one is elsewhere.
            held.push((first, result));
        }
    }
    for (first, result) in held {
        let bytes = result[0].host_bytes().unwrap();
        assert_eq!(bytes[..4], first.to_le_bytes(), "a later run wrote over a result that is held");
    }
    let counts = executor.counts();
    println!("launches {}, replayed {}, fallbacks {}", counts.launches, counts.replayed, counts.fallbacks);
    println!("usable: {}, noted {}", cuda.check().is_ok(), counted(b"fake_notes"));
    println!("kernels: {:?}", cuda.kernels().iter().map(|k| k.launches).collect::<Vec<_>>());
}

const KERNELS: usize = 20;

/// More plans that repeat than a device keeps graphs for.
fn many() {
    let machine = Machine::new(Arc::new(Host), vec![Arc::new(CudaBackend::new(0))]).unwrap();
    let executor = Executor::new(machine.clone(), Options { fusion: false }, Placement::On(Device(1)));
    let run = |length: usize| {
        let mut graph = Graph::new();
        let mut x = graph.input(DType::F32, Shape::from([length])).unwrap();
        for _ in 0..3 {
            x = graph.push(Op::Map(MapOp::Square), &[x]).unwrap();
        }
        graph.output(x);
        let input = Buffer::from_bytes(&machine, &vec![0; 4 * length]).unwrap();
        let before = starts();
        let result = executor.evaluate(&graph, &[input]).unwrap();
        let bytes = result[0].host_bytes().unwrap();
        assert!(bytes.chunks_exact(4).all(|b| b == 3f32.to_le_bytes()), "{length} elements");
        starts() - before
    };
    let rounds = |length: usize| [run(length), run(length), run(length), run(length)];
    // A kernel of one point has its parameters in another order than the fake driver takes them for.
    println!("first: {:?}", rounds(100));
    for length in 101..=169 {
        assert_eq!(rounds(length), [3, 3, 1, 1], "{length}");
    }
    println!("last again: {:?}", rounds(169));
    println!("first again: {:?}", rounds(100));
}

/// A kernel from host memory to host memory, in several parts and one that is not whole.
fn stream() {
    let machine = Machine::new(Arc::new(Host), vec![Arc::new(CudaBackend::new(0))]).unwrap();
    let executor = Executor::new(machine.clone(), Options::default(), Placement::On(Device(1)));
    for count in [1usize << 20, 5_000_000, 6_291_457] {
        let mut graph = Graph::new();
        let x = graph.input(DType::F32, Shape::from([count])).unwrap();
        let y = graph.push(Op::Map(MapOp::Square), &[x]).unwrap();
        graph.output(y);
        let bytes: Vec<u8> = (0..count).flat_map(|i| (i as f32).to_le_bytes()).collect();
        let input = Buffer::from_bytes(&machine, &bytes).unwrap();
        let mut to = vec![0u8; bytes.len()];
        let before = starts();
        let (result, written) = executor
            .evaluate_into(executor.placement(), &graph, std::slice::from_ref(&input), &mut to)
            .unwrap();
        println!("{count}: written {written} by {} starts", starts() - before);
        let right = |bytes: &[u8]| {
            let values = bytes.chunks_exact(4).map(|b| f32::from_le_bytes(b.try_into().unwrap()));
            bytes.len() == 4 * count && values.enumerate().all(|(i, v)| v == i as f32 + 1.0)
        };
        assert!(right(&to) && right(result[0].host_bytes().unwrap()), "{count}");
        assert!(input.is_valid_on(Device(1)), "the operand is there now");
        // Again: the operand does not move, so nothing is gained by parts.
        let before = starts();
        executor.evaluate_into(executor.placement(), &graph, &[input], &mut to).unwrap();
        assert_eq!(starts() - before, 1);
    }
    println!("transfers {}", executor.counts().transfers);
}

/// How often the fake driver was asked to start something.
fn starts() -> i32 {
    counted(b"fake_starts")
}

/// A number that the fake driver counts.
fn counted(function: &[u8]) -> i32 {
    // SAFETY: the process runs with the fake driver, which has this function.
    #[allow(unsafe_code)]
    unsafe {
        let library = libloading::Library::new("libcuda.so.1").unwrap();
        library.get::<unsafe extern "C" fn() -> i32>(function).unwrap()()
    }
}

/// A device that has just failed to copy.
fn failing() -> CudaBackend {
    let device = CudaBackend::new(0);
    let block = device.receive(&[1; 100]).unwrap();
    println!("first: {}", device.download(block, &mut [0; 100]).unwrap_err());
    device
}

#[test]
fn an_old_driver_is_refused_with_its_version() {
    let Some(folder) = build("old", &[]) else { return };
    let text = play(&folder, "open", &[("FAKE_VERSION", "11080")]);
    assert!(text.contains("OldDriver { found: 11080, needed: 12000 }"), "{text}");
    let text = play(&folder, "message", &[("FAKE_VERSION", "11080")]);
    assert!(text.contains("supports CUDA 11.8, and 12.0 is needed: install a newer driver"), "{text}");
}

#[test]
fn a_driver_that_lacks_a_function_is_refused_with_its_name() {
    let Some(folder) = build("lacks", &["-DLACKS"]) else { return };
    let text = play(&folder, "open", &[]);
    assert!(text.contains("Symbol { library: \"libcuda\", symbol: \"cuMemAllocAsync\" }"), "{text}");
}

#[test]
fn a_driver_that_does_not_start_is_an_error_of_the_driver() {
    let Some(folder) = build("broken", &[]) else { return };
    let text = play(&folder, "open", &[("FAKE_INIT", "100")]);
    assert!(text.contains("cuInit") && text.contains("CUDA_ERROR_NO_DEVICE"), "{text}");
}

#[test]
fn an_absent_ordinal_is_counted() {
    let Some(folder) = build("ordinal", &[]) else { return };
    assert!(play(&folder, "open", &[]).contains("Ok(\"Fake GPU\")"));
    assert!(play(&folder, "ordinal", &[]).contains("NoDevice { ordinal: 7, count: 1 }"));
}

#[test]
fn bytes_of_every_size_go_through_the_staging_blocks_unchanged() {
    let Some(folder) = build("transfers", &[]) else { return };
    assert!(play(&folder, "transfers", &[]).contains("answer: all arrived"));
}

#[test]
fn mistakes_in_kernels_of_users_are_errors_and_what_the_machine_lacks_is_not() {
    let Some(folder) = build("custom", &[]) else { return };
    // The compiler opens a library beside it by its bare name.
    let beside =
        std::env::var_os("CROSSOVER_NVRTC").and_then(|path| Path::new(&path).parent().map(Path::to_owned));
    let path = std::env::join_paths([Some(folder.clone()), beside].into_iter().flatten()).unwrap();
    let text = play(&folder, "custom", &[("LD_LIBRARY_PATH", path.to_str().unwrap())]);
    if text.contains("not run: ") {
        return println!("{text}");
    }
    for line in [
        "answer: wrong: the CUDA source does not compile for sm_90a, line 2:",
        "wrong.cu(2): error: identifier \"nowhere\" is undefined",
        "Source { kernel: \"wrong\", architecture: \"sm_90a\", line: Some(2)",
        "answer: whole: the kernel's launch rule asks for 1073741824 bytes of shared memory per block, and Fake GPU has 0",
        "answer: whole: the kernel's launch rule asks for 4096 threads per block, and 1024 is the most",
        "answer: whole: the kernel's launch rule panicked: index out of bounds",
        "answer: Fake GPU cannot run the custom kernel whole: it has no CUDA source",
    ] {
        assert!(text.contains(line), "{line}\n{text}");
    }
}

#[test]
fn bytes_go_straight_from_one_gpu_to_another_in_the_right_order() {
    let Some(folder) = build("peers", &[]) else { return };
    let variables = [("FAKE_COUNT", "2"), ("FAKE_PEER", "1"), ("FAKE_TRACE", "1")];
    let text = play(&folder, "peers", &variables);
    assert!(text.contains("answer: all arrived"), "{text}");
    assert!(text.contains("there is no CUDA device 2; the driver counts 2"), "{text}");
    let (_, after) = text.split_once("copy of 9000000\n").unwrap();
    let (during, _) = after.split_once("copied 9000000\n").unwrap();
    let lines: Vec<&str> = during.lines().map(|line| line.trim_start_matches("fake: ")).collect();
    // Streams are numbered as they are made: 8, 9, 10 of the first device (kernels, up, down), 11, 12, 13 of the second.
    let number = |line: &str, word: &str| -> String {
        line.split_once(word).unwrap().1.split_whitespace().next().unwrap().to_string()
    };
    let [written, left, left_held, held, copy, copied, later, given] = lines.as_slice() else {
        panic!("{lines:?}");
    };
    assert!(written.ends_with("set on stream 8") && left.ends_with("set on stream 11"), "{lines:?}");
    assert_eq!(*left_held, format!("stream 12 waits for event {}", number(left, "event ")));
    assert_eq!(*held, format!("stream 12 waits for event {}", number(written, "event ")));
    assert_eq!(*copy, "stream 12 copies 9000000 bytes between devices");
    assert!(copied.ends_with("set on stream 12"), "{lines:?}");
    let copied = number(copied, "event ");
    assert_eq!(*later, format!("stream 11 waits for event {copied}"));
    assert_eq!(*given, format!("stream 8 waits for event {copied}"));
}

#[test]
fn bytes_between_gpus_that_do_not_reach_each_other_go_through_the_host() {
    let Some(folder) = build("staged", &[]) else { return };
    let text = play(&folder, "peers", &[("FAKE_COUNT", "2"), ("FAKE_TRACE", "1")]);
    assert!(text.contains("answer: all arrived"), "{text}");
    assert!(!text.contains("between devices"), "{text}");
}

#[test]
fn a_sticky_error_retires_the_device() {
    let Some(folder) = build("sticky", &[]) else { return };
    let text = play(&folder, "sticky", &[("FAKE_DOWN", "700")]);
    assert!(text.contains("first: device Fake GPU failed while copying from it"), "{text}");
    assert!(text.contains("then: device Fake GPU failed while allocating: it was retired"), "{text}");
    assert!(text.contains("usable: false"), "{text}");
}

#[test]
fn an_error_that_passes_leaves_the_device_in_use() {
    let Some(folder) = build("passing", &[]) else { return };
    let text = play(&folder, "passing", &[("FAKE_DOWN", "1")]);
    assert!(text.contains("first: device Fake GPU failed while copying from it"), "{text}");
    assert!(text.contains("usable: true"), "{text}");
}

#[test]
fn a_full_device_says_what_was_asked_for_and_what_is_free() {
    let Some(folder) = build("full", &[]) else { return };
    let text = play(&folder, "full", &[("FAKE_FULL", "1")]);
    assert!(text.contains("OutOfMemory") && text.contains("requested: 5000, free: 0"), "{text}");
    assert!(text.contains("still open: true"), "{text}");
}

#[test]
fn a_plan_that_repeats_is_started_at_once_with_the_same_results() {
    let Some(folder) = build("replay", &[]) else { return };
    let compiler = folder.join("libcuda.so.1").display().to_string();
    let variables = [("FAKE_KERNELS", "1"), ("CROSSOVER_NVRTC", &*compiler)];
    let text = play(&folder, "replay", &variables);
    for (round, starts) in [(0, 20), (1, 20), (2, 1), (3, 1), (4, 1), (7, 1), (11, 1)] {
        assert!(text.contains(&format!("round {round}: {starts} starts")), "{text}");
    }
    assert!(text.contains("launches 240, replayed 200, fallbacks 0"), "{text}");
    assert!(text.contains("kernels: [240]"), "every kernel of a graph is counted: {text}");
}

#[test]
fn a_plan_with_calls_is_noted_for_each_set_of_blocks_and_started_at_once() {
    let Some(folder) = build("noted", &[]) else { return };
    let compiler = folder.join("libcuda.so.1").display().to_string();
    let variables = [("FAKE_KERNELS", "1"), ("CROSSOVER_NVRTC", &*compiler)];
    let text = play(&folder, "replay calls", &variables);
    for (round, starts) in [(0, 20), (1, 20), (2, 1), (3, 1), (4, 1), (7, 1), (11, 1)] {
        assert!(text.contains(&format!("round {round}: {starts} starts")), "{text}");
    }
    assert!(text.contains("launches 240, replayed 200, fallbacks 0"), "{text}");
    assert!(text.contains("kernels: [120, 120]"), "every kernel of a graph is counted: {text}");
    // Six results are held and so elsewhere each time; the last four rounds find what the one before left.
    assert!(text.contains("noted 7"), "{text}");
}

#[test]
fn a_graph_that_the_driver_refuses_is_launched_kernel_by_kernel() {
    let Some(folder) = build("refused", &[]) else { return };
    let compiler = folder.join("libcuda.so.1").display().to_string();
    let variables = [("FAKE_KERNELS", "1"), ("FAKE_GRAPH", "1"), ("CROSSOVER_NVRTC", &*compiler)];
    let text = play(&folder, "replay", &variables);
    for round in 0..12 {
        assert!(text.contains(&format!("round {round}: 20 starts")), "{text}");
    }
    assert!(
        text.contains("launches 240, replayed 0, fallbacks 0") && text.contains("usable: true"),
        "{text}"
    );
}

#[test]
fn the_graph_that_was_used_least_recently_makes_room_and_can_come_back() {
    let Some(folder) = build("many", &[]) else { return };
    let compiler = folder.join("libcuda.so.1").display().to_string();
    let text = play(&folder, "many", &[("FAKE_KERNELS", "1"), ("CROSSOVER_NVRTC", &*compiler)]);
    for line in ["first: [3, 3, 1, 1]", "last again: [1, 1, 1, 1]", "first again: [3, 3, 3, 1]"] {
        assert!(text.contains(line), "{line}\n{text}");
    }
}

#[test]
fn a_kernel_between_host_vectors_runs_in_parts_and_leaves_everything_on_the_device() {
    let Some(folder) = build("stream", &[]) else { return };
    let compiler = folder.join("libcuda.so.1").display().to_string();
    let variables = [("FAKE_KERNELS", "1"), ("CROSSOVER_NVRTC", &*compiler)];
    let text = play(&folder, "stream", &variables);
    for line in [
        "1048576: written true by 1 starts",
        "5000000: written true by 5 starts",
        "6291457: written true by 7 starts",
        "transfers 3",
    ] {
        assert!(text.contains(line), "{line}\n{text}");
    }
}

#[test]
fn missing_and_incomplete_libraries_are_named_and_their_calls_refused() {
    let Some(folder) = build("libraries", &[]) else { return };
    // The driver is a library too, but none of transforms.
    let other = folder.join("libcuda.so.1").display().to_string();
    let variables =
        [("CROSSOVER_CUBLASLT", "/nowhere"), ("CROSSOVER_CUFFT", &other), ("CROSSOVER_CUSOLVER", "/nowhere")];
    let text = play(&folder, "libraries", &variables);
    for line in [
        "missing: without cuBLASLt (products): libcublasLt is not to be had",
        "missing: without cuFFT (transforms): libcufft lacks the function cufftCreate; the CPU does that work",
        "missing: without cuSOLVER (decompositions): libcusolver is not to be had: not found; set CROSSOVER_CUSOLVER",
        "missing: without cuSOLVER (general eigenvalues): libcusolver is not to be had",
        "answer: Fake GPU cannot run fft: libcufft lacks the function cufftCreate",
        "answer: Fake GPU cannot run inv: libcusolver is not to be had",
    ] {
        assert!(text.contains(line), "{line}\n{text}");
    }
}
