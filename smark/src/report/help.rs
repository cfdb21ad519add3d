//! The end of the help of `smark report`.

/// The examples.
pub(super) const EXAMPLES: &str = "\
EXAMPLES
  The hits of a recording, as smark trace prints them:
      smark record -o trace -- ./server
      smark report trace
  Only some of them:
      smark report --where 'tag > 100 && status != 0' 'queue:*' trace
  How often each marker was passed:
      smark report --count trace
  How long the spans db:query took:
      smark report --time db:query trace
  How long requests took, told apart by their tags:
      smark report --time queue:submit..queue:complete --key tag trace
  For a program to read:
      smark report --json trace | jq .args
  A timeline for https://ui.perfetto.dev, with requests and dispatches as slices:
      smark report --to perfetto -o trace.pftrace --pair queue:submit..queue:complete --key tag \\
          --pair queue:dispatch..queue:dispatch_return trace
  The same with arrows from hit to hit of a request, the length of the queue, and what ran on each CPU:
      smark record -o trace -e 'sched:*' target/release/server
      smark report --to perfetto -o trace.pftrace --pair queue:submit..queue:complete --key tag --flow tag --counter in_flight trace
  A page for a browser with the same:
      smark report --to html -o trace.html --pair queue:submit..queue:complete --key tag trace
  The members of whole values in babeltrace2:
      smark report --to ctf -o structured trace && babeltrace2 structured
  To OpenTelemetry: the hits as log records, and requests as spans:
      smark report --otlp=http://collector:4318 trace
      smark report --time queue:submit..queue:complete --key tag --otlp=http://collector:4318 trace
  Tables for SQL:
      smark report --to parquet -o hits trace && duckdb -c \"SELECT count(*) FROM 'hits/queue.submit/**/*.parquet'\"";

/// What the exit status means.
pub(super) const STATUS: &str = "\
EXIT STATUS
  0  done
  1  a pattern matches nothing
  2  the recording cannot be read, or not to its end, or the output cannot be written";
