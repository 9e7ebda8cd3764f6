//! What was found, for people and as JSON.

use std::path::{Path, PathBuf};

use serde_json::{Value, json};

/// Checks and figures so far.
#[derive(Debug)]
pub struct Report {
    file: PathBuf,
    device: String,
    checks: Vec<(String, bool, String)>,
    figures: Vec<Value>,
}

impl Report {
    pub fn new(folder: &Path, device: String) -> Report {
        Report { file: folder.join("gpu-test.json"), device, checks: Vec::new(), figures: Vec::new() }
    }

    /// Notes whether something holds.
    pub fn check(&mut self, name: &str, ok: bool, detail: impl Into<String>) {
        let detail = detail.into();
        println!("{} {name}: {detail}", if ok { "ok    " } else { "FAILED" });
        self.checks.push((name.to_string(), ok, detail));
    }

    /// Notes a measurement: a name, and numbers with their unit in their name.
    pub fn figure(&mut self, name: &str, numbers: &[(&str, f64)]) {
        let mut line = format!("{name:<34}");
        let mut value = json!({ "name": name });
        for &(key, number) in numbers {
            line.push_str(&format!(" {key} {number:.5}"));
            value[key] = json!((number * 1e6).round() / 1e6);
        }
        println!("{line}");
        self.figures.push(value);
    }

    pub fn holds(&self) -> bool {
        self.checks.iter().all(|check| check.1)
    }

    pub fn summary(&self) -> String {
        let failed: Vec<&str> = self.checks.iter().filter(|c| !c.1).map(|c| c.0.as_str()).collect();
        match failed.as_slice() {
            [] => format!("all {} checks hold; {} figures", self.checks.len(), self.figures.len()),
            some => format!("{} of {} checks FAILED: {}", some.len(), self.checks.len(), some.join(", ")),
        }
    }

    pub fn write(&self) -> std::io::Result<()> {
        let checks: Vec<Value> = (self.checks.iter())
            .map(|(name, ok, detail)| json!({ "name": name, "ok": ok, "detail": detail }))
            .collect();
        let all = json!({ "device": self.device, "checks": checks, "figures": self.figures });
        if let Some(folder) = self.file.parent() {
            std::fs::create_dir_all(folder)?;
        }
        std::fs::write(&self.file, format!("{all:#}\n"))
    }
}
