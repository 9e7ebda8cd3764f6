//! The part of Python's literals that `.npy` headers are made of.
//!
//! One dictionary whose keys are strings and whose values are strings, booleans or tuples of integers. Lists are
//! recognised, not read: they describe records, which are not supported. No nesting, so no depth to run out of.

use crate::error::Fault;

/// A value of the dictionary.
#[derive(Debug, PartialEq)]
pub(super) enum Literal {
    Text(String),
    Bool(bool),
    Tuple(Vec<u64>),
    List,
}

/// The entries of a dictionary, in order.
pub(super) fn parse(text: &str) -> Result<Vec<(String, Literal)>, Fault> {
    let mut reader = Reader { rest: text };
    let mut entries = Vec::new();
    reader.expect('{')?;
    loop {
        if reader.eat('}') {
            break;
        }
        let key = reader.text()?;
        reader.expect(':')?;
        let value = reader.value()?;
        let is_list = value == Literal::List;
        entries.push((key, value));
        // Nothing behind a list can be read, and nothing needs to be.
        if is_list {
            return Ok(entries);
        }
        if !reader.eat(',') {
            reader.expect('}')?;
            break;
        }
    }
    match reader.peek() {
        None => Ok(entries),
        Some(found) => Fault::corrupt(format!("its header goes on with {found:?} after the dictionary")),
    }
}

struct Reader<'a> {
    rest: &'a str,
}

impl Reader<'_> {
    /// The next character that is no space.
    fn peek(&mut self) -> Option<char> {
        self.rest = self.rest.trim_start_matches([' ', '\t', '\n', '\r', '\x0c']);
        self.rest.chars().next()
    }

    fn eat(&mut self, wanted: char) -> bool {
        let found = self.peek() == Some(wanted);
        if found {
            self.rest = &self.rest[wanted.len_utf8()..];
        }
        found
    }

    fn expect(&mut self, wanted: char) -> Result<(), Fault> {
        if self.eat(wanted) {
            return Ok(());
        }
        match self.peek() {
            Some(found) => Fault::corrupt(format!("its header has {found:?} where {wanted:?} belongs")),
            None => Fault::corrupt(format!("its header ends where {wanted:?} belongs")),
        }
    }

    fn value(&mut self) -> Result<Literal, Fault> {
        match self.peek() {
            Some('\'' | '"') => self.text().map(Literal::Text),
            Some('(') => self.tuple(),
            Some('[') => Ok(Literal::List),
            _ if self.word("True") => Ok(Literal::Bool(true)),
            _ if self.word("False") => Ok(Literal::Bool(false)),
            Some(found) => Fault::corrupt(format!("its header has {found:?} where a value belongs")),
            None => Fault::corrupt("its header ends where a value belongs"),
        }
    }

    fn word(&mut self, word: &str) -> bool {
        match self.rest.strip_prefix(word) {
            Some(rest) if !rest.starts_with(|c: char| c.is_alphanumeric() || c == '_') => {
                self.rest = rest;
                true
            }
            _ => false,
        }
    }

    /// A string without escapes: no dtype has any.
    fn text(&mut self) -> Result<String, Fault> {
        let quote = match self.peek() {
            Some(quote @ ('\'' | '"')) => quote,
            Some(found) => return Fault::corrupt(format!("its header has {found:?} where a string belongs")),
            None => return Fault::corrupt("its header ends where a string belongs"),
        };
        let body = &self.rest[1..];
        let Some(end) = body.find(quote) else {
            return Fault::corrupt("a string in its header does not end");
        };
        let (text, rest) = (&body[..end], &body[end + 1..]);
        if text.contains(['\\', '\n']) {
            return Fault::corrupt(format!("its header has the string {text:?}"));
        }
        self.rest = rest;
        Ok(text.to_string())
    }

    /// `()`, `(3,)`, `(3, 4)`; and `(3)`, which Python would take for a number.
    fn tuple(&mut self) -> Result<Literal, Fault> {
        self.expect('(')?;
        let mut lengths = Vec::new();
        loop {
            if self.eat(')') {
                return Ok(Literal::Tuple(lengths));
            }
            lengths.push(self.length()?);
            if !self.eat(',') {
                self.expect(')')?;
                return Ok(Literal::Tuple(lengths));
            }
        }
    }

    fn length(&mut self) -> Result<u64, Fault> {
        let found = self.peek();
        let digits = self.rest.len() - self.rest.trim_start_matches(|c: char| c.is_ascii_digit()).len();
        let (number, rest) = self.rest.split_at(digits);
        if number.is_empty() {
            return Fault::corrupt(format!(
                "its shape has {:?} where a length belongs",
                found.unwrap_or(')')
            ));
        }
        let shown = &number[..number.len().min(40)];
        let Ok(length) = number.parse() else {
            return Fault::corrupt(format!("its shape has the length {shown}, which cannot be addressed"));
        };
        // Python 2 wrote long integers with an L.
        self.rest = rest.strip_prefix('L').unwrap_or(rest);
        Ok(length)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn headers_of_numpy_are_read() {
        let entries = parse("{'descr': '<f4', 'fortran_order': False, 'shape': (3, 4), }   \n").unwrap();
        assert_eq!(entries[0], ("descr".to_string(), Literal::Text("<f4".to_string())));
        assert_eq!(entries[1].1, Literal::Bool(false));
        assert_eq!(entries[2].1, Literal::Tuple(vec![3, 4]));
        let value = |text: &str| parse(&format!("{{\"x\":{text}}}")).map(|mut e| e.remove(0).1);
        assert_eq!(value("()").unwrap(), Literal::Tuple(vec![]));
        assert_eq!(value("(3L,)").unwrap(), Literal::Tuple(vec![3]));
        assert_eq!(value("[('a', '<f4')]").unwrap(), Literal::List);
        assert_eq!(parse("{}").unwrap(), vec![]);
    }

    #[test]
    fn anything_else_is_a_fault() {
        for text in [
            "",
            "{",
            "}",
            "{'a'}",
            "{'a':}",
            "{'a': 1}",
            "{'a': (1",
            "{'a': (-1,)}",
            "{'a': (1.5,)}",
            "{'a': Trueish}",
            "{'a': 'b}",
            "{'a': 'b\\n'}",
            "{a: True}",
            "{'a': True} x",
            "{'a': (99999999999999999999,)}",
            "{'a': ((),)}",
            "{'a': True 'b': True}",
            "{'a': (1 2)}",
            "{'é': é}",
            "{'a': (,)}",
        ] {
            assert!(parse(text).is_err(), "{text}");
        }
    }
}
