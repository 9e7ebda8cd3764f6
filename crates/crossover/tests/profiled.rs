//! `#[profiled]` on functions as they are written: generic, recursive, methods, with attributes of their own, in many threads.
#![allow(clippy::unwrap_used)]

use crossover::profile::{Trace, profile, profiled};

#[profiled]
fn recursive(depth: usize) -> usize {
    if depth == 0 { 0 } else { 1 + recursive(depth - 1) }
}

#[profiled("a \"name\" of its own")]
fn generic<T, const N: usize>(values: [T; N]) -> impl Iterator<Item = T>
where
    T: Copy + std::ops::Add<Output = T>,
{
    #![allow(unused_variables)]
    #![allow(clippy::let_unit_value)]
    let unused = ();
    values.into_iter().map(|value| value + value)
}

struct Model(f64);

impl Model {
    #[profiled]
    #[inline(never)]
    pub(crate) fn r#step(&mut self, by: f64) -> Result<&mut Self, String> {
        let _profiled = 1;
        if by < 0.0 {
            return Err("backwards".to_string());
        }
        self.0 += by;
        Ok(self)
    }
}

trait Walks {
    #[profiled("by default")]
    fn walk(&self) -> u8 {
        7
    }
}

impl Walks for Model {}

#[profiled]
extern "C" fn foreign(value: i32) -> i32 {
    value + 1
}

fn count(trace: &Trace, name: &str) -> usize {
    (0..trace.spans.len()).filter(|&row| trace.spans.kind[row] == "s" && trace.name_of(row) == name).count()
}

#[test]
fn every_call_is_a_span() {
    let (_, trace) = profile("all of them", || {
        assert_eq!(recursive(9), 9);
        assert_eq!(generic([1, 2]).collect::<Vec<_>>(), [2, 4]);
        let mut model = Model(1.0);
        model.step(1.0).unwrap().step(1.0).unwrap();
        assert!(model.step(-1.0).is_err() && model.walk() == 7 && model.0 == 3.0);
        assert_eq!(foreign(1), 2);
        std::thread::scope(|scope| (0..8).for_each(|_| _ = scope.spawn(|| recursive(1))));
    });
    let expected = [
        ("recursive", 10 + 16),
        ("a \"name\" of its own", 1),
        ("step", 3),
        ("by default", 1),
        ("foreign", 1),
    ];
    for (name, calls) in expected {
        assert_eq!(count(&trace, name), calls, "{name}");
    }
    // A call inside a call lies inside its span.
    let inner: Vec<usize> = (0..trace.spans.len()).filter(|&row| trace.name_of(row) == "recursive").collect();
    let nested = inner.iter().filter(|&&row| trace.spans.parent[row] >= 0).count();
    assert_eq!(nested, 9 + 8);
}
