/*
 * Lists in pages, and other pieces that handlers of stored things share.
 *
 * Runs in the api process. `limit` and `after` come from the network.
 */
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "store/conversations.h"

struct http_request;

/* ?limit=N&after=LAST */
struct page {
        size_t limit;
        const char *after; /* "": from the start; borrowed from the request */
};

/* False: the request was refused and has been ANSWERED. */
bool page_read(struct http_request *request, size_t initial, size_t max, struct page *page);

/*
 * TERMINAL. {"NAME": list, "next": ...}. Handlers ask the store for one entry more than the page has: `next`, what to
 * pass as `after` for the following page, is NULL where that entry was not there. Steals the reference to `list`.
 */
void page_answer(struct http_request *request, const char *name, json_t *list, const char *next);

/* TERMINAL. The store failed, and has logged why. */
void answer_store_failure(struct http_request *request);

/* Points in time, in UTC: "2026-01-31T09:30:00Z", and with milliseconds. New references. */
json_t *time_json(int64_t milliseconds);
json_t *time_ms_json(int64_t milliseconds);

/* Where a list of conversations goes on, as clients see it. */
#define CURSOR_TEXT_BYTES 48
void cursor_print(struct store_cursor cursor, char text[CURSOR_TEXT_BYTES]);
/* "" is the first page. False: this is none of ours. */
bool cursor_parse(const char *text, struct store_cursor *ret);
