# Writes the frames of a program at addresses, for `gdb -x`: a line for each stop with the value of `hits` and the
# program counters of the frames, and the memory that the process has mapped. Frames of inlined functions and of tail
# calls are left out: they are no frames on the stack. The variables `places` (offsets from the first address of the
# program) and `output` are set before.

import gdb

for setting in ("pagination off", "confirm off", "backtrace past-main on", "backtrace limit unlimited",
                "disable-randomization on", "startup-with-shell off", "language c"):
    gdb.execute("set " + setting)
out = open(output, "w")


def counters():
    frame = gdb.newest_frame()
    while frame is not None:
        if frame.type() in (gdb.NORMAL_FRAME, gdb.SIGTRAMP_FRAME):
            yield frame.pc()
        frame = frame.older()


class Place(gdb.Breakpoint):
    def stop(self):
        number = int(gdb.parse_and_eval("*(unsigned *)&hits"))
        out.write("stack %d %s\n" % (number, " ".join("%x" % counter for counter in counters())))
        if number == 1:
            with open("/proc/%d/maps" % gdb.selected_inferior().pid) as maps:
                out.writelines("map " + line for line in maps)
        return False


gdb.execute("handle SIGUSR1 nostop noprint pass")
gdb.execute("starti", to_string=True)
with open("/proc/%d/maps" % gdb.selected_inferior().pid) as maps:
    start = int(maps.readline().split("-")[0], 16)
for place in places:
    Place("*%d" % (start + place))
gdb.execute("continue", to_string=True)
out.close()
