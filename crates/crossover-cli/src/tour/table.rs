//! The report of a tour as a person reads it, at most 100 columns wide.

use std::fmt::Write as _;

use clap::ValueEnum;
use console::{Alignment, pad_str, style};

use super::{Checked, Measured, Tour};
use crate::units;

/// How bars are drawn.
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Bars {
    /// Blocks on a terminal, ASCII elsewhere
    Auto,
    /// Blocks
    Unicode,
    /// Number signs
    Ascii,
}

/// Characters of a full bar.
const BAR: usize = 8;

/// Heading, width and alignment of every column.
const COLUMNS: [(&str, usize, Alignment); 8] = [
    ("work", 15, Alignment::Left),
    ("size", 10, Alignment::Right),
    ("time", 8, Alignment::Right),
    ("speed", 12, Alignment::Right),
    ("of the roof", BAR + 5, Alignment::Left),
    ("limit", 10, Alignment::Left),
    ("kernels", 7, Alignment::Left),
    ("checked", 11, Alignment::Left),
];

/// The whole report.
pub fn write(tour: &Tour, bars: Bars) -> String {
    let blocks = match bars {
        Bars::Auto => console::Term::stdout().is_term(),
        Bars::Unicode => true,
        Bars::Ascii => false,
    };
    let mut out = head(tour);
    let titles: Vec<String> = COLUMNS.iter().map(|column| column.0.to_owned()).collect();
    let _ = writeln!(out, "\n{}", style(line(&titles)).bold());
    let mut previous = "";
    for result in &tour.results {
        let title = if result.title == previous { "" } else { result.title };
        previous = result.title;
        let cells = [
            title.to_owned(),
            shape(&result.shape),
            units::seconds(result.seconds),
            speed(result),
            bar(result.roof_fraction, blocks),
            result.limit.to_owned(),
            kernels(&result.kernels),
            checked(&result.checked),
        ];
        let _ = writeln!(out, "{}", line(&cells));
    }
    out.push_str(&foot(tour));
    out
}

fn head(tour: &Tour) -> String {
    let mut out = String::new();
    let title = style(format!("Crossover {}", tour.version)).bold();
    let plural = if tour.threads == 1 { "" } else { "s" };
    let _ = writeln!(out, "{title} on {}, {} thread{plural}, {}", tour.cpu, tour.threads, tour.simd);
    let _ = writeln!(out, "{}", tour.gpu);
    let copy = |bytes: u64| {
        let found = tour.roof.bandwidth.iter().find(|m| m.working_set_bytes == bytes);
        found.map_or_else(|| "?".to_owned(), |m| units::rate(m.copy_bytes_per_second, "B"))
    };
    let _ = writeln!(
        out,
        "measured now: copying {} in memory, {} in cache; matmul {} f32, {} f64 GFLOP/s",
        copy(1 << 28),
        copy(1 << 18),
        units::three(tour.roof.matmul_f32_flops_per_second * 1e-9),
        units::three(tour.roof.matmul_f64_flops_per_second * 1e-9),
    );
    out
}

fn foot(tour: &Tour) -> String {
    let mut out = String::new();
    let wrong: Vec<&Measured> = tour.results.iter().filter(|r| !r.checked.ok).collect();
    let bounded = tour.results.iter().filter(|r| r.checked.method == "bound").count();
    let exact = tour.results.len() - bounded;
    out.push('\n');
    if let Some(others) = tour.others.filter(|&share| share > 0.05) {
        let warning = format!(
            "Other programs used {:.0}% of the processor meanwhile; times are too long.",
            others * 100.0
        );
        let _ = writeln!(out, "{}", style(warning).yellow());
    }
    if wrong.is_empty() {
        let bound = if bounded == 0 {
            String::new()
        } else {
            format!(", {bounded} products within their error bound")
        };
        let _ = writeln!(
            out,
            "{} {exact} results equal the reference bit for bit{bound}.",
            style("All right:").green().bold(),
        );
        let (call, all) = (units::seconds(tour.roof.call_seconds), units::seconds(tour.seconds));
        let _ = writeln!(
            out,
            "One evaluation of a known plan costs {call} before any work; the tour took {all}."
        );
    } else {
        let _ =
            writeln!(out, "{} of {} results are wrong:", style(wrong.len()).red().bold(), tour.results.len());
        for result in wrong {
            let what = result.checked.difference.as_deref().unwrap_or("no detail");
            let _ = writeln!(out, "  {} {}: {what}", result.title, shape(&result.shape));
        }
        let _ = writeln!(out, "This is a bug; please report it with the output of `crossover doctor`.");
    }
    out
}

/// What to do after the tour, for the end of the report; nothing where a result is wrong.
pub fn next(tour: &Tour) -> String {
    let mut out = String::new();
    if !tour.all_checked {
        return out;
    }
    let next = [
        ("crossover explain docs/graphs/layer_norm.graph", "one Row kernel, step by step"),
        ("crossover doctor", "what this machine has"),
        ("cargo xtask bench --peers", "side by side with NumPy, PyTorch, JAX"),
    ];
    let _ = writeln!(out, "\nNext:");
    for (command, what) in next {
        let _ = writeln!(out, "  {}{what}", pad_str(command, 50, Alignment::Left, None));
    }
    if tour.quick {
        let _ = writeln!(
            out,
            "  {}larger sizes, longer measurements",
            pad_str("crossover tour", 50, Alignment::Left, None)
        );
    }
    out
}

/// Cells in their columns, without spaces at the end.
fn line(cells: &[String]) -> String {
    let mut out = String::new();
    for (cell, (_, width, alignment)) in cells.iter().zip(COLUMNS) {
        if !out.is_empty() {
            out.push_str("  ");
        }
        out.push_str(&pad_str(cell, width, alignment, None));
    }
    out.trim_end().to_owned()
}

/// Lengths joined by ×; a long single one with its unit.
pub fn shape(dims: &[usize]) -> String {
    let power = |n: usize| match n {
        0..10_000 => n.to_string(),
        n if n % 1_000_000 == 0 => format!("{}M", n / 1_000_000),
        n if n % 1_000 == 0 => format!("{}k", n / 1_000),
        n if n % (1 << 20) == 0 => format!("{}Mi", n >> 20),
        n if n % (1 << 10) == 0 => format!("{}Ki", n >> 10),
        n => n.to_string(),
    };
    match dims {
        [one] => power(*one),
        _ => dims.iter().map(usize::to_string).collect::<Vec<_>>().join("×"),
    }
}

fn speed(result: &Measured) -> String {
    match result.unit {
        "flops/s" => units::rate(result.rate, "FLOP"),
        "points/s" => units::rate(result.rate, "pt"),
        _ => units::rate(result.rate, "B"),
    }
}

/// A bar with its percentage. More than the roof is shown as a full bar and its true number.
fn bar(fraction: f64, blocks: bool) -> String {
    let percent = (fraction * 100.0).round();
    let eighths = (fraction.clamp(0.0, 1.0) * (BAR * 8) as f64).round() as usize;
    let drawn = if blocks {
        let part = ["", "▏", "▎", "▍", "▌", "▋", "▊", "▉"][eighths % 8];
        let full = "█".repeat(eighths / 8) + part;
        let empty = BAR - eighths.div_ceil(8);
        format!("{}{}", style(full).cyan(), style("·".repeat(empty)).dim())
    } else {
        let full = (eighths + 4) / 8;
        "#".repeat(full) + &".".repeat(BAR - full)
    };
    format!("{drawn} {percent:>3}%")
}

/// Kinds in order, with a count where one repeats.
fn kernels(kinds: &[&str]) -> String {
    let mut runs: Vec<(&str, usize)> = Vec::new();
    for kind in kinds {
        match runs.last_mut() {
            Some(run) if run.0 == *kind => run.1 += 1,
            _ => runs.push((kind, 1)),
        }
    }
    let shown = |(kind, count): &(&str, usize)| {
        if *count == 1 { (*kind).to_owned() } else { format!("{count} {kind}") }
    };
    runs.iter().map(shown).collect::<Vec<_>>().join("+")
}

/// What was compared: every bit, one element in so many, or the error bound.
fn checked(checked: &Checked) -> String {
    if !checked.ok {
        return style("WRONG").red().bold().to_string();
    }
    let share = checked.elements / checked.compared.max(1);
    match checked.method {
        "bound" => "✓ bound".to_owned(),
        _ if share <= 1 => "✓ bits".to_owned(),
        _ => format!("✓ 1 in {share}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bars_have_one_width_whatever_the_fraction() {
        console::set_colors_enabled(false);
        for fraction in [0.0, 0.03, 0.5, 0.999, 1.0, 1.7] {
            for blocks in [true, false] {
                let drawn = bar(fraction, blocks);
                assert_eq!(console::measure_text_width(&drawn), BAR + 5, "{drawn}");
            }
        }
        assert_eq!(bar(0.5, false), "####....  50%");
        assert_eq!(bar(1.7, false), "######## 170%");
    }

    #[test]
    fn sizes_are_short() {
        assert_eq!(shape(&[4096, 1024]), "4096×1024");
        assert_eq!(shape(&[10_000_000]), "10M");
        assert_eq!(shape(&[1 << 26]), "64Mi");
        assert_eq!(shape(&[1 << 16]), "64Ki");
        assert_eq!(shape(&[7]), "7");
    }

    #[test]
    fn equal_kernels_are_counted() {
        assert_eq!(kernels(&["Map", "Map", "Row"]), "2 Map+Row");
        assert_eq!(kernels(&["Call"]), "Call");
    }

    #[test]
    fn columns_fit_a_hundred() {
        let width: usize = COLUMNS.iter().map(|c| c.1 + 2).sum();
        assert!(width - 2 <= 100, "{width}");
    }
}
