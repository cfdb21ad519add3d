//! Where and how to send: `--otlp=URL`, and the variables of the specification "OpenTelemetry Protocol Exporter".

use std::time::Duration;

use anyhow::{Context as _, bail};
use percent_encoding::percent_decode_str;
use ureq::http::{HeaderName, HeaderValue, Uri};

use super::{attributes, message::Attribute};

/// The base of the URLs if nothing says it.
const DEFAULT: &str = "http://localhost:4318";

/// How long a request may take, and how long is waited at the end, if nothing says it.
const TIMEOUT: Duration = Duration::from_secs(10);

/// How often metrics are sent, if nothing says it.
const INTERVAL: Duration = Duration::from_secs(10);

/// How long spans and records wait for others, if nothing says it,
const DELAY: Duration = Duration::from_secs(5);
/// and how many are sent together.
const BATCH: usize = 512;

/// The largest number that is taken: a day in ms.
const MOST: u64 = 24 * 60 * 60 * 1000;

/// What is sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Signal {
    Traces,
    Logs,
    Metrics,
}

impl Signal {
    /// All of them, in the order of their numbers.
    pub(super) const ALL: [Self; 3] = [Self::Traces, Self::Logs, Self::Metrics];

    /// The end of the URL.
    fn path(self) -> &'static str {
        match self {
            Self::Traces => "v1/traces",
            Self::Logs => "v1/logs",
            Self::Metrics => "v1/metrics",
        }
    }

    /// The part of the names of variables.
    fn variable(self) -> &'static str {
        match self {
            Self::Traces => "TRACES",
            Self::Logs => "LOGS",
            Self::Metrics => "METRICS",
        }
    }
}

/// How a request is encoded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Encoding {
    Protobuf,
    Json,
}

/// Where and how one signal is sent.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Destination {
    pub(super) url: String,
    /// Their values may be secret.
    pub(super) headers: Vec<(HeaderName, HeaderValue)>,
    /// How long a request may take.
    pub(super) timeout: Duration,
    pub(super) is_gzip: bool,
    pub(super) encoding: Encoding,
}

/// Where and how to send.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct OtlpSettings {
    /// By the number of the signal.
    destinations: [Destination; 3],
    /// A file with certificates to trust instead of those of the browsers' authorities, in PEM.
    pub(super) certificates: Option<String>,
    /// How often metrics are sent.
    pub(super) interval: Duration,
    /// How long spans and records wait for others.
    pub(super) delay: Duration,
    /// How many spans or records are sent together.
    pub(super) batch: usize,
    /// What OTEL_RESOURCE_ATTRIBUTES says of the resource, with the name of OTEL_SERVICE_NAME.
    pub(super) resource: Vec<Attribute>,
}

/// A variable with a value that is not empty.
type Variables<'v> = dyn Fn(&str) -> Option<String> + 'v;

impl OtlpSettings {
    /// Reads the variables. `url` is the base of the URLs in place of what the variables say.
    ///
    /// # Errors
    ///
    /// A value is not one of the specification, or asks for gRPC.
    pub(crate) fn read(url: Option<&str>, variables: &Variables<'_>) -> anyhow::Result<Self> {
        let variable = |name: &str| variables(name).map(|value| value.trim().to_owned()).filter(|it| !it.is_empty());
        let [traces, logs, metrics] = Signal::ALL.map(|signal| destination(signal, url, &variable));
        let milliseconds = |name: &str| number(name, &variable).map(|it| it.map(Duration::from_millis));
        let either = |of: &dyn Fn(&str) -> anyhow::Result<Option<u64>>, end: &str| -> anyhow::Result<Option<u64>> {
            Ok(of(&format!("OTEL_BSP_{end}"))?.or(of(&format!("OTEL_BLRP_{end}"))?))
        };
        let of = |name: &str| number(name, &variable);
        let batch = either(&of, "MAX_EXPORT_BATCH_SIZE")?.and_then(|batch| usize::try_from(batch).ok());
        Ok(Self {
            destinations: [traces?, logs?, metrics?],
            certificates: variable("OTEL_EXPORTER_OTLP_CERTIFICATE"),
            interval: milliseconds("OTEL_METRIC_EXPORT_INTERVAL")?.unwrap_or(INTERVAL),
            delay: either(&of, "SCHEDULE_DELAY")?.map_or(DELAY, Duration::from_millis),
            batch: batch.unwrap_or(BATCH),
            resource: resource(&variable)?,
        })
    }

    /// Where and how a signal is sent.
    pub(super) fn destination(&self, signal: Signal) -> &Destination {
        let [traces, logs, metrics] = &self.destinations;
        match signal {
            Signal::Traces => traces,
            Signal::Logs => logs,
            Signal::Metrics => metrics,
        }
    }

    /// The longest time that a request may take.
    pub(super) fn timeout(&self) -> Duration {
        self.destinations.iter().map(|destination| destination.timeout).max().unwrap_or(TIMEOUT)
    }
}

/// Where and how a signal is sent. The variable of the signal counts more than the one of all.
fn destination(signal: Signal, base: Option<&str>, variable: &Variables<'_>) -> anyhow::Result<Destination> {
    let either = |end: &str| {
        let names = [format!("OTEL_EXPORTER_OTLP_{}_{end}", signal.variable()), format!("OTEL_EXPORTER_OTLP_{end}")];
        names.into_iter().find_map(|name| Some((variable(&name)?, name)))
    };
    let encoding = match either("PROTOCOL") {
        None => Encoding::Protobuf,
        Some((protocol, name)) => match protocol.as_str() {
            "http/protobuf" => Encoding::Protobuf,
            "http/json" => Encoding::Json,
            "grpc" => bail!(
                "{name}: smark does not speak gRPC; http/protobuf and http/json can be sent, by default to port 4318"
            ),
            other => bail!("{name}: `{other}` is not http/protobuf or http/json"),
        },
    };
    let is_gzip = match either("COMPRESSION") {
        None => false,
        Some((how, name)) => match how.as_str() {
            "gzip" => true,
            "none" => false,
            other => bail!("{name}: `{other}` is not gzip or none"),
        },
    };
    let timeout = match either("TIMEOUT") {
        Some((_, name)) => number(&name, variable)?.map_or(TIMEOUT, Duration::from_millis),
        None => TIMEOUT,
    };
    let headers = match either("HEADERS") {
        Some((list, name)) => headers(&list).with_context(|| name)?,
        None => Vec::new(),
    };
    Ok(Destination { url: url(signal, base, variable)?, headers, timeout, is_gzip, encoding })
}

/// Where a signal is sent: `base`, or what the variables say. That of the signal is taken as it is.
fn url(signal: Signal, base: Option<&str>, variable: &Variables<'_>) -> anyhow::Result<String> {
    let own = format!("OTEL_EXPORTER_OTLP_{}_ENDPOINT", signal.variable());
    let of_all = "OTEL_EXPORTER_OTLP_ENDPOINT";
    let (url, is_base, name) = match (base, variable(&own), variable(of_all)) {
        (Some(url), ..) => (url.to_owned(), true, "--otlp"),
        (None, Some(url), _) => (url, false, own.as_str()),
        (None, None, Some(url)) => (url, true, of_all),
        (None, None, None) => (DEFAULT.to_owned(), true, of_all),
    };
    // What is before an `@` may be a password.
    let shown = url.rsplit_once('@').map_or(url.as_str(), |(_, host)| host);
    let parsed = url.parse::<Uri>().ok().filter(|_| !url.contains('#'));
    let Some(parsed) = parsed.filter(|it| matches!(it.scheme_str(), Some("http" | "https")) && it.host().is_some())
    else {
        bail!("{name}: `{shown}` is not a URL with http:// or https://");
    };
    if parsed.authority().is_some_and(|authority| authority.as_str().contains('@')) {
        bail!("{name}: `{shown}`: a user and a password belong into OTEL_EXPORTER_OTLP_HEADERS");
    }
    if is_base && parsed.query().is_some() {
        bail!("{name}: `{shown}`: a path is put behind it, so it must not have a query; {own} is taken as it is");
    }
    Ok(match is_base {
        true => format!("{}/{}", url.trim_end_matches('/'), signal.path()),
        false => url,
    })
}

/// A positive number of a variable.
fn number(name: &str, variable: &Variables<'_>) -> anyhow::Result<Option<u64>> {
    let Some(text) = variable(name) else { return Ok(None) };
    match text.parse::<u64>() {
        Ok(0) | Err(_) => bail!("{name}: `{text}` is not a positive number"),
        Ok(number) => Ok(Some(u64::min(number, MOST))),
    }
}

/// `NAME=VALUE,..`, with the values percent-encoded. The error does not have the value, which may be secret.
fn pairs(list: &str) -> anyhow::Result<Vec<(String, String)>> {
    let pair = |pair: &str| {
        let (name, value) = pair.split_once('=').context("write NAME=VALUE, or several with commas between them")?;
        let (name, value) = (name.trim(), value.trim());
        let decoded = percent_decode_str(value).decode_utf8();
        let value = decoded.with_context(|| format!("the value of `{name}` is not UTF-8"))?;
        if name.is_empty() {
            bail!("a name is empty");
        }
        Ok((name.to_owned(), value.into_owned()))
    };
    list.split(',').filter(|it| !it.trim().is_empty()).map(pair).collect()
}

/// The headers of a variable.
fn headers(list: &str) -> anyhow::Result<Vec<(HeaderName, HeaderValue)>> {
    let header = |(name, value): (String, String)| {
        let key =
            HeaderName::from_bytes(name.as_bytes()).with_context(|| format!("`{name}` is not a name of a header"))?;
        let mut value = HeaderValue::from_str(&value)
            .with_context(|| format!("the value of `{name}` cannot be sent in a header"))?;
        value.set_sensitive(true);
        Ok((key, value))
    };
    pairs(list)?.into_iter().map(header).collect()
}

/// What the variables say of the resource.
fn resource(variable: &Variables<'_>) -> anyhow::Result<Vec<Attribute>> {
    const NAME: &str = "OTEL_RESOURCE_ATTRIBUTES";
    let list = variable(NAME).unwrap_or_default();
    let mut pairs = pairs(&list).context(NAME)?;
    if let Some(name) = variable("OTEL_SERVICE_NAME") {
        pairs.retain(|(key, _)| key != attributes::SERVICE_NAME);
        pairs.push((attributes::SERVICE_NAME.to_owned(), name));
    }
    Ok(pairs.into_iter().map(|(key, value)| attributes::attribute(key, value)).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(url: Option<&str>, variables: &[(&str, &str)]) -> Result<OtlpSettings, String> {
        let find = |name: &str| variables.iter().find(|(it, _)| *it == name).map(|(_, value)| (*value).to_owned());
        OtlpSettings::read(url, &find).map_err(|error| format!("{error:#}"))
    }

    fn urls(url: Option<&str>, variables: &[(&str, &str)]) -> [String; 3] {
        read(url, variables).unwrap().destinations.map(|destination| destination.url)
    }

    #[test]
    fn paths_are_put_behind_the_base_only() {
        let of = |base: &str| ["traces", "logs", "metrics"].map(|signal| format!("{base}/v1/{signal}"));
        assert_eq!(urls(None, &[]), of("http://localhost:4318"));
        let all = ("OTEL_EXPORTER_OTLP_ENDPOINT", "https://host/collector/");
        assert_eq!(urls(None, &[all]), of("https://host/collector"));
        let logs = ("OTEL_EXPORTER_OTLP_LOGS_ENDPOINT", "http://logs:1/otlp?x=y");
        let [base_traces, _, base_metrics] = of("https://host/collector");
        assert_eq!(urls(None, &[all, logs]), [base_traces, "http://logs:1/otlp?x=y".to_owned(), base_metrics]);
        // The option counts more than all of them, and an empty variable is none.
        assert_eq!(urls(Some("http://[::1]:9"), &[all, logs]), of("http://[::1]:9"));
        assert_eq!(urls(None, &[("OTEL_EXPORTER_OTLP_ENDPOINT", " ")]), of("http://localhost:4318"));
    }

    #[test]
    fn what_cannot_be_a_url_is_refused() {
        for url in ["localhost:4318", "ftp://host", "http://", "http://host/#x", "", "unix:/x", "http://a b"] {
            let said = read(Some(url), &[]).unwrap_err();
            assert!(said.starts_with("--otlp: `") && said.contains("http://"), "{said}");
        }
        let said = read(Some("http://me:secret@host/"), &[]).unwrap_err();
        assert!(said.contains("HEADERS") && !said.contains("secret"), "{said}");
        assert!(read(Some("http://host/?key=1"), &[]).unwrap_err().contains("query"));
    }

    #[test]
    fn headers_are_decoded_and_not_shown() {
        let of = |list: &str| read(None, &[("OTEL_EXPORTER_OTLP_HEADERS", list)]);
        let settings = of("api-key=a%20b%2Cc==, X-Scope-OrgID = 7,").unwrap();
        let headers = &settings.destination(Signal::Logs).headers;
        let texts: Vec<(&str, &str)> =
            headers.iter().map(|(name, value)| (name.as_str(), value.to_str().unwrap())).collect();
        assert_eq!(texts, [("api-key", "a b,c=="), ("x-scope-orgid", "7")]);
        assert!(!format!("{settings:?}").contains("a b,c"));
        for (wrong, says) in [
            ("key", "NAME=VALUE"),
            ("=secret", "empty"),
            ("a b=secret", "not a name"),
            ("a=secret%0Ax", "cannot be sent"),
            ("a=%ff", "UTF-8"),
        ] {
            let said = of(wrong).unwrap_err();
            assert!(said.starts_with("OTEL_EXPORTER_OTLP_HEADERS: ") && said.contains(says), "{said}");
            assert!(!said.contains("secret"), "{said}");
        }
        let own = [("OTEL_EXPORTER_OTLP_HEADERS", "a=1"), ("OTEL_EXPORTER_OTLP_TRACES_HEADERS", "b=2")];
        let settings = read(None, &own).unwrap();
        let names =
            |signal| settings.destination(signal).headers.iter().map(|(name, _)| name.as_str()).collect::<Vec<_>>();
        assert_eq!((names(Signal::Traces), names(Signal::Metrics)), (vec!["b"], vec!["a"]));
    }

    #[test]
    fn the_protocol_and_the_rest() {
        let protocol = |text| read(None, &[("OTEL_EXPORTER_OTLP_PROTOCOL", text)]);
        assert_eq!(protocol("http/json").unwrap().destination(Signal::Metrics).encoding, Encoding::Json);
        assert_eq!(protocol("http/protobuf").unwrap().destination(Signal::Metrics).encoding, Encoding::Protobuf);
        assert!(protocol("grpc").unwrap_err().contains("OTEL_EXPORTER_OTLP_PROTOCOL: smark does not speak gRPC"));
        assert!(protocol("udp").unwrap_err().contains("`udp`"));
        let settings = read(
            None,
            &[
                ("OTEL_EXPORTER_OTLP_TIMEOUT", "2500"),
                ("OTEL_EXPORTER_OTLP_LOGS_TIMEOUT", "40"),
                ("OTEL_EXPORTER_OTLP_COMPRESSION", "gzip"),
                ("OTEL_EXPORTER_OTLP_LOGS_COMPRESSION", "none"),
                ("OTEL_METRIC_EXPORT_INTERVAL", "1000"),
                ("OTEL_BLRP_MAX_EXPORT_BATCH_SIZE", "10"),
                ("OTEL_BSP_SCHEDULE_DELAY", "100"),
            ],
        );
        let settings = settings.unwrap();
        let (traces, logs) = (settings.destination(Signal::Traces), settings.destination(Signal::Logs));
        assert_eq!((traces.timeout.as_millis(), logs.timeout.as_millis()), (2500, 40));
        assert_eq!((traces.is_gzip, logs.is_gzip), (true, false));
        assert_eq!((settings.interval.as_millis(), settings.delay.as_millis(), settings.batch), (1000, 100, 10));
        for name in ["OTEL_EXPORTER_OTLP_TIMEOUT", "OTEL_METRIC_EXPORT_INTERVAL", "OTEL_BSP_MAX_EXPORT_BATCH_SIZE"] {
            for wrong in ["0", "-1", "1s"] {
                assert_eq!(
                    read(None, &[(name, wrong)]).unwrap_err(),
                    format!("{name}: `{wrong}` is not a positive number")
                );
            }
        }
    }

    #[test]
    fn the_name_of_the_service_counts_more_than_the_attributes() {
        let list = ("OTEL_RESOURCE_ATTRIBUTES", "service.name=a,deployment.environment.name=test%2C1");
        let of = |variables: &[(&str, &str)]| read(None, variables).unwrap().resource;
        let attribute = |name: &str, value: &str| attributes::attribute(name, value);
        let environment = attribute("deployment.environment.name", "test,1");
        assert_eq!(of(&[list]), [attribute("service.name", "a"), environment.clone()]);
        assert_eq!(of(&[list, ("OTEL_SERVICE_NAME", "b")]), [environment, attribute("service.name", "b")]);
        assert!(
            read(None, &[("OTEL_RESOURCE_ATTRIBUTES", "a")]).unwrap_err().starts_with("OTEL_RESOURCE_ATTRIBUTES: ")
        );
    }
}
