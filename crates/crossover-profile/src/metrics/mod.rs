//! What runs now, for programs that watch: metrics in Prometheus' text format, served over HTTP, and the alert rules that go with them.
//!
//! ```
//! use crossover_array::Runtime;
//! use crossover_profile::metrics::{Server, Source};
//!
//! let server = Server::builder().address("127.0.0.1:0").source(Source::Runtime(Runtime::current())).start()?;
//! println!("http://{}/metrics", server.address());
//! # Ok::<(), crossover_profile::metrics::ServeError>(())
//! ```
//!
//! [`text`] makes the metrics of what it is given and nothing else, so that tests can look at every line.

mod http;
mod machine;
mod rules;
mod server;
mod text;

pub use machine::MachineLoad;
pub use rules::{Rule, rules, rules_file};
pub use server::{ServeError, Server, ServerBuilder, Source};
pub use text::{Family, MetricSample, families, text};
