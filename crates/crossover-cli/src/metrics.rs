//! `crossover metrics`: what `crossover top` shows, for Prometheus.

use anyhow::Result;
use crossover::profile::metrics::{Family, MachineLoad, Server, families, rules_file, text};
use serde::Serialize;

use crate::report;

/// Metrics of this machine and the processes that compute on it, for Prometheus.
///
/// Shows the same processes as `crossover top`: those of this user's that have the setting `profiling`. Without --listen the metrics are
/// printed once. A server answers /metrics and /health (200, or 503 after a device was lost), to this machine alone unless
/// --allow-remote says otherwise; it asks nobody for a password.
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Arguments {
    /// Serve /metrics and /health until the program is ended
    #[arg(long, value_name = "ADDRESS", num_args = 0..=1, default_missing_value = "127.0.0.1:9464")]
    listen: Option<String>,
    /// Let the address be one that other machines can reach
    #[arg(long, requires = "listen")]
    allow_remote: bool,
    /// Print alert rules for Prometheus: pressure, leak, regret, fallback, device lost
    #[arg(long, conflicts_with = "listen")]
    rules: bool,
    /// Print one JSON object instead of text
    #[arg(long, conflicts_with_all = ["listen", "rules"])]
    json: bool,
}

/// The JSON shape; see docs/json.md.
#[derive(Serialize)]
struct Metrics {
    metrics: Vec<Family>,
}

const EXAMPLES: &str = "\
Examples:
  CROSSOVER_PROFILING=1 python3 train.py &
  crossover metrics                            once, on standard output
  crossover metrics --listen                   http://127.0.0.1:9464/metrics
  crossover metrics --listen 127.0.0.1:9000    elsewhere
  crossover metrics --json | jq '.metrics[] | select(.name | endswith(\"_total\"))'
  crossover metrics --rules > crossover.yml    rule_files of prometheus.yml
  crossover metrics > /var/lib/node_exporter/crossover.prom";

/// Runs the command.
pub fn run(arguments: &Arguments) -> Result<bool> {
    if arguments.rules {
        report::text(&rules_file())?;
        return Ok(true);
    }
    if arguments.json {
        report::json(&Metrics { metrics: families(&crossover::processes(), &MachineLoad::look()) })?;
        return Ok(true);
    }
    let Some(address) = &arguments.listen else {
        report::text(&text(&crossover::processes(), &MachineLoad::look()))?;
        return Ok(true);
    };
    let server = Server::builder().address(address).allow_remote(arguments.allow_remote).start();
    let server = server.map_err(|error| match error {
        // The library speaks of its own call; here it is an option.
        remote @ crossover::profile::metrics::ServeError::Remote { .. } => {
            anyhow::anyhow!("{remote} with --allow-remote")
        }
        other => other.into(),
    })?;
    eprintln!("serving http://{}/metrics and /health; interrupt to end", server.address());
    server.wait();
    Ok(true)
}
