//! Results of the proof: for people on standard output, for machines as JSON.

use std::path::Path;

use super::json::Json;

/// What one check found.
#[derive(Debug, Clone, Default)]
pub struct Section {
    /// What was checked or measured.
    pub name: String,
    /// Results compared.
    pub checked: u64,
    /// Results that differ.
    pub mismatches: u64,
    /// The first few differences, readable.
    pub examples: Vec<String>,
    /// Seconds it took.
    pub seconds: f64,
    /// Measurements, for timings.
    pub figures: Option<Json>,
    /// Whether time ran out before everything was checked.
    pub cut_short: bool,
}

impl Section {
    /// A line for people.
    pub fn line(&self) -> String {
        if let Some(figures) = &self.figures {
            return format!("{:<44} {figures}", self.name);
        }
        let cut = if self.cut_short { "  (time ran out)" } else { "" };
        let verdict =
            if self.mismatches == 0 { "equal".to_string() } else { format!("{} DIFFER", self.mismatches) };
        let mut line =
            format!("{:<44} {:>13} results  {verdict}  {:.1} s{cut}", self.name, self.checked, self.seconds);
        for example in &self.examples {
            line.push_str(&format!("\n    {example}"));
        }
        line
    }

    fn json(&self) -> Json {
        Json::Object(vec![
            ("name", self.name.as_str().into()),
            ("checked", self.checked.into()),
            ("mismatches", self.mismatches.into()),
            ("examples", (&self.examples).into()),
            ("seconds", self.seconds.into()),
            ("figures", self.figures.clone().into()),
            ("cut_short", self.cut_short.into()),
        ])
    }
}

/// Everything that was found.
#[derive(Debug)]
pub struct Report {
    machine: Json,
    /// One per check.
    pub sections: Vec<Section>,
    /// Parts that could not be run to their end.
    pub failures: Vec<String>,
}

impl Report {
    /// An empty report about a machine.
    pub fn new(machine: Json) -> Report {
        Report { machine, sections: Vec::new(), failures: Vec::new() }
    }

    /// Differences over all sections.
    pub fn mismatches(&self) -> u64 {
        self.sections.iter().map(|s| s.mismatches).sum()
    }

    /// Results compared over all sections.
    pub fn checked(&self) -> u64 {
        self.sections.iter().map(|s| s.checked).sum()
    }

    /// Whether everything that ran agrees, and everything asked for ran.
    pub fn holds(&self) -> bool {
        self.mismatches() == 0 && self.failures.is_empty()
    }

    /// Writes `proof.json`; a folder that cannot be written is reported and not fatal.
    pub fn write(&self, folder: &Path, seconds: f64) {
        let value = Json::Object(vec![
            ("machine", self.machine.clone()),
            ("holds", self.holds().into()),
            ("checked", self.checked().into()),
            ("mismatches", self.mismatches().into()),
            ("failures", (&self.failures).into()),
            ("seconds", seconds.into()),
            ("sections", self.sections.iter().map(Section::json).collect::<Vec<_>>().into()),
        ]);
        let text = format!("{value}\n");
        let path = folder.join("proof.json");
        if let Err(error) = std::fs::create_dir_all(folder).and_then(|()| std::fs::write(&path, text)) {
            println!("could not write {}: {error}", path.display());
        }
    }

    /// Lines for people: only what differs, and the totals.
    pub fn summary(&self) -> String {
        let mut out = String::from("== summary\n");
        for section in self.sections.iter().filter(|s| s.mismatches > 0 || s.figures.is_some()) {
            out.push_str(&format!("{}\n", section.line()));
        }
        for failure in &self.failures {
            out.push_str(&format!("FAILED {failure}\n"));
        }
        let verdict = if self.holds() { "every bit agrees" } else { "NOT PROVEN" };
        out.push_str(&format!(
            "{verdict}: {} results compared in {} checks, {} differ\n",
            self.checked(),
            self.sections.iter().filter(|s| s.figures.is_none()).count(),
            self.mismatches()
        ));
        out
    }
}
