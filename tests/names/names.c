/* Passes markers whose formats name values, and prints what each of them should say. What it prints is
 * made without the words. Built as C and as C++. */
#include <fcntl.h>
#include <stdio.h>
#include "simple_marker.h"
#include "simple_probe.h"

#define READ (1 << 0)
#define WRITE 0x2u
#define TOP 0x80000000U
#define NO_SUCH (int)1

enum state { IDLE, BUSY = 3, FAILED = -1 };
enum caps { CAN_READ = 1, CAN_WRITE = 2, CAN_SEEK = 8 };

static const char *state_name(int state) {
    static char number[16];
    switch (state) {
    case IDLE: return "IDLE";
    case BUSY: return "BUSY";
    case FAILED: return "FAILED";
    default: snprintf(number, sizeof number, "%d", state); return number;
    }
}

struct name { unsigned bits; const char *text; };

/* As __print_flags of the kernel; `none` is the name of 0. */
static const char *flags(char *out, unsigned value, const char *none, const struct name *names, int count) {
    int length = 0;
    if (value == 0) {
        return none;
    }
    for (int i = 0; i < count; i++) {
        if ((value & names[i].bits) == names[i].bits) {
            length += sprintf(out + length, "%s%s", length ? "|" : "", names[i].text);
            value &= ~names[i].bits;
        }
    }
    if (value) {
        sprintf(out + length, "%s0x%x", length ? "|" : "", value);
    }
    return out;
}

struct job { enum state state; int mode; } current;

__attribute__((noinline)) static void step(enum state state, unsigned value, enum caps caps, int mode) {
    char a[64], b[64];
    current.state = state;
    current.mode = mode;
    const struct name access[] = {{3, "BOTH"}, {1, "READ"}, {2, "WRITE"}, {0x80000000u, "TOP"}};
    const struct name can[] = {{1, "CAN_READ"}, {2, "CAN_WRITE"}, {8, "CAN_SEEK"}};
    simple_mark_keep(names:words, "%x{NONE=0|BOTH=(1|2)|" SIMPLE_WORD(READ) "|" SIMPLE_WORD(WRITE) "|" SIMPLE_WORD(TOP) "}", value);
    printf("names:words: %s\n", flags(a, value, "NONE", access, 4));
    simple_mark_keep(names:types, "%d{} %u{} %-7d{OFF=0,ON=1,}|%d{", state, caps, mode, mode);
    printf("names:types: %s %s %-7s|%d{\n", state_name(state), flags(b, caps, "0", can, 3),
           mode == 0 ? "OFF" : mode == 1 ? "ON" : mode == 2 ? "2" : "-3", mode);
    simple_mark_anchor(names:place, "%d{} %d{" SIMPLE_WORD(O_CREAT) ",LOW=-3}", current.state, current.mode);
    printf("names:place: %s %s\n", state_name(state), mode == 0 ? "0" : mode == 1 ? "1" : mode == 2 ? "2" : "LOW");
    simple_probe(names:probe, "%d{} %u{" SIMPLE_WORD(O_CREAT) "}", state, value);
    if (value == O_CREAT) {
        printf("names:probe: %s O_CREAT\n", state_name(state));
    } else {
        printf("names:probe: %s %u\n", state_name(state), value);
    }
    simple_mark_anchor(names:wrong, "%d{A=1,A=2} %d{B=NO_SUCH} %d{}", mode, mode, mode);
}

int main(void) {
    const enum state states[] = {IDLE, BUSY, FAILED, (enum state)2};
    for (int i = 0; i < 4; i++) {
        step(states[i], i == 0 ? 0 : i == 1 ? O_CREAT : i == 2 ? 3 : 0x80000041u, (enum caps)(i == 3 ? 0x19 : i), i == 3 ? -3 : i);
    }
    return 0;
}
