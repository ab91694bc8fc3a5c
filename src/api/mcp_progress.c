/* News of a run; see mcp_progress.h. */
#include "api/mcp_progress.h"

#include <stdlib.h>
#include <string.h>

#include "api/api.h"
#include "api/json.h"
#include "api/mcp_private.h"
#include "base/cleanup.h"
#include "base/loop.h"
#include "run/text.h"

#define BURST_NS (250 * NS_PER_MS) /* what is printed within is told at once */
#define QUIET_NS (5 * NS_PER_S)    /* a run that prints nothing is told of so often */

static void on_timer(void *data);

static void set_timer(struct mcp_progress *progress, uint64_t delay_ns) {
        loop_remove(progress->loop, &progress->timer);
        loop_add_timer(progress->loop, delay_ns, on_timer, progress, &progress->timer);
}

/* The measure is the time since the call began: it grows from one notification to the next, as it must. */
static void tell(struct mcp_progress *progress) {
        double seconds = (double)((clock_now_ns() - progress->began_ns) / NS_PER_MS) / 1000;
        size_t skipped = text_left_over(progress->text, progress->length);
        size_t length = progress->length - skipped - text_cut_off(progress->text + skipped, progress->length - skipped);
        json_t *message = length ? json_string_lossy(progress->text + skipped, length)
                                 : json_sprintf("running for %.0f s", seconds);
        progress->length = 0;
        mcp_reply_notify(progress->reply, "notifications/progress",
                         json_pack("{s:O, s:f, s:o}", "progressToken", progress->token, "progress", seconds, "message",
                                   message));
}

static void on_timer(void *data) {
        struct mcp_progress *progress = data;
        progress->timer = NULL;
        tell(progress);
        set_timer(progress, QUIET_NS);
}

void mcp_progress_begin(struct mcp_progress *progress, struct mcp_reply *reply, json_t *token) {
        *progress = (struct mcp_progress){
                .reply = reply, .loop = reply->mcp->api->loop, .token = json_incref(token), .began_ns = clock_now_ns()};
        set_timer(progress, QUIET_NS);
}

void mcp_progress_deinit(struct mcp_progress *progress) {
        if (!progress->token)
                return;
        loop_remove(progress->loop, &progress->timer);
        json_decref(TAKE_PTR(progress->token));
        free(TAKE_PTR(progress->last));
}

/* The end of what was printed is what counts. */
static void add_text(struct mcp_progress *progress, const char *text, size_t length) {
        size_t max = sizeof(progress->text);
        if (length > max) {
                text += length - max;
                length = max;
        }
        if (progress->length + length > max) {
                size_t kept = max - length;
                memmove(progress->text, progress->text + progress->length - kept, kept);
                progress->length = kept;
        }
        if (progress->length == 0)
                set_timer(progress, BURST_NS);
        memcpy(progress->text + progress->length, text, length);
        progress->length += length;
}

static bool starts_with(const char *bytes, size_t length, const char *word) {
        size_t wanted = strlen(word);
        return length >= wanted && memcmp(bytes, word, wanted) == 0;
}

static void take_output(struct mcp_progress *progress, const char *data, size_t length) {
        json_t *tree = json_loadb(data, length, JSON_ALLOW_NUL, NULL);
        const json_t *text = json_object_get(tree, "text");
        if (json_string_length(text) > 0)
                add_text(progress, json_string_value(text), json_string_length(text));
        json_decref(tree);
}

/* "event: NAME\ndata: JSON"; comments are passed over. */
static void take_event(struct mcp_progress *progress, const char *event, size_t length) {
        static const char separator[] = "\ndata: ";
        const char *data = memmem(event, length, separator, sizeof(separator) - 1);
        if (!data)
                return;
        data += sizeof(separator) - 1;
        size_t rest = length - (size_t)(data - event);
        if (starts_with(event, length, "event: stdout\n") || starts_with(event, length, "event: stderr\n")) {
                take_output(progress, data, rest);
        } else if (starts_with(event, length, "event: done\n") || starts_with(event, length, "event: error\n")) {
                progress->failed = starts_with(event, length, "event: error");
                free(progress->last);
                progress->last = strndup(data, rest);
        }
}

void mcp_progress_take(struct mcp_progress *progress, const char *bytes, size_t length) {
        const char *end = bytes + length, *stop;
        for (; bytes < end; bytes = stop + 2) {
                stop = memmem(bytes, (size_t)(end - bytes), "\n\n", 2);
                if (!stop)
                        return;
                take_event(progress, bytes, (size_t)(stop - bytes));
        }
}
