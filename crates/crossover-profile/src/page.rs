//! The report page: its parts in `page/`, joined into one HTML text that needs nothing else.
//!
//! What always holds: the text refers to no other file, and the text of a trace cannot end the element that holds it. Traces
//! are not looked at here: the page reads them, and says what is wrong with one that it cannot read.

/// The frame; each part is named by one line of it.
const TEMPLATE: &str = include_str!("../page/index.html");
/// The line that traces replace.
const TRACES: &str = "<!-- traces -->";

macro_rules! parts {
    ($($name:literal)*) => {
        [$(($name, include_str!(concat!("../page/", $name)))),*]
    };
}

/// Every part with its text. The order on the page is that of the template.
const PARTS: [(&str, &str); 30] = parts!(
    "style.css" "format.js" "dom.js" "theme.js" "surface.js" "axis.js" "intervals.js" "trace.js" "stats.js" "table.js"
    "summary.js" "advice.js" "lanes.js" "timeline.js" "pointers.js" "detail.js" "search.js" "timeline-panel.js"
    "stacks.js" "flame.js" "scatter.js" "roofline.js" "kernels.js" "memory.js" "transfers.js" "decisions.js" "compare.js"
    "keyboard.js" "drop.js" "app.js"
);

/// The page with these traces in it, given as the JSON text of a trace file. One is shown, two are compared; without any the page
/// asks for a file. More than two are ignored by the page.
///
/// ```
/// let page = crossover_profile::page::render(&[]);
/// assert!(page.starts_with("<!doctype html>"));
/// ```
pub fn render(traces: &[&str]) -> String {
    let parts: usize = PARTS.iter().map(|(_, text)| text.len()).sum();
    let given: usize = traces.iter().map(|trace| trace.len() + 64).sum();
    let mut page = String::with_capacity(TEMPLATE.len() + parts + given + 4096);
    for line in TEMPLATE.lines() {
        if let Some(text) = named(line, "<link rel=\"stylesheet\" href=\"", "\">") {
            page.extend(["<style>\n", text, "</style>"]);
        } else if let Some(text) = named(line, "<script src=\"", "\"></script>") {
            page.extend(["<script>\n", text, "</script>"]);
        } else if line == TRACES {
            traces.iter().for_each(|trace| embed(trace, &mut page));
        } else {
            page.push_str(line);
        }
        page.push('\n');
    }
    page
}

/// The text of the part that a line of the template names.
fn named(line: &str, before: &str, after: &str) -> Option<&'static str> {
    let name = line.strip_prefix(before)?.strip_suffix(after)?;
    PARTS.iter().find(|(known, _)| *known == name).map(|(_, text)| *text)
}

/// Inside JSON `<` occurs in strings only, where an escape means the same; without it neither `</script>` nor `<!--` can occur.
fn embed(trace: &str, page: &mut String) {
    page.push_str("<script type=\"application/json\" class=\"trace\">");
    for (index, piece) in trace.split('<').enumerate() {
        if index > 0 {
            page.push_str("\\u003c");
        }
        page.push_str(piece);
    }
    page.push_str("</script>\n");
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_page_refers_to_nothing_outside_it() {
        let page = render(&[]);
        for reference in ["src=\"", "rel=\"stylesheet\"", "@import", "https://", "url("] {
            assert!(!page.contains(reference), "{reference} is left in the page");
        }
        assert!(page.contains("default-src 'none'"), "the browser is told to load nothing");
    }

    #[test]
    fn every_part_is_on_the_page_once() {
        let page = render(&[]);
        for (name, text) in PARTS {
            assert_eq!(page.matches(text).count(), 1, "{name}");
        }
        assert_eq!(
            page.matches("<script>\n\"use strict\";").count(),
            PARTS.len() - 1,
            "every script is strict"
        );
    }

    #[test]
    fn no_part_ends_its_element_early() {
        for (name, text) in PARTS {
            assert!(
                !text.contains("</script") && !text.contains("</style") && !text.contains("<!--"),
                "{name}"
            );
        }
    }

    #[test]
    fn traces_come_in_their_order_and_as_they_are() {
        let page = render(&["{\"name\":\"first\"}", "{\"name\":\"second\"}"]);
        let embedded: Vec<&str> = page
            .split("class=\"trace\">")
            .skip(1)
            .filter_map(|rest| rest.split("</script>").next())
            .collect();
        assert_eq!(embedded, ["{\"name\":\"first\"}", "{\"name\":\"second\"}"]);
        assert_eq!(render(&[]).matches("class=\"trace\">").count(), 0);
    }

    #[test]
    fn a_trace_cannot_leave_its_element() {
        let hostile = "{\"name\":\"</script><!--<script>alert(1)\"}";
        let page = render(&[hostile]);
        assert!(page.contains("{\"name\":\"\\u003c/script>\\u003c!--\\u003cscript>alert(1)\"}"));
        assert_eq!(
            page.matches("</script>").count(),
            PARTS.len() - 1 + 1,
            "one per script and one for the trace"
        );
    }
}
