// Sends four hundred requests through a queue. Most succeed, one fails at first, one is never
// answered, one is refused.
#include "queue.h"

#include <stdio.h>

enum { REQUESTS = 400, BAD = 7, SLOW = 42, INVALID = 99 };

static struct request requests[REQUESTS];
static unsigned finished;

static void done(struct request *request) {
    finished += request->status != STATUS_PENDING;
}

static void *dispatcher(void *queue) {
    queue_run(queue);
    return NULL;
}

int main(void) {
    struct device device = {.bad_sector = BAD * 8, .slow_sector = SLOW * 8};
    struct queue queue;
    pthread_t thread;

    queue_init(&queue, &device, 6);
    if (pthread_create(&thread, NULL, dispatcher, &queue)) {
        perror("pthread_create");
        return 2;
    }
    for (uint32_t tag = 0; tag < REQUESTS; tag++) {
        struct request *request = &requests[tag];
        *request = (struct request){.tag = tag, .sector = tag * 8, .bytes = SECTOR * (1 + tag % 8), .done = done};
        request->write = tag % 3 == 0;
        if (tag == INVALID)
            request->bytes = SECTOR - 1;
        queue_submit(&queue, request);
    }
    queue_close(&queue);
    pthread_join(thread, NULL);

    const struct stats *stats = &queue.stats;
    printf("finished %u of %d: completed %u, failed %u, retried %u, timed out %u, %" PRIu64 " bytes\n", finished, REQUESTS,
           stats->completed, stats->failed, stats->retried, stats->timed_out, stats->bytes);
    return finished == REQUESTS ? 0 : 1;
}
