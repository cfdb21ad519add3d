//! `--otlp`, which the commands have also if they were built without it.

use clap::Args;

#[cfg(not(feature = "otlp"))]
pub(crate) use crate::no_otlp::NoOtlp as OtlpSettings;
#[cfg(feature = "otlp")]
pub(crate) use crate::otlp::OtlpSettings;

/// Sends to OpenTelemetry.
#[derive(Clone, Debug, Default, Args)]
pub(crate) struct OtlpOption {
    /// Send to an OpenTelemetry collector or backend, by OTLP over HTTP: to URL/v1/traces, URL/v1/logs or URL/v1/metrics. Without a
    /// URL the variables OTEL_EXPORTER_OTLP_.. say where, otherwise it is http://localhost:4318
    #[arg(long, value_name = "URL", num_args = 0..=1, require_equals = true, default_missing_value = "", group = "of_intervals", hide = !cfg!(feature = "otlp"))]
    otlp: Option<String>,
}

impl OtlpOption {
    /// Where to send to, of the option and the environment; `None` if nothing is sent.
    #[cfg(feature = "otlp")]
    pub(crate) fn settings(&self) -> anyhow::Result<Option<Box<OtlpSettings>>> {
        let Some(url) = &self.otlp else { return Ok(None) };
        let url = Some(url.as_str()).filter(|url| !url.is_empty());
        let settings = OtlpSettings::read(url, &|name| std::env::var(name).ok())?;
        settings.check()?;
        Ok(Some(Box::new(settings)))
    }

    /// The same.
    #[cfg(not(feature = "otlp"))]
    pub(crate) fn settings(&self) -> anyhow::Result<Option<Box<OtlpSettings>>> {
        if self.otlp.is_some() {
            anyhow::bail!("--otlp: {}", crate::features::without("otlp"));
        }
        Ok(None)
    }
}
