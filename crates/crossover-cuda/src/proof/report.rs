//! Results of the proof, for people; the program writes them for machines.

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
    /// Measurements, for timings: each a number with its unit in its name.
    pub figures: Vec<(&'static str, f64)>,
    /// Whether time ran out before everything was checked.
    pub cut_short: bool,
}

impl Section {
    /// A line for people.
    pub fn line(&self) -> String {
        if !self.figures.is_empty() {
            let figures: Vec<String> =
                self.figures.iter().map(|(name, value)| format!("{name} {value}")).collect();
            return format!("{:<44} {}", self.name, figures.join("  "));
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
}

/// What the proof ran on.
#[derive(Debug, Clone)]
pub struct Host {
    /// The GPU.
    pub device: String,
    /// What kernels were compiled for.
    pub architecture: String,
    /// Streaming multiprocessors.
    pub multiprocessors: i32,
    /// Version of the driver, as it counts.
    pub driver: i32,
    /// Version of the compiler.
    pub nvrtc: String,
    /// Threads of the CPU.
    pub host_threads: usize,
}

/// Everything that was found.
#[derive(Debug)]
pub struct Report {
    /// What it ran on.
    pub machine: Host,
    /// One per check.
    pub sections: Vec<Section>,
    /// Parts that could not be run to their end.
    pub failures: Vec<String>,
}

impl Report {
    /// An empty report about a machine.
    pub fn new(machine: Host) -> Report {
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

    /// Lines for people: only what differs, and the totals.
    pub fn summary(&self) -> String {
        let mut out = String::from("== summary\n");
        for section in self.sections.iter().filter(|s| s.mismatches > 0 || !s.figures.is_empty()) {
            out.push_str(&format!("{}\n", section.line()));
        }
        for failure in &self.failures {
            out.push_str(&format!("FAILED {failure}\n"));
        }
        let verdict = if self.holds() { "every bit agrees" } else { "NOT PROVEN" };
        out.push_str(&format!(
            "{verdict}: {} results compared in {} checks, {} differ\n",
            self.checked(),
            self.sections.iter().filter(|s| s.figures.is_empty()).count(),
            self.mismatches()
        ));
        out
    }
}
