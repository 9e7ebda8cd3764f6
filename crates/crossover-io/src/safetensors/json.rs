//! The part of JSON that safetensors headers are made of: objects, strings and lists of natural numbers.
//!
//! Objects are walked, not built, and the caller says what each key may hold, so nothing nests deeper than the format
//! does. Anything the format has no use for is a fault.

use crate::error::Fault;

/// Reads JSON from the front of a text.
pub(super) struct Reader<'a> {
    text: &'a str,
    at: usize,
}

impl<'a> Reader<'a> {
    pub fn new(text: &'a str) -> Reader<'a> {
        Reader { text, at: 0 }
    }

    /// Calls `entry` with each key of an object; it reads the value.
    pub fn object(
        &mut self,
        mut entry: impl FnMut(&mut Self, String) -> Result<(), Fault>,
    ) -> Result<(), Fault> {
        self.expect('{')?;
        if self.eat('}') {
            return Ok(());
        }
        loop {
            let key = self.string()?;
            self.expect(':')?;
            entry(self, key)?;
            if !self.eat(',') {
                return self.expect('}');
            }
        }
    }

    /// A list of natural numbers.
    pub fn numbers(&mut self) -> Result<Vec<u64>, Fault> {
        self.expect('[')?;
        let mut numbers = Vec::new();
        if self.eat(']') {
            return Ok(numbers);
        }
        loop {
            numbers.push(self.number()?);
            if !self.eat(',') {
                self.expect(']')?;
                return Ok(numbers);
            }
        }
    }

    fn number(&mut self) -> Result<u64, Fault> {
        self.skip_space();
        let rest = &self.text[self.at..];
        let digits = rest.len() - rest.trim_start_matches(|c: char| c.is_ascii_digit()).len();
        let (number, after) = rest.split_at(digits);
        let is_plain = !number.is_empty() && (number.len() == 1 || !number.starts_with('0'));
        match number.parse() {
            Ok(value) if is_plain && !after.starts_with(['.', 'e', 'E']) => {
                self.at += digits;
                Ok(value)
            }
            _ => self.fault("a natural number"),
        }
    }

    /// A string, unescaped.
    pub fn string(&mut self) -> Result<String, Fault> {
        self.expect('"')?;
        let mut out = String::new();
        loop {
            let rest = &self.text[self.at..];
            let plain = rest.find(['"', '\\']).unwrap_or(rest.len());
            if rest[..plain].contains(|c: char| c < ' ') {
                return self.fault("a string without control characters");
            }
            out.push_str(&rest[..plain]);
            self.at += plain;
            match self.text.as_bytes().get(self.at) {
                Some(b'"') => {
                    self.at += 1;
                    return Ok(out);
                }
                Some(_) => {
                    self.at += 1;
                    out.push(self.escape()?);
                }
                None => return self.fault("the end of a string"),
            }
        }
    }

    /// The character of an escape whose backslash was read.
    fn escape(&mut self) -> Result<char, Fault> {
        let Some(&letter) = self.text.as_bytes().get(self.at) else { return self.fault("an escape") };
        let character = match letter {
            b'"' | b'\\' | b'/' => letter as char,
            b'b' => '\u{8}',
            b'f' => '\u{c}',
            b'n' => '\n',
            b'r' => '\r',
            b't' => '\t',
            b'u' => {
                self.at += 1;
                return self.unicode();
            }
            _ => return self.fault("an escape"),
        };
        self.at += 1;
        Ok(character)
    }

    /// Four hexadecimal digits, or twice that where the first are half of a pair.
    fn unicode(&mut self) -> Result<char, Fault> {
        let first = self.hexadecimal()?;
        let code = if (0xd800..0xdc00).contains(&first) {
            if !self.text[self.at..].starts_with("\\u") {
                return self.fault("the second half of a surrogate pair");
            }
            self.at += 2;
            let second = self.hexadecimal()?;
            match second.checked_sub(0xdc00) {
                Some(low) if low < 0x400 => 0x10000 + ((first - 0xd800) << 10) + low,
                _ => return self.fault("the second half of a surrogate pair"),
            }
        } else {
            first
        };
        match char::from_u32(code) {
            Some(character) => Ok(character),
            None => self.fault("a character"),
        }
    }

    fn hexadecimal(&mut self) -> Result<u32, Fault> {
        let digits = self.text.as_bytes().get(self.at..self.at + 4).unwrap_or(&[]);
        let mut value = 0;
        for &digit in digits {
            match (digit as char).to_digit(16) {
                Some(digit) => value = value * 16 + digit,
                None => return self.fault("four hexadecimal digits"),
            }
        }
        if digits.len() < 4 {
            return self.fault("four hexadecimal digits");
        }
        self.at += 4;
        Ok(value)
    }

    /// Nothing but spaces may be left.
    pub fn end(&mut self) -> Result<(), Fault> {
        self.skip_space();
        if self.at == self.text.len() { Ok(()) } else { self.fault("the end") }
    }

    fn skip_space(&mut self) {
        let rest = &self.text[self.at..];
        self.at += rest.len() - rest.trim_start_matches([' ', '\t', '\n', '\r']).len();
    }

    fn eat(&mut self, wanted: char) -> bool {
        self.skip_space();
        let found = self.text[self.at..].starts_with(wanted);
        self.at += if found { wanted.len_utf8() } else { 0 };
        found
    }

    fn expect(&mut self, wanted: char) -> Result<(), Fault> {
        if self.eat(wanted) { Ok(()) } else { self.fault(&format!("`{wanted}`")) }
    }

    fn fault<T>(&self, wanted: &str) -> Result<T, Fault> {
        let at = self.at;
        match self.text[at..].chars().next() {
            Some(found) => Fault::corrupt(format!("byte {at} of its header is {found:?}, not {wanted}")),
            None => Fault::corrupt(format!("its header ends where {wanted} belongs")),
        }
    }
}

/// Writes a string with its quotes.
pub(super) fn quoted(text: &str, out: &mut String) {
    out.push('"');
    for character in text.chars() {
        match character {
            '"' | '\\' => out.extend(['\\', character]),
            c if c < ' ' => out.push_str(&format!("\\u{:04x}", c as u32)),
            c => out.push(c),
        }
    }
    out.push('"');
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn strings_round_trip() {
        for text in ["", "x", "a\"b\\c", "\u{0}\n\t\u{1f}", "ß…😀", "/"] {
            let mut out = String::new();
            quoted(text, &mut out);
            let mut reader = Reader::new(&out);
            assert_eq!(reader.string().unwrap(), text);
            reader.end().unwrap();
        }
        let read = |text: &str| Reader::new(text).string();
        assert_eq!(read(r#""\u00e9\ud83d\ude00\/\b\f\n\r\t""#).unwrap(), "é😀/\u{8}\u{c}\n\r\t");
        for text in [
            "",
            "x",
            "\"",
            "\"\\",
            "\"\\x\"",
            "\"\\u12\"",
            "\"\\u12",
            "\"\\ud800\"",
            "\"\\ud800\\u0041\"",
            "\"\\udc00\"",
            "\"\n\"",
            "\"\\u00é\"",
            "\"\\u+123\"",
        ] {
            assert!(read(text).is_err(), "{text}");
        }
    }

    #[test]
    fn only_natural_numbers_are_numbers() {
        let read = |text: &str| Reader::new(text).numbers();
        assert_eq!(read("[]").unwrap(), []);
        assert_eq!(read(" [ 0 , 12,18446744073709551615 ] ").unwrap(), [0, 12, u64::MAX]);
        for text in [
            "",
            "[",
            "[1",
            "[1,",
            "[1,]",
            "[-1]",
            "[1.5]",
            "[1e3]",
            "[01]",
            "[18446744073709551616]",
            "[1 2]",
        ] {
            assert!(read(text).is_err(), "{text}");
        }
    }
}
