// An I/O request queue for a device that completes requests out of order.
#ifndef CQUEUE_QUEUE_H
#define CQUEUE_QUEUE_H

#include <inttypes.h>
#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>

#include "simple_marker.h"

enum status {
    STATUS_PENDING,
    STATUS_OK,
    STATUS_MEDIUM_ERROR,
    STATUS_TIMED_OUT,
    STATUS_FAILED,
};

struct request {
    uint32_t tag;
    bool write;
    uint64_t sector;
    uint32_t bytes;
    unsigned attempts;
    enum status status;
    void (*done)(struct request *);
    struct request *next;
};

struct stats {
    unsigned completed, failed, retried, timed_out;
    uint64_t bytes;
};

struct device;

struct queue {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    struct request *head, **tail;
    unsigned depth;     // waiting requests
    unsigned in_flight; // requests at the device
    unsigned limit;     // maximum of in_flight
    bool closing;
    struct device *device;
    struct stats stats;
};

struct device {
    struct queue *queue;
    struct request *slots[8];
    unsigned busy;
    uint32_t clock;
    uint64_t bad_sector;  // fails on the first attempt
    uint64_t slow_sector; // never answers
};

// queue.c
void queue_init(struct queue *queue, struct device *device, unsigned limit);
void queue_submit(struct queue *queue, struct request *request);
void queue_run(struct queue *queue);
void queue_complete(struct queue *queue, struct request *request, enum status status);
void queue_close(struct queue *queue);
void queue_dump(const struct queue *queue);

// device.c
bool device_issue(struct device *device, struct request *request);
void device_tick(struct device *device);

// The device has 4096 sectors of 512 bytes.
enum { SECTOR = 512, SECTORS = 4096 };

// Both the queue and the device call this, and each has its own copy of the marker.
static inline bool request_valid(const struct request *request) {
    if (request->bytes == 0 || request->bytes % SECTOR || request->sector + request->bytes / SECTOR > SECTORS) {
        simple_mark(cqueue:invalid, "Request %" PRIu32 " refused sector %" PRIu64 " bytes %" PRIu32, request->tag, request->sector,
                    request->bytes);
        return false;
    }
    return true;
}

#endif
