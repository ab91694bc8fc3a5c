/*
 * The header `traceparent` (W3C Trace Context): which trace a request belongs to.
 *
 * Runs in the api process. Pure, but for random numbers. The header comes from the network.
 */
#pragma once

#include <stdbool.h>

#define TRACE_BYTES 56       /* "00-<32 digits>-<16 digits>-<2 digits>" and NUL */
#define TRACE_ID_DIGITS 32
#define TRACE_ID_BYTES (TRACE_ID_DIGITS + 1)

/* What to pass on: the same trace, with a new span, which stands for this request, as the parent. False: the header is
 * NULL or none that is valid, and *ret is empty. */
bool trace_continue(const char *header, char ret[TRACE_BYTES]);
/* The trace of what trace_continue() gave; "" for "". */
void trace_id(const char *parent, char ret[TRACE_ID_BYTES]);
