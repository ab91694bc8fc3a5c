/* The stub of the privilege boundary: messages both ways, and the end for everything that is not in the protocol. */
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/fdpass.h"
#include "base/loop.h"
#include "spawn/client.h"

struct fixture {
        struct loop *loop;
        struct spawn_client *client;
        int spawner; /* the other end */
        unsigned hellos, readies, failures, exits, templates, rests, images, losses, settings;
        uint32_t max_sandboxes;
        uint64_t request;
        int fds[SPAWN_READY_FDS];
        struct spawn_exit end;
        struct spawn_template_news news;
        uint64_t rest_cpu_us, rest_memory;
        char why[200];
};

static void on_hello(void *data, uint32_t max_sandboxes) {
        struct fixture *f = data;
        f->hellos++;
        f->max_sandboxes = max_sandboxes;
}

static void on_ready(void *data, uint64_t request, struct sandbox_id sandbox, const int *fds) {
        struct fixture *f = data;
        f->readies++;
        f->request = request;
        assert_int_equal(sandbox.high, 1);
        assert_int_equal(sandbox.low, 2);
        memcpy(f->fds, fds, sizeof(f->fds));
}

static void on_failed(void *data, uint64_t request, uint32_t step, int error) {
        struct fixture *f = data;
        f->failures++;
        assert_int_equal(request, 3);
        assert_int_equal(step, 4);
        assert_int_equal(error, 5);
}

static void on_exited(void *data, const struct spawn_exit *end) {
        struct fixture *f = data;
        f->exits++;
        f->end = *end;
}

static void on_template(void *data, const struct spawn_template_news *news) {
        struct fixture *f = data;
        f->templates++;
        f->news = *news;
}

static void on_rested(void *data, struct sandbox_id sandbox, uint64_t cpu_us, uint64_t memory_peak) {
        struct fixture *f = data;
        f->rests++;
        assert_true(sandbox_id_equal(sandbox, (struct sandbox_id){1, 2}));
        f->rest_cpu_us = cpu_us;
        f->rest_memory = memory_peak;
}

static void on_image(void *data, struct sandbox_id image, uint64_t bytes) {
        struct fixture *f = data;
        f->images++;
        assert_true(sandbox_id_equal(image, (struct sandbox_id){5, 6}));
        assert_int_equal(bytes, 4096);
}

static void on_settings(void *data, uint32_t max_sandboxes, int fd) {
        struct fixture *f = data;
        char text[8] = "";
        assert_int_equal(max_sandboxes, 12);
        assert_int_equal(pread(fd, text, sizeof(text) - 1, 0), 5);
        assert_string_equal(text, "hello");
        f->settings++;
}

static void on_lost(void *data, const char *why) {
        struct fixture *f = data;
        f->losses++;
        snprintf(f->why, sizeof(f->why), "%s", why);
}

static const struct spawn_handler handler = {on_hello,  on_ready,    on_failed, on_exited,
                                             on_template, on_rested, on_image,  on_settings, on_lost};

static void stop_loop(void *data) {
        loop_quit(data, 0);
}

/* Lets the loop do what there is to do. */
static void turn(struct fixture *f) {
        assert_int_equal(loop_add_timer(f->loop, 5 * NS_PER_MS, stop_loop, f->loop, NULL), 0);
        assert_int_equal(loop_run(f->loop), 0);
}

static int setup(void **state) {
        static struct fixture f;
        int pair[2];
        f = (struct fixture){.spawner = -1};
        assert_int_equal(loop_new(&f.loop), 0);
        assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair), 0);
        f.spawner = pair[1];
        assert_int_equal(spawn_client_new(f.loop, pair[0], &handler, &f, &f.client), 0);
        *state = &f;
        return 0;
}

static int teardown(void **state) {
        struct fixture *f = *state;
        spawn_client_free(f->client);
        loop_free(f->loop);
        if (f->spawner >= 0)
                close(f->spawner);
        return 0;
}

static void tell(struct fixture *f, struct spawn_message message, const int *fds, size_t fd_count) {
        message.version = message.version ? message.version : SPAWN_PROTOCOL_VERSION;
        assert_int_equal(fdpass_send(f->spawner, &message, sizeof(message), fds, fd_count), 0);
        turn(f);
}

static void greet(struct fixture *f) {
        tell(f, (struct spawn_message){.type = SPAWN_HELLO, .max_sandboxes = 20}, NULL, 0);
        assert_int_equal(f->hellos, 1);
}

static void hands_news_on(void **state) {
        struct fixture *f = *state;
        int pipes[4][2], fds[4];
        greet(f);
        assert_int_equal(f->max_sandboxes, 20);
        for (int i = 0; i < 4; i++) {
                assert_int_equal(pipe(pipes[i]), 0);
                fds[i] = pipes[i][0];
        }
        tell(f, (struct spawn_message){.type = SPAWN_READY, .request = 7, .sandbox = {1, 2}}, fds, 4);
        assert_int_equal(f->readies, 1);
        assert_int_equal(f->request, 7);
        for (int i = 0; i < 4; i++) {
                char c = 0;
                assert_int_equal(write(pipes[i][1], &(char){(char)('a' + i)}, 1), 1);
                assert_int_equal(read(f->fds[i], &c, 1), 1);
                assert_int_equal(c, 'a' + i); /* in their order */
                assert_true(fcntl(f->fds[i], F_GETFD) & FD_CLOEXEC);
                close(f->fds[i]);
                close(pipes[i][0]);
                close(pipes[i][1]);
        }
        tell(f, (struct spawn_message){.type = SPAWN_CREATE_FAILED, .request = 3, .step = 4, .error = 5}, NULL, 0);
        assert_int_equal(f->failures, 1);
        tell(f,
             (struct spawn_message){.type = SPAWN_EXITED,
                                    .sandbox = {1, 2},
                                    .reason = SPAWN_END_TIMEOUT,
                                    .wait_status = 9,
                                    .cpu_us = 10,
                                    .memory_peak = 11},
             NULL, 0);
        assert_int_equal(f->exits, 1);
        assert_true(sandbox_id_equal(f->end.sandbox, (struct sandbox_id){1, 2}));
        assert_int_equal(f->end.reason, SPAWN_END_TIMEOUT);
        assert_int_equal(f->end.wait_status, 9);
        assert_int_equal(f->end.cpu_us, 10);
        assert_int_equal(f->end.memory_peak, 11);
        assert_false(f->end.room_kept);
        tell(f,
             (struct spawn_message){.type = SPAWN_TEMPLATE,
                                    .template_state = SPAWN_TEMPLATE_SERVING,
                                    .template_generation = 2,
                                    .template_forks = 3},
             NULL, 0);
        assert_int_equal(f->templates, 1);
        assert_int_equal(f->news.generation, 2);
        assert_int_equal(f->news.forks, 3);
        assert_int_equal(f->losses, 0);
}

static void hands_news_of_sessions_on(void **state) {
        struct fixture *f = *state;
        const int fds[SPAWN_RENEWED_FDS] = {0, 1, 2};
        greet(f);
        tell(f, (struct spawn_message){.type = SPAWN_READY, .request = 8, .sandbox = {1, 2}}, fds, SPAWN_RENEWED_FDS);
        assert_int_equal(f->readies, 1);
        for (int i = 0; i < SPAWN_RENEWED_FDS; i++) {
                assert_true(fcntl(f->fds[i], F_GETFD) & FD_CLOEXEC);
                close(f->fds[i]);
        }
        assert_int_equal(f->fds[SPAWN_FD_WORK], -1); /* the receiver's already */
        tell(f, (struct spawn_message){.type = SPAWN_RESTED, .sandbox = {1, 2}, .cpu_us = 12, .memory_peak = 13}, NULL,
             0);
        assert_int_equal(f->rests, 1);
        assert_int_equal(f->rest_cpu_us, 12);
        assert_int_equal(f->rest_memory, 13);
        tell(f,
             (struct spawn_message){
                     .type = SPAWN_EXITED, .sandbox = {1, 2}, .reason = SPAWN_END_EXIT, .room_kept = 1},
             NULL, 0);
        assert_int_equal(f->exits, 1);
        assert_true(f->end.room_kept);
        assert_int_equal(f->losses, 0);
}

static void sends_requests_of_sessions(void **state) {
        struct fixture *f = *state;
        struct spawn_message message;
        spawn_claim(f->client, (struct sandbox_id){1, 2}, 20000, SPAWN_CLAIM_SESSION);
        spawn_rest(f->client, (struct sandbox_id){3, 4});
        spawn_renew(f->client, 9, (struct sandbox_id){5, 6});
        assert_int_equal(recv(f->spawner, &message, sizeof(message), 0), sizeof(message));
        assert_int_equal(message.type, SPAWN_CLAIM);
        assert_int_equal(message.flags, SPAWN_CLAIM_SESSION);
        assert_int_equal(recv(f->spawner, &message, sizeof(message), 0), sizeof(message));
        assert_int_equal(message.type, SPAWN_REST);
        assert_int_equal(message.version, SPAWN_PROTOCOL_VERSION);
        assert_int_equal(message.sandbox.high, 3);
        assert_int_equal(message.sandbox.low, 4);
        assert_int_equal(recv(f->spawner, &message, sizeof(message), 0), sizeof(message));
        assert_int_equal(message.type, SPAWN_RENEW);
        assert_int_equal(message.version, SPAWN_PROTOCOL_VERSION);
        assert_int_equal(message.request, 9);
        assert_int_equal(message.sandbox.high, 5);
        assert_int_equal(message.sandbox.low, 6);
}

static void sends_requests(void **state) {
        struct fixture *f = *state;
        struct spawn_message message;
        size_t fd_count;
        int fds[FDPASS_MAX];
        spawn_create(f->client, 5, SPAWN_PROFILE_SNIPPET);
        spawn_claim(f->client, (struct sandbox_id){1, 2}, 20000, 0);
        spawn_kill(f->client, (struct sandbox_id){1, 2}, SPAWN_END_CANCELLED);
        assert_int_equal(fdpass_recv(f->spawner, &message, sizeof(message), fds, FDPASS_MAX, &fd_count),
                         sizeof(message));
        assert_int_equal(message.type, SPAWN_CREATE);
        assert_int_equal(message.version, SPAWN_PROTOCOL_VERSION);
        assert_int_equal(message.request, 5);
        assert_int_equal(message.profile, SPAWN_PROFILE_SNIPPET);
        assert_int_equal(fdpass_recv(f->spawner, &message, sizeof(message), fds, FDPASS_MAX, &fd_count),
                         sizeof(message));
        assert_int_equal(message.type, SPAWN_CLAIM);
        assert_int_equal(message.timeout_ms, 20000);
        assert_int_equal(message.flags, 0);
        assert_int_equal(message.sandbox.low, 2);
        assert_int_equal(fdpass_recv(f->spawner, &message, sizeof(message), fds, FDPASS_MAX, &fd_count),
                         sizeof(message));
        assert_int_equal(message.type, SPAWN_KILL);
        assert_int_equal(message.reason, SPAWN_END_CANCELLED);
        assert_int_equal(fd_count, 0);
}

static void keeps_what_the_socket_does_not_take(void **state) {
        struct fixture *f = *state;
        enum { COUNT = 3000 };
        greet(f);
        for (uint64_t i = 0; i < COUNT; i++)
                spawn_create(f->client, i, SPAWN_PROFILE_SNIPPET);
        uint64_t next = 0;
        for (int round = 0; next < COUNT && round < 1000; round++) {
                struct spawn_message message;
                while (recv(f->spawner, &message, sizeof(message), MSG_DONTWAIT) == (ssize_t)sizeof(message))
                        assert_int_equal(message.request, next++); /* all of them, in order */
                turn(f);
        }
        assert_int_equal(next, COUNT);
        assert_int_equal(f->losses, 0);
}

static void a_spawner_that_does_not_read_is_lost(void **state) {
        struct fixture *f = *state;
        greet(f);
        for (uint64_t i = 0; i < 10000; i++)
                spawn_create(f->client, i, SPAWN_PROFILE_SNIPPET);
        assert_int_equal(f->losses, 0); /* not from within a request */
        turn(f);
        assert_int_equal(f->losses, 1);
        spawn_create(f->client, 1, SPAWN_PROFILE_SNIPPET); /* harmless */
}

static void a_spawner_that_ends_is_lost(void **state) {
        struct fixture *f = *state;
        greet(f);
        close(f->spawner);
        f->spawner = -1;
        spawn_kill(f->client, (struct sandbox_id){1, 2}, SPAWN_END_CANCELLED);
        turn(f);
        turn(f);
        assert_int_equal(f->losses, 1);
        assert_string_equal(f->why, "the spawner has ended");
}

/* Descriptors that came with something wrong must not stay open. */
static unsigned open_descriptors(void) {
        unsigned count = 0;
        for (int fd = 0; fd < 256; fd++)
                count += fcntl(fd, F_GETFD) >= 0;
        return count;
}

static void changed_settings_come_with_a_file(void **state) {
        struct fixture *f = *state;
        greet(f);
        unsigned before = open_descriptors();
        int fd = memfd_create("test", MFD_CLOEXEC);
        assert_int_equal(write(fd, "hello", 5), 5);
        tell(f, (struct spawn_message){.type = SPAWN_SETTINGS, .max_sandboxes = 12}, &fd, 1);
        close(fd);
        turn(f);
        assert_int_equal(f->settings, 1);
        assert_int_equal(f->losses, 0);
        assert_int_equal(open_descriptors(), before);
        tell(f, (struct spawn_message){.type = SPAWN_SETTINGS, .max_sandboxes = 12}, NULL, 0);
        turn(f);
        assert_int_equal(f->losses, 1);
}

static void an_image_is_named(void **state) {
        struct fixture *f = *state;
        greet(f);
        tell(f, (struct spawn_message){.type = SPAWN_IMAGE, .image = {5, 6}, .image_bytes = 4096}, NULL, 0);
        turn(f);
        assert_int_equal(f->images, 1);
        assert_int_equal(f->losses, 0);
}

static void a_call_and_the_end_of_an_image_are_asked_for(void **state) {
        struct fixture *f = *state;
        struct spawn_message message;
        size_t fd_count;
        greet(f);
        spawn_create_call(f->client, 9, SPAWN_PROFILE_CALL, (struct sandbox_id){5, 6});
        spawn_image_drop(f->client, (struct sandbox_id){5, 6});
        turn(f);
        assert_int_equal(fdpass_recv(f->spawner, &message, sizeof(message), NULL, 0, &fd_count), sizeof(message));
        assert_int_equal(message.type, SPAWN_CREATE);
        assert_int_equal(message.profile, SPAWN_PROFILE_CALL);
        assert_int_equal(message.request, 9);
        assert_true(sandbox_id_equal(message.image, (struct sandbox_id){5, 6}));
        assert_int_equal(fdpass_recv(f->spawner, &message, sizeof(message), NULL, 0, &fd_count), sizeof(message));
        assert_int_equal(message.type, SPAWN_IMAGE_DROP);
        assert_true(sandbox_id_equal(message.image, (struct sandbox_id){5, 6}));
}

static void whatever_is_not_in_the_protocol_is_the_end(void **state) {
        const struct {
                struct spawn_message message;
                size_t length, fds;
                bool greeted;
        } cases[] = {
                {{.type = SPAWN_TEMPLATE, .template_state = SPAWN_TEMPLATE_SERVING},
                 sizeof(struct spawn_message),
                 0,
                 false},
                {{.type = SPAWN_HELLO, .version = 99}, sizeof(struct spawn_message), 0, false},
                {{.type = SPAWN_HELLO}, sizeof(struct spawn_message) - 1, 0, false},
                {{.type = SPAWN_HELLO}, 1, 0, false},
                {{.type = SPAWN_HELLO}, sizeof(struct spawn_message) + 8, 0, false},
                {{.type = 0}, sizeof(struct spawn_message), 0, true},
                {{.type = 200}, sizeof(struct spawn_message), 2, true},
                {{.type = SPAWN_CREATE}, sizeof(struct spawn_message), 0, true},
                {{.type = SPAWN_READY, .sandbox = {1, 2}}, sizeof(struct spawn_message), 0, true},
                {{.type = SPAWN_READY, .sandbox = {1, 2}}, sizeof(struct spawn_message), 2, true},
                {{.type = SPAWN_READY, .sandbox = {1, 2}}, sizeof(struct spawn_message), SPAWN_READY_FDS + 1, true},
                {{.type = SPAWN_EXITED, .reason = SPAWN_END_EXIT}, sizeof(struct spawn_message), 1, true},
                {{.type = SPAWN_EXITED, .reason = 0}, sizeof(struct spawn_message), 0, true},
                {{.type = SPAWN_EXITED, .reason = SPAWN_END_LOST + 1}, sizeof(struct spawn_message), 0, true},
                {{.type = SPAWN_EXITED, .reason = SPAWN_END_EXIT, .room_kept = 2},
                 sizeof(struct spawn_message),
                 0,
                 true},
                {{.type = SPAWN_EXITED, .reason = SPAWN_END_EXIT, .image_kept = 2},
                 sizeof(struct spawn_message),
                 0,
                 true},
                {{.type = SPAWN_RESTED, .room_kept = 1}, sizeof(struct spawn_message), 0, true},
                {{.type = SPAWN_RESTED}, sizeof(struct spawn_message), 1, true},
                {{.type = SPAWN_RESTED}, sizeof(struct spawn_message), 0, false},
                {{.type = SPAWN_RENEW}, sizeof(struct spawn_message), 0, true},
                {{.type = SPAWN_REST}, sizeof(struct spawn_message), 0, true},
                {{.type = SPAWN_TEMPLATE, .template_state = 9}, sizeof(struct spawn_message), 0, true},
        };
        (void)state;
        for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
                void *fixture;
                setup(&fixture);
                struct fixture *f = fixture;
                if (cases[i].greeted)
                        greet(f);
                unsigned before = open_descriptors();
                char bytes[sizeof(struct spawn_message) + 64] = {0};
                const int fds[8] = {0, 0, 0, 0, 0, 0, 0, 0};
                struct spawn_message message = cases[i].message;
                message.version = message.version ? message.version : SPAWN_PROTOCOL_VERSION;
                memcpy(bytes, &message, sizeof(message));
                assert_int_equal(fdpass_send(f->spawner, bytes, cases[i].length, fds, cases[i].fds), 0);
                turn(f);
                turn(f);
                if (f->losses != 1 || f->readies + f->exits + f->templates + f->failures + f->rests > 0)
                        fail_msg("case %zu", i);
                assert_int_equal(open_descriptors(), before);
                teardown(&fixture);
        }
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test_setup_teardown(hands_news_on, setup, teardown),
                cmocka_unit_test_setup_teardown(hands_news_of_sessions_on, setup, teardown),
                cmocka_unit_test_setup_teardown(sends_requests, setup, teardown),
                cmocka_unit_test_setup_teardown(sends_requests_of_sessions, setup, teardown),
                cmocka_unit_test_setup_teardown(keeps_what_the_socket_does_not_take, setup, teardown),
                cmocka_unit_test_setup_teardown(a_spawner_that_does_not_read_is_lost, setup, teardown),
                cmocka_unit_test_setup_teardown(a_spawner_that_ends_is_lost, setup, teardown),
                cmocka_unit_test_setup_teardown(changed_settings_come_with_a_file, setup, teardown),
                cmocka_unit_test_setup_teardown(an_image_is_named, setup, teardown),
                cmocka_unit_test_setup_teardown(a_call_and_the_end_of_an_image_are_asked_for, setup, teardown),
                cmocka_unit_test(whatever_is_not_in_the_protocol_is_the_end),
        };
        return cmocka_run_group_tests(tests, NULL, NULL);
}
