//! The report as a page.

use crossover::profile::bench::sheet::{Cell, Sheet};

use super::{
    Whole,
    gauge::{CPU, GPU},
    table::{Row, best, claimed, ours},
};
use crate::{compare, units};

/// The page.
pub fn page(whole: &Whole) -> String {
    let run = whole.run;
    let mut sheet = Sheet::new(format!("Benchmark {}", run.name), "Medians of this run, operands in place.");
    compare::facts(&mut sheet, &run.machine);
    sheet.fact("measured", run.created.clone());
    sheet.fact("command", run.command.clone());
    if let Some(others) = run.others.filter(|&share| share > 0.05) {
        sheet.warning(&format!(
            "Other programs used {:.0}% of the processor meanwhile; times are too long.",
            100.0 * others
        ));
    }
    times(&mut sheet, whole);
    if run.results.iter().any(|entry| entry.claim.is_some()) {
        claims(&mut sheet, whole);
    }
    if let Some(found) = whole.found {
        peers(&mut sheet, whole, &found.sentence());
    }
    if let Some(answers) = whole.answers {
        let rows = answers.iter().map(|answer| {
            let good = match answer.outcome {
                "met" => Some(true),
                "missed" => Some(false),
                _ => None,
            };
            let number = |value: f64| Cell::number(format!("{value:.4}"));
            vec![
                Cell::text(&answer.work),
                Cell::text(&answer.asked),
                answer.found.map_or_else(|| Cell::number("—"), number),
                number(answer.required),
                Cell::Mark(answer.outcome.to_owned(), good),
            ]
        });
        let columns = ["work", "asked", "found", "required", ""];
        sheet.table("Floors", "What must be reached.", &columns, rows.collect());
    }
    if let Some(comparison) = whole.against {
        compare::section(&mut sheet, comparison, "before", "now");
    }
    sheet.finish()
}

fn times(sheet: &mut Sheet, whole: &Whole) {
    let share = |share: Option<&f64>| {
        share.map_or_else(|| Cell::number("—"), |&share| Cell::Bar(format!("{:.0}%", 100.0 * share), share))
    };
    let rows = whole.run.results.iter().map(|entry| {
        let row = Row::of(entry);
        vec![
            Cell::text(&entry.name),
            Cell::number(row.cpu),
            Cell::number(row.gpu),
            Cell::number(row.speedup),
            share(entry.efficiency.get(CPU)),
            share(entry.efficiency.get(GPU)),
            Cell::number(row.spread),
            Cell::number(row.cold),
            Cell::number(row.error),
        ]
    });
    let columns = [
        "work",
        "CPU",
        "GPU",
        "speed-up",
        "of the CPU's roof",
        "of the GPU's roof",
        "spread",
        "cold",
        "max error",
    ];
    let about = "Roof: moving every byte at the measured bandwidth, products at the best rate of a product. Spread: the quartiles' distance as a share of the median. Error: against float64, as a share of the largest value.";
    sheet.table("Times", about, &columns, rows.collect());
}

fn claims(sheet: &mut Sheet, whole: &Whole) {
    let claimed_ones = whole.run.results.iter().filter_map(|entry| Some((entry, entry.claim.as_ref()?)));
    let rows = claimed_ones.map(|(entry, claim)| {
        let ratio = ours(entry)
            .map_or_else(|| "—".to_owned(), |(times, what)| format!("{}× {what}", units::three(times)));
        vec![
            Cell::text(&entry.name),
            Cell::text(&claim.by),
            Cell::number(claimed(claim)),
            Cell::text(&claim.about),
            Cell::number(Row::of(entry).cpu),
            Cell::number(Row::of(entry).gpu),
            Cell::number(ratio),
        ]
    });
    let columns =
        ["work", "stated by", "claimed", "what the claim compares", "ours CPU", "ours GPU", "ours ×"];
    let about = "Claimed figures are what others state, on their machines; nobody measured them here.";
    sheet.table("Claims", about, &columns, rows.collect());
}

fn peers(sheet: &mut Sheet, whole: &Whole, about: &str) {
    let mut names: Vec<&str> =
        whole.run.results.iter().flat_map(|entry| entry.peers.keys()).map(String::as_str).collect();
    names.sort_unstable();
    names.dedup();
    let rows = whole.run.results.iter().map(|entry| {
        let ours = best(entry);
        let mut row = vec![Cell::text(&entry.name), Cell::number(units::seconds(ours))];
        row.extend(names.iter().map(|name| {
            Cell::number(entry.peers.get(*name).map_or_else(
                || "—".to_owned(),
                |timing| {
                    format!("{}, {}×", units::seconds(timing.median()), units::three(timing.median() / ours))
                },
            ))
        }));
        row
    });
    let columns: Vec<&str> = ["work", "ours"].into_iter().chain(names.iter().copied()).collect();
    sheet.table("Beside others", about, &columns, rows.collect());
}
