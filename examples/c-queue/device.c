// The device has eight slots and its own clock. It serves the nearest sector first, so it completes
// requests out of order.
#include "queue.h"

enum { PATIENCE = 16 };

static const unsigned SLOTS = sizeof(((struct device *)0)->slots) / sizeof(struct request *);

bool device_issue(struct device *device, struct request *request) {
    if (!request_valid(request))
        return false;
    for (unsigned slot = 0; slot < SLOTS; slot++) {
        if (!device->slots[slot]) {
            device->slots[slot] = request;
            device->busy++;
            simple_mark(cqueue:issue, "Request %u in slot %u write %d", request->tag, slot, request->write);
            return true;
        }
    }
    simple_mark(cqueue:full, "No slot for request %u", request->tag);
    return false;
}

static bool stuck(const struct device *device, const struct request *request) {
    return request->sector == device->slow_sector;
}

// The slot whose sector is nearest to the head; the head follows the clock. SLOTS if all are stuck.
static unsigned choose(const struct device *device) {
    uint64_t head = device->clock * 97 % SECTORS;
    uint64_t best = UINT64_MAX;
    unsigned chosen = SLOTS;
    for (unsigned slot = 0; slot < SLOTS; slot++) {
        const struct request *request = device->slots[slot];
        if (!request || stuck(device, request))
            continue;
        uint64_t distance = request->sector > head ? request->sector - head : head - request->sector;
        if (distance < best) {
            best = distance;
            chosen = slot;
        }
    }
    return chosen;
}

static void release(struct device *device, unsigned slot, enum status status) {
    struct request *request = device->slots[slot];
    device->slots[slot] = NULL;
    device->busy--;
    queue_complete(device->queue, request, status);
}

// One step of the device: serves at most one request. A stuck request times out after its time, or
// when there is nothing else to do.
void device_tick(struct device *device) {
    device->clock++;
    unsigned slot = choose(device);
    if (slot < SLOTS) {
        const struct request *request = device->slots[slot];
        bool bad = request->sector == device->bad_sector && request->attempts == 1;
        simple_mark(cqueue:serve, "Slot %u at %u bad %d", slot, device->clock, bad);
        release(device, slot, bad ? STATUS_MEDIUM_ERROR : STATUS_OK);
        if (device->clock % PATIENCE)
            return;
    }
    for (slot = 0; slot < SLOTS; slot++) {
        if (device->slots[slot] && stuck(device, device->slots[slot])) {
            simple_mark(cqueue:timeout, "Slot %u timed out at %u", slot, device->clock);
            release(device, slot, STATUS_TIMED_OUT);
        }
    }
}
