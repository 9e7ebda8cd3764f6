//! The diagnosis as a person reads it.

use std::fmt::Write as _;

use console::style;

use super::Diagnosis;
use crate::units;

/// Width of the names on the left.
const MARGIN: usize = 10;
/// Where remedies are listed.
const HELP: &str = concat!(env!("CARGO_PKG_REPOSITORY"), "/blob/main/docs/troubleshooting.md");
/// Width of the lines that long explanations are broken into.
const LINE: usize = 96;

pub fn write(diagnosis: &Diagnosis) -> String {
    let mut out = String::new();
    let mut line = |name: &str, value: String| {
        for (at, part) in wrapped(&value, LINE - MARGIN).iter().enumerate() {
            let shown = if at == 0 { name } else { "" };
            let _ = writeln!(out, "{} {part}", style(format!("{shown:<MARGIN$}")).bold());
        }
    };
    line("version", format!("{} (commit {}, {})", diagnosis.version, diagnosis.commit, diagnosis.os));
    let cpu = &diagnosis.cpu;
    let cores = cpu.cores.map_or(String::new(), |n| format!(", {n} cores"));
    line("processor", format!("{}{cores}", cpu.model));
    line("vectors", format!("{} in use (available: {})", cpu.simd, cpu.simd_available.join(", ")));
    let code = match (cpu.machine_code, cpu.simd.as_str()) {
        (true, _) => "made for large kernels",
        (false, "AVX-512") => {
            "not made: the system refuses executable memory; kernels run as loops over tiles"
        }
        (false, _) => "not made: it needs AVX-512; kernels run as loops over tiles",
    };
    line("code", code.to_owned());
    let may = match cpu.processors {
        may if may == cpu.threads => String::new(),
        may => format!("; this process may use {may}"),
    };
    line("threads", format!("{} compute{may}", cpu.threads));
    line("caches", caches(diagnosis));
    line("memory", memory(diagnosis));
    let gpu = &diagnosis.gpu;
    let names = if gpu.devices.is_empty() { "none in use".to_owned() } else { gpu.devices.join(", ") };
    line("gpu", format!("{names}: {}", gpu.reason));
    for gap in &gpu.gaps {
        line("", gap.clone());
    }
    if let Some(driver) = &gpu.driver {
        line("", driver.clone());
    }
    let directory = diagnosis.cache_directory.as_deref().map_or_else(
        || "none: CROSSOVER_CACHE is off, or neither it nor XDG_CACHE_HOME nor HOME is set".to_owned(),
        |folder| format!("{folder} (compiled GPU kernels)"),
    );
    line("cache", directory);
    out.push('\n');
    for check in &diagnosis.checks {
        let mark = if check.ok { style("ok    ").green() } else { style("FAILED").red().bold() };
        let _ = writeln!(out, "{mark}     {}: {}", check.name, check.detail);
    }
    for answer in &diagnosis.requirements {
        let mark = if answer.ok { style("ok     ").green() } else { style("MISSING").red().bold() };
        let _ = writeln!(out, "{mark}    {}: {}", answer.name, answer.detail);
    }
    let _ = writeln!(out, "\nwhat to do about it: {HELP}");
    out
}

fn caches(diagnosis: &Diagnosis) -> String {
    let one = |cache: &super::host::Cache| {
        let shared =
            if cache.shared_by > 1 { format!(" shared by {}", cache.shared_by) } else { String::new() };
        format!("L{} {}{shared}", cache.level, units::bytes(cache.bytes))
    };
    let list: Vec<String> = diagnosis.cpu.caches.iter().map(one).collect();
    if list.is_empty() { "unknown".to_owned() } else { list.join(", ") }
}

fn memory(diagnosis: &Diagnosis) -> String {
    let known = |value: Option<u64>| value.map_or_else(|| "unknown".to_owned(), units::bytes);
    let memory = &diagnosis.memory;
    let limit = match memory.container_limit {
        Some(limit) => format!("limited to {} by the container", units::bytes(limit)),
        None => "no container limit".to_owned(),
    };
    format!("{}, {} available, {limit}", known(memory.total), known(memory.available))
}

/// Lines of at most `width` characters, broken between words.
fn wrapped(text: &str, width: usize) -> Vec<String> {
    let mut lines = vec![String::new()];
    for word in text.split(' ') {
        let last = lines.last_mut().expect("there is always a line");
        if last.is_empty() {
            last.push_str(word);
        } else if last.chars().count() + 1 + word.chars().count() <= width {
            last.push(' ');
            last.push_str(word);
        } else {
            lines.push(word.to_owned());
        }
    }
    lines
}

#[cfg(test)]
mod tests {
    #[test]
    fn long_text_breaks_between_words() {
        assert_eq!(super::wrapped("aa bb cc", 5), ["aa bb", "cc"]);
        assert_eq!(super::wrapped("longword", 3), ["longword"]);
    }
}
