/* A server whose requests compute, and wait for a lock that a slow thread holds. */
#include <pthread.h>
#include <time.h>
#include <unistd.h>
#include "simple_marker.h"

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
volatile unsigned long sink;

static void compute(long steps) {
    for (long i = 0; i < steps; i++) sink += i;
}

static void *writer(void *unused) {
    for (int i = 0; i < 40; i++) {
        pthread_mutex_lock(&lock);
        usleep(3000);
        pthread_mutex_unlock(&lock);
        usleep(2000);
    }
    return unused;
}

__attribute__((noinline)) static void enter(void) {
    pthread_mutex_lock(&lock);
    sink++;
}

__attribute__((noinline)) static void handle(int id) {
    simple_mark_keep(request:begin, "%d", id);
    compute(1000000);
    enter();
    compute(100000);
    pthread_mutex_unlock(&lock);
    simple_mark_keep(request:end, "%d", id);
    sink += id;
}

int main(void) {
    pthread_t thread;
    pthread_create(&thread, 0, writer, 0);
    for (int id = 0; id < 50; id++) {
        handle(id);
        usleep(500);
    }
    pthread_join(thread, 0);
    return 0;
}
