//! Attributes of `crossover`; use them through that crate.

use proc_macro::{Delimiter, Group, TokenStream, TokenTree};

/// Makes a function a span of every profile, named as the function or as `#[profiled("…")]` says.
///
/// Without a session it costs a load and a branch per call.
#[proc_macro_attribute]
pub fn profiled(arguments: TokenStream, item: TokenStream) -> TokenStream {
    match spanned(arguments, item.clone()) {
        Ok(done) => done,
        // The function stays, so that the only error is the one about the attribute.
        Err(what) => {
            let mut out: TokenStream = error(&what);
            out.extend(item);
            out
        }
    }
}

fn spanned(arguments: TokenStream, item: TokenStream) -> Result<TokenStream, String> {
    let mut tokens: Vec<TokenTree> = item.into_iter().collect();
    let position = tokens.iter().position(|token| is_word(token, "fn"));
    let Some(position) = position else {
        return Err("#[profiled] belongs on a function".to_string());
    };
    for (word, why) in [
        ("async", "an async function runs in pieces: open a `scope` where it works instead"),
        ("const", "a const function may run in the compiler, which has no clock"),
    ] {
        if tokens[..position].iter().any(|token| is_word(token, word)) {
            return Err(why.to_string());
        }
    }
    let name = match name(arguments)? {
        Some(name) => name,
        None => match tokens.get(position + 1) {
            Some(TokenTree::Ident(name)) => format!("{:?}", name.to_string().trim_start_matches("r#")),
            _ => return Err("#[profiled] belongs on a function with a name".to_string()),
        },
    };
    match tokens.pop() {
        Some(TokenTree::Group(body)) if body.delimiter() == Delimiter::Brace => {
            let open = format!("let _profiled = ::crossover::profile::scope({name});");
            let open: TokenStream = open.parse().map_err(|_| format!("{name} is no name"))?;
            let mut inside: Vec<TokenTree> = body.stream().into_iter().collect();
            let first = attributes(&inside);
            inside.splice(first..first, open);
            let mut group = Group::new(Delimiter::Brace, inside.into_iter().collect());
            group.set_span(body.span());
            tokens.push(TokenTree::Group(group));
            Ok(tokens.into_iter().collect())
        }
        _ => Err("#[profiled] belongs on a function with a body".to_string()),
    }
}

/// Tokens of the attributes that a body begins with, `#![allow(…)]`: nothing may stand before them.
fn attributes(body: &[TokenTree]) -> usize {
    let is_sign =
        |token: &TokenTree, sign: char| matches!(token, TokenTree::Punct(found) if found.as_char() == sign);
    let is_attribute = |tokens: &&[TokenTree]| {
        matches!(tokens, [hash, bang, TokenTree::Group(group)]
            if is_sign(hash, '#') && is_sign(bang, '!') && group.delimiter() == Delimiter::Bracket)
    };
    3 * body.chunks(3).take_while(is_attribute).count()
}

/// The name that the attribute gives, as a literal.
fn name(arguments: TokenStream) -> Result<Option<String>, String> {
    let mut arguments = arguments.into_iter();
    match (arguments.next(), arguments.next()) {
        (None, _) => Ok(None),
        (Some(TokenTree::Literal(literal)), None) if literal.to_string().starts_with('"') => {
            Ok(Some(literal.to_string()))
        }
        _ => Err("#[profiled] takes nothing, or a name in quotes".to_string()),
    }
}

fn is_word(token: &TokenTree, word: &str) -> bool {
    matches!(token, TokenTree::Ident(ident) if ident.to_string() == word)
}

fn error(what: &str) -> TokenStream {
    format!("::core::compile_error!({what:?});").parse().unwrap_or_default()
}
