//! Lines of C++ with indentation.

/// Text under construction.
#[derive(Debug, Default)]
pub(crate) struct Writer {
    text: String,
    depth: usize,
}

impl Writer {
    /// A writer whose first line is indented this many levels.
    pub(crate) fn at(depth: usize) -> Writer {
        Writer { text: String::new(), depth }
    }

    /// One line; an empty one stays empty.
    pub(crate) fn line(&mut self, text: impl AsRef<str>) {
        let text = text.as_ref();
        if !text.is_empty() {
            for _ in 0..self.depth {
                self.text.push_str("    ");
            }
            self.text.push_str(text);
        }
        self.text.push('\n');
    }

    /// A line that opens a block.
    pub(crate) fn open(&mut self, head: impl AsRef<str>) {
        self.line(format!("{} {{", head.as_ref()));
        self.depth += 1;
    }

    /// An unrolled loop over `name` from 0 to `count`.
    pub(crate) fn unrolled(&mut self, name: &str, count: usize) {
        self.line("#pragma unroll");
        self.open(format!("for (int {name} = 0; {name} < {count}; ++{name})"));
    }

    /// Closes the innermost block.
    pub(crate) fn close(&mut self) {
        self.depth -= 1;
        self.line("}");
    }

    /// The finished text.
    pub(crate) fn finish(self) -> String {
        self.text
    }
}
