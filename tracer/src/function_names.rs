//! The names of functions whose addresses whole values have.
//!
//! A program is needed to find them, so a recording keeps those that were met ([`KnownFunctions`]).

use std::collections::BTreeMap;
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use simple_markers_resolver::json::{Hexadecimal, objects};
use simple_markers_resolver::types::name_functions;

use crate::hit::Hit;
use crate::value::{Missing, Value};
use crate::whole::load_bias;

/// Finds the names of functions.
pub trait FunctionNames {
    /// The function that begins at an address of the process of a hit. Several that share the address have
    /// a `|` between them. `load_bias` is that of the image of the hit, if it is known. `None` if the
    /// function is not known.
    fn function(&self, hit: &Hit<'_>, load_bias: Option<u64>, address: u64) -> Option<Arc<str>>;
}

/// No function is known.
#[derive(Clone, Copy, Debug)]
pub struct NoFunctions;

impl FunctionNames for NoFunctions {
    fn function(&self, _: &Hit<'_>, _: Option<u64>, _: u64) -> Option<Arc<str>> {
        None
    }
}

/// The most functions that are kept.
const MOST: usize = 1 << 14;

/// The functions that values of a recording had.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "FunctionList", into = "FunctionList")]
pub struct KnownFunctions {
    /// By the process, the number of the image of the hit, its load bias and the address.
    names: BTreeMap<FunctionKey, Arc<str>>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct FunctionKey {
    process: u32,
    image: usize,
    load_bias: Option<u64>,
    address: u64,
}

/// Functions as a description has them.
#[derive(Serialize, Deserialize)]
#[serde(transparent)]
struct FunctionList {
    #[serde(deserialize_with = "objects")]
    all: Vec<DescribedFunction>,
}

#[derive(Serialize, Deserialize)]
struct DescribedFunction {
    pid: u32,
    image: usize,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    load_bias: Option<Hexadecimal>,
    address: Hexadecimal,
    name: Arc<str>,
}

impl KnownFunctions {
    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.names.is_empty()
    }

    /// Adds the functions that the values of a hit have. Returns whether one of them was not there yet.
    pub fn add(&mut self, hit: &Hit<'_>, names: &dyn FunctionNames) -> bool {
        let before = self.names.len();
        for (argument, value) in hit.arguments() {
            let Some(shown) = argument.shown.as_ref() else { continue };
            let (Ok(value) | Err(Missing::Doubtful(Some(value)))) = value else { continue };
            // Without a load bias no address of a function was expected.
            let Value::Whole(chunks) = value else { continue };
            let Some(load_bias) = load_bias(chunks) else { continue };
            let Some(mut tree) = shown.tree(&value) else { continue };
            name_functions(&mut tree, &mut |address| {
                let key = key(hit, Some(load_bias), address);
                if self.names.len() < MOST && !self.names.contains_key(&key) {
                    self.names.insert(key, names.function(hit, Some(load_bias), address)?);
                }
                None
            });
        }
        self.names.len() > before
    }
}

fn key(hit: &Hit<'_>, load_bias: Option<u64>, address: u64) -> FunctionKey {
    FunctionKey { process: hit.process, image: hit.site.image, load_bias, address }
}

impl FunctionNames for KnownFunctions {
    fn function(&self, hit: &Hit<'_>, load_bias: Option<u64>, address: u64) -> Option<Arc<str>> {
        self.names.get(&key(hit, load_bias, address)).cloned()
    }
}

impl From<KnownFunctions> for FunctionList {
    fn from(KnownFunctions { names }: KnownFunctions) -> Self {
        let described = |(key, name)| {
            let FunctionKey { process, image, load_bias, address } = key;
            let (load_bias, address) = (load_bias.map(Hexadecimal), Hexadecimal(address));
            DescribedFunction { pid: process, image, load_bias, address, name }
        };
        Self { all: names.into_iter().map(described).collect() }
    }
}

impl TryFrom<FunctionList> for KnownFunctions {
    type Error = String;

    fn try_from(FunctionList { all }: FunctionList) -> Result<Self, String> {
        if all.len() > MOST {
            return Err(format!("there are {}; {MOST} are possible", all.len()));
        }
        let known = |DescribedFunction { pid, image, load_bias, address, name }| {
            let load_bias = load_bias.map(|bias: Hexadecimal| bias.0);
            (FunctionKey { process: pid, image, load_bias, address: address.0 }, name)
        };
        Ok(Self { names: all.into_iter().map(known).collect() })
    }
}
