//! Answers requests for one page over HTTP/1.1.
//!
//! Anybody who reaches the address may connect. A connection is answered once and closed. How many
//! there are at a time, how long one lasts and how much it may send are limited.

use std::io::{self, ErrorKind, Read as _, Write as _};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

/// The most connections at a time. Others wait until the kernel's queue is full.
const CONNECTIONS: usize = 8;

/// The most bytes of a request.
const REQUEST: usize = 8192;

/// The longest time from the start of a connection to its end.
const TIME: Duration = Duration::from_secs(5);

/// How long to wait after `accept` failed, which it does at once when there are too many open files.
const PAUSE: Duration = Duration::from_millis(100);

/// A page.
#[derive(Clone, Copy)]
pub(crate) struct Page {
    /// Its path, with the slash.
    pub(crate) path: &'static str,
}

/// A form of a page.
#[derive(Debug)]
pub(crate) struct PageForm {
    /// Its type, as in `Content-Type`.
    pub(crate) content_type: &'static str,
    pub(crate) text: String,
}

/// Answers requests for `page` until the process ends. `text` makes it, from what the client accepts
/// (`Accept`; empty if it does not say).
pub(crate) fn serve(
    listener: TcpListener,
    page: Page,
    text: impl Fn(&str) -> PageForm + Send + Sync + 'static,
) -> io::Result<()> {
    let shared = Arc::new((listener, text));
    for _ in 0..CONNECTIONS {
        let shared = Arc::clone(&shared);
        let serve = move || {
            let (listener, text) = &*shared;
            loop {
                match listener.accept() {
                    // An error is the client's.
                    Ok((stream, _)) => drop(Connection::new(stream).answer(page, text)),
                    Err(_) => thread::sleep(PAUSE),
                }
            }
        };
        thread::Builder::new().name("metrics".to_owned()).spawn(serve)?;
    }
    Ok(())
}

struct Connection {
    stream: TcpStream,
    deadline: Instant,
}

impl Connection {
    fn new(stream: TcpStream) -> Self {
        Self { stream, deadline: Instant::now() + TIME }
    }

    fn answer(mut self, page: Page, text: &impl Fn(&str) -> PageForm) -> io::Result<()> {
        let head = self.head()?;
        let (answer, has_body) = match head.as_deref().map(Request::of) {
            None => (HttpAnswer::plain("431 Request Header Fields Too Large", "the request is too long\n"), true),
            Some(None) => (HttpAnswer::plain("400 Bad Request", "this is not HTTP/1\n"), true),
            Some(Some(Request { method: "GET" | "HEAD", path, .. })) if path != page.path => {
                (HttpAnswer::plain("404 Not Found", &format!("the page is {}\n", page.path)), true)
            }
            Some(Some(Request { method: method @ ("GET" | "HEAD"), accepts, .. })) => {
                let PageForm { content_type, text } = text(accepts);
                let answer = HttpAnswer { status: "200 OK", content_type, more: "Vary: Accept\r\n", body: text };
                (answer, method == "GET")
            }
            Some(Some(_)) => {
                let answer = HttpAnswer::plain("405 Method Not Allowed", "only GET and HEAD\n");
                (HttpAnswer { more: "Allow: GET, HEAD\r\n", ..answer }, true)
            }
        };
        self.write(&answer.bytes(has_body))?;
        self.close()
    }

    /// The request up to the empty line; `None` if it is too long.
    fn head(&mut self) -> io::Result<Option<Vec<u8>>> {
        let mut head = Vec::new();
        let mut buffer = [0; 1024];
        while head.len() < REQUEST {
            let read = self.read(&mut buffer)?;
            let new = buffer.get(..read).filter(|new| !new.is_empty()).ok_or(ErrorKind::UnexpectedEof)?;
            // The end may begin in what was read before.
            let from = head.len().saturating_sub(3);
            head.extend_from_slice(new);
            let rest = head.get(from..).unwrap_or_default();
            if rest.windows(4).any(|end| end == b"\r\n\r\n") || rest.windows(2).any(|end| end == b"\n\n") {
                return Ok(Some(head));
            }
        }
        Ok(None)
    }

    /// Closes the connection after the other side has read the answer: what it still sends would
    /// otherwise reset the connection.
    fn close(mut self) -> io::Result<()> {
        self.stream.shutdown(Shutdown::Write)?;
        let mut buffer = [0; 1024];
        for _ in 0..REQUEST {
            if self.read(&mut buffer)? == 0 {
                break;
            }
        }
        Ok(())
    }

    /// The time until the deadline.
    fn left(&self) -> io::Result<Duration> {
        let left = self.deadline.saturating_duration_since(Instant::now());
        if left.is_zero() { Err(ErrorKind::TimedOut.into()) } else { Ok(left) }
    }

    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        loop {
            self.stream.set_read_timeout(Some(self.left()?))?;
            match self.stream.read(buffer) {
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                result => return result,
            }
        }
    }

    fn write(&mut self, mut bytes: &[u8]) -> io::Result<()> {
        while !bytes.is_empty() {
            self.stream.set_write_timeout(Some(self.left()?))?;
            match self.stream.write(bytes) {
                Ok(0) => return Err(ErrorKind::WriteZero.into()),
                Ok(written) => bytes = bytes.get(written..).unwrap_or_default(),
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Request<'a> {
    method: &'a str,
    /// Without the query.
    path: &'a str,
    /// The field `Accept`; empty if there is none.
    accepts: &'a str,
}

impl<'a> Request<'a> {
    fn of(head: &'a [u8]) -> Option<Self> {
        let mut lines = head.split(|byte| *byte == b'\n').map(std::str::from_utf8);
        let line = lines.next()?.ok()?;
        let field = |line: &'a str| line.split_once(':').filter(|(name, _)| name.eq_ignore_ascii_case("accept"));
        let accepts = lines.filter_map(Result::ok).find_map(field).map_or("", |(_, value)| value.trim());
        let mut words = line.trim_end_matches('\r').split(' ');
        let (method, target, version) = (words.next()?, words.next()?, words.next()?);
        let is_http = matches!(version, "HTTP/1.1" | "HTTP/1.0") && words.next().is_none();
        // A proxy is asked for a whole address.
        let target = match target.split_once("://") {
            Some((_, rest)) => rest.find('/').and_then(|slash| rest.get(slash..)).unwrap_or("/"),
            None => target,
        };
        let path = target.split(['?', '#']).next().unwrap_or_default();
        is_http.then_some(Self { method, path, accepts })
    }
}

struct HttpAnswer {
    status: &'static str,
    content_type: &'static str,
    /// More lines of the head.
    more: &'static str,
    body: String,
}

impl HttpAnswer {
    fn plain(status: &'static str, body: &str) -> Self {
        Self { status, content_type: "text/plain; charset=utf-8", more: "", body: body.to_owned() }
    }

    fn bytes(&self, has_body: bool) -> Vec<u8> {
        let Self { status, content_type, more, body } = self;
        let length = body.len();
        let mut text = format!(
            "HTTP/1.1 {status}\r\nContent-Type: {content_type}\r\nContent-Length: {length}\r\n\
             Cache-Control: no-store\r\nX-Content-Type-Options: nosniff\r\nConnection: close\r\n{more}\r\n"
        );
        if has_body {
            text.push_str(body);
        }
        text.into_bytes()
    }
}

#[cfg(test)]
mod tests {
    use std::net::SocketAddr;

    use super::*;

    const PAGE: Page = Page { path: "/metrics" };

    fn server() -> SocketAddr {
        let listener = TcpListener::bind(("127.0.0.1", 0)).expect("a port");
        let address = listener.local_addr().expect("an address");
        serve(listener, PAGE, |accepts| PageForm { content_type: "text/test", text: format!("page{accepts}\n") })
            .expect("a thread");
        address
    }

    /// The status line and the body of the answer to these bytes.
    fn asked(address: SocketAddr, request: &[u8]) -> (String, String) {
        let mut stream = TcpStream::connect(address).expect("it listens");
        // The server may answer and close before it has read everything.
        let _ = stream.write_all(request);
        let mut answer = String::new();
        stream.read_to_string(&mut answer).expect("an answer");
        let (head, body) = answer.split_once("\r\n\r\n").unwrap_or((&answer, ""));
        (head.lines().next().unwrap_or_default().to_owned(), body.to_owned())
    }

    #[test]
    fn requests_are_answered() {
        let address = server();
        let status = |request: &str| asked(address, request.as_bytes());
        let page = ("HTTP/1.1 200 OK".to_owned(), "page\n".to_owned());
        assert_eq!(status("GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n"), page);
        assert_eq!(status("GET /metrics?a=b HTTP/1.0\n\n"), page);
        assert_eq!(status("GET /metrics HTTP/1.1\r\nHost: x\r\naccept: a/b;q=1, */*\r\n\r\n").1, "pagea/b;q=1, */*\n");
        assert_eq!(status("GET http://x:1/metrics HTTP/1.1\r\n\r\n"), page);
        assert_eq!(status("HEAD /metrics HTTP/1.1\r\n\r\n"), (page.0, String::new()));
        assert_eq!(status("GET / HTTP/1.1\r\n\r\n").0, "HTTP/1.1 404 Not Found");
        assert_eq!(status("POST /metrics HTTP/1.1\r\n\r\n").0, "HTTP/1.1 405 Method Not Allowed");
        for nonsense in ["\r\n\r\n", "GET /metrics\r\n\r\n", "GET /metrics HTTP/2\r\n\r\n", "GET /a b HTTP/1.1\r\n\r\n"]
        {
            assert_eq!(status(nonsense).0, "HTTP/1.1 400 Bad Request", "{nonsense}");
        }
        assert_eq!(asked(address, b"\xff\xfe\r\n\r\n").0, "HTTP/1.1 400 Bad Request");
        let long = format!("GET /metrics HTTP/1.1\r\nX: {}", "x".repeat(2 * REQUEST));
        assert_eq!(status(&long).0, "HTTP/1.1 431 Request Header Fields Too Large");
    }

    #[test]
    fn the_end_of_a_request_may_come_in_pieces() {
        let mut stream = TcpStream::connect(server()).expect("it listens");
        for byte in b"GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n" {
            stream.write_all(&[*byte]).expect("it reads");
        }
        let mut answer = String::new();
        stream.read_to_string(&mut answer).expect("an answer");
        assert!(answer.starts_with("HTTP/1.1 200 OK\r\n") && answer.ends_with("\r\n\r\npage\n"), "{answer}");
    }

    #[test]
    fn idle_connections_do_not_keep_others_out_for_ever() {
        let address = server();
        let idle: Vec<TcpStream> = (0..CONNECTIONS).map(|_| TcpStream::connect(address).expect("it listens")).collect();
        assert_eq!(asked(address, b"GET /metrics HTTP/1.1\r\n\r\n").0, "HTTP/1.1 200 OK");
        drop(idle);
    }
}
