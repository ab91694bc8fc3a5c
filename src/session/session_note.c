/* What the model is told about its session; see sessions.h. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

#include "base/cleanup.h"
#include "session/session.h"
#include "store/conversations.h"

/* Each completes "…: all variables, imports and functions of earlier calls are lost.", or the like. */
static const char *const reasons[SESSION_LOSSES] = {
        [SESSION_LOSS_TIMEOUT] = "A call was over its time limit, so the interpreter was restarted",
        [SESSION_LOSS_EXIT] = "A call ended the interpreter's process (os._exit), so it was restarted",
        [SESSION_LOSS_CRASH] = "The interpreter crashed and was restarted",
        [SESSION_LOSS_MEMORY] = "The session was over its memory limit of 512 MiB, so the interpreter was restarted",
        [SESSION_LOSS_OUTPUT] = "A call printed more than is allowed, so the interpreter was restarted",
        [SESSION_LOSS_CANCELLED] = "A call was cancelled, so the interpreter was restarted",
        [SESSION_LOSS_KILLED] = "The interpreter was lost by a fault of the platform and was restarted",
        [SESSION_LOSS_IDLE] = "The interpreter was ended because it was idle for too long; this is a fresh one",
        [SESSION_LOSS_ENDED] = "The session was ended on request; this is a fresh interpreter",
        [SESSION_LOSS_RESTART] = "The service was restarted since the last call; this is a fresh interpreter",
        [SESSION_LOSS_DELETED] = "The conversation was deleted",
};

enum session_loss session_loss_of(const struct spawn_exit *end) {
        switch (end->reason) {
        case SPAWN_END_EXIT:
                return WIFSIGNALED(end->wait_status) ? SESSION_LOSS_CRASH : SESSION_LOSS_EXIT;
        case SPAWN_END_TIMEOUT:
                return SESSION_LOSS_TIMEOUT;
        case SPAWN_END_MEMORY:
                return SESSION_LOSS_MEMORY;
        case SPAWN_END_OUTPUT:
                return SESSION_LOSS_OUTPUT;
        case SPAWN_END_CANCELLED:
                return SESSION_LOSS_CANCELLED;
        default:
                return SESSION_LOSS_KILLED;
        }
}

static void add(struct session_note *note, const char *text) {
        size_t used = strlen(note->message);
        snprintf(note->message + used, sizeof(note->message) - used, "%s", text);
}

/* Names what was in the working directory and does not come back, as far as there is room. */
static void add_not_kept(struct session_note *note, const struct session *session) {
        char line[64];
        json_t *names = session->not_kept, *name;
        size_t i, room = sizeof(note->message) - 200;
        if (json_array_size(names) == 0)
                return;
        add(note, " These files were not kept beside the conversation and are gone, too: ");
        json_array_foreach(names, i, name) {
                const char *text = json_string_value(name);
                if (strlen(note->message) + strlen(text) > room)
                        break;
                add(note, i > 0 ? ", " : "");
                add(note, text);
        }
        snprintf(line, sizeof(line), " and %zu more", json_array_size(names) - i);
        add(note, i < json_array_size(names) ? line : "");
        add(note, ".");
}

void session_note_write(struct session_note *note, const struct session *session, enum session_loss loss,
                        const struct restore *restore) {
        char line[160];
        *note = (struct session_note){.restarted = loss != SESSION_LOSS_NONE};
        if (loss == SESSION_LOSS_NONE)
                return;
        add(note, reasons[loss]);
        add(note, ": all variables, imports and functions of earlier calls are lost.");
        if (!session->new_room) {
                add(note, " The files in the working directory are still there.");
                return;
        }
        add(note, restore && restore->count > 0
                          ? " The files kept beside the conversation are back in the working directory."
                          : " The working directory is empty.");
        if (restore && restore->left_out > 0) {
                snprintf(line, sizeof(line), " %zu older files did not fit into it.", restore->left_out);
                add(note, line);
        }
        add_not_kept(note, session);
}

void session_note_of(const struct run *run, struct session_note *ret) {
        const struct session *session = run->session;
        *ret = session->note;
        if (session->lost == SESSION_LOSS_NONE || run != session->running)
                return;
        /* The call itself has cost the interpreter its life. */
        ret->restarted = true;
        add(ret, ret->message[0] ? " " : "");
        add(ret, reasons[session->lost]);
        ret->on_request = session->lost == SESSION_LOSS_ENDED || session->lost == SESSION_LOSS_DELETED;
        if (session->lost == SESSION_LOSS_DELETED) {
                add(ret, ": all variables, imports, functions and files of it are lost.");
                return;
        }
        add(ret, ": all variables, imports and functions are lost.");
        add(ret, session->exit.room_kept && !session->ending
                         ? " The files in the working directory are still there."
                         : " The files kept beside the conversation come back with the next call.");
}

/* ---- files that exist only in the room */

#define NOT_KEPT_MAX 200

static size_t find_name(const json_t *names, const char *name) {
        size_t i;
        const json_t *other;
        json_array_foreach(names, i, other)
                if (strcmp(json_string_value(other), name) == 0)
                        return i;
        return SIZE_MAX;
}

static void note_not_kept(struct session *session, const char *name) {
        if (!session->not_kept)
                session->not_kept = json_array();
        if (json_array_size(session->not_kept) < NOT_KEPT_MAX && find_name(session->not_kept, name) == SIZE_MAX)
                json_array_append_new(session->not_kept, json_string(name));
}

/* A link or a socket is no file that anybody would miss. */
static bool is_missed(const char *reason) {
        return strcmp(reason, "too_large") == 0 || strcmp(reason, "total_too_large") == 0 ||
               strcmp(reason, "too_many") == 0 || strcmp(reason, "quota") == 0;
}

void session_note_files(struct session *session, const struct run_files *files) {
        for (size_t i = 0; i < files->kept_count && session->not_kept; i++) {
                size_t at = find_name(session->not_kept, files->kept[i].name);
                if (at != SIZE_MAX)
                        json_array_remove(session->not_kept, at);
        }
        for (size_t i = 0; i < files->skipped.count; i++) {
                json_t *skipped = json_loadb(files->skipped.items[i].json, files->skipped.items[i].length, 0, NULL);
                const char *reason = json_string_value(json_object_get(skipped, "reason"));
                if (reason && is_missed(reason))
                        note_not_kept(session, json_string_value(json_object_get(skipped, "name")));
                json_decref(skipped);
        }
}

void sessions_note_not_kept(struct sessions *sessions, int64_t project_id, const char *conversation, const char *name) {
        struct session *session = sessions_find(sessions, project_id, conversation);
        if (session)
                note_not_kept(session, name);
}

char *session_not_kept(const struct session *session) {
        char *text = json_array_size(session->not_kept) > 0 ? json_dumps(session->not_kept, JSON_COMPACT) : NULL;
        if (!text || strlen(text) <= STORE_NOT_KEPT_MAX)
                return text;
        free(text);
        return strdup("[\"many files\"]");
}
