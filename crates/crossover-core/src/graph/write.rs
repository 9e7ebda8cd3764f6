//! Writing the text form.
use super::Graph;
use std::fmt;
impl fmt::Display for Graph {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "graph of {} nodes", self.nodes.len())
    }
}
