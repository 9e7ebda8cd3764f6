//! The report page: its parts in `page/`, joined into one HTML text that needs nothing else.
//!
//! What always holds: the text refers to no other file, and the text of a trace cannot end the element that holds it. Traces
//! are not looked at here: the page reads them, and says what is wrong with one that it cannot read.

use std::io::Write;

use flate2::{Compression, write::GzEncoder};

/// The frame; each part is named by one line of it.
const TEMPLATE: &str = include_str!("../page/index.html");
/// Bytes up to which a trace is embedded as it is. Longer ones are packed: 100,000 spans take 2 MB instead of 7.
const PLAIN: usize = 100_000;
/// The line that traces replace.
const TRACES: &str = "<!-- traces -->";

macro_rules! parts {
    ($($name:literal)*) => {
        [$(($name, include_str!(concat!("../page/", $name)))),*]
    };
}

/// Every part with its text. The order on the page is that of the template.
const PARTS: [(&str, &str); 31] = parts!(
    "style.css" "format.js" "dom.js" "theme.js" "surface.js" "axis.js" "intervals.js" "trace.js" "stats.js" "table.js"
    "summary.js" "advice.js" "lanes.js" "timeline.js" "pointers.js" "detail.js" "search.js" "timeline-panel.js"
    "stacks.js" "flame.js" "scatter.js" "roofline.js" "kernels.js" "memory.js" "transfers.js" "decisions.js" "compare.js"
    "keyboard.js" "embedded.js" "drop.js" "app.js"
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

/// The style sheet of the page, for others that are to look like it.
pub(crate) fn style() -> &'static str {
    named("style.css", "", "").unwrap_or_default()
}

/// The text of the part that a line of the template names.
fn named(line: &str, before: &str, after: &str) -> Option<&'static str> {
    let name = line.strip_prefix(before)?.strip_suffix(after)?;
    PARTS.iter().find(|(known, _)| *known == name).map(|(_, text)| *text)
}

/// The element that holds a trace.
fn embed(trace: &str, page: &mut String) {
    if trace.len() > PLAIN
        && let Ok(packed) = pack(trace)
    {
        page.push_str("<script type=\"application/gzip\" class=\"trace\">");
        base64(&packed, page);
    } else {
        page.push_str("<script type=\"application/json\" class=\"trace\">");
        escape(trace, page);
    }
    page.push_str("</script>\n");
}

/// Inside JSON `<` occurs in strings only, where an escape means the same; without it neither `</script>` nor `<!--` can occur.
fn escape(trace: &str, page: &mut String) {
    for (index, piece) in trace.split('<').enumerate() {
        if index > 0 {
            page.push_str("\\u003c");
        }
        page.push_str(piece);
    }
}

fn pack(trace: &str) -> std::io::Result<Vec<u8>> {
    let mut packer = GzEncoder::new(Vec::new(), Compression::default());
    packer.write_all(trace.as_bytes())?;
    packer.finish()
}

/// The alphabet of RFC 4648 with padding, which browsers read.
fn base64(bytes: &[u8], page: &mut String) {
    const LETTERS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    for group in bytes.chunks(3) {
        let byte = |at: usize| u32::from(group.get(at).copied().unwrap_or(0));
        let word = byte(0) << 16 | byte(1) << 8 | byte(2);
        for place in 0..4 {
            let letter = LETTERS[(word >> (18 - 6 * place) & 63) as usize];
            page.push(if place > group.len() { '=' } else { char::from(letter) });
        }
    }
}

#[cfg(test)]
mod tests {
    use std::io::Read;

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

    #[test]
    fn a_long_trace_is_packed() {
        let long = format!("{{\"name\":\"{}\"}}", "span ".repeat(PLAIN));
        let page = render(&[&long]);
        assert!(page.len() < render(&[]).len() + PLAIN / 10);
        let (_, rest) =
            page.split_once("<script type=\"application/gzip\" class=\"trace\">").expect("it is packed");
        let (text, _) = rest.split_once("</script>").expect("the element ends");
        assert!(text.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"+/=".contains(&byte)));
        let mut expected = String::new();
        base64(&pack(&long).expect("memory takes everything"), &mut expected);
        assert_eq!(text, expected);
    }

    #[test]
    fn packing_keeps_every_byte() {
        let text = "a trace, as \u{201c}text\u{201d} ".repeat(1000);
        let packed = pack(&text).expect("memory takes everything");
        let mut unpacked = String::new();
        flate2::read::GzDecoder::new(&packed[..]).read_to_string(&mut unpacked).expect("it was packed");
        assert_eq!(unpacked, text);
    }

    #[test]
    fn base64_is_that_of_rfc_4648() {
        for (bytes, text) in [
            ("", ""),
            ("f", "Zg=="),
            ("fo", "Zm8="),
            ("foo", "Zm9v"),
            ("foob", "Zm9vYg=="),
            ("fooba", "Zm9vYmE="),
            ("foobar", "Zm9vYmFy"),
        ] {
            let mut written = String::new();
            base64(bytes.as_bytes(), &mut written);
            assert_eq!(written, text);
        }
    }
}
