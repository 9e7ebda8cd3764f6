//! What a kernel asks of a device, by class of work: the terms in which rates are measured and kept.
//!
//! [`Cost`](crate::Cost) counts arithmetic in one unit; a device is not equally fast at all of it. Here every kernel is a list of
//! (class, element type, count), and a device has one rate for each pair.

use crossover_core::{DType, ops::Cost as Price};
use smallvec::SmallVec;

use crate::{
    cost,
    kernel::{Call, CallOp, Extent, Fused, Kernel, StepOp},
    plan::{Buffer, Plan},
};

macro_rules! named {
    ($(#[$about:meta])* $name:ident { $($(#[$doc:meta])* $variant:ident $text:literal),+ $(,)? }) => {
        $(#[$about])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub enum $name { $($(#[$doc])* $variant),+ }

        impl $name {
            /// All of them, in declaration order.
            pub const ALL: [$name; [$($text),+].len()] = [$($name::$variant),+];

            /// The name in profiles.
            pub const fn name(self) -> &'static str {
                match self { $($name::$variant => $text),+ }
            }

            /// By the name in profiles.
            pub fn from_name(name: &str) -> Option<$name> {
                match name { $($text => Some($name::$variant),)+ _ => None }
            }
        }
    };
}

named! {
    /// A class of work for which a device has its own rate.
    ///
    /// ```
    /// use crossover_plan::Class;
    /// assert_eq!(Class::from_name("product"), Some(Class::Product));
    /// ```
    Class {
        /// About one instruction per element: add, compare, select, convert.
        Simple "simple",
        /// Division, remainder, square root, per element.
        Divide "divide",
        /// A polynomial and its argument reduction, per element: exp, tanh, erf.
        Function "function",
        /// Several functions, per element: pow.
        Heavy "heavy",
        /// Elements reduced.
        Reduce "reduce",
        /// Random words.
        Random "random",
        /// Elements moved to or from places that data decides: take, gather, scatter, bisection.
        Lookup "lookup",
        /// Operations of matrix products.
        Product "product",
        /// Operations of Fourier transforms, as textbooks count them.
        Transform "transform",
        /// Comparisons of sorts.
        Sort "sort",
        /// Operations of matrix decompositions.
        Decompose "decompose",
        /// Operations of direct convolutions.
        Convolve "convolve",
        /// Operations of running sums and of whatever has no class of its own.
        Other "other",
    }
}

named! {
    /// The element type of a rate; complex numbers count as several of their parts.
    Width {
        /// Booleans and 8-bit integers.
        Byte "i8",
        /// 16-bit integers.
        Short "i16",
        /// 16-bit floats.
        Half "f16",
        /// 32-bit integers.
        Word "i32",
        /// `f32`.
        Single "f32",
        /// 64-bit integers.
        Long "i64",
        /// `f64`.
        Double "f64",
    }
}

impl Width {
    /// The width of a dtype's elements, or of their parts.
    pub const fn of(dtype: DType) -> Width {
        match dtype {
            DType::Bool | DType::I8 | DType::U8 => Width::Byte,
            DType::I16 | DType::U16 => Width::Short,
            DType::F16 | DType::BF16 => Width::Half,
            DType::I32 | DType::U32 => Width::Word,
            DType::F32 | DType::C64 => Width::Single,
            DType::I64 | DType::U64 => Width::Long,
            DType::F64 | DType::C128 => Width::Double,
        }
    }
}

/// An amount of one class of work.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Term {
    /// The class.
    pub class: Class,
    /// Of which elements.
    pub width: Width,
    /// Elements, or operations where the class says so.
    pub count: u64,
}

/// What one kernel asks of a device.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Work {
    /// Bytes read and written, each operand once.
    pub bytes: u64,
    /// Amounts by class, in the order in which the kernel first needs them.
    pub terms: SmallVec<[Term; 4]>,
}

impl Work {
    /// The work of a kernel of a plan with these buffers; without them, windows that overlap count in full.
    pub fn of(kernel: &Kernel, buffers: &[Buffer]) -> Work {
        let cost = cost::kernel(kernel, buffers);
        let mut work = Work { bytes: cost.moved(), terms: SmallVec::new() };
        match kernel {
            Kernel::Fused(fused) => work.fused(fused),
            Kernel::Call(call) => work.call(call, cost.flops),
        }
        work
    }

    /// Whether moving its bytes and computing its products say how long a kernel takes at least. Sorts, transforms, random numbers and the like
    /// have limits of their own that nobody measures, and a lookup touches less than its table.
    ///
    /// ```
    /// use crossover_plan::{Class, Term, Width, Work};
    /// let of = |class| Work { bytes: 8, terms: [Term { class, width: Width::Single, count: 1 }].into_iter().collect() };
    /// assert!(of(Class::Function).has_roof() && !of(Class::Sort).has_roof());
    /// ```
    pub fn has_roof(&self) -> bool {
        use Class::{Divide, Function, Heavy, Product, Reduce, Simple};
        let known = |class: Class| matches!(class, Simple | Divide | Function | Heavy | Reduce | Product);
        self.terms.iter().all(|term| known(term.class))
    }

    fn add(&mut self, class: Class, dtype: DType, count: u64) {
        let width = Width::of(dtype);
        let count = if dtype.is_complex() { count.saturating_mul(4) } else { count };
        match self.terms.iter_mut().find(|t| t.class == class && t.width == width) {
            Some(term) => term.count = term.count.saturating_add(count),
            None if count > 0 => self.terms.push(Term { class, width, count }),
            None => {}
        }
    }

    fn fused(&mut self, fused: &Fused) {
        let full = cost::points(fused, Extent::Full).0;
        for step in &fused.steps {
            let points = cost::points(fused, step.extent).0;
            match &step.op {
                StepOp::Map(op) => {
                    let class = match op.info().cost {
                        Price::Simple => Class::Simple,
                        Price::Divide => Class::Divide,
                        Price::Function => Class::Function,
                        Price::Heavy => Class::Heavy,
                    };
                    // A comparison is as wide as what it compares.
                    let dtype = step.args.first().map_or(step.dtype, |&arg| fused.steps[arg as usize].dtype);
                    self.add(class, dtype, points);
                }
                StepOp::Cast(_) | StepOp::Where => self.add(Class::Simple, step.dtype, points),
                StepOp::Random { .. } => self.add(Class::Random, step.dtype, points),
                StepOp::Reduce(_) => self.add(Class::Reduce, step.dtype, full),
                _ => {}
            }
        }
    }

    fn call(&mut self, call: &Call, flops: u64) {
        let result = call.layout.shape.size() as u64;
        let dtype = call.operands.first().map_or(call.dtype, |operand| operand.dtype);
        if let Some(work) = cost::custom_work(call) {
            let width = Width::of(dtype);
            let terms = [
                (Class::Simple, work.simple),
                (Class::Function, work.functions),
                (Class::Product, work.products),
                (Class::Lookup, work.lookups),
                (Class::Transform, work.transforms),
                (Class::Sort, work.sorts),
            ];
            let some = terms.into_iter().filter(|&(_, count)| count > 0);
            return self.terms.extend(some.map(|(class, count)| Term { class, width, count }));
        }
        let (class, count) = match &call.op {
            CallOp::MatMul | CallOp::Linear { .. } => (Class::Product, flops),
            CallOp::Fft { .. } => (Class::Transform, flops),
            CallOp::Sort { .. } | CallOp::TopK { .. } => (Class::Sort, flops),
            CallOp::Linalg(_) => (Class::Decompose, flops),
            CallOp::Convolve { .. } => (Class::Convolve, flops),
            CallOp::Take { .. } | CallOp::Gather { .. } | CallOp::Compress => (Class::Lookup, result),
            CallOp::Scatter { .. } | CallOp::SearchSorted { .. } => (Class::Lookup, flops),
            // A few functions and a few words for each sample.
            CallOp::Sample(_) => return self.add(Class::Heavy, DType::F64, result.saturating_mul(6)),
            _ => (Class::Other, flops),
        };
        // Counts of calls include what complex numbers need.
        let width = Width::of(dtype);
        if count > 0 {
            self.terms.push(Term { class, width, count });
        }
    }
}

impl Plan {
    /// What every kernel asks of a device, in order.
    ///
    /// ```
    /// # use crossover_core::{DType, Graph, Shape, ops::MapOp};
    /// # use crossover_plan::{Class, Options, Plan, Width};
    /// let mut graph = Graph::new();
    /// let x = graph.input(DType::F32, Shape::from([1000]))?;
    /// let y = graph.map(MapOp::Gelu, &[x])?;
    /// graph.output(y);
    /// let work = Plan::new(&graph, Options::default())?.work();
    /// assert_eq!(work[0].bytes, 8000);
    /// assert!(work[0].terms.iter().any(|t| t.class == Class::Function && t.width == Width::Single && t.count == 1000));
    /// # Ok::<(), crossover_core::Error>(())
    /// ```
    pub fn work(&self) -> Vec<Work> {
        self.launches.iter().map(|l| Work::of(&l.kernel, &self.buffers)).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kernels_of_users_are_judged_by_what_they_say() {
        use crossover_core::{Graph, Shape, custom};
        let kernel = custom::CustomKernel::builder("scores")
            .input("q", DType::F16)
            .input("k", DType::F16)
            .output("out", DType::F16)
            .shape(|shapes| Ok(Shape::from([shapes[0][0], shapes[1][0]])))
            .work(|shapes, out| custom::Work {
                products: 2 * (out.size() * shapes[0][1]) as u64,
                bytes: Some(123_456),
                ..custom::Work::default()
            })
            .cpu(|_, _| Ok(()))
            .build()
            .unwrap();
        let mut graph = Graph::new();
        let q = graph.input(DType::F16, Shape::from([100, 64])).unwrap();
        let k = graph.input(DType::F16, Shape::from([50, 64])).unwrap();
        let out = graph.push(crossover_core::graph::Op::Custom(kernel), &[q, k]).unwrap();
        graph.output(out);
        let plan = Plan::new(&graph, crate::Options::default()).unwrap();
        let work = &plan.work()[0];
        let term = Term { class: Class::Product, width: Width::Half, count: 640_000 };
        assert_eq!((work.bytes, &work.terms[..]), (123_456, &[term][..]));
        assert!(cost::is_matrix(&plan.launches[0].kernel));
    }

    #[test]
    fn names_are_read_back() {
        for class in Class::ALL {
            assert_eq!(Class::from_name(class.name()), Some(class));
        }
        for width in Width::ALL {
            assert_eq!(Width::from_name(width.name()), Some(width));
        }
        assert_eq!((Class::from_name("f32"), Width::from_name("simple")), (None, None));
    }
}
