/* Who is signed in at the Console; see console_sessions.h. */
#include "api/console_sessions.h"

#include <errno.h>
#include <openssl/crypto.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "base/hex.h"

#define TOKEN_BYTES 32

struct console_sessions {
        uint64_t total_ns, idle_ns;
        size_t count;
        struct console_session all[CONSOLE_SESSIONS_MAX];
};

int console_sessions_new(uint64_t total_ns, uint64_t idle_ns, struct console_sessions **ret) {
        struct console_sessions *sessions = calloc(1, sizeof(*sessions));
        if (!sessions)
                return -ENOMEM;
        sessions->total_ns = total_ns;
        sessions->idle_ns = idle_ns;
        *ret = sessions;
        return 0;
}

void console_sessions_free(struct console_sessions *sessions) {
        if (!sessions)
                return;
        explicit_bzero(sessions, sizeof(*sessions));
        free(sessions);
}

static int make_token(char text[CONSOLE_TOKEN_TEXT]) {
        unsigned char random[TOKEN_BYTES];
        if (getrandom(random, sizeof(random), 0) != (ssize_t)sizeof(random))
                return -EIO;
        hex_write(random, sizeof(random), text);
        explicit_bzero(random, sizeof(random));
        return 0;
}

/* ---- ends */

void console_session_end(struct console_sessions *sessions, const struct console_session *session) {
        size_t place = (size_t)(session - sessions->all);
        sessions->all[place] = sessions->all[--sessions->count];
        explicit_bzero(&sessions->all[sessions->count], sizeof(sessions->all[0]));
}

void console_sessions_end_of_key(struct console_sessions *sessions, const struct key_hash *key) {
        for (size_t i = sessions->count; i-- > 0;)
                if (key_hash_equal(&sessions->all[i].key, key))
                        console_session_end(sessions, &sessions->all[i]);
}

static bool is_over(const struct console_sessions *sessions, const struct console_session *session, uint64_t now_ns) {
        return now_ns - session->started_ns >= sessions->total_ns || now_ns - session->used_ns >= sessions->idle_ns;
}

static void end_old_ones(struct console_sessions *sessions, uint64_t now_ns) {
        for (size_t i = sessions->count; i-- > 0;)
                if (is_over(sessions, &sessions->all[i], now_ns))
                        console_session_end(sessions, &sessions->all[i]);
}

/* Of one key, or of all (NULL): ends the one that was used longest ago if there are `max` of them. */
static void make_room(struct console_sessions *sessions, const struct key_hash *key, size_t max) {
        struct console_session *oldest = NULL;
        size_t count = 0;
        for (size_t i = 0; i < sessions->count; i++) {
                struct console_session *session = &sessions->all[i];
                if (key && !key_hash_equal(&session->key, key))
                        continue;
                count++;
                if (!oldest || session->used_ns < oldest->used_ns)
                        oldest = session;
        }
        if (count >= max)
                console_session_end(sessions, oldest);
}

/* ---- begins, and lives */

int console_session_start(struct console_sessions *sessions, const struct key_hash *key, uint64_t now_ns,
                          char token[CONSOLE_TOKEN_TEXT], const struct console_session **ret) {
        struct console_session session = {.key = *key, .started_ns = now_ns, .used_ns = now_ns};
        int r = make_token(token);
        if (r == 0)
                r = make_token(session.csrf);
        if (r == 0)
                r = key_hash(token, strlen(token), &session.id);
        if (r < 0)
                return r;
        end_old_ones(sessions, now_ns);
        make_room(sessions, key, CONSOLE_SESSIONS_PER_KEY_MAX);
        make_room(sessions, NULL, CONSOLE_SESSIONS_MAX);
        sessions->all[sessions->count] = session;
        *ret = &sessions->all[sessions->count++];
        return 0;
}

/* Compares whole hashes of them: where a guess differs says nothing about the token. */
static size_t place_of(const struct console_sessions *sessions, const struct key_hash *id) {
        size_t i = 0;
        while (i < sessions->count && !key_hash_equal(&sessions->all[i].id, id))
                i++;
        return i;
}

const struct console_session *console_session_find(struct console_sessions *sessions, const char *token,
                                                   uint64_t now_ns) {
        struct key_hash id;
        if (strlen(token) != CONSOLE_TOKEN_TEXT - 1 || key_hash(token, CONSOLE_TOKEN_TEXT - 1, &id) < 0)
                return NULL;
        size_t place = place_of(sessions, &id);
        if (place == sessions->count)
                return NULL;
        struct console_session *session = &sessions->all[place];
        if (is_over(sessions, session, now_ns)) {
                console_session_end(sessions, session);
                return NULL;
        }
        session->used_ns = now_ns;
        return session;
}

bool console_session_lives(const struct console_sessions *sessions, const struct key_hash *id, uint64_t now_ns) {
        size_t place = place_of(sessions, id);
        return place < sessions->count && !is_over(sessions, &sessions->all[place], now_ns);
}

uint64_t console_session_left_ns(const struct console_sessions *sessions, const struct console_session *session,
                                 uint64_t now_ns) {
        uint64_t age_ns = now_ns - session->started_ns;
        return age_ns < sessions->total_ns ? sessions->total_ns - age_ns : 0;
}

bool console_session_csrf_is(const struct console_session *session, const char *given) {
        return given && strlen(given) == CONSOLE_TOKEN_TEXT - 1 &&
               CRYPTO_memcmp(given, session->csrf, CONSOLE_TOKEN_TEXT - 1) == 0;
}
