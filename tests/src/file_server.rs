//! A server of files on the loopback.

use std::collections::BTreeMap;
use std::io::{BufRead as _, BufReader, Write as _};
use std::net::TcpListener;
use std::sync::{Arc, Mutex};
use std::thread;

/// A server, its files by path, and the paths that were asked for.
#[derive(Debug)]
pub struct FileServer {
    /// Where it is, without a `/` at the end.
    pub url: String,
    files: Arc<Mutex<BTreeMap<String, Vec<u8>>>>,
    asked: Arc<Mutex<Vec<String>>>,
}

impl FileServer {
    /// Starts a server without files. It ends with the process.
    ///
    /// # Panics
    ///
    /// There is no port for it.
    #[must_use]
    pub fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port of the loopback");
        let url = format!("http://{}", listener.local_addr().expect("its address"));
        let server = Self { url, files: Arc::default(), asked: Arc::default() };
        let (files, asked) = (Arc::clone(&server.files), Arc::clone(&server.asked));
        thread::spawn(move || {
            for stream in listener.incoming() {
                let mut stream = stream.expect("a connection");
                let lines = BufReader::new(&stream).lines().map_while(Result::ok);
                let request: Vec<_> = lines.take_while(|line| !line.is_empty()).collect();
                let path = request[0].split(' ').nth(1).expect("a path").to_owned();
                let file = files.lock().expect("the files").get(&path).cloned();
                asked.lock().expect("the list").push(path);
                let (status, body) = file.map_or(("404 Not Found", Vec::new()), |file| ("200 OK", file));
                let head = format!("HTTP/1.1 {status}\r\nContent-Length: {}\r\nConnection: close\r\n\r\n", body.len());
                // The client may have disconnected.
                let _ = stream.write_all(head.as_bytes()).and_then(|()| stream.write_all(&body));
            }
        });
        server
    }

    /// Adds or replaces a file. The path begins with `/`.
    ///
    /// # Panics
    ///
    /// The thread of the server panicked.
    pub fn put(&self, path: &str, contents: Vec<u8>) {
        self.files.lock().expect("the files").insert(path.to_owned(), contents);
    }

    /// The paths that were asked for, in their order.
    ///
    /// # Panics
    ///
    /// The thread of the server panicked.
    #[must_use]
    pub fn asked(&self) -> Vec<String> {
        self.asked.lock().expect("the list").clone()
    }
}
