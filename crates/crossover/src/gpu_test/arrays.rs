//! The public interface of devices, on a machine that has one.

use crossover::{Array, Device, Key, Runtime, gpus, random, with_device};

use crate::{Options, Result, report::Report, setup::Setup};

pub fn run(_: &Setup, _: &Options, report: &mut Report) -> Result<()> {
    let found = gpus();
    report.check("gpus", matches!(found.first(), Some((Device::Cuda(0), Ok(_)))), format!("{found:?}"));

    let host = random::normal::<f32>(&Key::new(3), [1000, 1000]);
    host.eval()?;
    let there = host.to_device(Device::Cuda(0))?;
    let want = with_device(Device::Cpu, || host.gelu().softmax(-1).to_vec::<f32>())?;
    let y = there.gelu().softmax(-1);
    // The rule follows the data; while the compiler works, the host may compute, with the same bits.
    let mut where_it_was = Vec::new();
    for _ in 0..20 {
        let again = there.gelu().softmax(-1);
        again.eval()?;
        where_it_was.push(again.device());
        if again.device() == Device::Cuda(0) {
            break;
        }
        std::thread::sleep(std::time::Duration::from_millis(100));
    }
    let same = y.to_vec::<f32>()? == want;
    report.check(
        "auto follows the data",
        same && where_it_was.last() == Some(&Device::Cuda(0)) && there.device() == Device::Cuda(0),
        format!("bits equal: {same}; evaluated on {where_it_was:?}"),
    );
    let counts = Runtime::current().executor().counts();
    let postponed = counts.postponed;
    report.check("the host computes while kernels compile", postponed > 0, format!("{postponed} kernels"));

    let z = with_device(Device::Cuda(0), || host.exp().eval().cloned())?;
    let same = z.to_vec::<f32>()? == with_device(Device::Cpu, || host.exp().to_vec::<f32>())?;
    report.check("with_device", same && z.device() == Device::Cuda(0), format!("{:?}", z.device()));

    let missing = host.to_device(Device::Cuda(99)).err().map(|e| e.to_string()).unwrap_or_default();
    report.check("an absent ordinal is an error", missing.contains("cuda:99"), missing);

    // Calls and fused kernels in turn; small work stays on the host.
    let mixed = with_device(Device::Cuda(0), || (there.sort(-1) * 2.0).sum(0).to_vec::<f32>())?;
    let want = with_device(Device::Cpu, || (host.sort(-1) * 2.0).sum(0).to_vec::<f32>())?;
    report.check("calls between kernels", mixed == want, format!("{} values", want.len()));
    let small = Array::from([1.0f32, 2.0]).exp();
    small.eval()?;
    report.check(
        "small work stays on the host",
        small.device() == Device::Cpu,
        format!("{:?}", small.device()),
    );
    let samples = random::uniform::<f32>(&Key::new(1), [50_000_000]).square().sum(());
    let (mut device, mut value) = (Device::Auto, 0.0);
    for _ in 0..10 {
        let again = random::uniform::<f32>(&Key::new(1), [50_000_000]).square().sum(());
        again.eval()?;
        (device, value) = (again.device(), again.item::<f32>()?);
        if device == Device::Cuda(0) {
            break;
        }
        std::thread::sleep(std::time::Duration::from_millis(100));
    }
    let want = with_device(Device::Cpu, || samples.item::<f32>())?;
    report.check(
        "much work goes to the gpu",
        device == Device::Cuda(0) && value == want,
        format!("{device:?}, {value} and {want}"),
    );
    Ok(())
}
