/*
 * Both versions of control groups on made-up trees: what a host may look like, where the groups go, what is written.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

#include <cmocka.h>

#include "fake_cgroup.h"

#define MIB (UINT64_C(1) << 20)

static const struct cgroup_limits limits = {.memory_bytes = 512 * MIB, .pids = 128, .cpu_percent = 100};
static struct fake fake;
static struct cgroup_tree *tree;
static struct cgroup cgroup;
static struct err e;

static int set_up(void **state) {
        (void)state;
        fake_begin(&fake);
        tree = NULL;
        cgroup = (struct cgroup)CGROUP_INIT;
        e = (struct err){0};
        return 0;
}

static int tear_down(void **state) {
        (void)state;
        cgroup_destroy(&cgroup);
        cgroup_close(&tree);
        fake_end(&fake);
        return 0;
}

static void open_tree_as(const char *instance) {
        if (cgroup_open_from(&fake.source, instance, &tree, &e) < 0)
                fail_msg("%s", e.message);
}

static void make_box(void) {
        if (cgroup_create(tree, "box", &limits, &cgroup, &e) < 0)
                fail_msg("%s", e.message);
}

static void expect_text(const char *path, const char *wanted) {
        const char *text = fake_get(&fake, path);

        if (!text)
                fail_msg("there is no %s", path);
        assert_string_equal(text, wanted);
}

static void expect_refusal(int code, const char *words) {
        assert_int_equal(cgroup_open_from(&fake.source, "x", &tree, &e), code);
        assert_null(tree);
        if (!strstr(e.message, words))
                fail_msg("\"%s\" lacks \"%s\"", e.message, words);
}

/* ---- v1 ---- */

/* Debian and others before 2022: cpu and cpuacct together, v2 mounted beside for systemd. */
static void v1_host(const char *own) {
        char line[128];

        fake_mount(&fake, "unified", "/", "cgroup2", "rw,nsdelegate");
        fake_mount(&fake, "cpu,cpuacct", "/", "cgroup", "rw,cpu,cpuacct");
        fake_mount(&fake, "memory", "/", "cgroup", "rw,memory");
        fake_mount(&fake, "pids", "/", "cgroup", "rw,pids");
        fake_root_group(&fake, "unified", "");
        fake_self(&fake, "0::/");
        for (size_t i = 0; i < 3; i++) {
                static const char *const points[] = {"cpu,cpuacct", "memory", "pids"};

                snprintf(line, sizeof line, "%zu:%s:%s", i + 1, points[i], own);
                fake_self(&fake, line);
                snprintf(line, sizeof line, "%s%s", points[i], strcmp(own, "/") == 0 ? "" : own);
                fake_group(&fake, line);
        }
}

static void test_v1_places(void **state) {
        (void)state;
        v1_host("/system.slice/sandboxd.service");
        open_tree_as("a1");
        assert_int_equal(cgroup_version(tree), 1);
        assert_int_equal(tree->n, 3);
        make_box();
        assert_true(fake_exists(&fake, "memory/system.slice/sandboxd.service/sandboxd-a1/box"));
        assert_true(fake_exists(&fake, "pids/system.slice/sandboxd.service/sandboxd-a1/box"));
        assert_true(fake_exists(&fake, "cpu,cpuacct/system.slice/sandboxd.service/sandboxd-a1/box"));
        assert_int_equal(cgroup_destroy(&cgroup), 0);
        cgroup_close(&tree);
        assert_true(fake_exists(&fake, "memory/system.slice/sandboxd.service"));
        assert_false(fake_exists(&fake, "memory/system.slice/sandboxd.service/sandboxd-a1"));
        assert_false(fake_exists(&fake, "pids/system.slice/sandboxd.service/sandboxd-a1"));
}

static void test_v1_limits(void **state) {
        (void)state;
        v1_host("/");
        open_tree_as("a1");
        make_box();
        expect_text("memory/sandboxd-a1/box/memory.limit_in_bytes", "536870912");
        expect_text("memory/sandboxd-a1/box/memory.memsw.limit_in_bytes", "536870912");
        expect_text("memory/sandboxd-a1/box/memory.swappiness", "0");
        expect_text("pids/sandboxd-a1/box/pids.max", "128");
        expect_text("cpu,cpuacct/sandboxd-a1/box/cpu.cfs_period_us", "20000");
        expect_text("cpu,cpuacct/sandboxd-a1/box/cpu.cfs_quota_us", "20000");
        assert_int_equal(cgroup_set_memory(&cgroup, 600 * MIB), 0);
        expect_text("memory/sandboxd-a1/box/memory.limit_in_bytes", "629145600");
        expect_text("memory/sandboxd-a1/box/memory.memsw.limit_in_bytes", "629145600");
        assert_int_equal(cgroup_set_cpu(&cgroup, CGROUP_CPU_UNLIMITED), 0);
        expect_text("cpu,cpuacct/sandboxd-a1/box/cpu.cfs_quota_us", "-1");
        assert_int_equal(cgroup_set_cpu(&cgroup, 100), 0);
        expect_text("cpu,cpuacct/sandboxd-a1/box/cpu.cfs_quota_us", "20000");
}

static void test_v1_attach(void **state) {
        (void)state;
        v1_host("/");
        open_tree_as("a1");
        make_box();
        fake_process(&fake, "memory", 4711);
        assert_int_equal(cgroup_attach(&cgroup, 4711), 0);
        assert_string_equal(fake_where(&fake, "memory", 4711), "memory/sandboxd-a1/box");
        assert_string_equal(fake_where(&fake, "pids", 4711), "pids/sandboxd-a1/box");
        assert_string_equal(fake_where(&fake, "cpu,cpuacct", 4711), "cpu,cpuacct/sandboxd-a1/box");
        assert_int_equal(cgroup_destroy(&cgroup), -EBUSY);
        fake_process(&fake, "memory", 4711);
        fake_process(&fake, "pids", 4711);
        fake_process(&fake, "cpu,cpuacct", 4711);
        assert_int_equal(cgroup_destroy(&cgroup), 0);
}

static void test_v1_usage(void **state) {
        struct cgroup_usage usage;
        uint32_t events;

        (void)state;
        v1_host("/");
        open_tree_as("a1");
        make_box();
        fake_put(&fake, "cpu,cpuacct/sandboxd-a1/box/cpuacct.usage", "1234567890\n");
        fake_put(&fake, "memory/sandboxd-a1/box/memory.max_usage_in_bytes", "104857600\n");
        fake_put(&fake, "memory/sandboxd-a1/box/memory.oom_control", "oom_kill_disable 0\nunder_oom 1\noom_kill 3\n");
        assert_int_equal(cgroup_read_usage(&cgroup, &usage), 0);
        assert_int_equal(usage.cpu_us, 1234567);
        assert_int_equal(usage.memory_peak, 104857600);
        assert_int_equal(usage.oom_kills, 3);
        assert_true(cgroup_oom_fd(&cgroup, &events) >= 0);
        assert_int_equal(events, EPOLLIN);
        fake_put(&fake, "memory/sandboxd-a1/box/memory.oom_control", "oom_kill_disable 0\nunder_oom 0\n");
        assert_int_equal(cgroup_read_usage(&cgroup, &usage), -ENODATA); /* rather than a made-up zero */
}

static void test_v1_missing_controller(void **state) {
        (void)state;
        fake_mount(&fake, "memory", "/", "cgroup", "rw,memory");
        fake_mount(&fake, "cpu", "/", "cgroup", "rw,cpu");
        fake_mount(&fake, "cpuset", "/", "cgroup", "rw,cpuset"); /* not "cpu", though it begins so */
        expect_refusal(-ENODEV, "pids, cpuacct");
}

static void test_no_cgroups(void **state) {
        (void)state;
        expect_refusal(-ENODEV, "no cgroup file system is mounted");
}

/* A container without a cgroup namespace: the mount shows only its own part, under its full name elsewhere. */
static void test_v1_container(void **state) {
        static const char *const points[] = {"cpu", "cpuacct", "memory", "pids"};
        char text[128];

        (void)state;
        for (size_t i = 0; i < 4; i++) {
                snprintf(text, sizeof text, "rw,%s", points[i]);
                fake_mount(&fake, points[i], "/docker/0123", "cgroup", text);
                snprintf(text, sizeof text, "%zu:%s:/docker/0123/service", i, points[i]);
                fake_self(&fake, text);
                snprintf(text, sizeof text, "%s/service", points[i]);
                fake_group(&fake, text);
        }
        open_tree_as("c");
        assert_int_equal(tree->n, 4);
        assert_true(fake_exists(&fake, "memory/service/sandboxd-c"));
}

/* A name that only begins like the mount's, and one outside of a cgroup namespace. */
static void test_v1_outside_of_what_is_mounted(void **state) {
        (void)state;
        fake_mount(&fake, "all", "/docker/01", "cgroup", "rw,cpu,cpuacct,pids");
        fake_mount(&fake, "memory", "/", "cgroup", "rw,memory");
        fake_self(&fake, "1:cpu,cpuacct,pids:/docker/0123");
        fake_self(&fake, "2:memory:/../other");
        fake_group(&fake, "all");
        fake_group(&fake, "memory");
        open_tree_as("c");
        assert_true(fake_exists(&fake, "all/sandboxd-c"));
        assert_true(fake_exists(&fake, "memory/sandboxd-c"));
}

static void test_escaped_mount_point(void **state) {
        (void)state;
        fake_mount(&fake, "a\\040b\\134", "/", "cgroup", "rw,cpu,cpuacct,pids,memory");
        fake_self(&fake, "1:cpu,cpuacct,pids,memory:/");
        fake_group(&fake, "a b\\");
        open_tree_as("c");
        assert_true(fake_exists(&fake, "a b\\/sandboxd-c"));
}

static void test_v1_swap_without_account(void **state) {
        (void)state;
        v1_host("/");
        fake_has_swap(&fake);
        open_tree_as("x");
        make_box(); /* the control: accounted for */
        assert_int_equal(cgroup_destroy(&cgroup), 0);
        fake_remove_file(&fake, "memory/sandboxd-x/memory.memsw.limit_in_bytes");
        assert_int_equal(tree->ops->ready(tree, &e), -ENODEV);
        assert_non_null(strstr(e.message, "swapaccount=1"));
}

static void test_value_not_taken(void **state) {
        (void)state;
        v1_host("/");
        open_tree_as("x");
        fake_ignore_writes("pids.max");
        assert_int_equal(cgroup_create(tree, "box", &limits, &cgroup, &e), -EIO);
        assert_non_null(strstr(e.message, "pids.max was set to 128 but reads 7"));
        fake_ignore_writes(NULL);
        assert_false(fake_exists(&fake, "memory/sandboxd-x/box")); /* nothing is left */
        assert_false(fake_exists(&fake, "pids/sandboxd-x/box"));
}

static void test_leftovers_here_and_elsewhere(void **state) {
        (void)state;
        v1_host("/user.slice/session-2.scope");
        fake_group(&fake, "memory/user.slice/session-1.scope/sandboxd-a1/old");
        fake_group(&fake, "memory/user.slice/session-2.scope/sandboxd-a1/older");
        fake_group(&fake, "memory/user.slice/session-1.scope/sandboxd-a2/of-another");
        open_tree_as("a1");
        assert_false(fake_exists(&fake, "memory/user.slice/session-1.scope/sandboxd-a1"));
        assert_true(fake_exists(&fake, "memory/user.slice/session-2.scope/sandboxd-a1"));
        assert_false(fake_exists(&fake, "memory/user.slice/session-2.scope/sandboxd-a1/older"));
        assert_true(fake_exists(&fake, "memory/user.slice/session-1.scope/sandboxd-a2/of-another"));
}

/* ---- v2 ---- */

static void v2_host(const char *controllers) {
        fake_mount(&fake, "cg", "/", "cgroup2", "rw,nsdelegate");
        fake_root_group(&fake, "cg", controllers);
}

/* Started by hand from the root group. */
static void test_v2_root(void **state) {
        (void)state;
        v2_host("cpuset cpu io memory pids\n");
        fake_self(&fake, "0::/");
        fake_process(&fake, "cg", getpid());
        open_tree_as("a1");
        assert_int_equal(cgroup_version(tree), 2);
        make_box();
        assert_string_equal(fake_where(&fake, "cg", getpid()), "cg"); /* no need to move */
        expect_text("cg/sandboxd-a1/cgroup.subtree_control", "cpu memory pids");
        expect_text("cg/sandboxd-a1/box/memory.max", "536870912");
        expect_text("cg/sandboxd-a1/box/memory.swap.max", "0");
        expect_text("cg/sandboxd-a1/box/memory.oom.group", "1");
        expect_text("cg/sandboxd-a1/box/pids.max", "128");
        expect_text("cg/sandboxd-a1/box/cpu.max", "20000 20000");
        assert_int_equal(cgroup_set_memory(&cgroup, 600 * MIB), 0);
        expect_text("cg/sandboxd-a1/box/memory.max", "629145600");
        assert_int_equal(cgroup_set_cpu(&cgroup, CGROUP_CPU_UNLIMITED), 0);
        expect_text("cg/sandboxd-a1/box/cpu.max", "max 20000");
        assert_int_equal(cgroup_set_cpu(&cgroup, 100), 0);
        expect_text("cg/sandboxd-a1/box/cpu.max", "20000 20000");
        assert_int_equal(cgroup_destroy(&cgroup), 0);
        cgroup_close(&tree);
        assert_false(fake_exists(&fake, "cg/sandboxd-a1"));
}

/* A service with Delegate=yes: it steps into a leaf, and back at the end. */
static void test_v2_service(void **state) {
        (void)state;
        v2_host("cpu memory pids\n");
        fake_group(&fake, "cg/system.slice");
        fake_put(&fake, "cg/system.slice/cgroup.subtree_control", "cpu memory pids\n");
        fake_group(&fake, "cg/system.slice/sandboxd.service");
        fake_self(&fake, "0::/system.slice/sandboxd.service");
        fake_process(&fake, "cg/system.slice/sandboxd.service", getpid());
        open_tree_as("a1");
        assert_string_equal(fake_where(&fake, "cg", getpid()), "cg/system.slice/sandboxd.service/sandboxd-a1-service");
        make_box();
        expect_text("cg/system.slice/sandboxd.service/sandboxd-a1/box/pids.max", "128");
        fake_process(&fake, "cg/system.slice", 4711);
        assert_int_equal(cgroup_attach(&cgroup, 4711), 0);
        assert_string_equal(fake_where(&fake, "cg", 4711), "cg/system.slice/sandboxd.service/sandboxd-a1/box");
        fake_process(&fake, "cg", 4711);
        assert_int_equal(cgroup_destroy(&cgroup), 0);
        cgroup_close(&tree);
        assert_string_equal(fake_where(&fake, "cg", getpid()), "cg/system.slice/sandboxd.service");
        assert_false(fake_exists(&fake, "cg/system.slice/sandboxd.service/sandboxd-a1"));
        assert_false(fake_exists(&fake, "cg/system.slice/sandboxd.service/sandboxd-a1-service"));
}

/* From a login session: the shell beside it stays where it is, the sandboxes go below the root. */
static void test_v2_session(void **state) {
        (void)state;
        v2_host("cpu memory pids\n");
        fake_group(&fake, "cg/user.slice");
        fake_put(&fake, "cg/user.slice/cgroup.subtree_control", "cpu memory pids\n");
        fake_group(&fake, "cg/user.slice/session-1.scope");
        fake_self(&fake, "0::/user.slice/session-1.scope");
        fake_process(&fake, "cg/user.slice/session-1.scope", 4711);
        fake_process(&fake, "cg/user.slice/session-1.scope", getpid());
        open_tree_as("a1");
        assert_true(fake_exists(&fake, "cg/sandboxd-a1"));
        assert_string_equal(fake_where(&fake, "cg", 4711), "cg/user.slice/session-1.scope");
        assert_string_equal(fake_where(&fake, "cg", getpid()), "cg/user.slice/session-1.scope");
}

/* A session of a user whose manager hands down less (often memory and pids only): below the root too. */
static void test_v2_session_with_less(void **state) {
        (void)state;
        v2_host("cpu memory pids\n");
        fake_group(&fake, "cg/user.slice");
        fake_put(&fake, "cg/user.slice/cgroup.subtree_control", "memory pids\n");
        fake_group(&fake, "cg/user.slice/session-1.scope");
        fake_self(&fake, "0::/user.slice/session-1.scope");
        fake_process(&fake, "cg/user.slice/session-1.scope", getpid());
        open_tree_as("a1");
        make_box();
        assert_true(fake_exists(&fake, "cg/sandboxd-a1/box"));
        assert_string_equal(fake_where(&fake, "cg", getpid()), "cg/user.slice/session-1.scope");
}

/* A container with a cgroup namespace: all that it sees is its own, and the rule about processes holds at its top. */
static void test_v2_container(void **state) {
        (void)state;
        v2_host("cpu memory pids\n");
        fake_put(&fake, "cg/cgroup.type", "domain\n");
        fake_put(&fake, "cg/cgroup.subtree_control", "");
        fake_self(&fake, "0::/");
        fake_process(&fake, "cg", 1);
        fake_process(&fake, "cg", getpid());
        open_tree_as("a1");
        assert_string_equal(fake_where(&fake, "cg", 1), "cg/sandboxd-a1-service");
        assert_string_equal(fake_where(&fake, "cg", getpid()), "cg/sandboxd-a1-service");
        make_box();
        assert_true(fake_exists(&fake, "cg/sandboxd-a1/box"));
        assert_int_equal(cgroup_destroy(&cgroup), 0);
        cgroup_close(&tree);
        assert_string_equal(fake_where(&fake, "cg", 1), "cg");
}

static void test_v2_missing_controller(void **state) {
        (void)state;
        v2_host("cpu io memory\n");
        fake_self(&fake, "0::/");
        expect_refusal(-ENODEV, "pids");
}

/* "cpuset" is not "cpu". */
static void test_v2_similar_controller(void **state) {
        (void)state;
        v2_host("cpuset memory pids\n");
        fake_self(&fake, "0::/");
        expect_refusal(-ENODEV, "cpu");
}

static void test_v2_usage(void **state) {
        struct cgroup_usage usage;
        uint32_t events;

        (void)state;
        v2_host("cpu memory pids\n");
        fake_self(&fake, "0::/");
        open_tree_as("a1");
        make_box();
        fake_put(&fake, "cg/sandboxd-a1/box/cpu.stat", "usage_usec 98765\nuser_usec 90000\nsystem_usec 8765\n");
        fake_put(&fake, "cg/sandboxd-a1/box/memory.peak", "4096000\n");
        fake_put(&fake, "cg/sandboxd-a1/box/memory.events",
                 "low 0\nhigh 0\nmax 9\noom 2\noom_kill 5\noom_group_kill 1\n");
        assert_int_equal(cgroup_read_usage(&cgroup, &usage), 0);
        assert_int_equal(usage.cpu_us, 98765);
        assert_int_equal(usage.memory_peak, 4096000);
        assert_int_equal(usage.oom_kills, 5);
        assert_true(cgroup_oom_fd(&cgroup, &events) >= 0);
        assert_int_equal(events, EPOLLPRI);
        cgroup_oom_ack(&cgroup);
        assert_int_equal(cgroup_kill(&cgroup), 0);
        expect_text("cg/sandboxd-a1/box/cgroup.kill", "1");
}

static int populate_without(const char *file) {
        char path[128];
        int r;

        open_tree_as("a1");
        snprintf(path, sizeof path, "cg/sandboxd-a1/box");
        fake_group(&fake, path);
        snprintf(path, sizeof path, "cg/sandboxd-a1/box/%s", file);
        fake_remove_file(&fake, path);
        /* The group is there already, as no other caller would find it: use what create does after making it. */
        cgroup.tree = tree;
        snprintf(cgroup.name, sizeof cgroup.name, "box");
        cgroup.dir_fds[0] = cgroup_file_open(tree->parent_fds[0], "box", 0);
        r = tree->ops->set_limits(&cgroup, &limits, &e);
        return r < 0 ? r : tree->ops->open_files(&cgroup, &e);
}

static void test_v2_before_memory_peak(void **state) {
        struct cgroup_usage usage;

        (void)state;
        v2_host("cpu memory pids\n");
        fake_self(&fake, "0::/");
        assert_int_equal(populate_without("memory.peak"), 0);
        fake_put(&fake, "cg/sandboxd-a1/box/memory.current", "8192\n");
        assert_int_equal(cgroup_read_usage(&cgroup, &usage), 0);
        assert_int_equal(usage.memory_peak, 8192);
}

static void test_v2_no_swap_at_all(void **state) {
        (void)state;
        v2_host("cpu memory pids\n");
        fake_self(&fake, "0::/");
        assert_int_equal(populate_without("memory.swap.max"), 0);
}

static void test_v2_swap_without_account(void **state) {
        (void)state;
        v2_host("cpu memory pids\n");
        fake_self(&fake, "0::/");
        fake_has_swap(&fake);
        assert_int_equal(populate_without("memory.swap.max"), -ENODEV);
        assert_non_null(strstr(e.message, "swapoff"));
}

static void test_v2_leftover_leaf(void **state) {
        (void)state;
        v2_host("cpu memory pids\n");
        fake_group(&fake, "cg/a");
        fake_put(&fake, "cg/a/cgroup.subtree_control", "cpu memory pids\n");
        fake_group(&fake, "cg/a/s");
        fake_group(&fake, "cg/a/s/sandboxd-a1-service"); /* of a run that was killed */
        fake_group(&fake, "cg/a/s/sandboxd-a1/box-9");
        fake_self(&fake, "0::/a/s");
        fake_process(&fake, "cg/a/s", getpid());
        open_tree_as("a1");
        assert_false(fake_exists(&fake, "cg/a/s/sandboxd-a1/box-9"));
        assert_string_equal(fake_where(&fake, "cg", getpid()), "cg/a/s/sandboxd-a1-service");
}

#define TEST(function) cmocka_unit_test_setup_teardown(function, set_up, tear_down)

int main(void) {
        const struct CMUnitTest tests[] = {
                TEST(test_v1_places),
                TEST(test_v1_limits),
                TEST(test_v1_attach),
                TEST(test_v1_usage),
                TEST(test_v1_missing_controller),
                TEST(test_no_cgroups),
                TEST(test_v1_container),
                TEST(test_v1_outside_of_what_is_mounted),
                TEST(test_escaped_mount_point),
                TEST(test_v1_swap_without_account),
                TEST(test_value_not_taken),
                TEST(test_leftovers_here_and_elsewhere),
                TEST(test_v2_root),
                TEST(test_v2_service),
                TEST(test_v2_session),
                TEST(test_v2_session_with_less),
                TEST(test_v2_container),
                TEST(test_v2_missing_controller),
                TEST(test_v2_similar_controller),
                TEST(test_v2_usage),
                TEST(test_v2_before_memory_peak),
                TEST(test_v2_no_swap_at_all),
                TEST(test_v2_swap_without_account),
                TEST(test_v2_leftover_leaf),
        };

        return cmocka_run_group_tests_name("control groups on made-up trees", tests, NULL, NULL);
}
