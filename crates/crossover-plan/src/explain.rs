//! A plan as a person reads it.

use std::fmt::Write as _;

use crate::{
    cost::{Rates, is_matrix},
    kernel::{BufferId, Extent, Fused, Kernel, Kind, Step, StepOp, Window},
    plan::{Plan, Role},
};

impl Plan {
    /// One paragraph per kernel: kind, space, operands, what it costs and how long it should take.
    ///
    /// ```
    /// # use crossover_core::{DType, Graph, Shape, ops::MapOp};
    /// # use crossover_plan::{Options, Plan};
    /// let mut graph = Graph::new();
    /// let x = graph.input(DType::F32, Shape::from([4096, 1024]))?;
    /// let y = graph.map(MapOp::Gelu, &[x])?;
    /// graph.output(y);
    /// let text = Plan::new(&graph, Options::default())?.explain(None);
    /// assert!(text.contains("Map"));
    /// # Ok::<(), crossover_core::Error>(())
    /// ```
    pub fn explain(&self, rates: Option<&Rates>) -> String {
        self.explain_with(rates, |_| String::new())
    }

    /// As [`explain`](Plan::explain), with lines of the caller's below the heading of each kernel.
    pub fn explain_with(&self, rates: Option<&Rates>, notes: impl Fn(usize) -> String) -> String {
        let mut out = String::new();
        let total = self.cost();
        let plural = if self.launches.len() == 1 { "" } else { "s" };
        let _ = write!(
            out,
            "plan: {} kernel{plural}, {} moved, {} arithmetic operations",
            self.launches.len(),
            bytes(total.moved()),
            count(total.flops)
        );
        if let Some(rates) = rates {
            let _ = write!(out, ", about {}", duration(self.time(rates)));
        }
        out.push('\n');
        for (at, launch) in self.launches.iter().enumerate() {
            let cost = &launch.cost;
            let _ = write!(
                out,
                "\n{at}. {} {}  {}\n   reads {}, writes {}, {} operations",
                kind(&launch.kernel),
                launch.name,
                space(&launch.kernel),
                bytes(cost.read),
                bytes(cost.written),
                count(cost.flops)
            );
            if let Some(rates) = rates {
                let _ = write!(out, ", about {}", duration(cost.time(rates, is_matrix(&launch.kernel))));
            }
            out.push('\n');
            out.push_str(&notes(at));
            match &launch.kernel {
                Kernel::Fused(fused) => self.explain_fused(&mut out, fused),
                Kernel::Call(call) => {
                    let operands: Vec<String> = call
                        .operands
                        .iter()
                        .map(|o| format!("{} {}{}", self.label(o.buffer), o.dtype, o.layout.shape))
                        .collect();
                    let result = format!("{} {}{}", self.label(call.output), call.dtype, call.layout.shape);
                    let _ = writeln!(out, "     {result} = {}({})", launch.name, operands.join(", "));
                }
            }
            if let Some(fold) = &launch.fold {
                let _ =
                    writeln!(out, "     on a GPU {} in one call, with kernel {}", fold.launch.name, at + 1);
            }
        }
        let outputs: Vec<String> = self.outputs.iter().map(|&o| self.label(o)).collect();
        let _ = writeln!(out, "\nreturns {}", outputs.join(", "));
        out
    }

    fn explain_fused(&self, out: &mut String, fused: &Fused) {
        for (at, step) in fused.steps.iter().enumerate() {
            let note = match (step.extent, fused.kind) {
                (Extent::Full, _) => "",
                (Extent::Reduced, Kind::Column) => "  per column",
                (Extent::Reduced, _) => "  per row",
                (Extent::One, _) => "  once",
            };
            let _ = writeln!(out, "     s{at} = {}{note}", self.step(fused, step));
        }
        for store in &fused.stores {
            let view = strided(&store.window, &fused.space.dims());
            let _ = writeln!(
                out,
                "     {}{view} <- s{} as {}",
                self.label(store.buffer),
                store.step,
                store.dtype
            );
        }
    }

    fn step(&self, fused: &Fused, step: &Step) -> String {
        let args: Vec<String> = step.args.iter().map(|a| format!("s{a}")).collect();
        let call = |name: &str| format!("{name}({})", args.join(", "));
        match &step.op {
            StepOp::Load(i) => {
                let load = &fused.loads[*i as usize];
                format!(
                    "{} {}{}",
                    self.label(load.buffer),
                    load.dtype,
                    strided(&load.window, &fused.space.dims())
                )
            }
            StepOp::Take { from, at, .. } => {
                let (table, index) = (&fused.loads[*from as usize], &fused.loads[*at as usize]);
                format!("{} {} at {}", self.label(table.buffer), table.dtype, self.label(index.buffer))
            }
            StepOp::Scalar(slot) => format!("scalar {slot} {}", step.dtype),
            StepOp::Index { modulus, .. } => format!("index below {modulus}"),
            StepOp::Random { key, stream, .. } => {
                format!("random({}, stream {stream})", self.label(fused.loads[*key as usize].buffer))
            }
            StepOp::Map(op) => call(op.name()),
            StepOp::Cast(crossover_core::ops::cast::Step::Plain(_, to)) => call(to.name()),
            StepOp::Cast(crossover_core::ops::cast::Step::Odd) => call("f32_odd"),
            StepOp::Cast(crossover_core::ops::cast::Step::Round(to)) => call(&format!("round_{to}")),
            StepOp::Where => call("where"),
            StepOp::Canonical => call("canonical_nan"),
            StepOp::Expand => call("expand"),
            StepOp::Reduce(op) => call(op.name()),
        }
    }

    fn label(&self, buffer: BufferId) -> String {
        match self.buffers[buffer.0 as usize].role {
            Role::Input(i) => format!("in{i}"),
            Role::Computed => format!("b{}", buffer.0),
        }
    }
}

fn kind(kernel: &Kernel) -> &'static str {
    match kernel {
        Kernel::Fused(f) => match f.kind {
            Kind::Map => "Map",
            Kind::Row if f.space.outer_size() == 1 => "Full",
            Kind::Row => "Row",
            Kind::Column => "Column",
        },
        Kernel::Call(_) => "Call",
    }
}

fn space(kernel: &Kernel) -> String {
    let list = |dims: &[usize]| dims.iter().map(usize::to_string).collect::<Vec<_>>().join("×");
    match kernel {
        Kernel::Fused(f) => {
            let mut parts = Vec::new();
            if !f.space.outer.is_empty() {
                parts.push(list(&f.space.outer));
            }
            if !f.space.reduce.is_empty() {
                parts.push(format!("reduce {}", list(&f.space.reduce)));
            }
            if !f.space.inner.is_empty() {
                parts.push(list(&f.space.inner));
            }
            if parts.is_empty() { "one point".to_string() } else { parts.join(" | ") }
        }
        Kernel::Call(c) => c.layout.shape.to_string(),
    }
}

/// Strides, where they are not the plain row-major ones.
fn strided(window: &Window, dims: &[usize]) -> String {
    let mut step = 1isize;
    let plain = dims.iter().zip(&window.strides).rev().all(|(&n, &s)| {
        let same = s == step;
        step = step.saturating_mul(n.try_into().unwrap_or(isize::MAX));
        same
    });
    if plain && window.offset == 0 {
        return String::new();
    }
    let offset = if window.offset == 0 { String::new() } else { format!(" from {}", window.offset) };
    format!(" strides {:?}{offset}", window.strides)
}

/// A number of bytes with its unit.
fn bytes(n: u64) -> String {
    let units = ["B", "KB", "MB", "GB", "TB"];
    let mut value = n as f64;
    let mut unit = 0;
    while value >= 1000.0 && unit < units.len() - 1 {
        value /= 1000.0;
        unit += 1;
    }
    if unit == 0 { format!("{n} B") } else { format!("{value:.3} {}", units[unit]) }
}

/// A count in thousands, millions, …
fn count(n: u64) -> String {
    match n {
        0..10_000 => n.to_string(),
        10_000..10_000_000 => format!("{:.1}k", n as f64 / 1e3),
        10_000_000..10_000_000_000 => format!("{:.1}M", n as f64 / 1e6),
        _ => format!("{:.1}G", n as f64 / 1e9),
    }
}

/// Nanoseconds with a unit that suits them.
///
/// ```
/// assert_eq!(crossover_plan::duration(18_000.0), "18.0 µs");
/// ```
pub fn duration(ns: f64) -> String {
    match ns {
        _ if ns < 1e3 => format!("{ns:.0} ns"),
        _ if ns < 1e6 => format!("{:.1} µs", ns / 1e3),
        _ if ns < 1e9 => format!("{:.2} ms", ns / 1e6),
        _ => format!("{:.2} s", ns / 1e9),
    }
}
