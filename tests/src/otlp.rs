//! A receiver of OTLP over HTTP, which answers as a test wants it to, and the messages of the OpenTelemetry project.

use std::collections::VecDeque;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::thread;

use flate2::read::GzDecoder;
use opentelemetry_proto::tonic::collector::logs::v1::ExportLogsServiceRequest;
use opentelemetry_proto::tonic::collector::metrics::v1::ExportMetricsServiceRequest;
use opentelemetry_proto::tonic::collector::trace::v1::ExportTraceServiceRequest;
use opentelemetry_proto::tonic::common::v1::any_value::Value;
use opentelemetry_proto::tonic::common::v1::{AnyValue, KeyValue};
use opentelemetry_proto::tonic::logs::v1::LogRecord;
use opentelemetry_proto::tonic::metrics::v1::Metric;
use opentelemetry_proto::tonic::resource::v1::Resource;
use opentelemetry_proto::tonic::trace::v1::Span;
use prost::Message;
use serde::de::DeserializeOwned;
use serde_json::Value as Json;

/// How a request is answered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReceiverAnswer {
    /// It is accepted.
    Accept,
    /// With a status, and a header.
    Status(&'static str, &'static str),
    /// It is accepted, but for so many.
    Partial(u8),
    /// Never.
    Stall,
    /// The connection is closed.
    Close,
}

/// A request that was accepted.
#[derive(Clone, Debug)]
pub struct OtlpPost {
    /// The path of the URL.
    pub path: String,
    /// The names, in small letters, and the values of the headers.
    pub headers: Vec<(String, String)>,
    /// The body, unpacked.
    pub body: Vec<u8>,
}

/// A receiver. Its threads end with the process.
#[derive(Debug)]
pub struct OtlpReceiver {
    /// Where it listens.
    pub url: String,
    accepted: Arc<Mutex<Vec<OtlpPost>>>,
}

impl OtlpReceiver {
    /// One that gives these answers, and then always the last one.
    ///
    /// # Panics
    ///
    /// There is no port on the loopback.
    #[must_use]
    pub fn start(answers: &[ReceiverAnswer]) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port of the loopback");
        let url = format!("http://{}", listener.local_addr().expect("its address"));
        let accepted = Arc::default();
        let receiver = Self { url, accepted: Arc::clone(&accepted) };
        let answers: Arc<Mutex<VecDeque<ReceiverAnswer>>> = Arc::new(Mutex::new(answers.iter().copied().collect()));
        thread::spawn(move || {
            for stream in listener.incoming().map_while(Result::ok) {
                let (answers, accepted) = (Arc::clone(&answers), Arc::clone(&accepted));
                thread::spawn(move || serve(&stream, &answers, &accepted));
            }
        });
        receiver
    }

    /// What was accepted.
    ///
    /// # Panics
    ///
    /// A thread has panicked.
    #[must_use]
    pub fn accepted(&self) -> Vec<OtlpPost> {
        self.accepted.lock().expect("no panic").clone()
    }

    /// All records, in the order in which they came, and the resource of the first request.
    #[must_use]
    pub fn logs(&self) -> (Vec<LogRecord>, Resource) {
        let requests = self.accepted().into_iter().filter(|it| it.path == "/v1/logs");
        let requests: Vec<ExportLogsServiceRequest> = requests.map(|it| it.decoded()).collect();
        let all: Vec<_> = requests.into_iter().flat_map(|it| it.resource_logs).collect();
        let resource = all.first().and_then(|it| it.resource.clone()).unwrap_or_default();
        (all.into_iter().flat_map(|it| it.scope_logs).flat_map(|it| it.log_records).collect(), resource)
    }

    /// All spans, and the resource of the first request.
    #[must_use]
    pub fn spans(&self) -> (Vec<Span>, Resource) {
        let requests = self.accepted().into_iter().filter(|it| it.path == "/v1/traces");
        let requests: Vec<ExportTraceServiceRequest> = requests.map(|it| it.decoded()).collect();
        let all: Vec<_> = requests.into_iter().flat_map(|it| it.resource_spans).collect();
        let resource = all.first().and_then(|it| it.resource.clone()).unwrap_or_default();
        (all.into_iter().flat_map(|it| it.scope_spans).flat_map(|it| it.spans).collect(), resource)
    }

    /// The metrics of the last request.
    ///
    /// # Panics
    ///
    /// There is none.
    #[must_use]
    pub fn metrics(&self) -> Vec<Metric> {
        let last = self.accepted().into_iter().rfind(|it| it.path == "/v1/metrics").expect("metrics");
        let request: ExportMetricsServiceRequest = last.decoded();
        request.resource_metrics.into_iter().flat_map(|it| it.scope_metrics).flat_map(|it| it.metrics).collect()
    }
}

impl OtlpPost {
    /// A header; empty if it is not there.
    #[must_use]
    pub fn header(&self, name: &str) -> &str {
        self.headers.iter().find(|(it, _)| it == name).map_or("", |(_, value)| value)
    }

    /// The message, by the type that the header says.
    ///
    /// # Panics
    ///
    /// It is not one.
    #[must_use]
    pub fn decoded<M: Message + Default + DeserializeOwned>(&self) -> M {
        match self.header("content-type") {
            "application/x-protobuf" => M::decode(&*self.body).expect("protocol buffers"),
            "application/json" => serde_json::from_slice(&self.body).expect("JSON of OTLP"),
            other => panic!("{other}"),
        }
    }
}

/// Answers the requests of a connection.
fn serve(stream: &TcpStream, answers: &Mutex<VecDeque<ReceiverAnswer>>, accepted: &Mutex<Vec<OtlpPost>>) {
    let mut reader = BufReader::new(stream);
    while let Some(request) = read(&mut reader) {
        let answer = {
            let mut answers = answers.lock().expect("no panic");
            let answer = answers.front().copied().unwrap_or(ReceiverAnswer::Accept);
            if answers.len() > 1 {
                answers.pop_front();
            }
            answer
        };
        let (status, header, body) = match answer {
            ReceiverAnswer::Accept => ("200 OK", "", Vec::new()),
            ReceiverAnswer::Status(status, header) => (status, header, b"no".to_vec()),
            // ExportLogsPartialSuccess, and those of the others.
            ReceiverAnswer::Partial(rejected) => ("200 OK", "", vec![0x0a, 5, 0x08, rejected, 0x12, 1, b'x']),
            ReceiverAnswer::Stall => loop {
                thread::park();
            },
            ReceiverAnswer::Close => return,
        };
        if status.starts_with('2') {
            accepted.lock().expect("no panic").push(request);
        }
        let header = if header.is_empty() { String::new() } else { format!("{header}\r\n") };
        let length = body.len();
        let kind = if status.starts_with('2') { "application/x-protobuf" } else { "text/plain" };
        let head = format!("HTTP/1.1 {status}\r\nContent-Type: {kind}\r\n{header}Content-Length: {length}\r\n\r\n");
        let mut to = stream;
        if to.write_all(head.as_bytes()).and_then(|()| to.write_all(&body)).is_err() {
            return;
        }
    }
}

/// The next request; `None` if the client has closed the connection.
fn read(reader: &mut BufReader<&TcpStream>) -> Option<OtlpPost> {
    let lines: Vec<String> =
        reader.by_ref().lines().map_while(Result::ok).take_while(|line| !line.is_empty()).collect();
    let path = lines.first()?.split(' ').nth(1)?.to_owned();
    let header = |line: &String| {
        let (name, value) = line.split_once(':')?;
        Some((name.to_lowercase(), value.trim().to_owned()))
    };
    let headers = lines.iter().skip(1).filter_map(header).collect();
    let mut request = OtlpPost { path, headers, body: Vec::new() };
    let mut body = vec![0; request.header("content-length").parse().ok()?];
    reader.read_exact(&mut body).ok()?;
    if request.header("content-encoding") == "gzip" {
        let mut unpacked = Vec::new();
        GzDecoder::new(&*body).read_to_end(&mut unpacked).ok()?;
        body = unpacked;
    }
    request.body = body;
    Some(request)
}

/// A value of an attribute as JSON; null if it has none.
#[must_use]
pub fn attribute(all: &[KeyValue], key: &str) -> Json {
    let found: Vec<&KeyValue> = all.iter().filter(|it| it.key == key).collect();
    assert!(found.len() < 2, "{key} twice: {all:?}");
    found.first().map_or(Json::Null, |it| it.value.as_ref().map_or(Json::Null, json))
}

/// A value as JSON.
#[must_use]
pub fn json(value: &AnyValue) -> Json {
    match &value.value {
        Some(Value::StringValue(text)) => text.as_str().into(),
        Some(Value::BoolValue(is_true)) => (*is_true).into(),
        Some(Value::IntValue(number)) => (*number).into(),
        Some(Value::DoubleValue(number)) => (*number).into(),
        Some(Value::ArrayValue(values)) => values.values.iter().map(json).collect(),
        Some(Value::KvlistValue(all)) => {
            all.values.iter().map(|it| (it.key.clone(), it.value.as_ref().map_or(Json::Null, json))).collect()
        }
        _ => Json::Null,
    }
}
