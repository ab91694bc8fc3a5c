/*
 * The host checks: on a host that can run the layer tests each required one passes, and what is wrong is said to be so.
 */
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "layer.h"
#include "sandbox/caps.h"
#include "sandbox/probe.h"

#define MANY 32

struct seen {
        struct probe_result results[MANY];
        size_t n;
};

static void note(const struct probe_result *result, void *data) {
        struct seen *seen = data;

        assert_true(seen->n < MANY);
        seen->results[seen->n++] = *result;
}

static const struct probe_result *find(const struct seen *seen, const char *name) {
        for (size_t i = 0; i < seen->n; i++)
                if (strcmp(seen->results[i].name, name) == 0)
                        return &seen->results[i];
        fail_msg("there is no check \"%s\"", name);
        return NULL;
}

static const struct probe_context good = {.uid_base = 1900000000, .uid_count = 65538};

static void test_this_host(void **state) {
        struct seen seen = {.n = 0};
        int failed;

        (void)state;
        layer_need_root();
        failed = probe_run(&good, note, &seen);
        for (size_t i = 0; i < seen.n; i++) {
                const struct probe_result *r = &seen.results[i];

                if (r->state == PROBE_FAIL)
                        print_error("%s: %s (%s)\n", r->name, r->message, r->advice);
                assert_string_not_equal(r->message, "");
                if (r->state == PROBE_FAIL)
                        assert_string_not_equal(r->advice, "");
        }
        assert_int_equal(failed, 0);
        assert_true(seen.n >= 12);
}

static void expect(const struct probe_context *context, const char *name, enum probe_state state, const char *words) {
        struct seen seen = {.n = 0};
        const struct probe_result *result;
        int failed = probe_run(context, note, &seen);

        result = find(&seen, name);
        if (result->state != state || !strstr(result->message, words))
                fail_msg("%s: state %d, \"%s\"", name, (int)result->state, result->message);
        assert_int_equal(failed > 0, state == PROBE_FAIL && result->required);
        if (state == PROBE_FAIL)
                assert_string_not_equal(result->advice, "");
}

static void test_image(void **state) {
        static const unsigned char nonsense[2048];
        char file[] = "/tmp/layer-probe-XXXXXX", folder[] = "/tmp/layer-probe-XXXXXX";
        struct probe_context context = good;
        int fd = mkstemp(file);

        (void)state;
        layer_need_root();
        assert_true(fd >= 0);
        context.image = file;
        assert_int_equal(pwrite(fd, nonsense, sizeof nonsense, 0), sizeof nonsense);
        expect(&context, "image", PROBE_FAIL, "neither");
        close(fd);
        unlink(file);
        expect(&context, "image", PROBE_FAIL, "No such file");

        assert_non_null(mkdtemp(folder));
        context.image = folder;
        expect(&context, "image", PROBE_FAIL, "python3.12");
        rmdir(folder);
}

static void test_ids(void **state) {
        struct probe_context context = good;

        (void)state;
        layer_need_root();
        context.uid_base = 1000; /* below those of system and people */
        expect(&context, "host IDs", PROBE_FAIL, "cannot be used");
        context.uid_base = UINT32_MAX - 100;
        expect(&context, "host IDs", PROBE_FAIL, "cannot be used");
}

static void test_user(void **state) {
        struct probe_context context = good;

        (void)state;
        layer_need_root();
        context.user = "root";
        expect(&context, "service user", PROBE_FAIL, "that is root");
        context.user = "no such user";
        expect(&context, "service user", PROBE_FAIL, "no such user");
        context.user = "nobody";
        expect(&context, "service user", PROBE_OK, "nobody");
}

/* ---- Hosts that lack something, made in a child ---- */

/* Bit n: required check n of this list failed. */
static long failing(const void *data) {
        static const char *const names[] = {"privilege", "user namespaces", "mounts", "cgroups", "seccomp"};
        struct seen seen = {.n = 0};
        long bits = 0;

        (void)data;
        probe_run(&good, note, &seen);
        for (size_t i = 0; i < 5; i++)
                bits |= (long)(find(&seen, names[i])->state == PROBE_FAIL) << i;
        return bits;
}

static int without_capabilities(void) {
        return caps_drop_all();
}

/* As container managers have it. A tmpfs over a part of /proc; the rest of the checks must go on working. */
static int with_masked_proc(void) {
        return mount("tmpfs", "/proc/sys", "tmpfs", MS_RDONLY, NULL) < 0 ? -1 : 0;
}

static int with_read_only_cgroups(void) {
        return mount("tmpfs", "/sys/fs/cgroup", "tmpfs", 0, NULL) < 0 ? -1 : 0;
}

static void test_poorer_hosts(void **state) {
        (void)state;
        layer_need_root();
        assert_int_equal(layer_run(NULL, failing, NULL).result, 0);
        assert_int_equal(layer_run(without_capabilities, failing, NULL).result & 0x3, 0x3);
        assert_int_equal(layer_run(with_masked_proc, failing, NULL).result, 0x4);
        assert_int_equal(layer_run(with_read_only_cgroups, failing, NULL).result, 0x8);
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_this_host), cmocka_unit_test(test_image),        cmocka_unit_test(test_ids),
                cmocka_unit_test(test_user),      cmocka_unit_test(test_poorer_hosts),
        };

        return cmocka_run_group_tests_name("host checks", tests, NULL, NULL);
}
