//! Indexes generated text and searches it, with markers: a program with ordinary Rust types and
//! many large dependencies.

use std::collections::HashMap;
use std::error::Error;
use std::sync::Arc;

use regex::Regex;
use simple_markers::simple_mark;
use tantivy::collector::TopDocs;
use tantivy::query::QueryParser;
use tantivy::schema::{Field, STORED, Schema, TEXT, Value as _};
use tantivy::{Index, IndexWriter, Score, TantivyDocument, doc};
use tokio::sync::mpsc;

/// How many documents are indexed.
const DOCUMENTS: u32 = 2_000;

struct Engine {
    index: Index,
    title: Field,
    body: Field,
    words: Arc<[&'static str]>,
    counts: HashMap<String, usize>,
}

#[derive(Debug, Clone, PartialEq)]
struct Hit {
    title: String,
    score: Score,
}

#[derive(Debug)]
enum Outcome {
    Nothing,
    One(Hit),
    Many { hits: Vec<Hit>, best: Score },
}

impl Engine {
    fn new() -> Result<Self, Box<dyn Error>> {
        let mut schema = Schema::builder();
        let title = schema.add_text_field("title", TEXT | STORED);
        let body = schema.add_text_field("body", TEXT);
        let index = Index::create_in_ram(schema.build());
        let words = Arc::new(["probe", "marker", "section", "address", "scope", "kernel", "linker", "optimiser"]);
        simple_mark!(large:engine:new, "Fields %u %u, words at %p", keep title = title.field_id(), keep body = body.field_id(), words);
        Ok(Self { index, title, body, words, counts: HashMap::new() })
    }

    fn fill(&mut self) -> Result<u64, Box<dyn Error>> {
        let mut writer: IndexWriter = self.index.writer_with_num_threads(1, 50_000_000)?;
        let mut state = 1u32;
        for number in 0..DOCUMENTS {
            let body = self.text(&mut state);
            *self.counts.entry(body.clone()).or_default() += 1;
            simple_mark!(large:engine:add, "Document %u: %s, state %u", number, body, keep state);
            writer.add_document(doc!(self.title => format!("document {number}"), self.body => body))?;
        }
        let stamp = writer.commit()?;
        simple_mark!(large:engine:commit, "Commit %lu of %u", stamp, keep documents = DOCUMENTS);
        Ok(stamp)
    }

    fn text(&self, state: &mut u32) -> String {
        let mut text = String::new();
        for position in 0..6usize {
            *state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            let word = self.words[(*state >> 16) as usize % self.words.len()];
            simple_mark!(large:text:word, "Word %zu: %s of %u", position, word, state);
            if !text.is_empty() {
                text.push(' ');
            }
            text.push_str(word);
        }
        text
    }

    fn search(&self, text: &str) -> Result<Outcome, Box<dyn Error>> {
        let searcher = self.index.reader()?.searcher();
        let query = QueryParser::for_index(&self.index, vec![self.title, self.body]).parse_query(text)?;
        let top = searcher.search(&query, &TopDocs::with_limit(3))?;
        simple_mark!(large:search:top, "Query %s: %zu of %lu", text, keep found = top.len(), keep documents = searcher.num_docs());
        let mut hits = Vec::new();
        for (score, address) in top {
            let document: TantivyDocument = searcher.doc(address)?;
            let title = document.get_first(self.title).and_then(|value| value.as_str().map(str::to_owned));
            let title = title.unwrap_or_default();
            simple_mark!(large:search:hit, "Score %f at %u in %u: %s", score, address.doc_id, address.segment_ord, title);
            hits.push(Hit { title, score });
        }
        let outcome = match hits.as_slice() {
            [] => Outcome::Nothing,
            [hit] => Outcome::One(hit.clone()),
            [first, ..] => Outcome::Many { best: first.score, hits },
        };
        simple_mark!(large:search:done, "Outcome at %p", &outcome);
        Ok(outcome)
    }
}

async fn ask(engine: Arc<Engine>, queries: Vec<String>) -> usize {
    let (sender, mut receiver) = mpsc::channel::<(usize, String)>(4);
    let asker = tokio::spawn(async move {
        for (number, query) in queries.into_iter().enumerate() {
            simple_mark!(large:ask:send, "Query %zu: %s", number, query);
            if sender.send((number, query)).await.is_err() {
                break;
            }
        }
    });
    let mut answered = 0usize;
    while let Some((number, query)) = receiver.recv().await {
        let outcome = engine.search(&query);
        simple_mark!(large:ask:receive, "Answer %zu to %s, %zu so far", number, query, answered);
        match outcome {
            Ok(Outcome::Many { hits, best }) => {
                simple_mark!(large:ask:many, "Best %f of %p", best, &hits);
                answered += hits.len();
            }
            Ok(Outcome::One(hit)) => {
                simple_mark!(large:ask:one, "Only %s with %f", hit.title, hit.score);
                answered += 1;
            }
            Ok(Outcome::Nothing) | Err(_) => {}
        }
    }
    let joined = asker.await;
    simple_mark!(large:ask:done, "%zu answers", answered);
    drop(joined);
    answered
}

fn summary(counts: &HashMap<String, usize>, pattern: &Regex) -> serde_json::Value {
    let mut matching = 0usize;
    for (text, count) in counts {
        if pattern.is_match(text) {
            matching += count;
            simple_mark!(large:summary:match, "%s %zu times, %zu in all", text, *count, matching);
        }
    }
    serde_json::json!({ "texts": counts.len(), "matching": matching })
}

fn main() -> Result<(), Box<dyn Error>> {
    let mut engine = Engine::new()?;
    engine.fill()?;
    let pattern = Regex::new(r"(?i)\bprobe\b.*\bmarker\b")?;
    let summary = summary(&engine.counts, &pattern);
    let queries = ["probe", "marker AND kernel", "\"linker optimiser\"", "nothing"].map(str::to_owned).to_vec();
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).build()?;
    let answered = runtime.block_on(ask(Arc::new(engine), queries));
    println!("{summary}, {answered} hits");
    Ok(())
}
