//! One request of OTLP over HTTP, and what its answer means (specification of OTLP, "OTLP/HTTP").

use std::fmt::{self, Display};
use std::io::{self, Write as _};
use std::time::{Duration, SystemTime};

use anyhow::Context as _;
use flate2::Compression;
use flate2::write::GzEncoder;
use prost::Message as _;
use serde_json::Value as Json;
use ureq::Agent;
use ureq::http::{HeaderMap, StatusCode, header};
use ureq::tls::{Certificate, PemItem, RootCerts, TlsConfig, parse_pem};

use crate::http_client::client;
use crate::otlp::message::ExportAnswer;
use crate::otlp::settings::{Destination, Encoding, OtlpSettings};

/// The most bytes of an answer that are read.
const ANSWER: u64 = 1 << 20;

/// The most letters of what a receiver says that are told.
const SAID: usize = 300;

/// What an answer means.
#[derive(Debug)]
pub(super) enum SendOutcome {
    /// It was accepted, but for so many, and what the receiver says of it.
    Accepted { rejected: u64, said: String },
    /// It will never be accepted.
    Refused(SendFault),
    /// It may be accepted later; not before this time has passed, if the receiver says so.
    Later { fault: SendFault, after: Option<Duration> },
}

/// Why a request was not accepted.
#[derive(Debug)]
pub(super) enum SendFault {
    /// The receiver answered so.
    Answer { status: StatusCode, said: String },
    /// It did not answer.
    Silence(ureq::Error),
    /// The request cannot be compressed.
    Compression(io::Error),
    /// There was no time to send it.
    Time,
}

impl Display for SendFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Answer { status, said } if said.is_empty() => write!(f, "{status}"),
            Self::Answer { status, said } => write!(f, "{status}: {said}"),
            Self::Silence(error) => write!(f, "{error}"),
            Self::Compression(error) => write!(f, "{error}"),
            Self::Time => f.write_str("there was no time to send it"),
        }
    }
}

impl SendOutcome {
    /// What is to be said of it; `None` if all was accepted.
    pub(super) fn told(&self) -> Option<String> {
        match self {
            Self::Accepted { rejected: 0, said } if said.is_empty() => None,
            Self::Accepted { rejected, said } => Some(format!("accepted, but for {rejected}: {said}")),
            Self::Refused(fault) | Self::Later { fault, .. } => Some(fault.to_string()),
        }
    }
}

/// Sends requests.
pub(super) struct Client {
    agent: Agent,
}

impl Client {
    /// # Errors
    ///
    /// The certificates cannot be read.
    pub(super) fn new(settings: &OtlpSettings) -> anyhow::Result<Self> {
        let config = Agent::config_builder()
            .http_status_as_error(false)
            .max_redirects(0)
            .max_redirects_will_error(false)
            .user_agent(concat!("smark/", env!("CARGO_PKG_VERSION")));
        let config = match &settings.certificates {
            None => config,
            Some(path) => {
                let failed = || format!("OTEL_EXPORTER_OTLP_CERTIFICATE: {path}");
                let roots = certificates(&std::fs::read(path).with_context(failed)?).with_context(failed)?;
                config.tls_config(TlsConfig::builder().root_certs(RootCerts::new_with_certs(&roots)).build())
            }
        };
        Ok(Self { agent: client(config.build()) })
    }

    /// Sends a request, and waits for the answer at most for this time.
    pub(super) fn post(&self, to: &Destination, body: &[u8], timeout: Duration) -> SendOutcome {
        let mut request = self.agent.post(&to.url).config().timeout_global(Some(timeout)).build();
        request = request.header(header::CONTENT_TYPE, content_type(to.encoding));
        for (name, value) in &to.headers {
            request = request.header(name, value);
        }
        let response = match to.is_gzip {
            true => match compressed(body) {
                Ok(body) => request.header(header::CONTENT_ENCODING, "gzip").send(&body[..]),
                Err(error) => return SendOutcome::Refused(SendFault::Compression(error)),
            },
            false => request.send(body),
        };
        match response {
            Ok(response) => {
                let (head, body) = response.into_parts();
                // What was accepted stays so if the rest of the answer does not come.
                let body = body.into_with_config().limit(ANSWER).read_to_vec().unwrap_or_default();
                meaning(head.status, &head.headers, &body)
            }
            Err(error) => failure(error),
        }
    }
}

/// The certificates of a file.
fn certificates(pem: &[u8]) -> anyhow::Result<Vec<Certificate<'static>>> {
    let mut all = Vec::new();
    for item in parse_pem(pem) {
        if let PemItem::Certificate(certificate) = item? {
            all.push(certificate);
        }
    }
    if all.is_empty() {
        anyhow::bail!("no certificate in PEM");
    }
    Ok(all)
}

fn content_type(encoding: Encoding) -> &'static str {
    match encoding {
        Encoding::Protobuf => "application/x-protobuf",
        Encoding::Json => "application/json",
    }
}

fn compressed(body: &[u8]) -> io::Result<Vec<u8>> {
    let mut encoder = GzEncoder::new(Vec::with_capacity(body.len() / 4), Compression::default());
    encoder.write_all(body)?;
    encoder.finish()
}

/// What it means that there is no answer.
fn failure(error: ureq::Error) -> SendOutcome {
    match error {
        ureq::Error::Io(_)
        | ureq::Error::Timeout(_)
        | ureq::Error::HostNotFound
        | ureq::Error::ConnectionFailed
        | ureq::Error::ConnectProxyFailed(_)
        | ureq::Error::Protocol(_)
        | ureq::Error::BodyStalled => SendOutcome::Later { fault: SendFault::Silence(error), after: None },
        _ => SendOutcome::Refused(SendFault::Silence(error)),
    }
}

/// What an answer means.
fn meaning(status: StatusCode, headers: &HeaderMap, body: &[u8]) -> SendOutcome {
    let is_json = headers.get(header::CONTENT_TYPE).is_some_and(|of| of.as_bytes().starts_with(b"application/json"));
    if status.is_success() {
        let (rejected, said) = if is_json { partial_json(body) } else { partial(body) };
        return SendOutcome::Accepted { rejected, said: cut(&said) };
    }
    let fault = SendFault::Answer { status, said: cut(&said(headers, body, is_json)) };
    match status {
        StatusCode::TOO_MANY_REQUESTS
        | StatusCode::BAD_GATEWAY
        | StatusCode::SERVICE_UNAVAILABLE
        | StatusCode::GATEWAY_TIMEOUT => {
            let after = headers.get(header::RETRY_AFTER).and_then(|of| of.to_str().ok());
            SendOutcome::Later { fault, after: after.and_then(|text| retry_after(text, SystemTime::now())) }
        }
        _ => SendOutcome::Refused(fault),
    }
}

/// How many were rejected, and what is said of it.
fn partial(body: &[u8]) -> (u64, String) {
    let answer = ExportAnswer::decode(body).unwrap_or_default();
    let partial = answer.partial_success.unwrap_or_default();
    (u64::try_from(partial.rejected).unwrap_or(0), partial.said)
}

/// The same of an answer in JSON. The name of the number has that of the signal.
fn partial_json(body: &[u8]) -> (u64, String) {
    let answer: Json = serde_json::from_slice(body).unwrap_or_default();
    let Some(partial) = answer.get("partialSuccess").and_then(Json::as_object) else { return (0, String::new()) };
    let number = |value: &Json| value.as_u64().or_else(|| value.as_str()?.parse().ok());
    let rejected = partial.iter().filter(|(name, _)| name.starts_with("rejected")).find_map(|(_, value)| number(value));
    let said = partial.get("errorMessage").and_then(Json::as_str).unwrap_or_default();
    (rejected.unwrap_or(0), said.to_owned())
}

/// What a receiver says of an error: the message of a `google.rpc.Status`, or a text.
fn said(headers: &HeaderMap, body: &[u8], is_json: bool) -> String {
    let is = |kind: &[u8]| headers.get(header::CONTENT_TYPE).is_some_and(|of| of.as_bytes().starts_with(kind));
    if is_json {
        let answer: Json = serde_json::from_slice(body).unwrap_or_default();
        return answer.get("message").and_then(Json::as_str).unwrap_or_default().to_owned();
    }
    if is(b"application/x-protobuf") {
        return RpcStatus::decode(body).unwrap_or_default().said;
    }
    if is(b"text/plain") { String::from_utf8_lossy(body).into_owned() } else { String::new() }
}

/// `google.rpc.Status`.
#[derive(Clone, PartialEq, prost::Message)]
struct RpcStatus {
    #[prost(int32, tag = "1")]
    code: i32,
    /// Its field `message`.
    #[prost(string, tag = "2")]
    said: String,
}

fn cut(text: &str) -> String {
    text.trim().chars().take(SAID).collect()
}

/// How long is to be waited (RFC 9110, 10.2.3): a number of seconds, or until a date.
fn retry_after(text: &str, now: SystemTime) -> Option<Duration> {
    match text.trim().parse() {
        Ok(seconds) => Some(Duration::from_secs(seconds)),
        Err(_) => Some(httpdate::parse_http_date(text.trim()).ok()?.duration_since(now).unwrap_or_default()),
    }
}

#[cfg(test)]
mod tests {
    use std::time::UNIX_EPOCH;

    use ureq::http::HeaderValue;

    use super::*;

    fn headers(all: &[(header::HeaderName, &'static str)]) -> HeaderMap {
        all.iter().map(|(name, value)| (name.clone(), HeaderValue::from_static(value))).collect()
    }

    #[test]
    fn only_some_errors_pass() {
        let none = headers(&[]);
        for code in [429, 502, 503, 504] {
            let outcome = meaning(StatusCode::from_u16(code).unwrap(), &none, b"");
            assert!(matches!(outcome, SendOutcome::Later { after: None, .. }), "{code}: {outcome:?}");
        }
        for code in [301, 400, 401, 404, 413, 500, 501, 505] {
            let outcome = meaning(StatusCode::from_u16(code).unwrap(), &none, b"");
            assert!(matches!(outcome, SendOutcome::Refused { .. }), "{code}: {outcome:?}");
        }
        let later = headers(&[(header::RETRY_AFTER, "7"), (header::CONTENT_TYPE, "text/plain")]);
        let outcome = meaning(StatusCode::SERVICE_UNAVAILABLE, &later, b"busy\n");
        assert_eq!(outcome.told().as_deref(), Some("503 Service Unavailable: busy"));
        assert!(matches!(outcome, SendOutcome::Later { after: Some(after), .. } if after == Duration::from_secs(7)));
    }

    #[test]
    fn dates_are_waited_for() {
        let date = "Sun, 06 Nov 1994 08:49:37 GMT";
        let then = UNIX_EPOCH + Duration::from_secs(784_111_777);
        assert_eq!(retry_after(date, then - Duration::from_secs(5)), Some(Duration::from_secs(5)));
        assert_eq!(retry_after(date, then + Duration::from_secs(5)), Some(Duration::ZERO));
        assert_eq!([retry_after("soon", then), retry_after("-1", then)], [None; 2]);
    }

    #[test]
    fn what_was_rejected_is_counted() {
        let json = headers(&[(header::CONTENT_TYPE, "application/json; charset=utf-8")]);
        let body = br#"{"partialSuccess":{"rejectedLogRecords":"3","errorMessage":"too old"}}"#;
        let counted = |headers: &HeaderMap, body: &[u8]| match meaning(StatusCode::OK, headers, body) {
            SendOutcome::Accepted { rejected, said } => (rejected, said),
            outcome => panic!("{outcome:?}"),
        };
        assert_eq!(counted(&json, body), (3, "too old".to_owned()));
        // partial_success of 9 bytes: rejected 3, and the message.
        let body = b"\x0a\x0b\x08\x03\x12\x07too old";
        assert_eq!(counted(&headers(&[]), body), (3, "too old".to_owned()));
        for body in [&b""[..], b"{}", b"\xff\xff", b"\x0a\x00"] {
            assert_eq!(counted(&headers(&[]), body), (0, String::new()));
        }
    }
}
