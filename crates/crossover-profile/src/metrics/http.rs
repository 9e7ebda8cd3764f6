//! As much of HTTP as a scraper needs: one request per connection, answered and closed.
//!
//! Nothing that a client sends or leaves unsent costs more than [`MOST`] bytes and [`PATIENCE`] of one thread.

use std::{
    io::{self, Read, Write},
    net::TcpStream,
    time::{Duration, Instant},
};

/// Bytes of a request at most; what scrapers send is a tenth of it.
const MOST: usize = 8192;
/// From the first byte of a request to the last, and the same for the answer.
pub(super) const PATIENCE: Duration = Duration::from_secs(2);

/// A request, as far as anybody cares.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Request {
    /// The path, without a query.
    pub path: String,
    /// Whether the body is left out of the answer.
    pub head_only: bool,
}

/// An answer.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Answer {
    pub status: u16,
    pub kind: &'static str,
    pub body: String,
}

impl Answer {
    pub fn plain(status: u16, text: &str) -> Answer {
        Answer { status, kind: "text/plain; charset=utf-8", body: format!("{text}\n") }
    }
}

/// Reads a request; an answer that says what is wrong with one, or an error where nobody is left to be answered.
pub(super) fn read(stream: &mut TcpStream) -> io::Result<Result<Request, Answer>> {
    let (start, mut text) = (Instant::now(), Vec::new());
    let mut buffer = [0; 1024];
    loop {
        // However slowly bytes come, all of them together get no more time.
        let left = PATIENCE.saturating_sub(start.elapsed());
        if left.is_zero() {
            return Ok(Err(Answer::plain(408, "the request took too long")));
        }
        stream.set_read_timeout(Some(left))?;
        match stream.read(&mut buffer) {
            Ok(0) => return Err(io::ErrorKind::UnexpectedEof.into()),
            Ok(count) => text.extend_from_slice(&buffer[..count]),
            Err(error) if matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut) => {
                continue;
            }
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(error) => return Err(error),
        }
        if ends(&text) {
            return Ok(parse(&text));
        }
        if text.len() > MOST {
            return Ok(Err(Answer::plain(431, "the request is too long")));
        }
    }
}

/// Whether the head of a request is complete.
fn ends(text: &[u8]) -> bool {
    text.windows(4).any(|end| end == b"\r\n\r\n") || text.windows(2).any(|end| end == b"\n\n")
}

fn parse(text: &[u8]) -> Result<Request, Answer> {
    let wrong = || Answer::plain(400, "this is not a request of HTTP/1");
    let line = text.split(|&byte| byte == b'\n').next().and_then(|line| std::str::from_utf8(line).ok());
    let words: Vec<&str> = line.ok_or_else(wrong)?.split_ascii_whitespace().collect();
    let &[method, target, version] = &words[..] else { return Err(wrong()) };
    if !version.starts_with("HTTP/1.") {
        return Err(wrong());
    }
    let head_only = match method {
        "GET" => false,
        "HEAD" => true,
        _ => return Err(Answer::plain(405, "only GET and HEAD")),
    };
    let path = target.split('?').next().unwrap_or_default().to_string();
    Ok(Request { path, head_only })
}

/// Sends an answer and closes.
pub(super) fn write(stream: &mut TcpStream, answer: &Answer, head_only: bool) -> io::Result<()> {
    let reason = match answer.status {
        200 => "OK",
        400 => "Bad Request",
        404 => "Not Found",
        405 => "Method Not Allowed",
        408 => "Request Timeout",
        431 => "Request Header Fields Too Large",
        _ => "Service Unavailable",
    };
    let allow = if answer.status == 405 { "Allow: GET, HEAD\r\n" } else { "" };
    let head = format!(
        "HTTP/1.1 {} {reason}\r\nContent-Type: {}\r\nContent-Length: {}\r\n{allow}Cache-Control: no-store\r\nX-Content-Type-Options: nosniff\r\nConnection: close\r\n\r\n",
        answer.status,
        answer.kind,
        answer.body.len()
    );
    let body = if head_only { "" } else { answer.body.as_str() };
    let text = [head.as_bytes(), body.as_bytes()].concat();
    let (start, mut sent) = (Instant::now(), 0);
    while sent < text.len() {
        let left = PATIENCE.saturating_sub(start.elapsed());
        if left.is_zero() {
            return Err(io::ErrorKind::TimedOut.into());
        }
        stream.set_write_timeout(Some(left))?;
        match stream.write(&text[sent..]) {
            Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
            Ok(count) => sent += count,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(error) => return Err(error),
        }
    }
    stream.shutdown(std::net::Shutdown::Write)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests_are_read() {
        let path = |text: &str| parse(text.as_bytes()).map(|request| (request.path, request.head_only));
        assert_eq!(path("GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n"), Ok(("/metrics".to_string(), false)));
        assert_eq!(path("HEAD /health?verbose=1 HTTP/1.0\r\n\r\n"), Ok(("/health".to_string(), true)));
        let status = |text: &[u8]| parse(text).map_or_else(|answer| answer.status, |_| 200);
        assert_eq!(status(b"POST /metrics HTTP/1.1\r\n\r\n"), 405);
        for wrong in [
            &b"\n\n"[..],
            b"GET\r\n\r\n",
            b"GET / HTTP/2\r\n\r\n",
            b"GET /\xff HTTP/1.1\r\n\r\n",
            b"\x16\x03\x01\n\n",
            b"GET a b HTTP/1.1\n\n",
        ] {
            assert_eq!(status(wrong), 400, "{wrong:?}");
        }
    }

    #[test]
    fn the_end_of_a_head_is_found() {
        assert!(ends(b"GET / HTTP/1.1\r\n\r\n") && ends(b"GET / HTTP/1.1\n\n"));
        assert!(!ends(b"GET / HTTP/1.1\r\nHost: x\r\n"));
    }
}
