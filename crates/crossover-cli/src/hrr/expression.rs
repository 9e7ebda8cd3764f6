//! Expressions of names: `a*b` binds, `a/b` unbinds, `a+b` superposes.
//!
//! Brackets are read by recursion, so that their depth is limited; so are operands, each of which is a vector.

use anyhow::{Result, bail};
use crossover::{Array, hrr::ItemMemory};

/// Brackets within one another at most.
const DEPTH: usize = 100;

/// Names at most.
const NAMES: usize = 10_000;

/// The vector of an expression over the items of a memory.
pub fn evaluate(text: &str, memory: &ItemMemory) -> Result<Array> {
    let tokens = tokens(text)?;
    let names = tokens.iter().filter(|token| matches!(token, Token::Name(_))).count();
    if names > NAMES {
        bail!("the expression has {names} names, and {NAMES} at most are read; add its parts as items");
    }
    let mut reader = Reader { tokens: &tokens, at: 0, depth: 0, memory };
    let value = reader.sum()?;
    match reader.peek() {
        None => Ok(value),
        Some(token) => bail!("{text:?}: {token:?} stands where the expression should end"),
    }
}

#[derive(Debug, Clone, PartialEq)]
enum Token {
    Name(String),
    Sign(char),
}

fn tokens(text: &str) -> Result<Vec<Token>> {
    let mut found = Vec::new();
    let mut rest = text.chars().peekable();
    while let Some(c) = rest.next() {
        match c {
            c if c.is_whitespace() => {}
            '*' | '/' | '+' | '(' | ')' => found.push(Token::Sign(c)),
            '"' => {
                let mut name = String::new();
                loop {
                    match rest.next() {
                        Some('"') => break,
                        Some(c) => name.push(c),
                        None => bail!("{text:?}: a quotation mark is not closed"),
                    }
                }
                found.push(Token::Name(name));
            }
            first => {
                let mut name = String::from(first);
                while let Some(&c) = rest.peek()
                    && !c.is_whitespace()
                    && !"*/+()\"".contains(c)
                {
                    name.push(c);
                    rest.next();
                }
                found.push(Token::Name(name));
            }
        }
    }
    Ok(found)
}

struct Reader<'a> {
    tokens: &'a [Token],
    at: usize,
    /// Brackets that are open.
    depth: usize,
    memory: &'a ItemMemory,
}

impl Reader<'_> {
    fn peek(&self) -> Option<&Token> {
        self.tokens.get(self.at)
    }

    fn takes(&mut self, sign: char) -> bool {
        let is_there = self.peek() == Some(&Token::Sign(sign));
        self.at += usize::from(is_there);
        is_there
    }

    fn sum(&mut self) -> Result<Array> {
        let mut parts = vec![self.product()?];
        while self.takes('+') {
            parts.push(self.product()?);
        }
        match parts.as_slice() {
            [one] => Ok(one.clone()),
            many => Ok(self.memory.space().superpose(&Array::stack(&many.iter().collect::<Vec<_>>(), 0))?),
        }
    }

    fn product(&mut self) -> Result<Array> {
        let mut value = self.one()?;
        loop {
            if self.takes('*') {
                value = self.memory.space().bind(&value, &self.one()?)?;
            } else if self.takes('/') {
                value = self.memory.space().unbind(&value, &self.one()?)?;
            } else {
                return Ok(value);
            }
        }
    }

    fn one(&mut self) -> Result<Array> {
        if self.takes('(') {
            self.depth += 1;
            if self.depth > DEPTH {
                bail!(
                    "more than {DEPTH} brackets are within one another; leave out those that change nothing"
                );
            }
            let value = self.sum()?;
            self.depth -= 1;
            if !self.takes(')') {
                bail!("a bracket is not closed");
            }
            return Ok(value);
        }
        match self.peek().cloned() {
            Some(Token::Name(name)) => {
                self.at += 1;
                Ok(self.memory.get(&name)?)
            }
            Some(token) => bail!("{token:?} stands where a name or a bracket should"),
            None => bail!("the expression ends where a name or a bracket should stand"),
        }
    }
}

#[cfg(test)]
mod tests {
    use crossover::hrr::{Model, Space};

    use super::*;

    #[test]
    fn products_bind_closer_than_sums_and_go_from_the_left() {
        let space = Space::new(Model::Bsc, 256).unwrap();
        let mut memory = ItemMemory::new(space.clone());
        memory.add_all(&["a", "b", "c d"]).unwrap();
        let value = |text: &str| evaluate(text, &memory).unwrap().to_vec::<bool>().unwrap();
        let item = |name: &str| memory.get(name).unwrap();
        let xor = space.bind(&space.bind(&item("a"), &item("b")).unwrap(), &item("c d")).unwrap();
        assert_eq!(value("a * b / \"c d\""), xor.to_vec::<bool>().unwrap());
        assert_eq!(value("(a)"), item("a").to_vec::<bool>().unwrap());
        let sum = space.superpose(&Array::stack(&[&item("a"), &xor], 0)).unwrap();
        assert_eq!(value("a+a*b*\"c d\""), value("a + (a*b*\"c d\")"));
        assert_ne!(value("a+a*b"), sum.to_vec::<bool>().unwrap());
        let nested = |depth: usize| format!("{}a{}", "(".repeat(depth), ")".repeat(depth));
        assert_eq!(value(&nested(DEPTH)), item("a").to_vec::<bool>().unwrap());
        assert_eq!(value(&["(a)"; 300].join("/")), value("a*a"), "brackets beside one another");
        for deep in [DEPTH + 1, 60_000] {
            let error = evaluate(&nested(deep), &memory).unwrap_err().to_string();
            assert!(error.contains("100 brackets"), "{error}");
        }
        let error = evaluate(&["a"; 10_001].join("*"), &memory).unwrap_err().to_string();
        assert!(error.contains("10001 names"), "{error}");
        for wrong in ["", "a +", "(a", "a b", "nobody", "*a", "a)", "\"c d", "a\"", "\""] {
            assert!(evaluate(wrong, &memory).is_err(), "{wrong}");
        }
    }
}
