"""Stops a program behind each static probe, and prints the arguments that gdb reads, while smark traces it: `gdb -batch -x stops.py
--args PROGRAM..`, with the variable NOTES_STOPS naming a file of JSON: `file`, the path of the program or library with the probes,
whether it `is_moved` when it is loaded, `sites` with a link-time `address`, the `name` and the `count` of arguments, the command
`smark`, and `traced` and `hits`, files for what smark prints and for what gdb reads: a line of JSON for each hit, with the name and
the values. A breakpoint is behind the instruction of the probe, because smark has one there. Without debug files, which would make
texts of pointers."""

import json
import os
import subprocess

import gdb

with open(os.environ["NOTES_STOPS"]) as file:
    asked = json.load(file)
for setting in ("confirm off", "pagination off", "debuginfod enabled off", "startup-with-shell off", "breakpoint pending off"):
    gdb.execute(f"set {setting}", to_string=True)


def mapped(end):
    """The run-time address of the first page of a file."""
    for line in gdb.execute("info proc mappings", to_string=True).splitlines():
        words = line.split()
        if words and words[-1].endswith(end):
            return int(words[0], 0)
    return None


gdb.execute("starti", to_string=True)
# The libraries are there when the program is entered. The kernel says where that is: AT_ENTRY.
entry = next(line for line in gdb.execute("info auxv", to_string=True).splitlines() if "AT_ENTRY" in line).split()[-1]
gdb.execute(f"tbreak *{entry}", to_string=True)
gdb.execute("continue", to_string=True)
start = mapped(asked["file"])
bias = start if asked["is_moved"] else 0
sites = {bias + site["address"]: site for site in asked["sites"]}
smark = subprocess.Popen([asked["smark"], "trace", "--json", "--debug-dir", os.devnull, asked["file"], "-p", str(gdb.selected_inferior().pid)],
                         stdout=open(asked["traced"], "w"), stderr=subprocess.PIPE, text=True)
while "watching" not in (line := smark.stderr.readline()):
    if not line:
        raise SystemExit("smark does not watch")
for address in sites:
    gdb.execute(f"break *{address + 1}", to_string=True)
with open(asked["hits"], "w") as hits:
    while True:
        try:
            gdb.execute("continue", to_string=True)
            address = int(gdb.parse_and_eval("$pc")) - 1
        except gdb.error:
            break
        site = sites.get(address)
        if site is None:
            continue
        gdb.execute(f"set $pc = {address}", to_string=True)
        values = [int(gdb.parse_and_eval(f"$_probe_arg{index}")) for index in range(site["count"])]
        gdb.execute(f"set $pc = {address + 1}", to_string=True)
        hits.write(json.dumps([site["name"], *values]) + "\n")
        hits.flush()
smark.communicate(timeout=60)
