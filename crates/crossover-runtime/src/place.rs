//! Where a kernel runs.

use crossover_plan::Cost;
use smallvec::SmallVec;

use crate::{Buffer, Device, Machine};

/// Where kernels run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Placement {
    /// Everything on the host.
    #[default]
    Host,
    /// Everything on one device, falling back to the host for what it cannot do.
    On(Device),
    /// Kernel i of a plan on device i modulo the number of devices: every edge of a plan crosses devices, which is
    /// what coherence tests want.
    RoundRobin,
    /// Each kernel where a fixed rule expects it to be faster: beside its operands, unless they are small, and on an
    /// accelerator if there is much more to compute than to move. While an accelerator is still making a kernel
    /// ready, the host computes the same bits.
    Auto,
}

/// Bytes from which a kernel beside copies of its operands is worth launching.
const WORTH_LAUNCHING: u64 = 256 << 10;
/// Operations from which a kernel may be worth its transfers.
const MUCH_WORK: u64 = 1 << 26;
/// Operations per byte to be moved from which it is.
const WORK_PER_BYTE: u64 = 256;

/// The device for a kernel under [`Placement::Auto`].
pub(crate) fn choose(machine: &Machine, cost: &Cost, reads: &[&Buffer]) -> Device {
    let mut best = (Device::HOST, 0);
    let mut accelerators: SmallVec<[Device; 2]> = machine.devices().skip(1).collect();
    for &device in &accelerators {
        let held: u64 = reads.iter().filter(|b| b.is_valid_on(device)).map(|b| b.bytes() as u64).sum();
        if held > best.1 {
            best = (device, held);
        }
    }
    let (device, held) = best;
    let total: u64 = reads.iter().map(|b| b.bytes() as u64).sum();
    if device != Device::HOST {
        let to_host: u64 =
            reads.iter().filter(|b| !b.is_valid_on(Device::HOST)).map(|b| b.bytes() as u64).sum();
        let to_device = total - held;
        let large = cost.read + cost.written >= WORTH_LAUNCHING;
        if to_host > to_device || (to_device == 0 && large) {
            return available(machine, device);
        }
    }
    let moved = total - held + cost.written;
    if cost.flops >= MUCH_WORK && cost.flops / WORK_PER_BYTE >= moved {
        let first = if device == Device::HOST { accelerators.drain(..).next() } else { Some(device) };
        return first.map_or(Device::HOST, |device| available(machine, device));
    }
    Device::HOST
}

fn available(machine: &Machine, device: Device) -> Device {
    if machine.backend(device).check().is_ok() { device } else { Device::HOST }
}
