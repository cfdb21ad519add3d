/* ringlog: the last messages of a program, in a buffer of fixed size. */
#ifndef RINGLOG_H
#define RINGLOG_H

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

struct ringlog;

/* A log that holds `capacity` bytes of messages; NULL where that is 0. */
struct ringlog *ringlog_open(size_t capacity);

/* Appends a message. Older ones make room; returns how many. A message that is larger than the log is refused with -1. */
int ringlog_append(struct ringlog *log, int level, const char *message);

/* Calls `visit` for each message, oldest first, until it returns other than 0; returns what it returned last. */
int ringlog_each(const struct ringlog *log, int (*visit)(void *context, int level, const char *message), void *context);

/* Frees the log. */
void ringlog_close(struct ringlog *log);

#ifdef __cplusplus
}
#endif

#endif
