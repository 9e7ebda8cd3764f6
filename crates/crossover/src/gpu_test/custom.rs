//! Kernels as users write them: on the GPU by their CUDA source, bit for bit what their closures give.

use crossover::{Array, CustomKernel, DType, Device, Key, random, with_device};
use crossover_cuda::proof::custom::{elementwise, random_custom, whole_calls};

use crate::{Options, Result, calls::computed, report::Report, setup::Setup};

/// Random calls of elementwise kernels.
const CALLS: u64 = 160;

pub fn run(setup: &Setup, _: &Options, report: &mut Report) -> Result<()> {
    let small = (0..CALLS).filter_map(|seed| random_custom(seed, seed % 4 == 3));
    let cases: Vec<_> = small.chain(whole_calls()).filter(|case| !case.want.is_empty()).collect();
    let mut wrong = Vec::new();
    for case in &cases {
        let got = computed(&*setup.cuda, case).map_err(|error| format!("{}: {error}", case.name))?;
        if got != case.want {
            wrong.push(case.name.clone());
        }
    }
    let detail = format!("{} calls; wrong: {:?}", cases.len(), &wrong[..wrong.len().min(6)]);
    report.check("custom kernels", wrong.is_empty(), detail);
    plans(setup, report)?;
    mistakes(setup, report)
}

/// Array code with a kernel of the user's in the middle, and what is known about the kernel afterwards.
fn plans(setup: &Setup, report: &mut Report) -> Result<()> {
    let Some(saxpy) = elementwise().into_iter().find(|kernel| kernel.name() == "saxpy") else {
        return Err("there is no saxpy".into());
    };
    let runtime = setup.runtime(true);
    runtime.scope(|| {
        let x = random::normal::<f32>(&Key::new(5), [1000, 1003]);
        let make = || saxpy.call(&[&x.exp(), &x.t().t(), &x.index(0)]).softmax(-1);
        let got = make();
        got.eval()?;
        let fell = runtime.executor().counts().fallbacks;
        let equal = with_device(Device::Cpu, || -> Result<bool> { Ok(make().to_npy()? == got.to_npy()?) })?;
        let launches = runtime
            .kernels()
            .iter()
            .filter(|(_, k)| k.name() == "saxpy")
            .map(|(_, k)| k.launches)
            .sum::<u64>();
        let detail = format!("equal: {equal}, on the host: {fell}, launches on record: {launches}");
        report.check("custom kernels in plans", equal && fell == 0 && launches > 0, detail);
        Ok(())
    })
}

/// Sources that do not compile, and launches that no device can do, are told; the device goes on.
fn mistakes(setup: &Setup, report: &mut Report) -> Result<()> {
    let wrong = CustomKernel::builder("wrong")
        .input("x", DType::F32)
        .output("out", DType::F32)
        .elementwise("float y = x;\nout = y * nowhere;", |x: f32| x)
        .build()?;
    setup.runtime(true).scope(|| {
        let x = Array::ones::<f32>([10]);
        let error = wrong.call(&[&x]).to_vec::<f32>().err().map_or_else(String::new, |e| e.to_string());
        let told = error.contains("line 2") && error.contains("nowhere");
        report.check(
            "a source that does not compile is told",
            told,
            error.lines().next().unwrap_or_default(),
        );
        report.check("and the device goes on", x.exp().to_vec::<f32>().is_ok(), "");
        Ok(())
    })
}
