//! Where kernels are told to run.

use crate::Device;

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
    /// Each kernel where the whole plan is expected to end soonest, as the [`Router`](crate::Router) decides from what was
    /// measured. While an accelerator is still making a kernel ready, the host computes the same bits.
    Auto,
}
