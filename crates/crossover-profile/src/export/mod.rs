//! A trace in the forms that other programs read.

mod chrome;
mod folded;
mod prometheus;
mod speedscope;

pub use chrome::chrome;
pub use folded::folded;
pub(crate) use prometheus::label;
pub use prometheus::prometheus;
pub use speedscope::speedscope;

/// The name of a span of this name that nobody timed.
fn estimated(name: &str) -> String {
    format!("{name} (estimated)")
}

#[cfg(test)]
mod tests {
    use serde_json::Value;

    use super::*;
    use crate::Trace;

    #[test]
    fn what_nobody_timed_is_marked_in_every_form() {
        // Its fourth span, a kernel, is estimated.
        let trace = Trace::from_json(include_str!("../check/sample.json")).expect("it is whole");
        let chrome: Value = serde_json::from_str(&chrome(&trace)).expect("it is JSON");
        let marked = |event: &Value| event["args"]["estimated"] == Value::Bool(true);
        let spans =
            chrome["traceEvents"].as_array().expect("a list").iter().filter(|event| event["ph"] == "X");
        let marks: Vec<(&str, bool)> =
            spans.map(|event| (event["name"].as_str().unwrap_or(""), marked(event))).collect();
        assert_eq!(marks, [("step", false), ("evaluate", false), ("copy", false), ("exp", true)]);
        let speedscope: Value = serde_json::from_str(&speedscope(&trace)).expect("it is JSON");
        let frames = speedscope["shared"]["frames"].as_array().expect("a list");
        let opened = speedscope["profiles"][1]["events"].as_array().expect("a list").iter();
        let names: Vec<&str> = opened
            .filter(|event| event["type"] == "O")
            .map(|event| {
                frames[event["frame"].as_u64().expect("a number") as usize]["name"].as_str().expect("a text")
            })
            .collect();
        assert_eq!(names, ["copy", "exp (estimated)"]);
        assert!(folded(&trace).contains(";exp (estimated) 300"), "{}", folded(&trace));
    }
}
