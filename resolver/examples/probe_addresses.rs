//! Where to put a probe for each marker of a name, and what can be read there: `probe_addresses scsi_mod.ko 'scsi:*'`.
//!
//! The whole use of the library: resolve the bytes of a file, choose rows, look at their sites.

use std::error::Error;

use simple_markers_resolver::english;
use simple_markers_resolver::resolve::{SitePlace, Verdict, resolve};
use simple_markers_resolver::select::{Field, Selection};

fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args().skip(1);
    let (Some(path), Some(pattern)) = (arguments.next(), arguments.next()) else {
        return Err("probe_addresses FILE PATTERN".into());
    };
    let resolution = resolve(&path, &std::fs::read(&path)?);
    let mut wanted = Selection::default();
    wanted.add(Field::Name, &pattern)?;
    for row in resolution.rows().iter().filter(|row| wanted.matches(row)) {
        for site in &row.sites {
            let place = match &site.place {
                Some(SitePlace::Address(address)) => address.to_string(),
                Some(SitePlace::Section { section, offset }) => format!("{section}+{offset}"),
                // Its function was dropped: there is nothing to probe.
                None => continue,
            };
            println!("{} {place} in {}", row.marker.name, row.function);
            for argument in &site.args {
                match (argument.verdict, &argument.location_text) {
                    (Some(Verdict::Live | Verdict::Constant), Some(location)) => {
                        println!("  {} is readable: {location}", argument.text);
                    }
                    (Some(verdict), _) => {
                        let why = argument
                            .reason
                            .as_ref()
                            .map_or("no reason is known".to_owned(), english::arguments::reason);
                        println!("  {} is {}: {why}", argument.text, verdict.as_str());
                    }
                    (None, _) => println!("  {}: there is no debug information", argument.text),
                }
            }
        }
    }
    for failure in &resolution.failures {
        eprintln!("{}: {}", failure.path, failure.error);
    }
    Ok(())
}
