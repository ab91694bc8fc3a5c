/*
 * Structured logging: one JSON object a line on standard error.
 *
 * Used by every long-lived process. Never pass code, output, file contents or secrets; values are escaped here, so that
 * a name that came from outside cannot forge a line.
 */
#pragma once

enum log_level { LOG_LEVEL_DEBUG, LOG_LEVEL_INFO, LOG_LEVEL_WARNING, LOG_LEVEL_ERROR };

/* Names this process in every line ("api", "spawner"); lines below `minimum` are dropped. Borrowed: a literal. */
void log_init(const char *process, enum log_level minimum);

/* Writes one line. The variable arguments are pairs of strings (key, value), ended by NULL; a NULL value ends it too.
 */
void log_event(enum log_level level, const char *message, ...) __attribute__((sentinel));

#define log_debug(...) log_event(LOG_LEVEL_DEBUG, __VA_ARGS__, NULL)
#define log_info(...) log_event(LOG_LEVEL_INFO, __VA_ARGS__, NULL)
#define log_warning(...) log_event(LOG_LEVEL_WARNING, __VA_ARGS__, NULL)
#define log_error(...) log_event(LOG_LEVEL_ERROR, __VA_ARGS__, NULL)

/* Formats into one of a few buffers of the thread, for log values only: log_info("x", "count", log_num(3)). */
const char *log_num(long long value);
/* Text of a negative errno, for log values. */
const char *log_errno(int negative_errno);
