"""Asks DuckDB and ClickHouse (chDB) the questions of docs/parquet.md about a data set of three hosts, and compares the answers with
those of `smark report` about the recordings.

    check.py SMARK REQUESTS FOLDER

REQUESTS is the example `requests` of the tracer. `.ci/parquet` calls it."""

import collections
import datetime
import json
import math
import pathlib
import re
import shutil
import subprocess
import sys

import chdb.session
import duckdb

smark, requests, folder = sys.argv[1], sys.argv[2], pathlib.Path(sys.argv[3])
PAGE = pathlib.Path(__file__).resolve().parent.parent.parent / "docs/parquet.md"
HOSTS = {"alpha": 1, "beta": 2, "gamma": 4}
HITS = 6000
EPOCH = 1_795_874_340_000_000_000
A_TO_B = "queue:submit..queue:complete"


def run(*command):
    return subprocess.run([str(word) for word in command], check=True, capture_output=True, text=True).stdout


def lines(*command):
    return [json.loads(line) for line in run(*command).splitlines()]


# The recordings, and the data set of all: the files of each are copied into one folder.
hits, counts, times, errors = [], collections.Counter(), {}, collections.Counter()
lost = {}
for host, seed in HOSTS.items():
    trace, own = folder / host, folder / f"hits-{host}"
    run(requests, trace, HITS, host, seed)
    run(smark, "report", "--to", "parquet", "-o", own, trace)
    shutil.copytree(own, folder / "hits", dirs_exist_ok=True)
    for hit in lines(smark, "report", "--json", trace):
        if "marker" in hit:
            values = {argument["text"]: argument["value"] for argument in hit["args"]}
            whys = {argument["text"]: argument["why"] for argument in hit["args"] if argument["why"]}
            hits.append(dict(hit, host=host, ns=EPOCH + hit["time_ns"], values=values, whys=whys))
        elif "end" in hit:
            lost[host] = hit["end"]["lost"]
    for line in lines(smark, "report", "--count", "--json", trace):
        if "hits" in line:
            counts[line["marker"]] += line["hits"]
    line, = (line for line in lines(smark, "report", "--time", A_TO_B, "--key", "tag", "--json", trace) if line.get("marker") == A_TO_B)
    times[host] = line["time"]
    for line in lines(smark, "report", "--by", "status", "--where", "status != 0", "--json", "queue:complete", trace):
        for value, count in line.get("by") or []:
            errors[value] += count
hits.sort(key=lambda hit: hit["ns"])
assert len(hits) == HITS * len(HOSTS)

# The intervals, once more.
opened, intervals = collections.defaultdict(list), []
for hit in hits:
    key = hit["host"], hit["values"]["tag"]
    if hit["marker"] == "queue:submit":
        opened[key].append(hit["ns"])
    elif opened[key]:
        began = opened[key].pop()
        intervals.append({"host": hit["host"], "tag": hit["values"]["tag"], "began": began, "ended": hit["ns"], "took": hit["ns"] - began})
intervals.sort(key=lambda it: (-it["took"], it["host"], it["tag"]))


def percentile(values, percent):
    values = sorted(value for value in values if value is not None)
    return values[math.ceil(len(values) * percent / 100) - 1]


submits = [hit for hit in hits if hit["marker"] == "queue:submit"]
by_host = lambda of: {host: [one for one in of if one["host"] == host] for host in HOSTS}
slowest = intervals[0]
completes = [hit for hit in hits if hit["marker"] == "queue:complete"]
error_counts = collections.Counter((hit["values"]["status"], hit["values"]["error"]) for hit in completes if hit["values"]["status"] != 0)
heat = collections.Counter((it["ended"] - it["ended"] % 60_000_000_000, math.floor(math.log2(it["took"]))) for it in intervals)
builds = {f"{0xb1d + seed % 3:040x}" for seed in HOSTS.values()}


def rate(marker):
    of = [hit["ns"] for hit in hits if hit["marker"] == marker]
    return marker, len(of), len(of) * 1e9 / (of[-1] - of[0])


expected = {
    "rates": [rate("queue:complete"), rate("queue:submit")],
    "hosts": [(host, len(of)) for host, of in by_host(submits).items()],
    "percentiles": [
        (host, *(percentile([hit["values"]["sectors"] for hit in of], percent) for percent in (50, 99)))
        for host, of in by_host(submits).items()
    ],
    "durations": [
        (host, len(of), min(it["took"] for it in of), sum(it["took"] for it in of) / len(of), max(it["took"] for it in of))
        for host, of in by_host(intervals).items()
    ],
    "slowest": [(it["host"], it["tag"], it["began"], it["took"]) for it in intervals[:10]],
    "during": sorted(
        ((hit["ns"], hit["marker"], hit["tid"], hit["values"]["tag"]) for hit in hits
         if hit["host"] == slowest["host"] and slowest["began"] <= hit["ns"] <= slowest["ended"])),
    "errors": sorted(((status, error, count) for (status, error), count in error_counts.items()),
                     key=lambda row: (-row[2], row[0], (row[1] is None, row[1]))),
    "heat": sorted((minute, power, count) for (minute, power), count in heat.items()),
    "losses": [(host, HITS, lost[host], 1) for host in HOSTS],
    "builds": sorted(
        (build, len({hit["host"] for hit in of}), len(of))
        for build in builds
        for of in [[hit for hit in submits if f"{0xb1d + HOSTS[hit['host']] % 3:040x}" == build]]),
}
expected["during"] = [(marker, ns, tid, tag) for ns, marker, tid, tag in expected["during"]]

# What `smark report` counts itself.
assert counts == collections.Counter(hit["marker"] for hit in hits), counts
assert errors == collections.Counter(hit["values"]["status"] for hit in completes if hit["values"]["status"] != 0), errors
for host, count, shortest, mean, longest in expected["durations"]:
    time = times[host]
    assert (time["count"], time["min"], time["max"]) == (count, shortest, longest), (host, time)
assert lost == dict.fromkeys(HOSTS, 17)

blocks = {}
for head, body in re.findall(r"```sql\n-- ([^\n]*)\n(.*?)```", PAGE.read_text(), re.DOTALL):
    engines, _, name = head.partition(": ")
    for engine in ["duckdb", "clickhouse", "spark"] if engines == "all" else engines.split(", "):
        blocks[engine, name or "views"] = body.replace("'hits/", f"'{folder}/hits/").replace("`hits/", f"`{folder}/hits/")
blocks["clickhouse", "percentiles"] = re.sub(
    r"percentile_disc\((.*?)\) WITHIN GROUP \(ORDER BY (.*?)\)", r"quantileExactLow(\1)(\2)", blocks["duckdb", "percentiles"])
assert {name for engine, name in blocks if engine == "duckdb"} == {*expected, "views", "intervals"}


def plain(value):
    if isinstance(value, bool):
        return int(value)
    return value


def compare(engine, answers):
    for name, rows in expected.items():
        answer = answers(blocks[engine, name])
        answer = [tuple(plain(value) for value in row) for row in answer]
        assert len(answer) == len(rows), (engine, name, len(answer), len(rows), answer[:5], rows[:5])
        for one, other in zip(answer, rows):
            same = all(
                math.isclose(a, b, rel_tol=1e-12) if isinstance(a, float) or isinstance(b, float) else a == b
                for a, b in zip(one, other))
            assert same and len(one) == len(other), (engine, name, one, other)
    print(f"{engine}: {len(expected)} questions, {sum(map(len, expected.values()))} rows as smark report has them")


database = duckdb.connect()
database.execute("SET TimeZone = 'UTC'")
database.execute(blocks["duckdb", "views"])
database.execute(blocks["duckdb", "intervals"])
compare("duckdb", lambda query: database.execute(query).fetchall())

session = chdb.session.Session()
for statement in (blocks["clickhouse", "views"] + blocks["clickhouse", "intervals"]).split(";"):
    if statement.strip():
        session.query(statement)


def clickhouse(query):
    text = session.query(query, "JSONCompactEachRow").bytes().decode()
    return [tuple(int(it) if isinstance(it, str) and re.fullmatch(r"-?\d{10,}", it) and len(it) < 25 else it for it in json.loads(line))
            for line in text.splitlines()]


compare("clickhouse", clickhouse)

# Each column of each hit, in the order of the files.
own_rows = 0
for marker, table in [("queue:submit", "submit"), ("queue:complete", "complete")]:
    rows = database.execute(f"SELECT * FROM {table} ORDER BY ns, host").fetchdf().to_dict("records")
    of = sorted((hit for hit in hits if hit["marker"] == marker), key=lambda hit: (hit["ns"], hit["host"]))
    assert len(rows) == len(of)
    for row, hit in zip(rows, of):
        for column in ("marker", "host", "pid", "tid", "comm", "cpu", "site"):
            assert row[column] == hit[column], (column, row, hit)
        assert row["hour"] == datetime.datetime.fromtimestamp(hit["ns"] // 10**9, datetime.timezone.utc).strftime("%Y-%m-%dT%H")
        assert row["image"] == "/usr/bin/server" and row["function"] == "serve" and row["source"] in ("queue.rs:1", "queue.rs:9")
        for text, value in hit["values"].items():
            column = re.sub("[^a-z]+", "_", text)
            read = row[column]
            read = None if read is None or read != read else read
            # JSON has addresses as texts.
            assert read == (int(value, 0) if text == "request->sector" and isinstance(value, str) else value), (column, row, hit)
        doubts = {doubt["argument"]: doubt["why"] for doubt in row["doubts"]}
        assert doubts == hit["whys"], (doubts, hit)
        own_rows += 1
print(f"duckdb: {own_rows} rows, each column as in --json")

# The files are in the order of time, and say what their columns mean.
files = sorted((folder / "hits").glob("queue.*/*/*.parquet"))
assert len({path.parent.name for path in files}) == 2, files
for path in files:
    ordered, = database.execute(f"SELECT bool_and(ns >= previous) FROM (SELECT epoch_ns(time) AS ns, lag(epoch_ns(time), 1, 0) "
                                f"OVER (ORDER BY file_row_number) AS previous FROM read_parquet('{path}', file_row_number = true))").fetchone()
    assert ordered, path
    (value,), = database.execute(f"SELECT decode(value) FROM parquet_kv_metadata('{path}') WHERE decode(key) = 'smark'").fetchall()
    about = json.loads(value)
    assert about["marker"].replace(":", ".") == path.parent.parent.name and about["lost"] == 17, about
    assert {argument["verdict"] for argument in about["sites"][0]["arguments"]} == {"certain"}, about
    assert about["sites"][0]["format"].startswith("request %lu"), about
    encodings = dict(database.execute(f"SELECT path_in_schema, encodings FROM parquet_metadata('{path}')").fetchall())
    assert "DELTA_BINARY_PACKED" in encodings["time"] and "DICTIONARY" in encodings["host"], encodings
print(f"{len(files)} files in their order")

# A row for each column of each table, in their order, from each recording. What `smark list` says of an argument is there as well.
about = database.execute(f"SELECT recording, marker, list(\"column\" ORDER BY position), list(argument ORDER BY position) FROM "
                         f"'{folder}/hits/_columns/*.parquet' GROUP BY ALL").fetchall()
assert len(about) == len(HOSTS) * 2, about
for _, marker, columns, arguments in about:
    names = [name for name, *_ in database.execute(f"DESCRIBE SELECT * EXCLUDE (ns, hour) FROM {marker.split(':')[1]}").fetchall()]
    assert columns == names, (columns, names)
    texts = [argument["text"] for hit in hits if hit["marker"] == marker for argument in hit["args"]]
    assert [argument for argument in arguments if argument] == list(dict.fromkeys(texts)), arguments
verdicts = database.execute(f"SELECT DISTINCT argument, site.source, site.verdict, site.format FROM (SELECT argument, unnest(sites) AS site FROM "
                            f"'{folder}/hits/_columns/*.parquet') WHERE argument = 'request->sector'").fetchall()
assert verdicts == [("request->sector", "queue.rs:1", "certain", "request %lu: %u sectors from %p, %d in flight")], verdicts
print(f"duckdb: the columns of {len(about)} tables are described")
