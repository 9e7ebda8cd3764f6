//! Pages of tables and charts that look like the report page and need nothing else: what `--html` writes.
//!
//! What always holds: the text refers to no other file and runs no script, and nothing that is given is read as HTML.

use std::fmt::Write as _;

use crate::page;

/// What the report's style sheet lacks.
const MORE: &str = include_str!("../../page/sheet.css");

/// A page in the making.
///
/// ```
/// use crossover_profile::bench::sheet::{Cell, Sheet};
/// let mut sheet = Sheet::new("Benchmark", "what was measured");
/// sheet.fact("processor", "<fast>");
/// sheet.table("Times", "medians", &["work", "time"], vec![vec![Cell::text("sum"), Cell::number("1 ms")]]);
/// let page = sheet.finish();
/// assert!(page.starts_with("<!doctype html>") && page.contains("&lt;fast&gt;"));
/// ```
pub struct Sheet {
    title: String,
    about: String,
    facts: Vec<(String, String)>,
    sections: String,
}

/// A cell of a table.
///
/// ```
/// use crossover_profile::bench::sheet::{Cell, Sheet};
/// let mut sheet = Sheet::new("Benchmark", "against last week");
/// let row = vec![
///     Cell::text("sum"),
///     Cell::number("1.2 ms"),
///     Cell::Bar("80%".into(), 0.8),
///     Cell::Interval(1.1, 1.2, 1.3),
///     Cell::Mark("SLOWER".into(), Some(false)),
/// ];
/// sheet.table("Times", "medians", &["work", "time", "roofline", "ratio", ""], vec![row]);
/// assert!(sheet.finish().contains("<span class=\"mark-bad\">SLOWER</span>"));
/// ```
#[derive(Debug, Clone, PartialEq)]
pub enum Cell {
    /// Words.
    Text(String),
    /// A figure, set flush right.
    Number(String),
    /// A figure with a bar behind it: the share of its full length.
    Bar(String, f64),
    /// A ratio with its interval, drawn between half and twice: low, ratio, high.
    Interval(f64, f64, f64),
    /// A word that is good news, or bad, or neither.
    Mark(String, Option<bool>),
}

impl Cell {
    /// Words.
    pub fn text(text: impl Into<String>) -> Cell {
        Cell::Text(text.into())
    }

    /// A figure, as text: how it is rounded, and what stands where there is none, is up to the caller.
    pub fn number(text: impl Into<String>) -> Cell {
        Cell::Number(text.into())
    }
}

/// A line of a chart.
///
/// ```
/// use crossover_profile::bench::sheet::{Series, Sheet};
/// let time = |name: &str, start: f64| Series {
///     name: name.into(),
///     points: (0..10).map(|step| (f64::from(1 << step), start * f64::from(1 << step))).collect(),
/// };
/// let mut sheet = Sheet::new("Benchmark", "by size");
/// let (elements, nanoseconds) = (|x: f64| format!("{x} elements"), |y: f64| format!("{y} ns"));
/// sheet.chart("Sums", "the less the better", &[time("cpu", 2.0), time("cuda:0", 5.0)], elements, nanoseconds);
/// let page = sheet.finish();
/// assert!(page.contains(">cuda:0</text>") && page.contains(">256 elements</text>"));
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct Series {
    /// What it shows.
    pub name: String,
    /// Positive numbers, in order.
    pub points: Vec<(f64, f64)>,
}

/// How the numbers of an axis are written.
///
/// ```
/// use crossover_profile::bench::sheet::Label;
/// let bytes: Label = |value| format!("{:.0} KiB", value / 1024.0);
/// assert_eq!(bytes(65_536.0), "64 KiB");
/// ```
pub type Label = fn(f64) -> String;

impl Sheet {
    /// A page without anything on it yet.
    pub fn new(title: impl Into<String>, about: impl Into<String>) -> Sheet {
        Sheet { title: title.into(), about: about.into(), facts: Vec::new(), sections: String::new() }
    }

    /// Something about the whole, at the top.
    pub fn fact(&mut self, name: impl Into<String>, value: impl Into<String>) {
        self.facts.push((name.into(), value.into()));
    }

    /// A sentence that must not be overlooked.
    ///
    /// ```
    /// use crossover_profile::bench::sheet::Sheet;
    /// let mut sheet = Sheet::new("Benchmark", "what was measured");
    /// sheet.warning("other programs used 40% of the processors");
    /// assert!(sheet.finish().contains("<p class=\"warning\">other programs used 40% of the processors</p>"));
    /// ```
    pub fn warning(&mut self, text: &str) {
        let _ = writeln!(self.sections, "<section><p class=\"warning\">{}</p></section>", escaped(text));
    }

    /// A section with a table.
    pub fn table(&mut self, title: &str, about: &str, columns: &[&str], rows: Vec<Vec<Cell>>) {
        self.head(title, about);
        let out = &mut self.sections;
        // A table that is wider than the window is scrolled by keys too.
        let name = escaped(title);
        let _ = write!(
            out,
            "<div class=\"body\"><div class=\"table table-scroll\" tabindex=\"0\" role=\"region\" aria-label=\"{name}\"><table><caption class=\"sr-only\">{name}</caption><thead><tr>"
        );
        for (at, column) in columns.iter().enumerate() {
            let numeric = rows
                .first()
                .and_then(|row| row.get(at))
                .is_some_and(|cell| matches!(cell, Cell::Number(_) | Cell::Bar(..)));
            let class = if numeric { " class=\"numeric\"" } else { "" };
            let _ = write!(out, "<th scope=\"col\"{class}>{}</th>", escaped(column));
        }
        out.push_str("</tr></thead><tbody>\n");
        for row in &rows {
            out.push_str("<tr>");
            for (at, cell) in row.iter().enumerate() {
                write_cell(out, cell, at == 0);
            }
            out.push_str("</tr>\n");
        }
        out.push_str("</tbody></table></div></div></section>\n");
    }

    /// A section with lines over logarithmic axes. Points that are not positive are left out.
    ///
    /// ```
    /// use crossover_profile::bench::sheet::{Series, Sheet};
    /// let mut sheet = Sheet::new("Memory", "in use");
    /// let line = Series { name: "arrays".into(), points: vec![(1.0, 64.0), (2.0, 128.0), (4.0, 64.0)] };
    /// sheet.chart("Over time", "in seconds", &[line], |x| format!("{x} s"), |y| format!("{y} B"));
    /// assert!(sheet.finish().contains("<h2>Over time</h2>"));
    /// ```
    pub fn chart(&mut self, title: &str, about: &str, series: &[Series], x: Label, y: Label) {
        self.head(title, about);
        let drawn = Drawing::new(series);
        self.sections.push_str("<div class=\"body\"><div class=\"plot\">");
        match drawn {
            Some(drawn) => drawn.write(&mut self.sections, title, series, x, y),
            None => self.sections.push_str("<p class=\"empty\">There is nothing to draw.</p>"),
        }
        self.sections.push_str("</div></div></section>\n");
    }

    /// The whole page.
    pub fn finish(self) -> String {
        let mut out = String::with_capacity(page::style().len() + self.sections.len() + 4096);
        out.push_str("<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n");
        out.push_str("<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n");
        out.push_str("<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'\">\n");
        out.push_str("<meta name=\"color-scheme\" content=\"light dark\">\n");
        let _ = writeln!(
            out,
            "<title>{}</title>\n<style>\n{}{MORE}</style>",
            escaped(&self.title),
            page::style()
        );
        out.push_str("</head>\n<body>\n<header class=\"top\"><a class=\"mark\" href=\"#top\" aria-label=\"Crossover, top of the page\"><svg viewBox=\"0 0 24 24\" aria-hidden=\"true\"><path class=\"mark-flat\" d=\"M3 9h18\"/><path class=\"mark-rise\" d=\"M3 20C12 20 13 4 21 4\"/></svg><span>Crossover</span></a></header>\n");
        let _ = writeln!(
            out,
            "<main id=\"top\">\n<section id=\"summary\"><h1>{}</h1><p class=\"figures\">{}</p><dl class=\"facts sheet-facts\">",
            escaped(&self.title),
            escaped(&self.about)
        );
        for (name, value) in &self.facts {
            let _ = writeln!(out, "<dt>{}</dt><dd>{}</dd>", escaped(name), escaped(value));
        }
        out.push_str("</dl></section>\n");
        out.push_str(&self.sections);
        out.push_str("</main>\n</body>\n</html>\n");
        out
    }

    fn head(&mut self, title: &str, about: &str) {
        let (title, about) = (escaped(title), escaped(about));
        let _ = writeln!(self.sections, "<section><header><h2>{title}</h2><p>{about}</p></header>");
    }
}

fn write_cell(out: &mut String, cell: &Cell, first: bool) {
    let _ = match cell {
        Cell::Text(text) if first => write!(out, "<th scope=\"row\">{}</th>", escaped(text)),
        Cell::Text(text) => write!(out, "<td>{}</td>", escaped(text)),
        Cell::Number(text) => write!(out, "<td class=\"numeric\">{}</td>", escaped(text)),
        Cell::Bar(text, share) => write!(
            out,
            "<td class=\"numeric\"><span class=\"bar-cell\" style=\"--bar: var(--accent); --share: {:.0}%\">{}</span></td>",
            100.0 * share.clamp(0.0, 1.0),
            escaped(text)
        ),
        Cell::Interval(low, ratio, high) => write!(out, "<td>{}</td>", interval(*low, *ratio, *high)),
        Cell::Mark(text, good) => {
            let class = match good {
                Some(true) => "mark-good",
                Some(false) => "mark-bad",
                None => "muted",
            };
            write!(out, "<td><span class=\"{class}\">{}</span></td>", escaped(text))
        }
    };
}

/// A line from low to high with a dot at the ratio, 1 in the middle, half and twice at the ends.
fn interval(low: f64, ratio: f64, high: f64) -> String {
    let place = |ratio: f64| 60.0 + 55.0 * ratio.max(1e-9).log2().clamp(-1.0, 1.0);
    format!(
        "<svg class=\"interval\" viewBox=\"0 0 120 14\" role=\"img\" aria-label=\"{low:.3} to {high:.3}\"><path class=\"one\" d=\"M60 0V14\"/><path class=\"range\" d=\"M{:.1} 7H{:.1}\"/><circle cx=\"{:.1}\" cy=\"7\" r=\"3\"/></svg>",
        place(low),
        place(high),
        place(ratio)
    )
}

/// Where the points of a chart lie.
struct Drawing {
    x: (f64, f64),
    y: (f64, f64),
}

/// Of the picture, and what axes take of it.
const SIZE: (f64, f64) = (900.0, 380.0);
const LEFT: f64 = 84.0;
const BELOW: f64 = 34.0;
const RIGHT: f64 = 190.0;

impl Drawing {
    fn new(series: &[Series]) -> Option<Drawing> {
        let points = || series.iter().flat_map(|line| &line.points).filter(|p| p.0 > 0.0 && p.1 > 0.0);
        let range = |of: fn(&(f64, f64)) -> f64| {
            let (low, high) = points()
                .map(of)
                .fold((f64::INFINITY, 0.0f64), |(low, high), value| (low.min(value), high.max(value)));
            (low > 0.0 && low.is_finite()).then(|| (low.log2(), high.log2().max(low.log2() + 1.0)))
        };
        Some(Drawing { x: range(|p| p.0)?, y: range(|p| p.1)? })
    }

    fn across(&self, value: f64) -> f64 {
        LEFT + (value.log2() - self.x.0) / (self.x.1 - self.x.0) * (SIZE.0 - LEFT - RIGHT)
    }

    fn down(&self, value: f64) -> f64 {
        12.0 + (self.y.1 - value.log2()) / (self.y.1 - self.y.0) * (SIZE.1 - BELOW - 12.0)
    }

    fn write(&self, out: &mut String, title: &str, series: &[Series], x: Label, y: Label) {
        let (width, height) = SIZE;
        let _ = write!(
            out,
            "<svg class=\"scatter lines\" viewBox=\"0 0 {width} {height}\" role=\"img\" aria-label=\"{}\">",
            escaped(title)
        );
        for value in ticks(self.y) {
            let (at, label) = (self.down(value), escaped(&y(value)));
            let _ = write!(out, "<path class=\"grid\" d=\"M{LEFT} {at:.1}H{:.1}\"/>", width - RIGHT);
            let _ = write!(
                out,
                "<text x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"end\">{label}</text>",
                LEFT - 8.0,
                at + 3.5
            );
        }
        for value in ticks(self.x) {
            let (at, label) = (self.across(value), escaped(&x(value)));
            let _ = write!(out, "<path class=\"grid\" d=\"M{at:.1} 12V{:.1}\"/>", height - BELOW);
            let _ = write!(
                out,
                "<text x=\"{at:.1}\" y=\"{:.1}\" text-anchor=\"middle\">{label}</text>",
                height - BELOW + 16.0
            );
        }
        // Names stand at the ends of their lines, and move apart where these meet.
        let mut names: Vec<(f64, usize)> = Vec::new();
        for (number, line) in series.iter().enumerate() {
            let points: Vec<_> = line.points.iter().filter(|p| p.0 > 0.0 && p.1 > 0.0).collect();
            let places: Vec<String> =
                points.iter().map(|p| format!("{:.1} {:.1}", self.across(p.0), self.down(p.1))).collect();
            let _ = write!(out, "<path class=\"line line-{number}\" d=\"M{}\"/>", places.join("L"));
            for place in &places {
                let (across, down) = place.split_once(' ').unwrap_or_default();
                let _ =
                    write!(out, "<circle class=\"line-{number}\" cx=\"{across}\" cy=\"{down}\" r=\"2.5\"/>");
            }
            if let Some(last) = points.last() {
                names.push((self.down(last.1), number));
            }
        }
        names.sort_by(|a, b| a.0.total_cmp(&b.0));
        let mut free = 0.0f64;
        for (wanted, number) in names {
            let at = wanted.max(free);
            free = at + 14.0;
            let name = escaped(&series[number].name);
            let (left, down) = (width - RIGHT + 10.0, at + 3.5);
            let _ = write!(
                out,
                "<text class=\"name line-{number}\" x=\"{left:.1}\" y=\"{down:.1}\">{name}</text>"
            );
        }
        out.push_str("</svg>");
    }
}

/// At most seven powers of two within a range of logarithms.
fn ticks((low, high): (f64, f64)) -> Vec<f64> {
    let step = ((high - low) / 6.0).ceil().max(1.0) as i32;
    let first = low.ceil() as i32;
    (0..)
        .map(|at| first + at * step)
        .take_while(|&power| f64::from(power) <= high)
        .map(|p| 2f64.powi(p))
        .collect()
}

/// Text that means itself in HTML.
fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for letter in text.chars() {
        match letter {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&#39;"),
            other => out.push(other),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sheet() -> String {
        let mut sheet = Sheet::new("A <b>", "\"about\"");
        sheet.fact("x", "'y' & z");
        sheet.warning("</style><script>");
        let rows = vec![vec![
            Cell::text("<i>"),
            Cell::number("1"),
            Cell::Bar("50%".into(), 0.5),
            Cell::Interval(0.9, 1.0, 1.2),
            Cell::Mark("SLOWER".into(), Some(false)),
        ]];
        sheet.table("T", "t", &["a", "b", "c", "d", "e"], rows);
        let line = |name: &str, factor: f64| Series {
            name: name.into(),
            points: (0..9).map(|at| (2f64.powi(at), factor * 2f64.powi(at))).chain([(0.0, 1.0)]).collect(),
        };
        sheet.chart("C", "c", &[line("one", 1.0), line("two", 1.01)], |x| x.to_string(), |y| y.to_string());
        sheet.chart("nothing", "", &[], |x| x.to_string(), |y| y.to_string());
        sheet.finish()
    }

    #[test]
    fn nothing_that_is_given_becomes_html() {
        let page = sheet();
        assert!(!page.contains("<script") && !page.contains("<i>") && !page.contains("A <b>"));
        assert!(page.contains("&lt;/style&gt;&lt;script&gt;"));
        for reference in ["src=\"", "rel=\"stylesheet\"", "@import", "https://", "url("] {
            assert!(!page.contains(reference), "{reference}");
        }
    }

    #[test]
    fn charts_have_a_line_per_series_and_numbers_that_are_numbers() {
        let page = sheet();
        assert!(page.contains("class=\"line line-0\"") && page.contains("class=\"line line-1\""));
        assert!(!page.contains("NaN") && !page.contains("inf"));
        assert!(page.contains("There is nothing to draw."));
        assert_eq!(ticks((0.0, 3.0)), [1.0, 2.0, 4.0, 8.0]);
        assert!(ticks((0.5, 40.0)).len() <= 7);
    }

    #[test]
    fn intervals_stay_inside_their_picture() {
        for (low, high) in [(0.01, 100.0), (0.9, 1.1), (1.0, 1.0)] {
            let text = interval(low, 1.0, high);
            assert!(text.contains("cx=\"60.0\""), "{text}");
            assert!(!text.contains('-') || !text.contains("M-"), "{text}");
        }
    }
}
