"""Counts the hits of lines under gdb, and reads variables at each (tests/src/field/lines/others.rs).

LINES_ASKED is a JSON list of {"place": "FILE:LINE", "texts": [..]}. LINES_ANSWERED gets a line of JSON
for each place, with the number of its locations, and one for each hit, with the values; null is one
that gdb does not read. A line that is hit more than LINES_MOST times is left alone from then on.
"""

import json
import os
import sys

import gdb

answered = open(os.environ["LINES_ANSWERED"], "w")


def say(**of):
    answered.write(json.dumps(of) + "\n")


def value(text):
    try:
        value = gdb.parse_and_eval(text)
        if value.is_optimized_out:
            return None
        kind = value.type.strip_typedefs().code
        if kind == gdb.TYPE_CODE_FLT:
            return repr(float(value))
        return str(int(value))
    except (gdb.error, ValueError, TypeError, OverflowError):
        return None


class Line(gdb.Breakpoint):
    def __init__(self, number, asked):
        super().__init__(asked["place"], internal=True)
        self.line, self.texts, self.hits = number, asked["texts"], 0

    def stop(self):
        say(line=self.line, values=[value(text) for text in self.texts])
        self.hits += 1
        self.enabled = self.hits <= most
        return False


for option in ("pagination off", "breakpoint pending off", "confirm off", "print inferior-events off"):
    gdb.execute("set " + option)
most = int(os.environ["LINES_MOST"])
lines = []
with open(os.environ["LINES_ASKED"]) as asked:
    for number, one in enumerate(json.load(asked)):
        try:
            where = gdb.decode_line(one["place"])[1] or []
            lines.append(Line(number, one))
            wanted = int(one["place"].rsplit(":", 1)[1])
            say(line=number, places=len(where), is_nearest=any(at.line != wanted for at in where))
        except gdb.error:
            say(line=number, places=0, is_nearest=False)
gdb.execute("run")
answered.close()
sys.stdout.flush()
