//! The options of `smark top` for other machines, and what they open.

use clap::Args;
use simple_markers_top::Table;

use super::metrics::Server;
use super::send::Sender;
use crate::address::Address;
use crate::console::Console;

/// How many names have metrics of their own, if `--top` does not say it.
const NAMES: u32 = 50;

#[derive(Clone, Debug, Args)]
#[command(next_help_heading = "Other machines")]
pub(crate) struct Remote {
    /// Send each interval to `smark top --receive` at udp://HOST:PORT, instead of printing it; --json prints it too
    #[arg(long, value_name = "ADDRESS")]
    send: Option<Address>,
    /// Receive what other machines send at HOST:PORT, and show it with the machine in front; :PORT receives from this machine only,
    /// 0.0.0.0:PORT from all
    #[arg(long, value_name = "ADDRESS", conflicts_with_all = ["pid", "send"])]
    pub(crate) receive: Option<Address>,
    /// Instead of printing, answer Prometheus at http://HOST:PORT/metrics with what the processes of each name used since the start;
    /// :PORT answers this machine only. The names that use the CPUs most have metrics of their own, 50 or those of --top; the others
    /// are added up
    #[arg(long, value_name = "ADDRESS")]
    metrics: Option<Address>,
}

/// What gets each interval, besides the screen.
#[derive(Debug, Default)]
pub(crate) struct Outlets {
    sender: Option<Sender>,
    server: Option<Server>,
}

impl Remote {
    /// Opens the sockets.
    pub(crate) fn open(&self, top: Option<u32>, threads: bool, console: &Console) -> anyhow::Result<Outlets> {
        let most = top.map(|top| top as usize);
        let sender = self.send.as_ref().map(|address| Sender::new(address, most, threads)).transpose()?;
        let server = self.serve(top, console)?;
        Ok(Outlets { sender, server })
    }

    /// Begins to answer Prometheus.
    pub(crate) fn serve(&self, top: Option<u32>, console: &Console) -> anyhow::Result<Option<Server>> {
        let names = top.unwrap_or(NAMES) as usize;
        let server = self.metrics.as_ref().map(|address| Server::start(address, names)).transpose()?;
        if let Some(server) = &server {
            console.note(&format!("metrics at http://{}/metrics", server.address));
        }
        Ok(server)
    }
}

impl Outlets {
    /// Whether intervals go elsewhere, and are not printed.
    pub(crate) fn are_open(&self) -> bool {
        self.sender.is_some() || self.server.is_some()
    }

    /// Gives an interval away.
    pub(crate) fn give(&mut self, table: &Table, console: &Console) {
        if let Some(sender) = &mut self.sender {
            sender.send(table, console);
        }
        if let Some(server) = &self.server {
            server.add(None, table, table.interval);
        }
    }

    /// Says that there is nothing more.
    pub(crate) fn end(self, console: &Console) {
        if let Some(sender) = self.sender {
            sender.end(console);
        }
    }
}
