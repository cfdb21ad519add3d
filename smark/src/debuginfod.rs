//! Fetches debug information by build id from the servers in `DEBUGINFOD_URLS` (debuginfod(8) of
//! elfutils). It shares the cache of elfutils' client, so that gdb finds what smark fetched and the
//! other way round. Only with the feature `debuginfod`.
//!
//! A fetched file is checked like any other separate debug file: by its build id.

use std::fs::{self, File};
use std::io::{self, Read as _, Write as _};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};
use std::{env, process};

use crate::http_client::client_within;
use crate::served_plans::SERVED;

/// The largest file that is fetched, in bytes. A kernel's debug information is below 2 GiB.
const LARGEST: u64 = 8 << 30;
/// How long a missing file is not requested again (elfutils' default).
const MISS: Duration = Duration::from_secs(600);
/// The timeout of a request in seconds (elfutils' default of `DEBUGINFOD_TIMEOUT`).
const TIMEOUT: u64 = 90;

/// The file with the debug information of a build id; `None` if no server is set or none has it.
pub(crate) fn fetch(build_id: &str) -> Option<PathBuf> {
    let urls = env::var("DEBUGINFOD_URLS").ok()?;
    let timeout = env::var("DEBUGINFOD_TIMEOUT").ok().and_then(|timeout| timeout.parse().ok()).unwrap_or(TIMEOUT);
    fetch_from(&urls, &cache()?, build_id, DEBUG_INFO, Duration::from_secs(timeout))
}

/// The plan file of a build id (`smark plan --serve`) on a server; `None` if it has none.
pub(crate) fn fetch_plan(url: &str, build_id: &str) -> Option<PathBuf> {
    fetch_from(url, &cache()?, build_id, SERVED, Duration::from_secs(TIMEOUT))
}

/// What a server calls the debug information of a build id.
const DEBUG_INFO: &str = "debuginfo";

/// The cache folder of elfutils' client.
fn cache() -> Option<PathBuf> {
    let set = |name| env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    let home = || Some(set("HOME")?.join(".cache"));
    set("DEBUGINFOD_CACHE_PATH").or_else(|| Some(set("XDG_CACHE_HOME").or_else(home)?.join("debuginfod_client")))
}

/// Fetches what servers have of a build id under a name.
fn fetch_from(urls: &str, cache: &Path, build_id: &str, name: &str, timeout: Duration) -> Option<PathBuf> {
    let mut urls = urls.split_whitespace().peekable();
    urls.peek()?;
    let folder = cache.join(build_id);
    let file = folder.join(name);
    if let Ok(metadata) = fs::metadata(&file) {
        // An empty file records that no server has this build id.
        let age = metadata.modified().ok().and_then(|modified| SystemTime::now().duration_since(modified).ok());
        match (metadata.len(), age) {
            (0, Some(age)) if age > MISS => {}
            (0, _) => return None,
            _ => return Some(file),
        }
    }
    fs::create_dir_all(&folder).ok()?;
    let agent = client_within(timeout);
    for url in urls {
        let url = format!("{}/buildid/{build_id}/{name}", url.trim_end_matches('/'));
        let Ok(response) = agent.get(&url).call() else { continue };
        let part = folder.join(format!("{name}.{}", process::id()));
        let written =
            write(&part, response.into_body().into_reader().take(LARGEST)).and_then(|()| fs::rename(&part, &file));
        match written {
            Ok(()) => return Some(file),
            // The connection broke, or the disk is full.
            Err(_) => drop(fs::remove_file(&part)),
        }
    }
    // Failing to record this only costs another request later.
    let _ = File::create(&file);
    None
}

fn write(path: &Path, mut from: impl io::Read) -> io::Result<()> {
    let mut file = File::create(path)?;
    if io::copy(&mut from, &mut file)? == 0 {
        return Err(io::ErrorKind::UnexpectedEof.into());
    }
    file.flush()
}

#[cfg(test)]
mod tests {
    use std::io::{BufRead as _, BufReader};
    use std::net::TcpListener;
    use std::thread;

    use super::*;

    #[test]
    fn files_are_fetched_once() {
        let server = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}/", server.local_addr().unwrap());
        let answers = thread::spawn(move || {
            let mut asked = Vec::new();
            for _ in 0..2 {
                let (mut stream, _) = server.accept().unwrap();
                let lines: Vec<String> = BufReader::new(&stream)
                    .lines()
                    .map(|line| line.unwrap())
                    .take_while(|line| !line.is_empty())
                    .collect();
                let answer = match lines[0].contains("/buildid/abcd/") {
                    true => "HTTP/1.1 200 OK\r\nContent-Length: 5\r\nConnection: close\r\n\r\nbytes",
                    false => "HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\nConnection: close\r\n\r\n",
                };
                stream.write_all(answer.as_bytes()).unwrap();
                asked.push(lines[0].clone());
            }
            asked
        });
        let cache = env::temp_dir().join(format!("smark-debuginfod-{}", process::id()));
        let fetch = |id| fetch_from(&url, &cache, id, DEBUG_INFO, Duration::from_secs(10));
        for _ in 0..2 {
            assert_eq!(fs::read(fetch("abcd").unwrap()).unwrap(), b"bytes");
            assert_eq!(fetch("dcba"), None);
        }
        assert_eq!(fetch_from(" ", &cache, "abcd", DEBUG_INFO, Duration::from_secs(1)), None);
        fs::remove_dir_all(&cache).unwrap();
        let asked = answers.join().unwrap();
        assert_eq!(asked, ["GET /buildid/abcd/debuginfo HTTP/1.1", "GET /buildid/dcba/debuginfo HTTP/1.1"]);
    }
}
