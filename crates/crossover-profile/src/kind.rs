//! What a span is about.

use std::fmt;

use crossover_runtime::trace::Kind;
use serde::{Deserialize, Deserializer, Serialize, Serializer, de};

/// What a span is about; in files it is one letter, and it is equal to that letter here.
///
/// ```
/// use crossover_array::Array;
/// use crossover_profile::SpanKind;
/// let (_, trace) = crossover_profile::profile("exp", || Array::linspace(0.0, 1.0, 100_000).exp().eval().map(drop));
/// let kernels = trace.spans.kind.iter().filter(|&&kind| kind == SpanKind::Kernel).count();
/// assert_eq!(kernels, trace.spans.kind.iter().filter(|&kind| kind == "k").count());
/// assert_eq!(SpanKind::ALL.map(SpanKind::as_str), ["s", "e", "k", "t", "c", "p", "w"]);
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub enum SpanKind {
    /// `s`: a part of the program that its author named.
    Scope,
    /// `e`: the evaluation of a graph.
    Evaluation,
    /// `k`: a kernel.
    Kernel,
    /// `t`: a copy between devices.
    Transfer,
    /// `c`: compiling a kernel.
    Compile,
    /// `p`: making a plan.
    Plan,
    /// `w`: the host waiting for a device.
    Wait,
}

impl SpanKind {
    /// All kinds, in the order in which the format lists them.
    pub const ALL: [SpanKind; 7] = [
        SpanKind::Scope,
        SpanKind::Evaluation,
        SpanKind::Kernel,
        SpanKind::Transfer,
        SpanKind::Compile,
        SpanKind::Plan,
        SpanKind::Wait,
    ];

    /// Its letter in a file.
    pub fn as_str(self) -> &'static str {
        match self {
            SpanKind::Scope => "s",
            SpanKind::Evaluation => "e",
            SpanKind::Kernel => "k",
            SpanKind::Transfer => "t",
            SpanKind::Compile => "c",
            SpanKind::Plan => "p",
            SpanKind::Wait => "w",
        }
    }
}

impl From<Kind> for SpanKind {
    fn from(kind: Kind) -> SpanKind {
        match kind {
            Kind::Scope => SpanKind::Scope,
            Kind::Evaluation => SpanKind::Evaluation,
            Kind::Kernel => SpanKind::Kernel,
            Kind::Transfer => SpanKind::Transfer,
            Kind::Compile => SpanKind::Compile,
            Kind::Plan => SpanKind::Plan,
            Kind::Wait => SpanKind::Wait,
        }
    }
}

impl fmt::Debug for SpanKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.as_str().fmt(f)
    }
}

impl PartialEq<str> for SpanKind {
    fn eq(&self, letter: &str) -> bool {
        self.as_str() == letter
    }
}

impl PartialEq<&str> for SpanKind {
    fn eq(&self, letter: &&str) -> bool {
        self == *letter
    }
}

impl Serialize for SpanKind {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.as_str())
    }
}

impl<'de> Deserialize<'de> for SpanKind {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<SpanKind, D::Error> {
        struct Letter;

        impl de::Visitor<'_> for Letter {
            type Value = SpanKind;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, "a kind of span: one of {}", SpanKind::ALL.map(SpanKind::as_str).join(", "))
            }

            fn visit_str<E: de::Error>(self, letter: &str) -> Result<SpanKind, E> {
                let known = SpanKind::ALL.into_iter().find(|kind| kind == letter);
                known.ok_or_else(|| E::invalid_value(de::Unexpected::Str(letter), &self))
            }
        }

        deserializer.deserialize_str(Letter)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn letters_come_back_and_others_are_told() {
        let all = serde_json::to_string(&SpanKind::ALL).expect("letters have a form in JSON");
        assert_eq!(all, r#"["s","e","k","t","c","p","w"]"#);
        assert_eq!(serde_json::from_str::<[SpanKind; 7]>(&all).expect("they are letters"), SpanKind::ALL);
        let told = serde_json::from_str::<SpanKind>(r#""x""#).expect_err("there is no such kind").to_string();
        assert!(
            told.contains(r#"string "x", expected a kind of span: one of s, e, k, t, c, p, w"#),
            "{told}"
        );
    }
}
