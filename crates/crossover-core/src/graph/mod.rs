//! Graphs.
#[derive(Debug)]
pub struct Graph;
#[derive(Debug)]
pub struct NodeId;
