"""Runs one program under gdb for the test `differential`. Reads a request from each line of standard
input, and writes an answer as a line to standard output, both JSON. Run as `gdb -q -nx -batch -x session.py --args PROGRAM ARGUMENTS`.

Each argument is read twice. `frame` is the result of gdb's own parser in the frame of the marker's
function, as at gdb's prompt. `scope` starts from the variable that the language means by the name
at the marker. This script finds it in gdb's blocks: the innermost block of the marker's function
with such a variable declared at or above the marker. gdb reads its value, and the script evaluates
the rest of the text on gdb's values. gdb reads the debug information in both cases, but does not
choose the variable in the second.

A value is given as its scalars, each [path, first bit, bits, bytes]; the bits in between are
padding. `null` replaces the bytes of a scalar that is optimised out, and ["why"] those that gdb
cannot read.

Requests and answers (addresses are decimal; those of the image are link-time, those of memory are the process's):

    {"op": "start"}                                     {"bias": n, "pid": n}
    {"op": "break", "addresses": [n], "hits": n}        {}          each is deleted after that many hits
    {"op": "continue"}                                  {"stopped": n} or {"exited": n} or {"signal": "SIGSEGV"}
    {"op": "count", "addresses": [n]}                   {"hits": [n], "exited": n}      hits until the program ends
    {"op": "registers"}                                 {"REGISTER": "hex"}     by DWARF's numbers
    {"op": "read", "address": n, "length": n}           {"bytes": "hex" or null}
    {"op": "scopes"}                                    {"frames": [[function, is inline]], "at": [function], "before": [function]}
    {"op": "value", "text": s, "line": n, "function": s, "ended": b}
                                                        {"frame": VALUE, "scope": VALUE, "symbol": SYMBOL or null}

VALUE is {"type": s, "size": n, "leaves": [...]} or {"error": s}; SYMBOL is {"line": n, "function": s or null, "frame_line": n or null}:
the line and function of the variable's declaration, and the line of the variable that gdb's own
rule chooses.

A program for another processor is run by the emulator in SESSION_EMULATOR (qemu's user mode), and gdb connects to it through a socket.
"""
import gdb
import json
import os
import re
import shutil
import struct
import subprocess
import tempfile
import time

# The output of the program and of gdb goes elsewhere; only requests and answers use these two.
requests = os.fdopen(os.dup(0), "r")
answers = os.fdopen(os.dup(1), "w")
nowhere = os.open("/dev/null", os.O_RDWR)
os.dup2(nowhere, 0)
os.dup2(nowhere, 1)

for setting in [
    "confirm off", "pagination off", "height 0", "width 0", "debuginfod enabled off", "print thread-events off",
    "print inferior-events off", "breakpoint always-inserted on", "disable-randomization on", "print elements 40",
    "print repeats 10", "max-value-size 1048576", "python print-stack none", "print object off", "print static-members off",
    "may-call-functions off",
]:
    gdb.execute("set " + setting, to_string=True)

MOST_LEAVES = 600
DEEPEST = 14
# Registers by DWARF number: eight-byte ones, and vectors with the field for their halves.
# System V ABI for x86-64, figure 3.36; AADWARF64, 4.1; RISC-V psABI, "DWARF Register Numbers".
X86_64 = (
    dict(enumerate(["rax", "rdx", "rcx", "rbx", "rsi", "rdi", "rbp", "rsp"] + ["r%d" % n for n in range(8, 16)] + ["rip"]))
    | {58: "fs_base"},
    {17 + n: "xmm%d" % n for n in range(16)}, lambda vector: [int(vector["v2_int64"][n]) for n in (0, 1)],
)
AARCH64 = (
    dict(enumerate(["x%d" % n for n in range(31)] + ["sp", "pc"])),
    {64 + n: "v%d" % n for n in range(32)}, lambda vector: [int(vector["d"]["u"][n]) for n in (0, 1)],
)
RISCV64 = (
    # The instruction pointer has no number there.
    dict(enumerate(["x%d" % n for n in range(32)])) | {65535: "pc"},
    {32 + n: "f%d" % n for n in range(32)}, lambda vector: [int(vector["double"].format_string(format="x"), 16)],
)
EMULATOR = os.environ.get("SESSION_EMULATOR", "").split()

bias = 0
entry = 0
left = {}


def program():
    return gdb.current_progspace().filename


def elf_entry(path):
    with open(path, "rb") as image:
        return struct.unpack_from("<Q", image.read(64), 24)[0]


def start(_):
    global bias
    arguments = os.environ.get("SESSION_ARGUMENTS", "")
    if EMULATOR:
        emulate(arguments)
    else:
        gdb.execute("set args " + arguments + " </dev/null >/dev/null 2>&1", to_string=True)
        gdb.execute("starti", to_string=True)
    auxiliary = gdb.execute("info auxv", to_string=True).splitlines()
    at_entry = [int(line.split()[-1], 0) for line in auxiliary if line.split()[1] == "AT_ENTRY"][0]
    bias = (at_entry - elf_entry(program())) & 0xFFFFFFFFFFFFFFFF
    return {"bias": bias, "pid": gdb.selected_inferior().pid}


def emulate(arguments):
    """Starts the program in the emulator, stopped before its first instruction. The emulator ends with gdb."""
    folder = tempfile.mkdtemp()
    try:
        socket = folder + "/gdb"
        command = EMULATOR + ["-g", socket, program()] + arguments.split()
        emulator = subprocess.Popen(command, stdin=nowhere, stdout=nowhere, stderr=nowhere)
        gdb.execute("set sysroot " + os.environ["SESSION_LIBRARIES"], to_string=True)
        # The emulator needs a moment to start listening.
        for _ in range(3000):
            try:
                gdb.execute("target remote " + socket, to_string=True)
                return
            except gdb.error:
                if emulator.poll() is not None:
                    raise
                time.sleep(0.01)
        raise RuntimeError("the emulator does not listen")
    finally:
        shutil.rmtree(folder)


def set_breakpoints(request):
    for address in request["addresses"]:
        point = gdb.Breakpoint("*%d" % (address + bias))
        point.silent = True
        left[address] = [point, request["hits"]]
    return {}


exit_code = []
stop_signal = []


def on_exit(event):
    exit_code.append(getattr(event, "exit_code", -1))


def on_stop(event):
    if isinstance(event, gdb.SignalEvent):
        stop_signal.append(event.stop_signal)


gdb.events.exited.connect(on_exit)
gdb.events.stop.connect(on_stop)


def resume(_):
    while True:
        gdb.execute("continue", to_string=True)
        if exit_code:
            return {"exited": exit_code[0]}
        if stop_signal:
            return {"signal": stop_signal[0]}
        address = pc() - bias
        if address not in left:
            continue
        point = left[address]
        point[1] -= 1
        if point[1] <= 0:
            point[0].delete()
            del left[address]
        return {"stopped": address}


def count(request):
    points = [gdb.Breakpoint("*%d" % (address + bias)) for address in request["addresses"]]
    for point in points:
        point.silent = True
        point.ignore_count = 1 << 30
    gdb.execute("continue", to_string=True)
    hits = [point.hit_count for point in points]
    return {"hits": hits, "exited": exit_code[0]} if exit_code else {"failed": "the program stopped: %s" % stop_signal}


def pc():
    return gdb.newest_frame().pc() & 0xFFFFFFFFFFFFFFFF


def registers(_):
    frame = gdb.newest_frame()
    architecture = {"aarch64": AARCH64, "riscv:rv64": RISCV64}
    general, vectors, halves_of = architecture.get(frame.architecture().name(), X86_64)
    found = {}
    for number, name in general.items():
        found[number] = (int(frame.read_register(name)) & 0xFFFFFFFFFFFFFFFF).to_bytes(8, "little").hex()
    for number, name in vectors.items():
        halves = halves_of(frame.read_register(name))
        found[number] = b"".join((half & 0xFFFFFFFFFFFFFFFF).to_bytes(8, "little") for half in halves).hex()
    return found


def read(request):
    try:
        return {"bytes": bytes(gdb.selected_inferior().read_memory(request["address"], request["length"])).hex()}
    except gdb.MemoryError:
        return {"bytes": None}


def name_of(function):
    return function.print_name if function is not None else None


def chain(at):
    """The functions whose blocks contain an address, from the innermost to the one that is not inlined."""
    return [name_of(block.function) for block in enclosing(at) if block.function is not None]


def enclosing(at):
    try:
        block = gdb.block_for_pc(at)
    except (RuntimeError, gdb.error):
        block = None
    while block is not None and not block.is_global and not block.is_static:
        yield block
        block = block.superblock


def scopes(_):
    frames = []
    frame = gdb.newest_frame()
    while frame is not None:
        inline = frame.type() == gdb.INLINE_FRAME
        frames.append([frame.name(), inline])
        if not inline:
            break
        frame = frame.older()
    return {"frames": frames, "at": chain(pc()), "before": chain(pc() - 1)}


def plain(name):
    """The name of a function without its path, generic arguments and compiler suffixes. Also unifies what
    demanglers write differently, as `plain` in `tests/src/dwarfdump.rs`."""
    depth, short = 0, ""
    for character in (name or "").replace("->", ""):
        if character == "<":
            depth += 1
        elif character == ">":
            depth = max(depth - 1, 0)
        elif depth == 0:
            short += character
    parts = [part for part in short.split("(")[0].split("::") if part]
    last = parts[-1] if parts else ""
    inner = last.strip("{}")
    if inner == last:
        return last.split(".")[0]
    # An asynchronous block in the debug information is a closure in the symbol.
    kind = re.split("[#_:]", inner)[0]
    return "{closure}" if kind == "async" else "{%s}" % kind


def same_function(one, other):
    return one is not None and other is not None and (one == other or plain(one) == plain(other))


def frame_of(function):
    frame = gdb.newest_frame()
    while frame is not None:
        if same_function(frame.name(), function):
            return frame
        if frame.type() != gdb.INLINE_FRAME:
            return None
        frame = frame.older()
    return None


def symbol_of(name, line, function, at):
    """The variable that `name` means at the marker: (symbol, the function of its block), or None."""
    owned = False
    blocks = list(enclosing(at))
    owner = [None] * len(blocks)
    inner = None
    for index in range(len(blocks) - 1, -1, -1):
        if blocks[index].function is not None:
            inner = blocks[index].function
        owner[index] = inner
    marker = None
    for block, holder in zip(blocks, owner):
        if not owned and same_function(name_of(holder), function):
            owned, marker = True, holder
        if not owned:
            continue
        if holder != marker:
            break
        # gdb does not list a constant as a variable.
        found = [symbol for symbol in block if symbol.name == name]
        found = [symbol for symbol in found if symbol.is_variable or symbol.is_argument or symbol.is_constant]
        found = [symbol for symbol in found if symbol.line <= line]
        if found:
            return max(found, key=lambda symbol: symbol.line), name_of(holder)
    file = [block for block in (gdb.block_for_pc(at),) if block is not None]
    for block in [block.static_block for block in file] + [block.global_block for block in file]:
        # Rust names start with their modules.
        found = [symbol for symbol in block if symbol.name == name or symbol.name.endswith("::" + name)]
        found = [symbol for symbol in found if symbol.is_variable or symbol.is_constant]
        if found:
            return found[0], None
    found = gdb.lookup_global_symbol(name)
    return (found, None) if found is not None and found.is_variable else None


class Refused(Exception):
    pass


TOKEN = re.compile(r"\s*(->|::|[A-Za-z_][A-Za-z0-9_]*|[0-9]+|[][().*&])")


class Walk:
    """A place over gdb's values: names, members, elements, `*`, `&`, brackets."""

    def __init__(self, text, root):
        self.tokens, at = [], 0
        while at < len(text.rstrip()):
            found = TOKEN.match(text, at)
            if found is None:
                raise Refused("text: " + text[at:])
            self.tokens.append(found.group(1))
            at = found.end()
        self.root = root

    def value(self):
        value = self.unary()
        if self.tokens:
            raise Refused("text: " + " ".join(self.tokens))
        return value

    def unary(self):
        if self.tokens and self.tokens[0] == "*":
            self.tokens.pop(0)
            return dereferenced(self.unary())
        if self.tokens and self.tokens[0] == "&":
            self.tokens.pop(0)
            if self.tokens and self.tokens[0] == "mut":
                self.tokens.pop(0)
            address = self.unary().address
            if address is None:
                raise Refused("no address")
            return address
        return self.postfix()

    def postfix(self):
        token = self.tokens.pop(0)
        if token == "(":
            value = self.unary()
            self.expect(")")
        else:
            while self.tokens[:1] == ["::"]:
                token += self.tokens.pop(0) + self.tokens.pop(0)
            value = self.root(token)
        while self.tokens:
            if self.tokens[0] in (".", "->"):
                self.tokens.pop(0)
                value = member(value, self.tokens.pop(0))
            elif self.tokens[0] == "[":
                self.tokens.pop(0)
                index = self.unary() if not self.tokens[0].isdigit() else int(self.tokens.pop(0))
                self.expect("]")
                value = element(value, int(index))
            else:
                break
        return value

    def expect(self, token):
        if not self.tokens or self.tokens.pop(0) != token:
            raise Refused("expected " + token)


def names(value):
    type = value.type.strip_typedefs()
    return [field.name for field in type.fields()] if type.code in (gdb.TYPE_CODE_STRUCT, gdb.TYPE_CODE_UNION) else []


def dereferenced(value):
    type = value.type.strip_typedefs()
    if type.code == gdb.TYPE_CODE_PTR:
        return value.dereference()
    if type.code in (gdb.TYPE_CODE_REF, gdb.TYPE_CODE_RVALUE_REF):
        return value.referenced_value()
    smart = re.match(r"alloc::(rc::Rc|sync::Arc)<", type.name or "")
    if type.code == gdb.TYPE_CODE_ARRAY and not is_rust():
        return value[type.range()[0]]
    if smart:
        counted = value["ptr"]["pointer"].dereference()
        return counted["value" if smart.group(1) == "rc::Rc" else "data"]
    raise Refused("no pointer: " + str(type))


def member(value, name):
    for _ in range(8):
        known = names(value)
        for candidate in (name, "__" + name if name.isdigit() else name):
            if candidate in known:
                return value[candidate]
        # C's anonymous members.
        for field in value.type.strip_typedefs().fields() if known else []:
            if not field.name and not field.is_base_class:
                inner = value[field]
                if name in names(inner):
                    return inner[name]
        value = dereferenced(value)
    raise Refused("no member " + name)


def element(value, index):
    for _ in range(8):
        type = value.type.strip_typedefs()
        if type.code == gdb.TYPE_CODE_ARRAY or type.code == gdb.TYPE_CODE_PTR and type.target().strip_typedefs().code not in (
                gdb.TYPE_CODE_ARRAY, gdb.TYPE_CODE_STRUCT) and not (type.name or "").startswith("&"):
            return value[index]
        if "data_ptr" in names(value):
            return value["data_ptr"][index]
        if type.code == gdb.TYPE_CODE_PTR and not is_rust():
            return value[index]
        value = dereferenced(value)
    raise Refused("no array")


def is_rust():
    return "rust" in gdb.execute("show language", to_string=True)


class TooMany(Exception):
    pass


def leaves(value, path, offset, into, depth=0):
    if len(into) > MOST_LEAVES or depth > DEEPEST:
        raise TooMany()
    type = value.type.strip_typedefs()
    code = type.code
    if code in (gdb.TYPE_CODE_STRUCT, gdb.TYPE_CODE_UNION):
        for field in type.fields():
            if not hasattr(field, "bitpos") or field.name == "" and type.sizeof == 0:
                continue
            here = path + "." + (field.name or "")
            try:
                inner = value[field]
            except gdb.MemoryError as error:
                into.append([here, 0, 0, [str(error)]])
                continue
            if field.bitsize:
                into.append([here, offset + field.bitpos, field.bitsize, scalar(inner, field.bitsize)])
            else:
                leaves(inner, here, offset + field.bitpos, into, depth + 1)
    elif code == gdb.TYPE_CODE_ARRAY:
        low, high = type.range()
        size = type.target().sizeof
        for index in range(low, min(high, low + 255) + 1):
            leaves(value[index], "%s[%d]" % (path, index), offset + (index - low) * size * 8, into, depth + 1)
    elif type.sizeof and code != gdb.TYPE_CODE_VOID:
        into.append([path, offset, type.sizeof * 8, scalar(value, type.sizeof * 8)])


def scalar(value, bits):
    type = value.type.strip_typedefs()
    try:
        if value.is_optimized_out:
            return None
        value.fetch_lazy()
        # A synthetic pointer. gdb 13 also prints this, with zeros, for data after the last piece of a location.
        if value.address is None and "<synthetic pointer>" in value.format_string(symbols=False):
            return ["synthetic pointer"]
        if type.code == gdb.TYPE_CODE_FLT:
            if type.sizeof not in (4, 8):
                return ["a float of %d bytes" % type.sizeof]
            number = float(value)
            if number != number:
                return ["not a number"]
            return struct.pack("<f" if type.sizeof == 4 else "<d", number).hex()
        if type.code == gdb.TYPE_CODE_COMPLEX:
            return ["a complex number"]
        if type.code in (gdb.TYPE_CODE_REF, gdb.TYPE_CODE_RVALUE_REF):
            number = int(value.referenced_value().address)
        elif type.sizeof > 8:
            number = int(value.format_string(format="z"), 16)
        else:
            number = int(value)
        number &= (1 << bits) - 1
        return number.to_bytes((bits + 7) // 8, "little").hex()
    except gdb.MemoryError as error:
        return ["memory: " + str(error)]
    except gdb.error as error:
        if "optimized out" in str(error):
            return None
        return [str(error)]
    except (ValueError, OverflowError) as error:
        return ["%s: %s" % (type, error)]


def answer(find):
    try:
        value = find()
        found = []
        leaves(value, "", 0, found)
        return {"type": str(value.type), "size": value.type.sizeof, "leaves": found}
    except TooMany:
        return {"error": "too many scalars"}
    except gdb.MemoryError as error:
        return {"error": "memory: " + str(error)}
    except (gdb.error, Refused, RuntimeError, ValueError, TypeError, KeyError, IndexError) as error:
        if "optimized out" in str(error):
            return {"type": "", "size": 0, "leaves": [["", 0, 0, None]]}
        return {"error": str(error)}


def value(request):
    text, line, function = request["text"], request["line"], request["function"]
    frame = frame_of(function)
    own = {"error": "no frame of this function"}
    frame_line = None
    if frame is not None:
        frame.select()
        # gdb must not evaluate the expression of a kept argument again.
        effects = re.search(r"\+\+|--|(?<![=!<>])=(?!=)", text)
        own = answer(lambda: gdb.parse_and_eval(text)) if not effects else {"error": "text: it has effects"}
    at = pc() - 1 if request["ended"] else pc()
    known = []
    described = None
    # gdb needs a frame for variables in registers. Inlined frames share the registers of the newest one.
    newest = gdb.newest_frame()

    def root(name):
        found = symbol_of(name.split("::")[-1], line, function, at)
        if found is None:
            found = symbol_of(name, line, function, at)
        if found is None:
            raise Refused('No symbol "%s" in scope' % name)
        known.append(found)
        return found[0].value(newest) if found[0].needs_frame else found[0].value()

    scoped = answer(lambda: Walk(text, root).value())
    if known:
        symbol, holder = known[0]
        if frame is not None:
            frame.select()
            try:
                theirs = gdb.lookup_symbol(symbol.name)[0]
                frame_line = theirs.line if theirs is not None else None
            except gdb.error:
                pass
        described = {"line": symbol.line, "function": holder, "frame_line": frame_line}
    return {"frame": own, "scope": scoped, "symbol": described}


OPERATIONS = {
    "start": start, "break": set_breakpoints, "continue": resume, "registers": registers, "read": read, "scopes": scopes,
    "value": value, "count": count,
}

for line in requests:
    request = json.loads(line)
    try:
        reply = OPERATIONS[request["op"]](request)
    except Exception as error:  # The test names the request.
        reply = {"failed": "%s: %s" % (type(error).__name__, error)}
    answers.write(json.dumps(reply) + "\n")
    answers.flush()

gdb.execute("kill", to_string=True) if gdb.selected_inferior().pid else None
