/*
 * Who is signed in at the Console: sessions, each of one browser.
 *
 * Runs in the api process, and only in its memory: a restart signs everybody out. Pure, but for random numbers: the
 * clock is an argument. What a browser holds (the token in its cookie) comes from the network; of it only the SHA-256
 * is kept, so what leaks from here signs nobody in.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "store/key.h"

#define CONSOLE_TOKEN_TEXT 65 /* 256 random bits as hexadecimal digits, and NUL */
#define CONSOLE_SESSIONS_MAX 1024
#define CONSOLE_SESSIONS_PER_KEY_MAX 64 /* so that the holder of one key cannot sign everybody else out */

struct console_sessions;

struct console_session {
        struct key_hash id;            /* SHA-256 of the token */
        struct key_hash key;           /* whose key it stands for; looked up again for each request */
        char csrf[CONSOLE_TOKEN_TEXT]; /* what requests that change something must show */
        uint64_t started_ns, used_ns;
};

/* `total_ns`: how long a session lasts at most; `idle_ns`: without a request. 0 or a negative errno. */
int console_sessions_new(uint64_t total_ns, uint64_t idle_ns, struct console_sessions **ret);
/* NULL-safe; overwrites what it holds. */
void console_sessions_free(struct console_sessions *sessions);

/*
 * Begins one. `token` is for the cookie and nothing else. Where there are too many, the one that was not used for the
 * longest time ends. Pointers to sessions are valid until the next call that begins or ends one. 0 or a negative errno.
 */
int console_session_start(struct console_sessions *sessions, const struct key_hash *key, uint64_t now_ns,
                          char token[CONSOLE_TOKEN_TEXT], const struct console_session **ret);
/* The live session of a token, which counts as used now; or NULL. */
const struct console_session *console_session_find(struct console_sessions *sessions, const char *token,
                                                   uint64_t now_ns);
/* Whether the session of that id lives; this does not count as use. */
bool console_session_lives(const struct console_sessions *sessions, const struct key_hash *id, uint64_t now_ns);
/* Until its end at the latest. */
uint64_t console_session_left_ns(const struct console_sessions *sessions, const struct console_session *session,
                                 uint64_t now_ns);

void console_session_end(struct console_sessions *sessions, const struct console_session *session);
void console_sessions_end_of_key(struct console_sessions *sessions, const struct key_hash *key);

/* Whether `given` (NULL: nothing) is the session's CSRF token, in a time that does not depend on where it differs. */
bool console_session_csrf_is(const struct console_session *session, const char *given);
