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

use crate::Trace;

/// Names of the spans around a span, outermost first, itself last.
fn stack(trace: &Trace, row: usize) -> Vec<&str> {
    let mut out = vec![trace.name_of(row)];
    let mut at = trace.spans.parent[row];
    while at >= 0 {
        out.push(trace.name_of(at as usize));
        at = trace.spans.parent[at as usize];
    }
    out.reverse();
    out
}
