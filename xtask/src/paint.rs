//! Colour on the terminal. Plain text when `NO_COLOR` is set or the output is not a terminal.

use std::io::IsTerminal;
use std::sync::LazyLock;

static COLOUR: LazyLock<bool> = LazyLock::new(|| {
    // https://no-color.org: any non-empty value turns colour off.
    let refused = std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
    !refused && std::io::stdout().is_terminal() && std::io::stderr().is_terminal()
});

/// Failure.
pub fn red(text: &str) -> String {
    wrap("31", text)
}

/// Success.
pub fn green(text: &str) -> String {
    wrap("32", text)
}

/// Something to look at that does not fail.
pub fn yellow(text: &str) -> String {
    wrap("33", text)
}

/// Secondary information.
pub fn dim(text: &str) -> String {
    wrap("2", text)
}

fn wrap(code: &str, text: &str) -> String {
    if *COLOUR { format!("\x1b[{code}m{text}\x1b[0m") } else { text.to_owned() }
}
