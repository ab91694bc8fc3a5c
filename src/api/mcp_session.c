/*
 * Sessions of the MCP server; see mcp_private.h.
 *
 * Runs in the api process. A session is of the project whose key made it: with the key of another one it is not there.
 * It ends when its client says so, after as long without a request as a conversation would be kept, or with the
 * service.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/api.h"
#include "api/http_error.h"
#include "api/mcp_private.h"
#include "base/config.h"
#include "base/loop.h"

#define SWEEP_NS (15 * NS_PER_S) /* for memory; a session that has expired is not found anyhow */

static void set_sweep(struct mcp *mcp);

void mcp_session_free(struct mcp_session *session) {
        struct mcp *mcp = session->mcp;
        struct mcp_session **at = &mcp->sessions;
        while (*at != session)
                at = &(*at)->next;
        *at = session->next;
        while (session->replies)
                mcp_reply_cancel(session->replies);
        free(session);
        if (!mcp->sessions)
                loop_remove(mcp->api->loop, &mcp->sweep);
}

static bool has_expired(const struct mcp_session *session) {
        uint64_t most = (uint64_t)session->mcp->api->config->conversation_ttl_s * NS_PER_S;
        return session->running == 0 && clock_now_ns() - session->used_ns > most;
}

static void on_sweep(void *data) {
        struct mcp *mcp = data;
        mcp->sweep = NULL;
        mcp_reply_sweep(mcp);
        for (struct mcp_session *session = mcp->sessions, *next; session; session = next) {
                next = session->next;
                if (has_expired(session))
                        mcp_session_free(session);
        }
        if (mcp->sessions)
                set_sweep(mcp);
}

static void set_sweep(struct mcp *mcp) {
        if (!mcp->sweep)
                loop_add_timer(mcp->api->loop, SWEEP_NS, on_sweep, mcp, &mcp->sweep);
}

/* Of a project (0: of all), the one that was left alone for longest; and how many there are. */
static struct mcp_session *idlest(struct mcp *mcp, int64_t project_id, unsigned *count) {
        struct mcp_session *found = NULL;
        *count = 0;
        for (struct mcp_session *session = mcp->sessions; session; session = session->next) {
                if (project_id && session->project_id != project_id)
                        continue;
                (*count)++;
                if (session->running == 0 && (!found || session->used_ns < found->used_ns))
                        found = session;
        }
        return found;
}

/* Clients seldom say that they go, so the session that is idle for longest makes room. */
static bool make_room(struct mcp *mcp, int64_t project_id, unsigned max, const char *of, struct mcp_error *e) {
        unsigned count;
        struct mcp_session *session = idlest(mcp, project_id, &count);
        if (count < max)
                return true;
        if (session) {
                mcp_session_free(session);
                return true;
        }
        mcp_error_set(e, MCP_INTERNAL_ERROR,
                      "%u sessions are at work, which is the most for one %s: end one that is no longer needed.", count,
                      of);
        return false;
}

struct mcp_session *mcp_session_new(struct mcp *mcp, const struct http_request *request, enum mcp_revision revision,
                                    const struct mcp_scope *scope, struct mcp_error *e) {
        int64_t project_id = request->auth.project_id;
        if (!make_room(mcp, project_id, MCP_SESSIONS_PER_PROJECT, "project", e) ||
            !make_room(mcp, 0, MCP_SESSIONS_MAX, "service", e))
                return NULL;
        struct mcp_session *session = calloc(1, sizeof(*session));
        if (!session) {
                mcp_error_set(e, MCP_INTERNAL_ERROR, "The service has no memory left for a session.");
                return NULL;
        }
        *session = (struct mcp_session){
                .mcp = mcp,
                .next = mcp->sessions,
                .project_id = project_id,
                .revision = revision,
                .scope = *scope,
                .owns_conversation = !scope->conversation[0],
                .used_ns = clock_now_ns(),
        };
        http_new_id(session->id);
        if (session->owns_conversation) { /* an id of its own: that of the session is nobody else's business */
                char id[REQUEST_ID_BYTES + 1];
                http_new_id(id);
                snprintf(session->scope.conversation, sizeof(session->scope.conversation), "mcp-%s", id);
        }
        mcp->sessions = session;
        set_sweep(mcp);
        return session;
}

struct mcp_session *mcp_session_find(struct mcp *mcp, int64_t project_id, const char *id) {
        for (struct mcp_session *session = mcp->sessions; session; session = session->next)
                if (session->project_id == project_id && strcmp(session->id, id) == 0)
                        return has_expired(session) ? NULL : session;
        return NULL;
}
