// The flags of a kernel. Compiled, not linked.
// options: -std=gnu11 -ffreestanding -nostdinc -mcmodel=kernel -fno-pic -mno-sse -mno-mmx -mno-red-zone -Wdeclaration-after-statement -D__KERNEL__
// only: x86_64 -c
// only: C
// expect: name=scsi:queuecommand format="Command being queued %p Done function %p" args="cmd, done" sites=1
// expect: name=scsi:return format="%d %lx" args="rtn, flags" sites=1 flags=2
#include "simple_marker.h"

int queuecommand(void *cmd, void *done, int rtn, unsigned long flags);

int queuecommand(void *cmd, void *done, int rtn, unsigned long flags) {
    trace_simple(scsi:queuecommand, "Command being queued %p Done function %p", cmd, done);
    rtn = rtn ? -rtn : 1;
    simple_mark_keep(scsi:return, "%d %lx", rtn, flags);
    return rtn;
}
