#define _GNU_SOURCE
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

/* Starts processes of known work. For each it prints the number, the kind, the CPU time in us and
   how often it left a CPU. */

static long now_us(clockid_t clock) {
    struct timespec time;
    clock_gettime(clock, &time);
    return time.tv_sec * 1000000 + time.tv_nsec / 1000;
}

/* Uses the CPU for so long. */
static void use(long us) {
    long until = now_us(CLOCK_THREAD_CPUTIME_ID) + us;
    while (now_us(CLOCK_THREAD_CPUTIME_ID) < until)
        ;
}

static void nap(long us) {
    struct timespec time = {0, us * 1000};
    nanosleep(&time, 0);
}

static void pin(int cpu) {
    cpu_set_t set;
    CPU_ZERO(&set);
    CPU_SET(cpu % sysconf(_SC_NPROCESSORS_ONLN), &set);
    sched_setaffinity(0, sizeof set, &set);
}

static void *thread(void *us) {
    use((long)us);
    return 0;
}

static const char *const kinds[] = {"pinned", "migrating", "short", "sleeping", "threads", "exit"};
#define KINDS ((int)(sizeof kinds / sizeof *kinds))

static void work(int kind, int seed) {
    pthread_t threads[3];
    switch (kind) {
    case 0:
        pin(seed);
        use(60000 + seed * 100);
        break;
    case 1:
        for (int i = 0; i < 40; i++) {
            pin(i);
            use(1000 + seed);
        }
        break;
    case 2:
        use(500);
        break;
    case 3:
        for (int i = 0; i < 100; i++) {
            use(200);
            nap(300);
        }
        break;
    case 4:
        for (int i = 0; i < 3; i++)
            pthread_create(&threads[i], 0, thread, (void *)(long)(20000 + i * 5000));
        use(10000);
        for (int i = 0; i < 3; i++)
            pthread_join(threads[i], 0);
        break;
    case 5:
        break;
    }
}

/* Waits for a process, and prints what it used. */
static void end(pid_t pid, int kind) {
    struct rusage usage;
    wait4(pid, 0, 0, &usage);
    long us = usage.ru_utime.tv_sec * 1000000 + usage.ru_utime.tv_usec;
    us += usage.ru_stime.tv_sec * 1000000 + usage.ru_stime.tv_usec;
    printf("%d %s %ld %ld\n", pid, kinds[kind], us, usage.ru_nvcsw + usage.ru_nivcsw);
}

/* work PROCESSES [KIND [AT_ONCE]] */
int main(int count, char **arguments) {
    int processes = count > 1 ? atoi(arguments[1]) : 1;
    const char *only = count > 2 ? arguments[2] : "all";
    int at_once = count > 3 ? atoi(arguments[3]) : processes;
    pid_t *pids = calloc(processes, sizeof *pids);
    int *of = calloc(processes, sizeof *of);
    for (int i = 0; i < processes; i++) {
        of[i] = i % (KINDS - 1);
        for (int kind = 0; kind < KINDS; kind++)
            of[i] = strcmp(only, kinds[kind]) == 0 ? kind : of[i];
        if (i >= at_once)
            end(pids[i - at_once], of[i - at_once]);
        fflush(stdout);
        pids[i] = fork();
        if (pids[i] == 0) {
            work(of[i], i);
            _exit(0);
        }
    }
    for (int i = processes > at_once ? processes - at_once : 0; i < processes; i++)
        end(pids[i], of[i]);
    return 0;
}
