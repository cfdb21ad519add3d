/* Intervals of known kinds, with what the program itself measures of each. `parts ROUNDS [KIND]` prints a line for each
   interval: its number and kind; the wall time, the CPU time of the thread and how long it waited for a CPU, in ns; and
   1 if the thread left its CPU between a marker and what is measured beside it, so that both do not belong together. */
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>
#include "simple_marker.h"

enum kind { EMPTY, BURN, SLEEP, MUTEX, PIPE, DISK, QUEUE, NESTED, KINDS };

static long now(clockid_t clock) {
    struct timespec time;
    clock_gettime(clock, &time);
    return time.tv_sec * 1000000000L + time.tv_nsec;
}

static int schedstat;

/* At one moment: how long it waited, and how often it came to a CPU, are read again if it left it meanwhile. */
struct reading {
    long wall, cpu, queued, arrivals;
};

static long arrivals(long *queued) {
    char text[128] = "";
    long cpu, count = 0;
    if (pread(schedstat, text, sizeof text - 1, 0) > 0) sscanf(text, "%ld %ld %ld", &cpu, queued, &count);
    return count;
}

static struct reading reading(void) {
    struct reading it;
    long after;
    do {
        it.arrivals = arrivals(&it.queued);
        it.cpu = now(CLOCK_THREAD_CPUTIME_ID);
        it.wall = now(CLOCK_MONOTONIC);
        after = arrivals(&it.queued);
    } while (after != it.arrivals);
    return it;
}

static void burn(long ns) {
    long end = now(CLOCK_MONOTONIC) + ns;
    while (now(CLOCK_MONOTONIC) < end) {
    }
}

static void pause_for(long ns) {
    struct timespec time = {0, ns};
    nanosleep(&time, 0);
}

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int to[2], from[2], file;
static volatile int stop, is_held;

static void *holder(void *unused) {
    pthread_mutex_lock(&lock);
    is_held = 1;
    pause_for(3000000);
    pthread_mutex_unlock(&lock);
    return unused;
}

static void *echo(void *unused) {
    char byte;
    while (read(to[0], &byte, 1) == 1) {
        pause_for(1000000);
        if (write(from[1], &byte, 1) != 1) break;
    }
    return unused;
}

/* The CPUs of the program. */
static cpu_set_t all;

static void on_first_cpu(void) {
    cpu_set_t set;
    int cpu = 0;
    while (cpu < CPU_SETSIZE - 1 && !CPU_ISSET(cpu, &all)) cpu++;
    CPU_ZERO(&set);
    CPU_SET(cpu, &set);
    sched_setaffinity(0, sizeof set, &set);
}

static void *rival(void *unused) {
    on_first_cpu();
    while (!stop) burn(1000000);
    return unused;
}

volatile int sink;
__attribute__((noinline)) static void begin(int kind, int number) {
    simple_mark_keep(part:begin, "%d %d", kind, number);
    sink = kind;
}
__attribute__((noinline)) static void end(int kind) {
    simple_mark_keep(part:end, "%d", kind);
    sink = kind + 1;
}

static void work(enum kind kind) {
    char byte = 1;
    static char block[1 << 16];
    switch (kind) {
    case BURN: burn(2000000); break;
    case SLEEP: pause_for(2000000); break;
    case MUTEX: pthread_mutex_lock(&lock); pthread_mutex_unlock(&lock); break;
    case PIPE:
        if (write(to[1], &byte, 1) != 1 || read(from[0], &byte, 1) != 1) exit(1);
        break;
    case DISK:
        if (pwrite(file, block, sizeof block, 0) < 0 || fsync(file) < 0) exit(1);
        break;
    case QUEUE: burn(10000000); break;
    case NESTED:
        pause_for(1000000);
        begin(KINDS, -1);
        burn(500000);
        pause_for(1000000);
        end(KINDS);
        burn(500000);
        break;
    default: break;
    }
}

int main(int count, char **arguments) {
    int rounds = count > 1 ? atoi(arguments[1]) : 10, number = 0;
    char path[64], name[] = "parts-XXXXXX";
    snprintf(path, sizeof path, "/proc/self/task/%ld/schedstat", syscall(SYS_gettid));
    schedstat = open(path, O_RDONLY);
    file = mkstemp(name);
    unlink(name);
    sched_getaffinity(0, sizeof all, &all);
    if (pipe(to) || pipe(from) || file < 0 || schedstat < 0) return 1;
    pthread_t thread, rivals[2];
    pthread_create(&thread, 0, echo, 0);
    for (enum kind kind = EMPTY; kind < KINDS; kind++) {
        if (count > 2 && kind != EMPTY && kind != (enum kind)atoi(arguments[2])) continue;
        if (kind == QUEUE) {
            on_first_cpu();
            for (int i = 0; i < 2; i++) pthread_create(&rivals[i], 0, rival, 0);
        }
        for (int i = 0; i < rounds; i++) {
            pthread_t other;
            if (kind == MUTEX) {
                is_held = 0;
                pthread_create(&other, 0, holder, 0);
                while (!is_held) sched_yield();
            }
            struct reading before = reading();
            long first = now(CLOCK_MONOTONIC);
            begin(kind, number);
            work(kind);
            end(kind);
            long last = now(CLOCK_MONOTONIC);
            struct reading after = reading();
            int is_torn = first - before.wall > 20000 || after.wall - last > 20000;
            printf("%d %d %ld %ld %ld %d\n", number++, kind, last - first, after.cpu - before.cpu,
                   after.queued - before.queued, is_torn);
            if (kind == MUTEX) pthread_join(other, 0);
        }
        if (kind == QUEUE) {
            stop = 1;
            for (int i = 0; i < 2; i++) pthread_join(rivals[i], 0);
            sched_setaffinity(0, sizeof all, &all);
        }
    }
    close(to[1]);
    pthread_join(thread, 0);
    return 0;
}
