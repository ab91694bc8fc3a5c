/* Calls at front doors that need an agent which is not there: one makes it, whole, and the others wait for that. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "api/api.h"
#include "api/door_call.h"

#define CALLS 3

static const struct route route = {"POST", "/execute", ROUTE_E2B, NULL, 0};

/* What a client is, and what became of its request. */
static struct client {
        struct http_request request;
        http_notice_fn on_gone;
        void *data;
        const struct subrequest_sink *sink; /* of the subrequest that is on its way, or NULL */
        char asked[64];
        unsigned status; /* of its answer */
        bool dropped;
} clients[CALLS];

static struct client *client_of(const struct http_request *request) {
        return (struct client *)(uintptr_t)request;
}

void api_quit(struct api *api, int exit_status, const char *why) {
        (void)api;
        (void)exit_status;
        fail_msg("%s", why);
}

/* ---- in place of the HTTP side and of the engine */

int __wrap_subrequest_start(struct http_request *parent, const char *method, const char *target, json_t *body,
                            const struct subrequest_sink *sink, void *data, struct subrequest **ret);
void __wrap_subrequest_cancel(struct subrequest *subrequest);
const char *__wrap_subrequest_reply_header(const struct subrequest *subrequest, const char *name);
void __wrap_http_on_disconnect(struct http_request *request, http_notice_fn call, void *data);
void __wrap_http_reply_json(struct http_request *request, unsigned status, json_t *body);
void __wrap_http_drop(struct http_request *request);

int __wrap_subrequest_start(struct http_request *parent, const char *method, const char *target, json_t *body,
                            const struct subrequest_sink *sink, void *data, struct subrequest **ret) {
        struct client *client = client_of(parent);
        assert_null(client->sink);
        json_decref(body);
        client->sink = sink;
        client->data = data;
        snprintf(client->asked, sizeof(client->asked), "%s %s", method, target);
        *ret = (struct subrequest *)client;
        return 0;
}

void __wrap_subrequest_cancel(struct subrequest *subrequest) {
        ((struct client *)subrequest)->sink = NULL;
}

const char *__wrap_subrequest_reply_header(const struct subrequest *subrequest, const char *name) {
        (void)subrequest, (void)name;
        return NULL;
}

void __wrap_http_on_disconnect(struct http_request *request, http_notice_fn call, void *data) {
        client_of(request)->on_gone = call;
        client_of(request)->data = data;
}

void __wrap_http_reply_json(struct http_request *request, unsigned status, json_t *body) {
        json_decref(body);
        client_of(request)->status = status;
}

void __wrap_http_drop(struct http_request *request) {
        client_of(request)->dropped = true;
}

/* ---- what tests say */

static void executed(struct door_call *call, unsigned status, json_t *reply) {
        (void)reply;
        door_reply(call, status, json_object());
}

/* Clients of two projects: the last is alone in its own. */
static int begin(void **state) {
        (void)state;
        memset(clients, 0, sizeof(clients));
        for (int i = 0; i < CALLS; i++) {
                struct door_call *call;
                clients[i].request = (struct http_request){.route = &route};
                clients[i].request.auth.project_id = i == CALLS - 1 ? 2 : 1;
                if (!door_begin(NULL, &clients[i].request, sizeof(*call), NULL, &call))
                        return -1;
                clients[i].data = call;
        }
        return 0;
}

static void ask(int i) {
        door_execute(clients[i].data, "e2b", json_object(), executed);
}

static void answer(int i, unsigned status, const char *param) {
        const struct subrequest_sink *sink = clients[i].sink;
        char body[64];
        assert_non_null(sink);
        clients[i].sink = NULL;
        snprintf(body, sizeof(body), "{\"error\":{\"param\":\"%s\"}}", param);
        sink->on_reply(clients[i].data, status, "application/json", body, strlen(body));
}

static void assert_asks(int i, const char *what) {
        assert_non_null(clients[i].sink);
        assert_string_equal(clients[i].asked, what);
}

static void finish(int i) {
        assert_asks(i, "POST /v1/execute");
        answer(i, 200, "");
        assert_int_equal(clients[i].status, 200);
}

static void others_wait_until_the_agent_is_whole(void **state) {
        (void)state;
        ask(0);
        ask(1);
        answer(0, 404, "agent");
        assert_asks(0, "PUT /v1/agents/e2b");
        answer(1, 404, "agent"); /* it had asked before */
        assert_null(clients[1].sink);
        ask(2);
        assert_asks(2, "POST /v1/execute"); /* of another project */
        answer(0, 201, "");
        assert_asks(0, "PUT /v1/agents/e2b/env/CODE_INTERPRETER_SESSION");
        assert_null(clients[1].sink);
        answer(0, 200, "");
        for (int i = 0; i < CALLS; i++)
                finish(i);
}

static void an_agent_is_made_whole_although_its_client_has_gone(void **state) {
        (void)state;
        ask(0);
        answer(0, 404, "agent");
        ask(1); /* waits at once */
        assert_null(clients[1].sink);
        clients[0].on_gone(&clients[0].request, clients[0].data);
        assert_false(clients[0].dropped);
        answer(0, 201, "");
        assert_asks(0, "PUT /v1/agents/e2b/env/CODE_INTERPRETER_SESSION");
        answer(0, 200, "");
        assert_true(clients[0].dropped);
        finish(1);
        door_reply(clients[2].data, 200, json_object());
}

static void who_waits_may_go_and_who_is_left_tries(void **state) {
        (void)state;
        ask(0);
        answer(0, 404, "agent");
        ask(1);
        answer(0, 409, ""); /* no more agents */
        assert_int_equal(clients[0].status, 409);
        assert_asks(1, "POST /v1/execute");
        answer(1, 404, "agent");
        assert_asks(1, "PUT /v1/agents/e2b");
        answer(1, 201, "");
        answer(1, 200, "");
        answer(1, 404, "agent"); /* somebody has removed it: that is said */
        assert_int_equal(clients[1].status, 404);
        door_reply(clients[2].data, 200, json_object());
}

static void a_waiting_client_that_goes_is_forgotten(void **state) {
        (void)state;
        ask(0);
        answer(0, 404, "agent");
        ask(1);
        clients[1].on_gone(&clients[1].request, clients[1].data);
        assert_true(clients[1].dropped);
        answer(0, 201, "");
        answer(0, 200, "");
        finish(0);
        door_reply(clients[2].data, 200, json_object());
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test_setup(others_wait_until_the_agent_is_whole, begin),
                cmocka_unit_test_setup(an_agent_is_made_whole_although_its_client_has_gone, begin),
                cmocka_unit_test_setup(who_waits_may_go_and_who_is_left_tries, begin),
                cmocka_unit_test_setup(a_waiting_client_that_goes_is_forgotten, begin),
        };
        return cmocka_run_group_tests(tests, NULL, NULL);
}
