//! A kernel on one line: what it computes of its operands, whatever their sizes.

use std::fmt::Write as _;

use crate::{
    kernel::{Fused, Kernel, StepOp},
    plan::Launch,
};

/// Characters of a line at most.
const LONGEST: usize = 400;

impl Launch {
    /// What the kernel computes: `x0`, `x1` are its operands in the order in which it reads them, `c0` numbers of the program, and what is used several times
    /// has a name. Sizes are not part of it, and lines are cut after 400 characters.
    ///
    /// ```
    /// # use crossover_core::{DType, Graph, Shape, ops::MapOp};
    /// # use crossover_plan::{Options, Plan};
    /// let mut graph = Graph::new();
    /// let x = graph.input(DType::F32, Shape::from([8]))?;
    /// let y = graph.input(DType::F32, Shape::from([8]))?;
    /// let sum = graph.map(MapOp::Add, &[x, y])?;
    /// let out = graph.map(MapOp::Gelu, &[sum])?;
    /// graph.output(out);
    /// let plan = Plan::new(&graph, Options::default())?;
    /// assert_eq!(plan.launches[0].text(), "gelu(add(x0, x1))");
    /// # Ok::<(), crossover_core::Error>(())
    /// ```
    pub fn text(&self) -> String {
        let mut text = match &self.kernel {
            Kernel::Fused(fused) => Formula::of(fused).text(),
            Kernel::Call(call) => {
                let operands: Vec<String> = (0..call.operands.len()).map(|at| format!("x{at}")).collect();
                format!("{}({})", self.name, operands.join(", "))
            }
        };
        if let Some((end, _)) = text.char_indices().nth(LONGEST) {
            text.truncate(end);
            text.push('…');
        }
        text
    }
}

/// The steps of a kernel as one expression.
struct Formula<'a> {
    fused: &'a Fused,
    /// How often each step is used.
    uses: Vec<u32>,
    /// The text of each step.
    texts: Vec<String>,
}

impl<'a> Formula<'a> {
    fn of(fused: &'a Fused) -> Formula<'a> {
        let mut uses = vec![0; fused.steps.len()];
        let args = fused.steps.iter().flat_map(|step| &step.args);
        for &step in args.chain(fused.stores.iter().map(|store| &store.step)) {
            uses[step as usize] += 1;
        }
        Formula { fused, uses, texts: Vec::with_capacity(fused.steps.len()) }
    }

    fn text(mut self) -> String {
        let mut out = String::new();
        for at in 0..self.fused.steps.len() {
            let text = self.step(at);
            let is_plain = !text.ends_with(')');
            // Once it is longer than what is kept, nobody reads on.
            let is_long = text.len() > LONGEST;
            if !is_plain && (self.uses[at] > 1 || is_long) {
                let _ = write!(out, "s{at} = {text}; ");
                self.texts.push(format!("s{at}"));
            } else {
                self.texts.push(text);
            }
            if out.len() > 4 * LONGEST {
                return out;
            }
        }
        let results: Vec<&str> =
            self.fused.stores.iter().map(|store| self.texts[store.step as usize].as_str()).collect();
        out + &results.join("; ")
    }

    fn step(&self, at: usize) -> String {
        let step = &self.fused.steps[at];
        let args: Vec<&str> = step.args.iter().map(|&arg| self.texts[arg as usize].as_str()).collect();
        let call = |name: &str| format!("{name}({})", args.join(", "));
        match &step.op {
            StepOp::Load(i) => format!("x{i}"),
            StepOp::Take { from, at, .. } => format!("x{from}[x{at}]"),
            StepOp::Scalar(slot) => format!("c{slot}"),
            StepOp::Index { .. } => "index".to_string(),
            StepOp::Random { key, .. } => format!("random(x{key})"),
            StepOp::Map(op) => call(op.name()),
            StepOp::Cast(crossover_core::ops::cast::Step::Plain(_, to)) => call(to.name()),
            StepOp::Cast(crossover_core::ops::cast::Step::Odd) => call("f32_odd"),
            StepOp::Cast(crossover_core::ops::cast::Step::Round(to)) => call(&format!("round_{to}")),
            StepOp::Where => call("where"),
            // The value itself.
            StepOp::Canonical | StepOp::Expand => args.first().copied().unwrap_or_default().to_string(),
            StepOp::Reduce(op) => call(op.name()),
        }
    }
}

#[cfg(test)]
mod tests {
    use crossover_core::{DType, Graph, NodeId, Shape, compose, ops::MapOp};

    use crate::{Options, Plan};

    fn texts(build: impl FnOnce(&mut Graph, NodeId) -> NodeId, n: usize) -> Vec<String> {
        let mut graph = Graph::new();
        let x = graph.input(DType::F32, Shape::from([n, n])).unwrap();
        let out = build(&mut graph, x);
        graph.output(out);
        let plan = Plan::new(&graph, Options::default()).unwrap();
        plan.launches.iter().map(super::Launch::text).collect()
    }

    #[test]
    fn what_is_used_twice_has_a_name_and_sizes_do_not_show() {
        let twice = |graph: &mut Graph, x: NodeId| {
            let root = graph.map(MapOp::Sqrt, &[x]).unwrap();
            graph.map(MapOp::Multiply, &[root, root]).unwrap()
        };
        let text = texts(twice, 8);
        assert_eq!(text, texts(twice, 64));
        let [line] = &text[..] else { panic!("one kernel: {text:?}") };
        let (named, rest) = line.split_once(" = sqrt(x0); ").expect(line);
        assert_eq!(rest, format!("multiply({named}, {named})"));
    }

    #[test]
    fn calls_name_their_operands() {
        let product = |graph: &mut Graph, x: NodeId| compose::matmul(graph, &x, &x).unwrap();
        assert_eq!(texts(product, 16), ["matmul(x0, x1)"]);
    }

    #[test]
    fn long_lines_are_cut() {
        let long = |graph: &mut Graph, x: NodeId| {
            (0..40).fold(x, |y, _| {
                let root = graph.map(MapOp::Sqrt, &[y]).unwrap();
                graph.map(MapOp::Maximum, &[root, x]).unwrap()
            })
        };
        let text = texts(long, 8).remove(0);
        assert!(text.chars().count() == super::LONGEST + 1 && text.ends_with('…'), "{text}");
    }
}
