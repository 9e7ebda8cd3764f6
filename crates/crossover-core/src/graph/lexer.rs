//! Tokens of graph and case text, one at a time, with their line.
//!
//! Nothing is allocated and nothing can fail: an unknown character is a mark, and the reader says what it expected
//! instead. `#` starts a comment that ends with the line.

use std::fmt;

use crate::{Error, Result};

/// A piece of text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Token<'a> {
    /// `%name`, without the percent sign.
    Name(&'a str),
    /// A keyword or number: letters, digits, `_`, `.`, `+` and `-`.
    Word(&'a str),
    /// Any other character.
    Mark(char),
    /// The end of a line.
    Line,
    /// The end of the text.
    End,
}

impl fmt::Display for Token<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Token::Name(name) => write!(f, "`%{}`", excerpt(name)),
            Token::Word(word) => write!(f, "`{}`", excerpt(word)),
            Token::Mark(mark) => write!(f, "`{}`", printable(mark.encode_utf8(&mut [0; 4]))),
            Token::Line => f.write_str("the end of the line"),
            Token::End => f.write_str("the end of the text"),
        }
    }
}

/// At most 40 characters: messages about damaged text stay short whatever the text is.
pub(crate) fn excerpt(text: &str) -> String {
    match text.char_indices().nth(40) {
        Some((end, _)) => format!("{}…", printable(&text[..end])),
        None => printable(text),
    }
}

/// Text that does to a terminal what it says and no more: characters that control it, or the direction of text, are written as escapes.
///
/// ```
/// assert_eq!(crossover_core::printable("%a = \x1b[31m"), "%a = \\u{1b}[31m");
/// assert_eq!(crossover_core::printable("größer\t%x"), "größer %x");
/// ```
pub fn printable(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '\t' => out.push(' '),
            c if c.is_control()
                || matches!(c, '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}') =>
            {
                out.extend(c.escape_unicode());
            }
            c => out.push(c),
        }
    }
    out
}

/// A reader of tokens with one token of lookahead.
#[derive(Debug, Clone)]
pub(crate) struct Lexer<'a> {
    rest: &'a str,
    /// Line of the token that comes next, from 1.
    line: usize,
    next: Token<'a>,
}

impl<'a> Lexer<'a> {
    /// Starts at the beginning of `text`.
    pub(crate) fn new(text: &'a str) -> Lexer<'a> {
        let mut lexer = Lexer { rest: text, line: 1, next: Token::End };
        lexer.next = lexer.scan();
        lexer
    }

    /// The token that comes next.
    pub(crate) fn peek(&self) -> Token<'a> {
        self.next
    }

    /// The line of the token that comes next.
    pub(crate) fn line(&self) -> usize {
        self.line
    }

    /// Takes the token that comes next.
    pub(crate) fn take(&mut self) -> Token<'a> {
        let taken = self.next;
        if taken == Token::Line {
            self.line += 1;
        }
        self.next = self.scan();
        taken
    }

    fn scan(&mut self) -> Token<'a> {
        let blank = |c: char| c != '\n' && c.is_whitespace();
        self.rest = self.rest.trim_start_matches(blank);
        if self.rest.starts_with('#') {
            self.rest = &self.rest[self.rest.find('\n').unwrap_or(self.rest.len())..];
        }
        let Some(first) = self.rest.chars().next() else { return Token::End };
        if first == '%' {
            return Token::Name(self.word_after(1));
        }
        if is_word(first) {
            return Token::Word(self.word_after(0));
        }
        self.rest = &self.rest[first.len_utf8()..];
        if first == '\n' { Token::Line } else { Token::Mark(first) }
    }

    fn word_after(&mut self, skipped: usize) -> &'a str {
        let word = &self.rest[skipped..];
        let end = word.find(|c| !is_word(c)).unwrap_or(word.len());
        self.rest = &word[end..];
        &word[..end]
    }

    /// Takes a mark if it comes next.
    pub(crate) fn accept(&mut self, mark: char) -> bool {
        let there = self.peek() == Token::Mark(mark);
        if there {
            self.take();
        }
        there
    }

    /// Takes a keyword if it comes next.
    pub(crate) fn accept_word(&mut self, word: &str) -> bool {
        let there = self.peek() == Token::Word(word);
        if there {
            self.take();
        }
        there
    }

    /// Takes a mark, which has to come next.
    pub(crate) fn expect(&mut self, mark: char) -> Result<()> {
        if self.accept(mark) { Ok(()) } else { Err(self.unexpected(&format!("`{mark}`"))) }
    }

    /// Takes a keyword, which has to come next.
    pub(crate) fn expect_word(&mut self, word: &str) -> Result<()> {
        if self.accept_word(word) { Ok(()) } else { Err(self.unexpected(&format!("`{word}`"))) }
    }

    /// Takes any word.
    pub(crate) fn word(&mut self, wanted: &str) -> Result<&'a str> {
        match self.peek() {
            Token::Word(word) => {
                self.take();
                Ok(word)
            }
            _ => Err(self.unexpected(wanted)),
        }
    }

    /// Takes empty lines.
    pub(crate) fn skip_lines(&mut self) {
        while self.peek() == Token::Line {
            self.take();
        }
    }

    /// The error that the next token is not what it has to be.
    pub(crate) fn unexpected(&self, wanted: &str) -> Error {
        self.wrong(format!("expected {wanted}, found {}", self.peek()))
    }

    /// An error at this line.
    pub(crate) fn wrong(&self, what: String) -> Error {
        Error::Text { line: self.line, what }
    }
}

fn is_word(c: char) -> bool {
    c.is_ascii_alphanumeric() || matches!(c, '_' | '.' | '+' | '-')
}
