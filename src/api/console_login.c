/* Signing in at the Console; see console_login.h. */
#include "api/console_login.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "api/api.h"
#include "api/audit.h"
#include "api/auth.h"
#include "api/console_attempts.h"
#include "api/console_headers.h"
#include "api/console_sessions.h"
#include "api/http.h"
#include "api/json.h"
#include "api/paging.h"
#include "base/cleanup.h"
#include "base/config.h"
#include "base/log.h"
#include "base/loop.h"
#include "store/store.h"

#define COOKIE "console_session"
#define IDLE_MAX_S 3600
#define COOKIE_BYTES 256

struct console {
        struct api *api;
        struct console_sessions *sessions;
        struct console_attempts *attempts;
        uint64_t idle_ns;
};

int console_new(struct api *api, struct console **ret) {
        struct console *console = calloc(1, sizeof(*console));
        uint64_t total_ns = (uint64_t)api->config->console_session_s * NS_PER_S;
        if (!console)
                return -ENOMEM;
        console->api = api;
        console->idle_ns = total_ns < IDLE_MAX_S * NS_PER_S ? total_ns : IDLE_MAX_S * NS_PER_S;
        int r = console_sessions_new(total_ns, console->idle_ns, &console->sessions);
        if (r == 0)
                r = console_attempts_new(&console->attempts);
        if (r < 0) {
                console_free(console);
                return r;
        }
        *ret = console;
        return 0;
}

void console_free(struct console *console) {
        if (!console)
                return;
        console_sessions_free(console->sessions);
        console_attempts_free(console->attempts);
        free(console);
}

bool console_is_on(const struct api *api, struct http_request *request) {
        if (config_console(api->config) != CONSOLE_OFF)
                return true;
        http_reply_error(request, HTTP_NOT_FOUND, NULL, "The Console is switched off (SANDBOX_CONSOLE).");
        return false;
}

/* ---- what a request brings */

static bool read_cookie(struct http_request *request, char token[CONSOLE_TOKEN_TEXT]) {
        return cookie_find(http_header(request, "Cookie"), COOKIE, token, CONSOLE_TOKEN_TEXT);
}

bool console_has_cookie(struct http_request *request) {
        const char *header = http_header(request, "Cookie");
        return header && strstr(header, COOKIE "=");
}

static bool only_reads(const struct http_request *request) {
        return strcmp(request->method, "GET") == 0 || strcmp(request->method, "HEAD") == 0;
}

/* False: refused and ANSWERED. */
static bool check_origin(struct http_request *request) {
        const struct origin origin = {
                .origin = http_header(request, "Origin"),
                .fetch_site = http_header(request, "Sec-Fetch-Site"),
                .host = http_header(request, "Host"),
                .scheme = http_header(request, "X-Forwarded-Proto"),
        };
        if (origin_is_own(&origin, only_reads(request)))
                return true;
        http_reply_error(request, HTTP_FORBIDDEN, "Origin",
                         "This request comes from a page of another origin, where the Console's cookie does not "
                         "count. (Behind a proxy: let it pass the header Host on.)");
        return false;
}

static bool check_csrf(struct http_request *request, const struct console_session *session) {
        if (only_reads(request) || console_session_csrf_is(session, http_header(request, "X-CSRF-Token")))
                return true;
        http_reply_error(request, HTTP_FORBIDDEN, "X-CSRF-Token",
                         "With the Console's cookie, a request that changes something needs the header X-CSRF-Token "
                         "with the value that signing in gave.");
        return false;
}

static bool is_secure(const struct api *api, struct http_request *request) {
        return config_console(api->config) == CONSOLE_HTTPS ||
               forwarded_is_https(http_header(request, "X-Forwarded-Proto"));
}

/* HttpOnly: no script reads it. SameSite=Strict: no page of another site makes a browser send it. */
static void set_cookie(const struct api *api, struct http_request *request, const char *token, uint64_t seconds) {
        char cookie[COOKIE_BYTES];
        snprintf(cookie, sizeof(cookie), COOKIE "=%s; Path=/; Max-Age=%llu; HttpOnly; SameSite=Strict%s", token,
                 (unsigned long long)seconds, is_secure(api, request) ? "; Secure" : "");
        http_reply_header(request, "Set-Cookie", cookie);
        explicit_bzero(cookie, sizeof(cookie));
}

/* ---- sessions and their keys */

/* The live session of a request and its key, which may have been revoked meanwhile. NULL: none, and nothing answered;
 * *failed: the store could not be read. */
static const struct console_session *find_session(struct console *console, struct http_request *request,
                                                  struct store_key *key, bool *failed) {
        char token[CONSOLE_TOKEN_TEXT];
        *failed = false;
        const struct console_session *session =
                read_cookie(request, token) ? console_session_find(console->sessions, token, clock_now_ns()) : NULL;
        explicit_bzero(token, sizeof(token));
        if (!session)
                return NULL;
        int r = store_key_find(console->api->store, &session->key, key);
        if (r == 0)
                return session;
        *failed = r < 0;
        if (r == STORE_E_NOT_FOUND) {
                const struct key_hash revoked = session->key;
                console_sessions_end_of_key(console->sessions, &revoked);
        }
        return NULL;
}

static const struct console_session *require_session(struct console *console, struct http_request *request,
                                                     struct store_key *key) {
        bool failed;
        if (!check_origin(request))
                return NULL;
        const struct console_session *session = find_session(console, request, key, &failed);
        if (failed)
                answer_store_failure(request);
        else if (!session)
                http_reply_error(request, HTTP_UNAUTHORIZED, NULL,
                                 "Nobody is signed in here, or the session is over: sign in again.");
        return session;
}

bool console_admit(struct console *console, struct http_request *request, struct store_key *key) {
        const struct console_session *session = require_session(console, request, key);
        if (!session || !check_csrf(request, session))
                return false;
        request->auth.by_session = true;
        request->auth.session = session->id;
        return true;
}

bool console_still_admits(const struct console *console, const struct http_auth *auth) {
        return console_session_lives(console->sessions, &auth->session, clock_now_ns());
}

static void answer_session(struct console *console, struct http_request *request, const struct console_session *session,
                           const struct store_key *key) {
        uint64_t left_ns = console_session_left_ns(console->sessions, session, clock_now_ns());
        int64_t expires_ms = (int64_t)time(NULL) * 1000 + (int64_t)(left_ns / NS_PER_MS);
        http_reply_json(request, 200,
                        json_pack("{s:s, s:b, s:s, s:o, s:I, s:s}", "project",
                                  key->is_admin ? STORE_DEFAULT_PROJECT : key->project, "is_admin", (int)key->is_admin,
                                  "csrf_token", session->csrf, "expires_at", time_json(expires_ms), "idle_seconds",
                                  (json_int_t)(console->idle_ns / NS_PER_S), "version", PRODUCT_VERSION));
}

/* ---- endpoints */

/* False: this address has to wait, and the request has been ANSWERED. */
static bool check_attempts(struct console *console, struct http_request *request) {
        char seconds[24];
        uint64_t wait_ns = console_attempts_wait_ns(console->attempts, request->client, clock_now_ns());
        if (wait_ns == 0)
                return true;
        snprintf(seconds, sizeof(seconds), "%llu", (unsigned long long)((wait_ns + NS_PER_S - 1) / NS_PER_S));
        http_reply_header(request, "Retry-After", seconds);
        http_reply_error(request, HTTP_RATE_LIMITED, NULL,
                         "Too many wrong keys came from this address; try again in %s s.", seconds);
        return false;
}

static void refuse_key(struct console *console, struct http_request *request) {
        console_attempts_failed(console->attempts, request->client, clock_now_ns());
        log_info("a wrong key was tried at the Console", "client", request->client, "request", request->id);
        http_reply_error(request, HTTP_UNAUTHORIZED, "key", "This key is unknown, or was revoked.");
}

/* The browser forgets the cookie that it has, so nobody should be able to use that any more. */
static void end_the_one_before(struct console *console, struct http_request *request) {
        char token[CONSOLE_TOKEN_TEXT];
        const struct console_session *session =
                read_cookie(request, token) ? console_session_find(console->sessions, token, clock_now_ns()) : NULL;
        explicit_bzero(token, sizeof(token));
        if (session)
                console_session_end(console->sessions, session);
}

static void sign_in(struct console *console, struct http_request *request, const struct store_key *key) {
        const struct console_session *session;
        char token[CONSOLE_TOKEN_TEXT];
        end_the_one_before(console, request);
        if (console_session_start(console->sessions, &key->hash, clock_now_ns(), token, &session) < 0) {
                http_reply_error(request, HTTP_INTERNAL, NULL, "The service could not begin a session.");
                return;
        }
        set_cookie(console->api, request, token, (uint64_t)console->api->config->console_session_s);
        explicit_bzero(token, sizeof(token));
        log_info("somebody signed in at the Console", "client", request->client, "key", key->public_id, "request",
                 request->id);
        audit_add(console->api, request, AUDIT_CONSOLE_LOGIN, key->public_id, NULL);
        answer_session(console, request, session, key);
}

void console_handle_login(struct api *api, struct http_request *request) {
        json_t *body, *text;
        const struct json_field fields[] = {
                {.name = "key", .want = JSON_WANT_STRING, .required = true, .value = &text},
        };
        struct store_key key;

        if (!console_is_on(api, request) || !check_origin(request) || !check_attempts(api->console, request) ||
            !json_decode_request(request, fields, ARRAY_SIZE(fields), &body))
                return;
        int r = auth_find_key(api, json_string_value(text), &key);
        explicit_bzero((char *)(uintptr_t)json_string_value(text), json_string_length(text));
        json_decref(body);
        if (r == 0)
                sign_in(api->console, request, &key);
        else if (r == STORE_E_NOT_FOUND)
                refuse_key(api->console, request);
        else
                answer_store_failure(request);
}

void console_handle_session(struct api *api, struct http_request *request) {
        struct store_key key;
        if (!console_is_on(api, request))
                return;
        const struct console_session *session = require_session(api->console, request, &key);
        if (session)
                answer_session(api->console, request, session, &key);
}

/* Twice does no harm: whoever asks for it is not signed in afterwards. */
void console_handle_logout(struct api *api, struct http_request *request) {
        struct store_key key;
        bool failed;
        if (!console_is_on(api, request) || !check_origin(request))
                return;
        const struct console_session *session = find_session(api->console, request, &key, &failed);
        if (failed) {
                answer_store_failure(request);
                return;
        }
        if (session && !check_csrf(request, session))
                return;
        if (session) {
                console_session_end(api->console->sessions, session);
                audit_add(api, request, AUDIT_CONSOLE_LOGOUT, key.public_id, NULL);
        }
        set_cookie(api, request, "", 0);
        http_reply_empty(request, 204);
}
