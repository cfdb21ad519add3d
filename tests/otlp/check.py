"""Sends hits, spans and counts to programs that we did not write, and compares what they pass on or answer with what `smark` prints:
rotel (PyPI), a collector of OpenTelemetry, gets log records and spans and hands them to a receiver here, which decodes them with the
messages of the OpenTelemetry project; VictoriaMetrics (Debian) gets metrics, and answers queries; Otelite (crates.io), which keeps log
records and spans, gets them and answers what it has.

    check.py SMARK REQUESTS ROTEL VICTORIA FOLDER [OTELITE]

REQUESTS is the example `requests` of the tracer. `.ci/otlp` calls it."""

import gzip
import http.server
import json
import os
import pathlib
import socket
import subprocess
import sys
import threading
import time
import typing
import urllib.parse
import urllib.request

from opentelemetry.proto.collector.logs.v1.logs_service_pb2 import ExportLogsServiceRequest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

smark, requests, rotel, victoria, folder = sys.argv[1:5] + [pathlib.Path(sys.argv[5])]
otelite = sys.argv[6] if len(sys.argv) > 6 else None
ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
EPOCH = 1_795_874_340_000_000_000
A_TO_B = "queue:submit..queue:complete"
HITS = 6000
PROGRAM = r"""
#include "simple_marker.h"
#define NOINLINE __attribute__((noinline))
NOINLINE static void begin(int kind) { simple_mark_keep(work:begin, "%d", kind); }
NOINLINE static void end(int kind) { simple_mark_keep(work:end, "%d", kind); }
int main(void) {
    for (int i = 0; i < 3000; i++) { begin(i % 3); end(i % 3); }
    return 0;
}
"""
NESTED = r"""
#include "simple_marker.h"
#define NOINLINE __attribute__((noinline))
NOINLINE static void inner(int number) { simple_span(work:inner, "%d", number); }
NOINLINE static void outer(int number) { simple_span(work:outer, "%d", number); inner(number); }
int main(void) {
    for (int i = 0; i < 300; i++) outer(i);
    return 0;
}
"""
# What goes to this machine goes to no proxy.
environment = {name: value for name, value in os.environ.items() if not name.startswith("OTEL_") and not name.lower().endswith("_proxy")}
opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))


def run(*command, **variables):
    ended = subprocess.run([str(word) for word in command], capture_output=True, text=True, env=environment | variables)
    assert ended.returncode == 0, (command, ended.stderr)
    return [json.loads(line) for line in ended.stdout.splitlines()]


def port():
    with socket.socket() as it:
        it.bind(("127.0.0.1", 0))
        return it.getsockname()[1]


def until(what, is_true):
    end = time.monotonic() + 30
    while not is_true():
        assert time.monotonic() < end, what
        time.sleep(0.05)


def listens(number):
    with socket.socket() as it:
        return it.connect_ex(("127.0.0.1", number)) == 0


records, spans, resources = [], [], []


class Receiver(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_POST(self):
        body = self.rfile.read(int(self.headers["content-length"]))
        if self.headers["content-encoding"] == "gzip":
            body = gzip.decompress(body)
        if self.path == "/v1/logs":
            for of in ExportLogsServiceRequest.FromString(body).resource_logs:
                resources.append(of.resource)
                records.extend(record for scope in of.scope_logs for record in scope.log_records)
        elif self.path == "/v1/traces":
            for of in ExportTraceServiceRequest.FromString(body).resource_spans:
                resources.append(of.resource)
                spans.extend(span for scope in of.scope_spans for span in scope.spans)
        self.send_response(200)
        self.send_header("content-type", "application/x-protobuf")
        self.send_header("content-length", "0")
        self.end_headers()

    def log_message(self, *_):
        pass


def value(of):
    kind = of.WhichOneof("value")
    if kind == "array_value":
        return [value(it) for it in of.array_value.values]
    return getattr(of, kind) if kind else None


def attributes(of):
    found = {it.key: value(it.value) for it in of.attributes}
    assert len(found) == len(of.attributes), of
    return found


class Record(typing.NamedTuple):
    time: int
    # The attributes as text: not everyone keeps their types.
    found: dict


class Span(typing.NamedTuple):
    name: str
    trace: str
    id: str
    # None if it has none.
    parent: str | None
    start: int
    end: int
    found: dict


def text(of):
    """A value as text. Otelite writes nothing for one without content, and 50.0 as 50."""
    return "" if of is None else str(of).removesuffix(".0")


def texts(of):
    return {name: text(value) for name, value in of.items()}


def check_hits(who, url, ask):
    """`ask` answers the records that `who` has."""
    hits = [line for line in run(smark, "report", "--json", folder / "trace") if "marker" in line]
    end = run(smark, "report", "--json", f"--otlp={url}", folder / "trace")[-1]["end"]
    assert end["otlp"]["logs"]["sent"] == len(hits) == HITS, end
    until("all records", lambda: len(ask()) >= HITS)
    whys = 0
    # They come in any order.
    for record, hit in zip(sorted(ask(), key=lambda record: record.time), hits, strict=True):
        found = record.found
        assert record.time == EPOCH + hit["time_ns"], (record, hit)
        assert [found[name] for name in ("process.pid", "thread.id", "thread.name", "cpu.logical_number")] == [
            str(hit[name]) for name in ("pid", "tid", "comm", "cpu")], (record, hit)
        for argument in hit["args"]:
            if argument["why"]:
                whys += 1
                assert found[f"{argument['text']}.why"] == argument["why"] and argument["text"] not in found, (record, hit)
            else:
                # Integers beyond 2^53 are texts in JSON, and beyond 2^63 texts in both.
                assert found[argument["text"]] == text(argument["value"]), (record, hit)
    assert whys > 0
    print(f"{who}: {HITS} records are the hits; {whys} arguments have no value")
    return hits


def check_spans(who, url, ask):
    """`ask` answers the spans that `who` has."""
    command = ["report", "--json", "--time", A_TO_B, "--key", "tag"]
    line, = (line["time"] for line in run(smark, *command, folder / "trace") if line.get("marker") == A_TO_B)
    end = run(smark, *command, f"--otlp={url}", folder / "trace", OTEL_EXPORTER_OTLP_COMPRESSION="gzip")[-1]["end"]
    assert end["otlp"]["spans"]["sent"] == line["count"], (end, line)
    until("all spans", lambda: len(ask()) >= line["count"])
    spans = ask()
    took = [span.end - span.start for span in spans]
    assert (len(spans), min(took), max(took)) == (line["count"], line["min"], line["max"]), line
    assert len({span.id for span in spans}) == len({span.trace for span in spans}) == len(spans)
    assert {(span.name, len(span.trace), len(span.id), span.parent) for span in spans} == {(A_TO_B, 32, 16, None)}
    assert all("tag" in span.found for span in spans)
    print(f"{who}: {len(spans)} spans are the intervals of {A_TO_B}")


def collected_records():
    return [Record(record.time_unix_nano, texts(attributes(record))) for record in records]


def collected_spans():
    return [Span(span.name, span.trace_id.hex(), span.span_id.hex(), span.parent_span_id.hex() or None, span.start_time_unix_nano,
                 span.end_time_unix_nano, texts(attributes(span))) for span in spans]


def check_collector(url):
    hits = check_hits("rotel", url, collected_records)
    records.sort(key=lambda record: record.time_unix_nano)
    assert [record.event_name for record in records] == [hit["marker"] for hit in hits]
    check_spans("rotel", url, collected_spans)
    resource = attributes(resources[0])
    assert (resource["service.name"], resource["host.name"]) == ("server", "alpha"), resource


def check_backend(url, api):
    def kept(what):
        return json.load(opener.open(f"{api}/api/{what}/export?format=json"))

    def kept_records():
        return [Record(record["timestamp"], texts(record["attributes"])) for record in kept("logs")]

    def kept_spans():
        return [Span(span["name"], span["trace_id"], span["span_id"], span["parent_span_id"], span["start_time"], span["end_time"],
                     texts(span["attributes"])) for span in kept("traces")]

    check_hits("Otelite", url, kept_records)
    check_spans("Otelite", url, kept_spans)
    opener.open(urllib.request.Request(f"{api}/api/admin/purge", method="POST"))
    (folder / "nested.c").write_text(NESTED)
    subprocess.run(["gcc", "-g", "-O2", "-I", ROOT / "markers/include", folder / "nested.c", "-o", folder / "nested"], check=True)
    end = run(smark, "trace", "--json", f"--otlp={url}", "--", folder / "nested")[-1]["end"]
    assert end["otlp"]["spans"]["sent"] == 600, end
    until("all spans", lambda: len(kept_spans()) >= 600)
    spans = kept_spans()
    by_id = {span.id: span for span in spans}
    outer, inner = ([span for span in spans if span.name == name] for name in ("work:outer", "work:inner"))
    assert (len(by_id), len(outer), len(inner), {span.parent for span in outer}) == (600, 300, 300, {None})
    assert {span.found["number"] for span in outer} == set(map(str, range(300)))
    for span in inner:
        parent = by_id[span.parent]
        assert (parent.name, parent.trace, parent.found["number"]) == ("work:outer", span.trace, span.found["number"]), span
        assert parent.start <= span.start <= span.end <= parent.end, (parent, span)
    # What it makes of them for its pages.
    trace = json.load(opener.open(f"{api}/api/traces?limit=1&service=nested"))["traces"][0]
    assert (trace["root_span_name"], trace["span_count"], trace["service_names"]) == ("work:outer", 2, ["nested"]), trace
    print("Otelite: 300 traces of a span in a span")


def check_metrics(url):
    (folder / "work.c").write_text(PROGRAM)
    subprocess.run(["gcc", "-g", "-O2", "-I", ROOT / "markers/include", folder / "work.c", "-o", folder / "work"], check=True)
    lines = run(smark, "count", "--json", "--time", "work:begin..work:end", "--key", "kind", f"--otlp={url}/opentelemetry", "--", folder / "work")
    interval, = (line for line in lines if line.get("time"))
    opener.open(f"{url}/internal/force_flush").read()

    def answer(query):
        text = opener.open(f"{url}/api/v1/export?" + urllib.parse.urlencode({"match[]": query})).read().decode()
        return {tuple(sorted(of["metric"].items())): of["values"][-1] for of in map(json.loads, text.splitlines())}

    until("the metrics", lambda: answer("smark_interval_seconds_count"))
    for line in lines:
        if line.get("module"):
            value, = answer(f'smark_hits_total{{marker="{line["marker"]}",module="work",service_name="work"}}').values()
            assert value == line["hits"] == 3000, line
    count, = answer('smark_interval_seconds_count{interval="work:begin..work:end"}').values()
    buckets = answer('smark_interval_seconds_bucket{interval="work:begin..work:end"}')
    assert count == sum(buckets.values()) == interval["time"]["count"] == 3000, (count, buckets, interval)
    # The median is in the bucket of the kernel's, whose middle both have.
    seen, median = 0, None
    ranges = ((tuple(map(float, dict(key)["vmrange"].split("..."))), value) for key, value in buckets.items())
    for (low, high), value in sorted(ranges):
        seen += value
        if median is None and seen * 2 >= count:
            median = (low, high)
    assert median[0] * 0.999 <= interval["time"]["p50"] / 1e9 <= median[1] * 1.001, (median, interval)
    print(f"VictoriaMetrics: {count} intervals in {len(buckets)} buckets, and the hits of each marker, are those of smark count")


def start(*command, **variables):
    return subprocess.Popen([str(word) for word in command], env=environment | variables, stdout=(folder / "said").open("a"), stderr=subprocess.STDOUT)


receiver = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Receiver)
threading.Thread(target=receiver.serve_forever, daemon=True).start()
grpc, collector, database, backend, pages, other = (port() for _ in range(6))
run(requests, folder / "trace", HITS, "alpha", 1)
started = [
    start(rotel, "start", "--otlp-grpc-endpoint", f"127.0.0.1:{grpc}", "--otlp-http-endpoint", f"127.0.0.1:{collector}",
          "--exporter", "otlp", "--otlp-exporter-endpoint", f"http://127.0.0.1:{receiver.server_port}",
          "--otlp-exporter-protocol", "http", "--otlp-exporter-compression", "none", "--batch-timeout", "200ms"),
    start(victoria, f"-storageDataPath={folder / 'metrics'}", f"-httpListenAddr=127.0.0.1:{database}", "-opentelemetry.usePrometheusNaming"),
]
if otelite:
    ports = {"OTELITE_OTLP_HTTP_PORT": str(backend), "OTELITE_OTLP_GRPC_PORT": str(other)}
    started.append(start(otelite, "serve", "--addr", f"127.0.0.1:{pages}", OTELITE_DATA_DIR=str(folder / "kept"), **ports))
try:
    until("rotel", lambda: listens(collector))
    until("VictoriaMetrics", lambda: listens(database))
    check_collector(f"http://127.0.0.1:{collector}")
    check_metrics(f"http://127.0.0.1:{database}")
    if otelite:
        until("Otelite", lambda: listens(backend) and listens(pages))
        check_backend(f"http://127.0.0.1:{backend}", f"http://127.0.0.1:{pages}")
except BaseException:
    print((folder / "said").read_text(), file=sys.stderr)
    raise
finally:
    for process in started:
        process.kill()
        process.wait()
