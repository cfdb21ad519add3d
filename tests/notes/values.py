"""Has gdb read the arguments of static probes: `gdb -batch -x values.py`, with the variable NOTES_ASKED naming a file of JSON:
`mapped`, the program of mapped.c, its `arguments`, `file` and `bias`, and `sites` with `pc`, `registers` and `operands`, as
`-4@8+total(%rip)`. Prints a line of JSON for each site: for each argument `{"is": VALUE}` or `{"error": TEXT}`, of text. gdb 13
parses no symbol in an operand and calls `%r15b` `$r15l`, and reads no argument of such a note. So it is asked for the variable
or the register of that name."""

import json
import os
import re

import gdb

with open(os.environ["NOTES_ASKED"]) as file:
    asked = json.load(file)
# The stack is made up, so nothing is above the first frame.
for setting in ("confirm off", "backtrace limit 1", "pagination off", "debuginfod enabled off"):
    gdb.execute(f"set {setting}", to_string=True)
gdb.execute(f"file {asked['mapped']}", to_string=True)
gdb.execute("run " + " ".join(asked["arguments"]), to_string=True)
gdb.execute(f"add-symbol-file {asked['file']} -o {asked['bias']}", to_string=True)


SYMBOL = re.compile(r"(-?)(\d)(f?)@(?:(\d+)\+)?([\w.$]+?)(?:\+(\d+))?\(%rip\)")
REGISTER = re.compile(r"(-?)(\d)@%(\w+)")
KINDS = {"1": "char", "2": "short", "4": "int", "8": "long"}


def spelled(operand):
    """An operand that gdb cannot parse, as it spells it."""
    if register := REGISTER.fullmatch(operand):
        sign, size, name = register.groups()
        name = re.sub("^(r[0-9]+)b$", r"\1l", name)
        return f"({'signed' if sign else 'unsigned'} {KINDS[size]}) ${name}"
    if symbol := SYMBOL.fullmatch(operand):
        sign, size, is_float, before, name, after = symbol.groups()
        floats = {"4": "float", "8": "double"}
        kind = floats[size] if is_float else ("signed " if sign else "unsigned ") + KINDS[size]
        return f"*({kind} *) ((char *) &'{name}' + {before or after or 0})"


def value(index, operand):
    try:
        found = gdb.parse_and_eval(f"$_probe_arg{index}")
    except gdb.error as error:
        try:
            if not (text := spelled(operand)):
                return {"error": str(error)}
            found = gdb.parse_and_eval(text)
        except gdb.error as error:
            return {"error": str(error)}
    is_float = found.type.strip_typedefs().code == gdb.TYPE_CODE_FLT
    return {"is": float(found).hex() if is_float else str(int(found))}


registers = {}
for site in asked["sites"]:
    for name, number in site["registers"].items():
        if registers.get(name) != number:
            gdb.execute(f"set ${name} = {number}", to_string=True)
    registers = site["registers"]
    gdb.execute(f"set $pc = {site['pc']}", to_string=True)
    print("site " + json.dumps([value(*of) for of in enumerate(site["operands"])]), flush=True)
gdb.execute("kill", to_string=True)
