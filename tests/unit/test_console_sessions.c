/* Who is signed in at the Console: how long, how many, and for which key. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "api/console_sessions.h"
#include "base/loop.h"

#define START (1000 * NS_PER_S)
#define TOTAL (100 * NS_PER_S)
#define IDLE (10 * NS_PER_S)

static struct console_sessions *sessions;

static int set_up(void **state) {
        (void)state;
        return console_sessions_new(TOTAL, IDLE, &sessions);
}

static int tear_down(void **state) {
        (void)state;
        console_sessions_free(sessions);
        return 0;
}

static struct key_hash key(unsigned char number) {
        return (struct key_hash){.bytes = {number}};
}

static const struct console_session *start(unsigned char number, uint64_t now_ns, char token[CONSOLE_TOKEN_TEXT]) {
        const struct key_hash hash = key(number);
        const struct console_session *session;
        assert_int_equal(console_session_start(sessions, &hash, now_ns, token, &session), 0);
        return session;
}

static void found_by_its_token_only(void **state) {
        char token[CONSOLE_TOKEN_TEXT], other[CONSOLE_TOKEN_TEXT], wrong[CONSOLE_TOKEN_TEXT + 1];
        struct key_hash one = key(1);
        (void)state;
        start(1, START, token);
        start(2, START, other);
        assert_int_equal(strlen(token), 64);
        assert_string_not_equal(token, other);
        assert_true(key_hash_equal(&console_session_find(sessions, token, START)->key, &one));
        assert_null(console_session_find(sessions, "", START));
        for (size_t i = 0; i < 64; i++) {
                strcpy(wrong, token);
                wrong[i] = wrong[i] == '0' ? '1' : '0';
                assert_null(console_session_find(sessions, wrong, START));
        }
        snprintf(wrong, sizeof(wrong), "%s0", token);
        assert_null(console_session_find(sessions, wrong, START));
        wrong[63] = '\0';
        assert_null(console_session_find(sessions, wrong, START));
}

static void keeps_no_token(void **state) {
        char token[CONSOLE_TOKEN_TEXT];
        (void)state;
        const struct console_session *session = start(1, START, token);
        assert_null(memmem(session, sizeof(*session), token, 32));
        assert_string_not_equal(session->csrf, token);
}

static void ends_when_nobody_uses_it(void **state) {
        char token[CONSOLE_TOKEN_TEXT];
        (void)state;
        struct key_hash id = start(1, START, token)->id;
        assert_non_null(console_session_find(sessions, token, START + IDLE - 1));
        /* That was a use; whether it lives is none. */
        assert_true(console_session_lives(sessions, &id, START + 2 * IDLE - 2));
        assert_non_null(console_session_find(sessions, token, START + 2 * IDLE - 2));
        assert_false(console_session_lives(sessions, &id, START + 3 * IDLE));
        assert_null(console_session_find(sessions, token, START + 3 * IDLE));
        assert_null(console_session_find(sessions, token, START + 3 * IDLE - 3)); /* it does not come back */
}

static void ends_in_the_end_all_the_same(void **state) {
        char token[CONSOLE_TOKEN_TEXT];
        (void)state;
        start(1, START, token);
        for (uint64_t at = START; at < START + TOTAL; at += IDLE / 2) {
                const struct console_session *session = console_session_find(sessions, token, at);
                assert_non_null(session);
                assert_true(console_session_left_ns(sessions, session, at) == START + TOTAL - at);
        }
        assert_null(console_session_find(sessions, token, START + TOTAL));
}

static void ends_alone_or_with_its_key(void **state) {
        char tokens[5][CONSOLE_TOKEN_TEXT];
        struct key_hash two = key(2);
        (void)state;
        for (int i = 0; i < 5; i++)
                start(i == 0 || i == 3 ? 2 : 1, START, tokens[i]);
        console_session_end(sessions, console_session_find(sessions, tokens[1], START));
        assert_null(console_session_find(sessions, tokens[1], START));
        console_sessions_end_of_key(sessions, &two);
        for (int i = 0; i < 5; i++)
                assert_true((console_session_find(sessions, tokens[i], START) != NULL) == (i == 2 || i == 4));
}

static void a_key_has_so_many(void **state) {
        char first[CONSOLE_TOKEN_TEXT], second[CONSOLE_TOKEN_TEXT], others[CONSOLE_TOKEN_TEXT],
                token[CONSOLE_TOKEN_TEXT];
        (void)state;
        start(2, START - 1, others);
        start(1, START, first);
        start(1, START + 1, second);
        for (int i = 2; i < CONSOLE_SESSIONS_PER_KEY_MAX; i++)
                start(1, START + 2, token);
        assert_non_null(console_session_find(sessions, first, START + 3)); /* now the second is the oldest */
        start(1, START + 4, token);
        assert_non_null(console_session_find(sessions, first, START + 5));
        assert_null(console_session_find(sessions, second, START + 5));
        assert_non_null(console_session_find(sessions, others, START + 5));
}

static void all_have_so_many(void **state) {
        char first[CONSOLE_TOKEN_TEXT], token[CONSOLE_TOKEN_TEXT];
        (void)state;
        start(255, START, first);
        for (int i = 1; i < CONSOLE_SESSIONS_MAX; i++)
                start((unsigned char)(i % 200), START + 1, token);
        assert_non_null(console_session_find(sessions, first, START));
        start(201, START + 1, token);
        assert_null(console_session_find(sessions, first, START + 1));
        assert_non_null(console_session_find(sessions, token, START + 1));
        /* Those that are over make room without pushing anybody out. */
        start(202, START + 5 * IDLE, first);
        for (int i = 1; i < CONSOLE_SESSIONS_MAX; i++)
                start((unsigned char)(i % 200), START + 5 * IDLE, token);
        assert_non_null(console_session_find(sessions, first, START + 5 * IDLE));
}

static void knows_its_csrf_token(void **state) {
        char token[CONSOLE_TOKEN_TEXT], other_token[CONSOLE_TOKEN_TEXT], other[CONSOLE_TOKEN_TEXT];
        (void)state;
        snprintf(other, sizeof(other), "%s", start(1, START, other_token)->csrf);
        const struct console_session *session = start(1, START, token);
        assert_true(console_session_csrf_is(session, session->csrf));
        assert_false(console_session_csrf_is(session, NULL));
        assert_false(console_session_csrf_is(session, ""));
        assert_false(console_session_csrf_is(session, token));
        assert_false(console_session_csrf_is(session, other));
        other[63] = '\0';
        assert_false(console_session_csrf_is(session, other));
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test_setup_teardown(found_by_its_token_only, set_up, tear_down),
                cmocka_unit_test_setup_teardown(keeps_no_token, set_up, tear_down),
                cmocka_unit_test_setup_teardown(ends_when_nobody_uses_it, set_up, tear_down),
                cmocka_unit_test_setup_teardown(ends_in_the_end_all_the_same, set_up, tear_down),
                cmocka_unit_test_setup_teardown(ends_alone_or_with_its_key, set_up, tear_down),
                cmocka_unit_test_setup_teardown(a_key_has_so_many, set_up, tear_down),
                cmocka_unit_test_setup_teardown(all_have_so_many, set_up, tear_down),
                cmocka_unit_test_setup_teardown(knows_its_csrf_token, set_up, tear_down),
        };
        return cmocka_run_group_tests(tests, NULL, NULL);
}
