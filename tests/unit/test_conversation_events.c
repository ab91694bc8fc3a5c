/* Listeners to conversations: who is told, who is let go, and how many there may be. HTTP is played by the test. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "api/api.h"
#include "api/auth.h"
#include "api/conversation_events.h"
#include "api/conversations.h"
#include "api/http.h"
#include "api/runs.h"
#include "base/loop.h"
#include "store/conversations.h"

/* ---- a client */

struct client {
        struct http_request request; /* first */
        char text[4096];             /* the end of what it was sent */
        size_t pending;
        bool streaming, ended, dropped, full;
        int error;
        http_notice_fn on_gone;
        void *on_gone_data;
};

static struct client *client_of(const struct http_request *request) {
        return (struct client *)(uintptr_t)request;
}

void http_stream_begin(struct http_request *request, const char *content_type) {
        assert_string_equal(content_type, "text/event-stream");
        client_of(request)->streaming = true;
}

int http_stream_write(struct http_request *request, const void *bytes, size_t length) {
        struct client *client = client_of(request);
        size_t used = strlen(client->text);
        assert_true(client->streaming && !client->ended && !client->dropped);
        if (used + length >= sizeof(client->text))
                used = 0;
        memcpy(client->text + used, bytes, length);
        client->text[used + length] = '\0';
        if (client->full)
                client->pending += length;
        return 0;
}

size_t http_stream_pending(const struct http_request *request) {
        return client_of(request)->pending;
}

void http_stream_end(struct http_request *request) {
        struct client *client = client_of(request);
        assert_true(client->streaming && !client->ended && !client->dropped);
        client->ended = true;
}

void http_drop(struct http_request *request) {
        assert_true(!client_of(request)->ended && !client_of(request)->dropped);
        client_of(request)->dropped = true;
}

void http_on_disconnect(struct http_request *request, http_notice_fn call, void *data) {
        client_of(request)->on_gone = call;
        client_of(request)->on_gone_data = data;
}

void http_reply_header(struct http_request *request, const char *name, const char *value) {
        (void)request, (void)name, (void)value;
}

const char *http_header(const struct http_request *request, const char *name) {
        (void)name;
        return request->data;
}

void http_reply_error(struct http_request *request, enum http_error kind, const char *param, const char *format, ...) {
        va_list arguments;
        (void)param;
        va_start(arguments, format);
        vsnprintf(client_of(request)->text, sizeof(client_of(request)->text), format, arguments);
        va_end(arguments);
        client_of(request)->error = (int)kind;
}

/* ---- what else is asked */

bool conversation_require(struct api *api, struct http_request *request, const char *name) {
        (void)api, (void)request;
        return strcmp(name, "unknown") != 0;
}

json_t *conversation_describe(struct api *api, int64_t project_id, const char *name) {
        (void)api, (void)project_id;
        return strcmp(name, "deleted") == 0 ? NULL : json_pack("{s:s}", "conversation_id", name);
}

static bool revoked; /* the key of every listener whose key_id is 7 */

bool auth_still_admits(struct auth *auth, const struct http_auth *who) {
        (void)auth;
        return !revoked || who->key_id != 7;
}

json_t *run_json(const struct store_run *run) {
        return json_pack("{s:s}", "run_id", run->id);
}

int store_run_list(struct store *store, int64_t project_id, const char *conversation, const char *after,
                   struct store_run *ret, size_t max, size_t *ret_count) {
        (void)store, (void)project_id, (void)conversation, (void)max;
        if (strcmp(after, "run_1") != 0)
                return STORE_E_NOT_FOUND;
        for (int i = 0; i < 2; i++)
                snprintf(ret[i].id, sizeof(ret[i].id), "run_%d", i + 2);
        *ret_count = 2;
        return 0;
}

/* ---- the one timer */

static struct loop_source {
        loop_timer_fn call;
        void *data;
} timer;

int loop_add_timer(struct loop *loop, uint64_t delay_ns, loop_timer_fn call, void *data, struct loop_source **ret) {
        (void)loop;
        assert_null(timer.call);
        assert_true(delay_ns == 15 * NS_PER_S);
        timer = (struct loop_source){call, data};
        *ret = &timer;
        return 0;
}

void loop_remove(struct loop *loop, struct loop_source **source) {
        (void)loop;
        if (*source)
                timer.call = NULL;
        *source = NULL;
}

static void ring(void) {
        loop_timer_fn call = timer.call;
        assert_non_null(call);
        timer.call = NULL;
        call(timer.data);
}

/* ---- fixture */

static struct api api;

static int set_up(void **state) {
        (void)state;
        return conversation_events_new(&api, &api.events);
}

static int tear_down(void **state) {
        (void)state;
        conversation_events_free(api.events);
        assert_null(timer.call);
        return 0;
}

static struct client *listen_as(int64_t project, const char *address, const char *conversation, const char *last_id) {
        struct client *client = calloc(1, sizeof(*client));
        assert_non_null(client);
        client->error = -1;
        client->request.client = address;
        client->request.params[0] = conversation;
        client->request.auth.project_id = project;
        client->request.data = (void *)(uintptr_t)last_id;
        conversation_events_handle(&api, &client->request);
        return client;
}

static struct client *listen_to_all(int64_t project) {
        struct client *client = calloc(1, sizeof(*client));
        assert_non_null(client);
        client->request.client = "a";
        client->request.auth.project_id = project;
        conversation_events_handle_all(&api, &client->request);
        return client;
}

static void publish(int64_t project, const char *conversation, const char *id) {
        struct store_run run = {.project_id = project};
        snprintf(run.conversation, sizeof(run.conversation), "%s", conversation);
        snprintf(run.id, sizeof(run.id), "%s", id);
        conversation_events_publish(api.events, &run);
}

/* ---- tests */

static void tells_those_who_listen(void **state) {
        (void)state;
        struct client *mine = listen_as(1, "a", "talk", NULL), *other = listen_as(1, "a", "other", NULL);
        struct client *foreign = listen_as(2, "a", "talk", NULL);
        publish(1, "talk", "run_9");
        assert_string_equal(mine->text, ": listening\n\nid: run_9\nevent: run\ndata: {\"run_id\":\"run_9\"}\n\n");
        assert_string_equal(other->text, ": listening\n\n");
        assert_string_equal(foreign->text, ": listening\n\n");
        conversation_events_end(api.events, 1, "talk");
        assert_true(mine->ended && !other->ended && !foreign->ended);
        assert_non_null(strstr(mine->text, "event: end\ndata: {}\n\n"));
        conversation_events_stop(api.events);
        assert_true(other->ended && foreign->ended);
        struct client *late = listen_as(1, "a", "talk", NULL);
        assert_int_equal(late->error, HTTP_OVERLOADED);
        free(mine);
        free(other);
        free(foreign);
        free(late);
}

static void tells_what_was_missed(void **state) {
        (void)state;
        struct client *back = listen_as(1, "a", "talk", "run_1"), *unknown = listen_as(1, "a", "talk", "run_x");
        assert_non_null(strstr(back->text, "id: run_2\n"));
        assert_non_null(strstr(back->text, "id: run_3\n"));
        assert_string_equal(unknown->text, ": listening\n\n");
        conversation_events_stop(api.events);
        free(back);
        free(unknown);
}

static void silence_is_filled(void **state) {
        (void)state;
        assert_null(timer.call);
        struct client *one = listen_as(1, "a", "talk", NULL), *two = listen_as(1, "a", "other", NULL);
        ring();
        ring();
        assert_string_equal(one->text, ": listening\n\n: keep-alive\n\n: keep-alive\n\n");
        assert_string_equal(two->text, one->text);
        one->full = true;
        one->pending = 1 << 20;
        ring();
        assert_true(one->dropped && !two->dropped);
        two->on_gone(&two->request, two->on_gone_data);
        assert_null(timer.call); /* nobody is left to be kept alive */
        free(one);
        free(two);
}

static void a_whole_project_is_listened_to(void **state) {
        (void)state;
        struct client *all = listen_to_all(1), *one = listen_as(1, "a", "talk", NULL), *foreign = listen_to_all(2);
        publish(1, "talk", "run_9");
        publish(1, "deleted", "run_9");
        assert_string_equal(all->text, ": listening\n\nevent: conversation\ndata: {\"conversation_id\":\"talk\"}\n\n");
        assert_non_null(strstr(one->text, "event: run\n"));
        assert_string_equal(foreign->text, ": listening\n\n");
        conversation_events_end(api.events, 1, "talk");
        assert_true(one->ended && !all->ended);
        assert_non_null(strstr(all->text, "event: end\ndata: {\"conversation_id\":\"talk\"}\n\n"));
        assert_string_equal(foreign->text, ": listening\n\n");
        conversation_events_stop(api.events);
        assert_true(all->ended && foreign->ended);
        free(all);
        free(one);
        free(foreign);
}

static void ends_with_its_key(void **state) {
        (void)state;
        struct client *one = listen_as(1, "a", "talk", NULL), *two = listen_as(1, "a", "talk", NULL);
        one->request.auth.key_id = 7;
        ring();
        assert_true(!one->ended && !two->ended);
        revoked = true;
        ring();
        revoked = false;
        assert_true(one->ended && !two->ended);
        conversation_events_stop(api.events);
        free(one);
        free(two);
}

static void one_that_does_not_read_is_let_go(void **state) {
        (void)state;
        struct client *slow = listen_as(1, "a", "talk", NULL), *fast = listen_as(1, "a", "talk", NULL);
        int told = 0;
        slow->full = true;
        while (!slow->dropped && told < 100000) {
                publish(1, "talk", "run_9");
                told++;
        }
        assert_in_range(told, 1000, 20000);
        assert_in_range(slow->pending, 256 << 10, 257 << 10);
        assert_false(fast->dropped);
        publish(1, "talk", "run_last");
        assert_non_null(strstr(fast->text, "run_last"));
        slow->on_gone = NULL; /* never called after the terminal call */
        fast->on_gone(&fast->request, fast->on_gone_data);
        assert_true(fast->dropped);
        publish(1, "talk", "run_nobody");
        free(slow);
        free(fast);
}

/* So many listeners; then one more is refused, and none of another kind is. Returns the refusal. */
static void fill(unsigned count, int64_t projects, unsigned per_address, const char *word) {
        struct client **clients = calloc(count, sizeof(*clients));
        char(*addresses)[16] = calloc(count, sizeof(*addresses));
        assert_non_null(clients);
        assert_non_null(addresses);
        for (unsigned i = 0; i < count; i++) {
                snprintf(addresses[i], sizeof(addresses[i]), "a%u", i / per_address);
                clients[i] = listen_as(1 + i % projects, addresses[i], "talk", NULL);
                assert_int_equal(clients[i]->error, -1);
        }
        struct client *one_more = listen_as(1, addresses[0], "talk", NULL);
        assert_int_equal(one_more->error, HTTP_OVERLOADED);
        assert_non_null(strstr(one_more->text, word));
        clients[0]->on_gone(&clients[0]->request, clients[0]->on_gone_data);
        struct client *another = listen_as(1, addresses[0], "talk", NULL);
        assert_int_equal(another->error, -1);
        conversation_events_stop(api.events);
        for (unsigned i = 0; i < count; i++)
                free(clients[i]);
        free(one_more);
        free(another);
        free(clients);
        free(addresses);
}

static void an_address_has_so_many(void **state) {
        (void)state;
        fill(EVENT_LISTENERS_PER_ADDRESS, 8, EVENT_LISTENERS_PER_ADDRESS, "address");
}

static void a_project_has_so_many(void **state) {
        (void)state;
        fill(EVENT_LISTENERS_PER_PROJECT, 1, 1, "project");
}

static void there_are_so_many(void **state) {
        (void)state;
        fill(EVENT_LISTENERS_MAX, 100, 1, "service");
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test_setup_teardown(tells_those_who_listen, set_up, tear_down),
                cmocka_unit_test_setup_teardown(tells_what_was_missed, set_up, tear_down),
                cmocka_unit_test_setup_teardown(silence_is_filled, set_up, tear_down),
                cmocka_unit_test_setup_teardown(a_whole_project_is_listened_to, set_up, tear_down),
                cmocka_unit_test_setup_teardown(ends_with_its_key, set_up, tear_down),
                cmocka_unit_test_setup_teardown(one_that_does_not_read_is_let_go, set_up, tear_down),
                cmocka_unit_test_setup_teardown(an_address_has_so_many, set_up, tear_down),
                cmocka_unit_test_setup_teardown(a_project_has_so_many, set_up, tear_down),
                cmocka_unit_test_setup_teardown(there_are_so_many, set_up, tear_down),
        };
        return cmocka_run_group_tests(tests, NULL, NULL);
}
