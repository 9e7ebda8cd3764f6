//! Kernels of users: what is computed, what is refused.

use super::*;

fn halves() -> CustomKernel {
    let shape = |shapes: &[&Shape]| match shapes[0].dims() {
        [n] if n.is_multiple_of(2) => Ok(Shape::from([n / 2])),
        dims => Err(format!("wants one axis of even length, not {dims:?}")),
    };
    CustomKernel::builder("halves")
        .input("x", DType::I32)
        .output("out", DType::I32)
        .shape(shape)
        .cpu(|inputs, output| {
            let x = inputs.slice::<i32>(0)?;
            for (out, pair) in output.slice::<i32>()?.iter_mut().zip(x.chunks(2)) {
                assert!(pair[0] >= 0, "{} is negative", pair[0]);
                *out = pair[0] + pair[1];
            }
            Ok(())
        })
        .cuda("extern \"C\" __global__ void halves(const int* x, int* out) {}", |_, out| {
            Grid::covering(out.size(), 128)
        })
        .build()
        .unwrap()
}

fn run(kernel: &CustomKernel, x: &[i32]) -> Result<Vec<i32>> {
    let bytes: Vec<u8> = x.iter().flat_map(|v| v.to_le_bytes()).collect();
    let (room, shape) = (Room::new(&bytes), Shape::from([x.len()]));
    let values = [Values::new(DType::I32, &shape, room.bytes())];
    let half = Shape::from([x.len() / 2]);
    let mut out = Room::new(&vec![0; x.len() / 2 * 4]);
    kernel.run(&values, &half, out.bytes_mut())?;
    Ok(out.bytes().chunks(4).map(|b| i32::from_le_bytes(b.try_into().unwrap())).collect())
}

#[test]
fn closures_compute_and_their_panics_are_errors() {
    let kernel = halves();
    assert_eq!(run(&kernel, &[1, 2, 3, 4]).unwrap(), [3, 7]);
    let error = run(&kernel, &[-5, 2]).unwrap_err();
    assert_eq!(error.to_string(), "halves: the kernel's CPU closure panicked: -5 is negative");
}

#[test]
fn a_shape_rule_may_refuse_or_panic() {
    let kernel = halves();
    let ty = |dims: &[usize]| Type { dtype: DType::I32, shape: Shape::from(dims) };
    assert_eq!(kernel.infer(&[&ty(&[6])]).unwrap(), ty(&[3]));
    let error = kernel.infer(&[&ty(&[5])]).unwrap_err();
    assert_eq!(error.to_string(), "halves: wants one axis of even length, not [5]");
    let wrong = Type { dtype: DType::F32, shape: Shape::from([6]) };
    let error = kernel.infer(&[&wrong]).unwrap_err();
    assert!(
        error.to_string().starts_with("halves: f32 is not supported (supported: i32 for `x`)"),
        "{error}"
    );
    let first = CustomKernel::builder("first")
        .input("x", DType::I32)
        .output("out", DType::I32)
        .shape(|shapes| Ok(Shape::from([shapes[0].dims()[0]])))
        .cpu(|_, _| Ok(()))
        .build()
        .unwrap();
    let error = first.infer(&[&ty(&[])]).unwrap_err();
    assert!(
        error.to_string().starts_with("first: the kernel's shape rule panicked: index out of"),
        "{error}"
    );
}

#[test]
fn a_closure_that_asks_for_another_dtype_is_told() {
    let kernel = CustomKernel::builder("wrong")
        .input("x", DType::I32)
        .output("out", DType::I32)
        .shape(|shapes| Ok(shapes[0].clone()))
        .cpu(|inputs, _| inputs.slice::<f32>(0).map(drop))
        .build()
        .unwrap();
    let error = run(&kernel, &[1, 2]).unwrap_err();
    assert!(error.to_string().contains("operand 0 is i32, and f32 was asked for"), "{error}");
}

#[test]
fn launches_are_checked() {
    let kernel = halves();
    let shape = Shape::from([1000]);
    let (_, launches) = kernel.program(75, &[&shape], &shape).unwrap().unwrap();
    let grid = &launches.grids()[0];
    assert_eq!((grid.blocks(), grid.threads()), ([8, 1, 1], [128, 1, 1]));
    let wide = CustomKernel::builder("wide")
        .input("x", DType::I32)
        .output("out", DType::I32)
        .shape(|shapes| Ok(shapes[0].clone()))
        .cpu(|_, _| Ok(()))
        .cuda("", |_, _| Grid::new([1, 1, 1], [64, 32, 1]))
        .build()
        .unwrap();
    let error = wide.program(75, &[&shape], &shape).unwrap_err();
    assert!(error.to_string().contains("2048 threads per block, and 1024 is the most"), "{error}");
}

#[test]
fn a_device_runs_the_source_that_asks_for_most_of_it() {
    let kernel = CustomKernel::builder("by_device")
        .input("x", DType::I32)
        .output("out", DType::I32)
        .shape(|shapes| Ok(shapes[0].clone()))
        .cpu(|_, _| Ok(()))
        .cuda_since(90, "hopper", |_, out| Grid::covering(out.size(), 128).resident(1))
        .cuda_since(80, "ampere", |_, out| {
            Launches::from(Grid::covering(out.size(), 64))
                .then(Grid::covering(1, 1).entry("join"))
                .scratch(64)
        })
        .build()
        .unwrap();
    let shape = Shape::from([1000]);
    let source = |capability| {
        let made = kernel.program(capability, &[&shape], &shape).unwrap();
        made.map(|(source, launches)| (source.to_string(), launches))
    };
    assert_eq!(source(75), None);
    let (text, launches) = source(86).unwrap();
    assert_eq!((&*text, launches.grids().len(), launches.scratch_bytes()), ("ampere", 2, 64));
    assert_eq!(launches.grids()[1].entry_name(), Some("join"));
    let (text, launches) = source(90).unwrap();
    assert_eq!((&*text, launches.grids()[0].blocks_on(4)), ("hopper", [4, 1, 1]));
}

#[test]
fn pieces_know_where_they_start_and_work_is_told() {
    let kernel = CustomKernel::builder("places")
        .input("x", DType::I32)
        .output("out", DType::I32)
        .shape(|shapes| Ok(shapes[0].clone()))
        .pieces(|_, out| out.size() / 4)
        .work(|_, out| Work { products: out.size() as u64, functions: 1, ..Work::default() })
        .cpu(|_, output| {
            let start = output.start();
            output.slice::<i32>()?.iter_mut().enumerate().for_each(|(i, x)| *x = (start + i) as i32);
            Ok(())
        })
        .build()
        .unwrap();
    let shape = Shape::from([8]);
    assert_eq!(kernel.piece(&[&shape], &shape).unwrap(), Some(2));
    assert_eq!(kernel.work(&[&shape], &shape).unwrap().flops(), 8 + 16);
    let mut out = Room::new(&[0; 8]);
    kernel.run_piece(&[], &shape, 6, out.bytes_mut()).unwrap();
    assert_eq!(out.bytes(), [6, 0, 0, 0, 7, 0, 0, 0]);
    assert_eq!(run(&kernel, &[0; 4]).unwrap(), [0, 1]);
}

#[test]
fn equality_is_identity() {
    let (a, b) = (halves(), halves());
    assert_eq!(a, a.clone());
    assert_ne!(a, b);
}
