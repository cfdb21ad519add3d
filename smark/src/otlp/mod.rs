//! Sends hits and counts to OpenTelemetry, by OTLP over HTTP ([docs/otlp.md](../../../docs/otlp.md)).
//!
//! `settings` reads where to send to, `message/` has the messages, `sender/` sends requests in a thread. `hits` makes records
//! and spans of hits, `counts` metrics of counts.

mod attributes;
mod batch;
mod counts;
mod exponential;
mod hits;
mod ids;
mod intervals;
mod message;
mod records;
mod resource;
mod sender;
mod settings;
mod tell;

pub(crate) use self::settings::OtlpSettings;
