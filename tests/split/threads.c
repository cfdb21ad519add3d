/* Intervals that begin and end in ways of their own: `threads MODE`.
   many: 1,000 threads, one after the other, each with an interval. keys: 1,000 intervals with a number, of which 100
   end in the thread where they began. fork: a child without a start passes an end. exec: an interval goes on in the
   program that is executed. calls: 20 calls of a function that pauses. */
#include <pthread.h>
#include <semaphore.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
#include "simple_marker.h"

volatile int sink;
__attribute__((noinline)) static void begin(int id) {
    simple_mark_keep(split:begin, "%d", id);
    sink = id;
}
__attribute__((noinline)) static void end(int id) {
    simple_mark_keep(split:end, "%d", id);
    sink = id + 1;
}
__attribute__((noinline)) void nap(int id) {
    usleep(1000);
    sink = id;
}

static void *one(void *unused) {
    begin(0);
    end(0);
    return unused;
}

static sem_t full;
static void *others(void *unused) {
    for (int id = 0; id < 1000; id++) {
        sem_wait(&full);
        if (id % 10) end(id);
    }
    return unused;
}

int main(int count, char **arguments) {
    const char *mode = count > 1 ? arguments[1] : "";
    pthread_t thread;
    if (!strcmp(mode, "many")) {
        for (int i = 0; i < 1000; i++) {
            if (pthread_create(&thread, 0, one, 0)) return 1;
            pthread_join(thread, 0);
        }
    } else if (!strcmp(mode, "keys")) {
        sem_init(&full, 0, 0);
        pthread_create(&thread, 0, others, 0);
        for (int id = 0; id < 1000; id++) {
            begin(id);
            sem_post(&full);
            if (id % 10 == 0) end(id);
        }
        pthread_join(thread, 0);
    } else if (!strcmp(mode, "fork")) {
        begin(1);
        if (fork() == 0) {
            end(2);
            _exit(0);
        }
        wait(0);
        end(1);
    } else if (!strcmp(mode, "exec")) {
        begin(1);
        usleep(20000);
        execl("/proc/self/exe", arguments[0], "executed", (char *)0);
    } else if (!strcmp(mode, "executed")) {
        end(1);
    } else if (!strcmp(mode, "calls")) {
        for (int id = 0; id < 20; id++) nap(id);
    }
    return 0;
}
