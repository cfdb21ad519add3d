/*
 * twin.c - prints the passes of markers; simple_marker.h describes the output.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "simple_marker.h"

enum { MOST = 4096, MOST_TEXT = 256 };

static const char DIGITS[] = "0123456789abcdef";

static char *put_text(char *to, const char *text)
{
    size_t length = strlen(text);
    memcpy(to, text, length);
    return to + length;
}

static char *put_number(char *to, unsigned long number)
{
    char digits[24];
    int count = 0;
    do {
        digits[count++] = (char)('0' + number % 10);
    } while (number /= 10);
    while (count)
        *to++ = digits[--count];
    return to;
}

static char *put_bytes(char *to, const void *bytes, size_t size)
{
    const unsigned char *at = bytes;
    for (size_t i = 0; i < size; i++) {
        *to++ = DIGITS[at[i] >> 4];
        *to++ = DIGITS[at[i] & 15];
    }
    return to;
}

static long as_integer(const struct simple_marker_value *value)
{
    long number = 0;
    memcpy(&number, value->at, value->size < sizeof number ? value->size : sizeof number);
    return number;
}

/*
 * For each argument of %s, one more than the most bytes that its text may have.
 */
static void texts(const char *format, const struct simple_marker_value *values, unsigned count, size_t *most)
{
    unsigned index = 0;
    while ((format = strchr(format, '%')) && index < count) {
        size_t precision = MOST_TEXT;
        int in_precision = 0;
        for (format++; *format && strchr("-+ #0'123456789.*hlLqjzt", *format); format++) {
            if (*format == '.') {
                in_precision = 1;
                precision = 0;
            } else if (*format == '*' && index < count) {
                if (in_precision)
                    precision = (size_t)(int)as_integer(&values[index]);
                index++;
            } else if (in_precision && *format >= '0' && *format <= '9') {
                precision = precision * 10 + (size_t)(*format - '0');
            }
        }
        if (!*format)
            return;
        if (*format != '%' && *format != 'm') {
            if (*format == 's' && index < count)
                most[index] = precision < MOST_TEXT ? precision + 1 : MOST_TEXT + 1;
            index++;
        }
        format++;
    }
}

void simple_marker_pass(const char *name, const char *file, unsigned line, const char *format,
                        const struct simple_marker_value *values, unsigned count)
{
    static int output = -2;
    static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    static char buffer[1 << 20];
    size_t most[32] = { 0 };
    char *end = buffer;

    pthread_mutex_lock(&lock);
    if (output == -2) {
        const char *path = getenv("SIMPLE_MARKER_TWIN");
        output = path ? open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666) : -1;
    }
    texts(format, values, count, most);
    end = put_text(end, name);
    *end++ = '\t';
    end = put_text(end, file);
    *end++ = '\t';
    end = put_number(end, line);
    *end++ = '\t';
    end = put_number(end, (unsigned long)(syscall(SYS_gettid) - getpid() + 1));
    for (unsigned i = 0; i < count; i++) {
        size_t size = values[i].size < MOST ? values[i].size : MOST;
        *end++ = '\t';
        end = put_bytes(end, values[i].at, size);
        if (most[i] && values[i].size == sizeof(char *)) {
            const char *text;
            memcpy(&text, values[i].at, sizeof text);
            if (text) {
                *end++ = '*';
                end = put_bytes(end, text, strnlen(text, most[i] - 1));
            }
        }
    }
    *end++ = '\n';
    if (output >= 0 && write(output, buffer, (size_t)(end - buffer)) < 0)
        abort();
    pthread_mutex_unlock(&lock);
}
