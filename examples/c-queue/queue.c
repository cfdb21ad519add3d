// The queue: requests wait here until the device has room. A failed request comes back, and is
// given up after three attempts.
#include "queue.h"

#include <stdio.h>

enum { ATTEMPTS = 3, TRACE_LEVEL = 0 };

void queue_init(struct queue *queue, struct device *device, unsigned limit) {
    *queue = (struct queue){.limit = limit, .device = device};
    queue->tail = &queue->head;
    pthread_mutex_init(&queue->lock, NULL);
    pthread_cond_init(&queue->changed, NULL);
    device->queue = queue;
}

static void push(struct queue *queue, struct request *request) {
    request->next = NULL;
    *queue->tail = request;
    queue->tail = &request->next;
    queue->depth++;
    simple_mark(cqueue:queued, "Request %u queued depth %u", request->tag, queue->depth);
}

static struct request *pop(struct queue *queue) {
    struct request *request = queue->head;
    queue->head = request->next;
    if (!queue->head)
        queue->tail = &queue->head;
    queue->depth--;
    return request;
}

static void finish(struct queue *queue, struct request *request, enum status status) {
    request->status = status;
    if (status == STATUS_OK) {
        queue->stats.completed++;
        queue->stats.bytes += request->bytes;
    } else {
        queue->stats.failed++;
        simple_mark(cqueue:failed, "Request %u failed after %u attempts", request->tag, request->attempts);
    }
    simple_mark(cqueue:done, "Request %u returning status %u", request->tag, status);
    request->done(request);
}

void queue_submit(struct queue *queue, struct request *request) {
    simple_mark(cqueue:submit, "Request being submitted %p Done function %p", request, request->done);
    request->status = STATUS_PENDING;
    pthread_mutex_lock(&queue->lock);
    if (request_valid(request))
        push(queue, request);
    else
        finish(queue, request, STATUS_FAILED);
    if (TRACE_LEVEL > 1)
        simple_mark(cqueue:trace, "Depth %u after request %u", queue->depth, request->tag);
    pthread_cond_signal(&queue->changed);
    pthread_mutex_unlock(&queue->lock);
}

// Called by the device, with the lock held.
void queue_complete(struct queue *queue, struct request *request, enum status status) {
    queue->in_flight--;
    // The status is computed and not in a variable. Kept, it can be read at any optimisation level.
    simple_mark_keep(cqueue:complete, "Request %u status %u in flight %u", request->tag, status, queue->in_flight);
    if (status == STATUS_TIMED_OUT)
        queue->stats.timed_out++;
    if (status == STATUS_OK || request->attempts >= ATTEMPTS) {
        finish(queue, request, status);
        return;
    }
    queue->stats.retried++;
    simple_mark(cqueue:retry, "Request %u again after attempt %u", request->tag, request->attempts);
    push(queue, request);
}

// The dispatcher. Runs until the queue is closed and empty.
void queue_run(struct queue *queue) {
    simple_mark(cqueue:run, "Dispatcher begins");
    pthread_mutex_lock(&queue->lock);
    for (;;) {
        while (queue->head && queue->in_flight < queue->limit) {
            struct request *request = pop(queue);
            request->attempts++;
            queue->in_flight++;
            // The branch ends here too. With an anchor, a probe is hit only when a request is sent.
            simple_mark_anchor(cqueue:dispatch, "Request %u sector %" PRIu64, request->tag, request->sector);
            if (!device_issue(queue->device, request))
                queue_complete(queue, request, STATUS_FAILED);
        }
        if (queue->in_flight) {
            device_tick(queue->device);
        } else if (!queue->head) {
            if (queue->closing)
                break;
            pthread_cond_wait(&queue->changed, &queue->lock);
        }
    }
    pthread_mutex_unlock(&queue->lock);
    simple_mark(cqueue:stop, "Dispatcher ends completed %u failed %u", queue->stats.completed, queue->stats.failed);
}

void queue_close(struct queue *queue) {
    pthread_mutex_lock(&queue->lock);
    queue->closing = true;
    pthread_cond_broadcast(&queue->changed);
    pthread_mutex_unlock(&queue->lock);
}

// For a debugger. The program does not call it, so --gc-sections removes it.
void queue_dump(const struct queue *queue) {
    for (const struct request *request = queue->head; request; request = request->next) {
        simple_mark(cqueue:dump, "Request %u waits", request->tag);
        printf("request %" PRIu32 " sector %" PRIu64 "\n", request->tag, request->sector);
    }
}
