/* ringlog: keeps the last messages of a program in a buffer of fixed size. */
#ifndef RINGLOG_H
#define RINGLOG_H

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

struct ringlog;

/* Makes a log for `capacity` bytes of messages; NULL if that is 0. */
struct ringlog *ringlog_open(size_t capacity);

/* Appends a message; returns how many older ones were dropped, -1 if it is larger than the log. */
int ringlog_append(struct ringlog *log, int level, const char *message);

/* Calls `visit` on each message, oldest first, until it returns non-zero; returns its last result. */
int ringlog_each(const struct ringlog *log, int (*visit)(void *context, int level, const char *message), void *context);

/* Frees the log. */
void ringlog_close(struct ringlog *log);

#ifdef __cplusplus
}
#endif

#endif
