/* Structured logging; see log.h. One write(2) a line, so that lines of two processes never mix. */
#include "base/log.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define LINE_BYTES 2048

static const char *process_name = "unnamed";
static enum log_level minimum_level = LOG_LEVEL_INFO;

void log_init(const char *process, enum log_level minimum) {
        process_name = process;
        minimum_level = minimum;
}

struct line {
        char bytes[LINE_BYTES];
        size_t used;
};

/* Keeps room for the closing characters, so that a cut line is still one JSON object. */
static void put(struct line *line, const char *text) {
        for (; *text && line->used < sizeof(line->bytes) - 4; text++)
                line->bytes[line->used++] = *text;
}

static void put_quoted(struct line *line, const char *text) {
        put(line, "\"");
        for (const unsigned char *c = (const unsigned char *)text; *c; c++) {
                char escaped[8];
                if (line->used + sizeof(escaped) + 4 > sizeof(line->bytes))
                        break;
                if (*c == '"' || *c == '\\')
                        snprintf(escaped, sizeof(escaped), "\\%c", *c);
                else if (*c < 0x20 || *c >= 0x7f)
                        snprintf(escaped, sizeof(escaped), "\\u%04x", *c);
                else
                        snprintf(escaped, sizeof(escaped), "%c", *c);
                put(line, escaped);
        }
        put(line, "\"");
}

static void put_time(struct line *line) {
        struct timespec now;
        struct tm utc;
        char stamp[48];
        clock_gettime(CLOCK_REALTIME, &now);
        gmtime_r(&now.tv_sec, &utc);
        size_t used = strftime(stamp, sizeof(stamp), "%Y-%m-%dT%H:%M:%S", &utc);
        snprintf(stamp + used, sizeof(stamp) - used, ".%03ldZ", now.tv_nsec / 1000000);
        put_quoted(line, stamp);
}

void log_event(enum log_level level, const char *message, ...) {
        static const char *const names[] = {"debug", "info", "warning", "error"};
        struct line line = {.used = 0};
        if (level < minimum_level)
                return;

        put(&line, "{\"time\":");
        put_time(&line);
        put(&line, ",\"level\":");
        put_quoted(&line, names[level]);
        put(&line, ",\"process\":");
        put_quoted(&line, process_name);
        put(&line, ",\"message\":");
        put_quoted(&line, message);

        va_list pairs;
        va_start(pairs, message);
        for (const char *key; (key = va_arg(pairs, const char *));) {
                const char *value = va_arg(pairs, const char *);
                if (!value)
                        break;
                put(&line, ",");
                put_quoted(&line, key);
                put(&line, ":");
                put_quoted(&line, value);
        }
        va_end(pairs);

        line.bytes[line.used++] = '}';
        line.bytes[line.used++] = '\n';
        if (write(STDERR_FILENO, line.bytes, line.used) < 0)
                return; /* nowhere left to say it */
}

/* Found without the dynamic linker's help, which the root side does without: only programs use this, no libraries. */
#define OF_THIS_THREAD _Thread_local __attribute__((tls_model("initial-exec")))

static char *next_buffer(size_t *size) {
        static OF_THIS_THREAD char buffers[8][64];
        static OF_THIS_THREAD unsigned turn;
        *size = sizeof(buffers[0]);
        return buffers[turn++ % 8];
}

const char *log_num(long long value) {
        size_t size;
        char *buffer = next_buffer(&size);
        snprintf(buffer, size, "%lld", value);
        return buffer;
}

const char *log_errno(int negative_errno) {
        return strerror(-negative_errno);
}
