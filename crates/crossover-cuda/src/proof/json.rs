//! Just enough JSON to write a report.
//!
//! A crate that every program links brings no JSON library along: its comparisons with numbers would make type inference
//! fail in the code of users.

use std::fmt;

/// A value that is written, never read.
#[derive(Debug, Clone)]
pub enum Json {
    /// Nothing.
    Null,
    /// A truth value.
    Bool(bool),
    /// A whole number.
    Count(u64),
    /// Any other number; what is not finite is written as nothing.
    Number(f64),
    /// Text.
    Text(String),
    /// Values in order.
    List(Vec<Json>),
    /// Values by name, in order.
    Object(Vec<(&'static str, Json)>),
}

macro_rules! from {
    ($($kind:ty => |$value:ident| $made:expr;)*) => {
        $(impl From<$kind> for Json {
            fn from($value: $kind) -> Json {
                $made
            }
        })*
    };
}

from! {
    bool => |value| Json::Bool(value);
    u64 => |value| Json::Count(value);
    usize => |value| Json::Count(value as u64);
    i32 => |value| Json::Number(f64::from(value));
    f64 => |value| Json::Number(value);
    &str => |value| Json::Text(value.to_string());
    String => |value| Json::Text(value);
    Vec<Json> => |value| Json::List(value);
    &Vec<String> => |value| Json::List(value.iter().map(|text| Json::Text(text.clone())).collect());
    Option<Json> => |value| value.unwrap_or(Json::Null);
}

impl fmt::Display for Json {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Json::Null => f.write_str("null"),
            Json::Bool(value) => write!(f, "{value}"),
            Json::Count(value) => write!(f, "{value}"),
            Json::Number(value) if value.is_finite() => write!(f, "{value}"),
            Json::Number(_) => f.write_str("null"),
            Json::Text(text) => write_text(f, text),
            Json::List(values) => {
                f.write_str("[")?;
                for (i, value) in values.iter().enumerate() {
                    write!(f, "{}{value}", if i > 0 { ",\n" } else { "" })?;
                }
                f.write_str("]")
            }
            Json::Object(entries) => {
                f.write_str("{")?;
                for (i, (name, value)) in entries.iter().enumerate() {
                    write!(f, "{}\"{name}\":{value}", if i > 0 { "," } else { "" })?;
                }
                f.write_str("}")
            }
        }
    }
}

fn write_text(f: &mut fmt::Formatter<'_>, text: &str) -> fmt::Result {
    f.write_str("\"")?;
    for c in text.chars() {
        match c {
            '"' => f.write_str("\\\"")?,
            '\\' => f.write_str("\\\\")?,
            c if (c as u32) < 0x20 => write!(f, "\\u{:04x}", c as u32)?,
            c => write!(f, "{c}")?,
        }
    }
    f.write_str("\"")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_is_escaped_and_numbers_are_plain() {
        let value = Json::Object(vec![
            ("a", "quote \" back \\ line\n".into()),
            ("b", vec![Json::from(1u64), Json::from(0.5), Json::from(f64::NAN), Json::from(true)].into()),
        ]);
        assert_eq!(
            value.to_string(),
            "{\"a\":\"quote \\\" back \\\\ line\\u000a\",\"b\":[1,\n0.5,\nnull,\ntrue]}"
        );
    }
}
