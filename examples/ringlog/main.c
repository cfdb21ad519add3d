/* Fills a small log and prints the messages that remain. */
#include <stdio.h>

#include "ringlog.h"

static int print(void *context, int level, const char *message)
{
    int *printed = context;
    printf("<%d> %s\n", level, message);
    return ++*printed == 3;
}

int main(void)
{
    static const char *const messages[] = {
        "starting", "reading the configuration", "no configuration: using the defaults", "listening", "ready",
    };
    struct ringlog *log = ringlog_open(64);
    int printed = 0;

    if (!log)
        return 1;
    for (size_t i = 0; i < sizeof messages / sizeof *messages; i++)
        ringlog_append(log, (int)i % 3 + 4, messages[i]);
    if (ringlog_append(log, 3, "a message that is so long that it does not fit a log of sixty-four bytes") != -1)
        return 1;
    ringlog_each(log, print, &printed);
    ringlog_close(log);
    return 0;
}
