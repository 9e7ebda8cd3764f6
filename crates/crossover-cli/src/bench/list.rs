//! `--list`: what can be measured.

use anyhow::Result;
use serde_json::json;

use super::{
    suites::{Case, Kind},
    workloads,
};
use crate::report;

/// The cases of a suite.
pub fn cases(cases: &[Case], json: bool) -> Result<bool> {
    let about = |case: &Case| match case.work {
        Kind::Array(work) => work.about,
        Kind::Call(call) => call.about,
        Kind::Decision => "where a plan of ten kernels runs",
    };
    if json {
        let all: Vec<_> = cases
            .iter()
            .map(|case| json!({ "name": case.name, "params": case.params, "about": about(case) }))
            .collect();
        report::json(&json!({ "workloads": all }))?;
    } else {
        let lines = cases.iter().map(|case| format!("{:<42} {}\n", case.name, about(case)));
        report::text(&lines.collect::<String>())?;
    }
    Ok(true)
}

/// The catalogue, with the numbers of each workload and what they are usually.
pub fn everything(json: bool) -> Result<bool> {
    if json {
        let all: Vec<_> = workloads::ALL
            .iter()
            .map(|work| {
                json!({ "name": work.name, "params": work.params(&workloads::Params::new()), "about": work.about })
            })
            .collect();
        report::json(&json!({ "workloads": all }))?;
        return Ok(true);
    }
    let lines = workloads::ALL.iter().map(|work| {
        let params: Vec<String> = work.params.iter().map(|(name, usual)| format!("{name}={usual}")).collect();
        format!("{:<16} {:<34} {}\n", work.name, params.join(" "), work.about)
    });
    report::text(&lines.collect::<String>())?;
    Ok(true)
}
