//! A decision as a person reads it: where each kernel runs, what every device would take, what has to move, and why; and after a
//! run, what really happened.

use std::fmt::Write as _;

use crossover_plan::{Plan, duration};

use crate::{Decision, Device, Machine, executor::Observed};

fn name(machine: &Machine, device: Device) -> String {
    machine.backend(device).name().to_string()
}

/// The plan with a line on the placement of each kernel.
pub fn explained(plan: &Plan, decision: &Decision, machine: &Machine) -> String {
    let mut out = plan.explain_with(None, |at| placed(decision, machine, at));
    let results = decision.copies_ns(decision.kernels());
    if results > 0.0 {
        let _ = writeln!(out, "bringing results to the host takes about {}", duration(results));
    }
    let _ = writeln!(out, "about {} in all", duration(decision.total_ns()));
    out
}

fn placed(decision: &Decision, machine: &Machine, at: usize) -> String {
    let (device, times) = (decision.device(at), decision.times_ns(at));
    let mut out = format!("   on {}: about {}", name(machine, device), duration(times[device.0]));
    for other in machine.devices().filter(|&other| other != device) {
        let _ = write!(out, ", on {}: {}", name(machine, other), duration(times[other.0]));
    }
    if decision.copies_ns(at) > 0.0 {
        let _ = write!(out, ", after {} of copies", duration(decision.copies_ns(at)));
    }
    let _ = writeln!(out, "; {}", decision.why(at));
    out
}

/// The plan with predictions and what a run of it took.
///
/// Regret is what a kernel took beyond the prediction for the fastest device; it is about the choice only as far as
/// predictions are right.
pub fn explained_with(plan: &Plan, decision: &Decision, machine: &Machine, seen: &[Observed]) -> String {
    let note = |at: usize| {
        let mut out = placed(decision, machine, at);
        let Some(run) = seen.iter().find(|run| run.kernel == at) else {
            out.push_str("   ran as a part of the kernel before\n");
            return out;
        };
        let took = run.took.as_nanos() as f64;
        let predicted = decision.times_ns(at)[run.device.0];
        let best = decision.times_ns(at).iter().copied().fold(f64::INFINITY, f64::min);
        let _ = write!(out, "   took {} on {}", duration(took), name(machine, run.device));
        let _ = write!(out, ", {:.0}% of what was predicted", 100.0 * took / predicted);
        let _ = write!(out, ", regret {}", duration((took - best).max(0.0)));
        if run.moved > 0 {
            let moving = run.moving.as_nanos() as f64;
            let _ = write!(out, "; {:.3} MB were copied in {}", run.moved as f64 / 1e6, duration(moving));
        }
        out.push('\n');
        out
    };
    let mut out = plan.explain_with(None, note);
    let took: f64 = seen.iter().map(|run| (run.took + run.moving).as_nanos() as f64).sum();
    let (took, predicted) = (duration(took), duration(decision.total_ns()));
    let _ = writeln!(out, "took {took} in kernels and copies, predicted were {predicted}");
    out
}
