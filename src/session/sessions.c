/*
 * All stateful sessions: their table, their caps, and what is remembered of those that have ended.
 *
 * Runs in the api process; see sessions.h.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/api.h"
#include "api/engine.h"
#include "base/cleanup.h"
#include "base/config.h"
#include "base/log.h"
#include "session/session.h"
#include "store/conversations.h"

/* Sessions that have ended, whose next call is told why. An older one is told less exactly. */
#define ENDED_MAX 4096

struct ended {
        int64_t project_id;
        char conversation[SESSION_NAME_BYTES];
        enum session_loss lost;
        json_t *not_kept;
};

struct sessions {
        struct api *api;
        struct session *first;
        unsigned count;
        bool stopping;
        struct ended ended[ENDED_MAX];
        size_t next_ended;
};

int sessions_new(struct api *api, struct sessions **ret) {
        struct sessions *sessions = calloc(1, sizeof(*sessions));
        if (!sessions)
                return -ENOMEM;
        sessions->api = api;
        *ret = sessions;
        return 0;
}

void sessions_free(struct sessions *sessions) {
        if (!sessions)
                return;
        for (struct session *session = sessions->first, *next; session; session = next) {
                next = session->next;
                session_free(session);
        }
        for (size_t i = 0; i < ENDED_MAX; i++)
                json_decref(sessions->ended[i].not_kept);
        free(sessions);
}

static bool is_of(const struct session *session, int64_t project_id, const char *conversation) {
        return !session->deleted && session->project_id == project_id &&
               strcmp(session->conversation, conversation) == 0;
}

/* One whose conversation is deleted is on its way out, and no longer that of the name, which may be used again. */
struct session *sessions_find(const struct sessions *sessions, int64_t project_id, const char *conversation) {
        struct session *session = sessions->first;
        while (session && !is_of(session, project_id, conversation))
                session = session->next;
        return session;
}

bool sessions_has(const struct sessions *sessions, int64_t project_id, const char *conversation) {
        return sessions_find(sessions, project_id, conversation) != NULL;
}

unsigned sessions_count(const struct sessions *sessions) {
        return sessions->count;
}

/* ---- those that have ended */

static struct ended *find_ended(struct sessions *sessions, int64_t project_id, const char *conversation) {
        for (size_t i = 0; i < ENDED_MAX; i++) {
                struct ended *ended = &sessions->ended[i];
                if (ended->lost && ended->project_id == project_id && strcmp(ended->conversation, conversation) == 0)
                        return ended;
        }
        return NULL;
}

static void drop_ended(struct ended *ended) {
        json_decref(ended->not_kept);
        *ended = (struct ended){.lost = SESSION_LOSS_NONE};
}

static void remember(struct sessions *sessions, const struct session *session) {
        struct ended *ended = find_ended(sessions, session->project_id, session->conversation);
        if (!ended)
                ended = &sessions->ended[sessions->next_ended++ % ENDED_MAX];
        drop_ended(ended);
        ended->project_id = session->project_id;
        memcpy(ended->conversation, session->conversation, sizeof(ended->conversation));
        ended->lost = session->lost;
        ended->not_kept = json_incref(session->not_kept);
}

/* What a session that begins has to tell of the one before it. */
static void take_over(struct sessions *sessions, struct session *session) {
        struct store_conversation conversation;
        struct ended *ended = find_ended(sessions, session->project_id, session->conversation);
        if (ended) {
                session->lost = ended->lost;
                session->not_kept = json_incref(ended->not_kept);
                drop_ended(ended);
        } else if (store_conversation_find(sessions->api->store, session->project_id, session->conversation,
                                           &conversation) == 0 &&
                   conversation.stateful) {
                session->lost = SESSION_LOSS_RESTART;
                session->not_kept = conversation.not_kept[0] ? json_loads(conversation.not_kept, 0, NULL) : NULL;
        }
}

void sessions_forget(struct session *session) {
        struct sessions *sessions = session->all;
        struct session **place = &sessions->first;
        while (*place != session)
                place = &(*place)->next;
        *place = session->next;
        sessions->count--;
        if (session->lost != SESSION_LOSS_NONE && session->lost != SESSION_LOSS_DELETED)
                remember(sessions, session);
        log_info("a session ended", "project", session->project, "conversation", session->conversation);
        session_free(session);
}

/* ---- caps */

/* "chat-1, chat-2": the conversations of a project that have a session. */
static void list_names(const struct sessions *sessions, int64_t project_id, char *text, size_t size) {
        size_t used = 0;
        text[0] = '\0';
        for (const struct session *session = sessions->first; session && used < size; session = session->next)
                if (session->project_id == project_id && !session->ending)
                        used += (size_t)snprintf(text + used, size - used, "%s\"%s\"", used > 0 ? ", " : "",
                                                 session->conversation);
}

static int over_cap(const struct sessions *sessions, const struct session_key *key, const char *cap, long long number,
                    const char *whose, struct err *e) {
        char names[160];
        list_names(sessions, key->project_id, names, sizeof(names));
        return err_set(e, -EDQUOT,
                       "%s has %lld stateful sessions, which is the most (%s). Live conversations of this project: %s. "
                       "End one with DELETE /v1/conversations/{id}/session, wait until one was idle for %lld s, or "
                       "call without a session.",
                       whose, number, cap, names[0] ? names : "none",
                       (long long)sessions->api->config->session_idle_s);
}

static int check_caps(const struct sessions *sessions, const struct session_key *key, struct err *e) {
        const struct config *config = sessions->api->config;
        unsigned of_project = 0, of_all = 0;
        for (const struct session *session = sessions->first; session; session = session->next) {
                if (session->deleted || (session->ending && !session->waiting))
                        continue; /* its sandbox is on its way out, and no other takes its place */
                of_all++;
                of_project += session->project_id == key->project_id;
        }
        if (of_project >= (unsigned)config->sessions_per_project)
                return over_cap(sessions, key, "SANDBOX_SESSIONS_PER_PROJECT", config->sessions_per_project,
                                "This project", e);
        if (of_all >= (unsigned)config->max_sessions)
                return over_cap(sessions, key, "SANDBOX_MAX_SESSIONS", config->max_sessions, "The platform", e);
        return 0;
}

static struct session *make(struct sessions *sessions, const struct session_key *key) {
        const struct config *config = sessions->api->config;
        struct session *session = calloc(1, sizeof(*session));
        if (!session)
                return NULL;
        session->all = sessions;
        session->loop = sessions->api->loop;
        session->engine = sessions->api->engine;
        session->store = sessions->api->store;
        session->idle_ns = (uint64_t)config->session_idle_s * NS_PER_S;
        session->wait_ns = (uint64_t)(config->queue_timeout_s + config->execute_max_timeout_s) * NS_PER_S;
        session->project_id = key->project_id;
        snprintf(session->project, sizeof(session->project), "%s", key->project);
        snprintf(session->conversation, sizeof(session->conversation), "%s", key->conversation);
        snprintf(session->agent, sizeof(session->agent), "%s", key->agent);
        session->waiting_end = &session->waiting;
        session->created_ns = session->used_ns = clock_now_ns();
        session->created_ms = clock_wall_ms();
        late_output_init(&session->late, session->loop);
        take_over(sessions, session);
        session->next = sessions->first;
        sessions->first = session;
        sessions->count++;
        return session;
}

int sessions_admit(struct sessions *sessions, const struct session_key *key, struct session **ret, struct err *e) {
        struct session *session = sessions_find(sessions, key->project_id, key->conversation);
        if (session && session->waiting_count >= SESSION_WAITING_MAX)
                return err_set(e, -EBUSY, "%d calls wait for this session already, which is the most.",
                               SESSION_WAITING_MAX);
        if (!session || session->ending) {
                int r = check_caps(sessions, key, e);
                if (r < 0)
                        return r;
        }
        if (!session)
                session = make(sessions, key);
        if (!session)
                return err_set(e, -ENOMEM, "The service has no memory left for a session.");
        session->runs++; /* the one that is to come */
        *ret = session;
        return 0;
}

/* ---- ending */

bool sessions_end(struct sessions *sessions, int64_t project_id, const char *conversation, enum session_loss why) {
        struct session *session = sessions_find(sessions, project_id, conversation);
        struct ended *ended = find_ended(sessions, project_id, conversation);
        if (ended && why == SESSION_LOSS_DELETED)
                drop_ended(ended);
        if (!session || session->ending)
                return false;
        session_end(session, why);
        return true;
}

void sessions_stop(struct sessions *sessions) {
        sessions->stopping = true;
        for (struct session *session = sessions->first; session; session = session->next)
                if (session->state == SESSION_RESTING)
                        session_end(session, SESSION_LOSS_RESTART);
}

bool sessions_are_stopping(const struct sessions *sessions) {
        return sessions->stopping;
}

void sessions_settle(struct sessions *sessions) {
        for (struct session *session = sessions->first, *next; session; session = next) {
                next = session->next;
                session_settle(session);
        }
}

/* ---- as seen from outside */

static const char *state_name(const struct session *session) {
        static const char *const names[] = {
                [SESSION_NEW] = "starting",   [SESSION_STARTING] = "starting",     [SESSION_BUSY] = "running",
                [SESSION_RESTING] = "idle",   [SESSION_RENEWING] = "restarting",
        };
        return names[session->state];
}

json_t *sessions_list(const struct sessions *sessions, int64_t project_id) {
        uint64_t now_ns = clock_now_ns();
        json_t *list = json_array();
        for (const struct session *session = sessions->first; session; session = session->next) {
                if ((project_id != 0 && session->project_id != project_id) || session->ending)
                        continue;
                double idle_s = session->state == SESSION_RESTING ? (double)(now_ns - session->used_ns) / 1e9 : 0;
                json_array_append_new(list, json_pack("{s:s, s:s, s:s, s:s, s:I, s:f, s:I, s:i}", "project",
                                                      session->project, "conversation_id", session->conversation,
                                                      "agent", session->agent, "state", state_name(session),
                                                      "created_ms", (json_int_t)session->created_ms, "idle_s", idle_s,
                                                      "calls", (json_int_t)session->calls, "waiting",
                                                      (int)session->waiting_count));
        }
        return list;
}
