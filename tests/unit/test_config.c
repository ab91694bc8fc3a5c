/*
 * Settings: defaults, the three ways to give one, and every kind of refusal.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/config.h"
#include "base/config_reload.h"
#include "base/config_settings.h"
#include "base/config_values.h"

static char scratch[] = "/tmp/test-config-XXXXXX";

static int start(void **state) {
        (void)state;
        return clearenv();
}

static int make_scratch(void **state) {
        (void)state;
        return mkdtemp(scratch) ? 0 : -1;
}

static int remove_scratch(void **state) {
        static const char *const names[] = {"settings", "key"};
        (void)state;
        for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
                char path[64];
                snprintf(path, sizeof(path), "%s/%s", scratch, names[i]);
                unlink(path);
        }
        return rmdir(scratch);
}

static void write_bytes(const char *name, const void *bytes, size_t length) {
        char path[64];
        snprintf(path, sizeof(path), "%s/%s", scratch, name);
        CLEANUP_FCLOSE FILE *file = fopen(path, "w");
        assert_non_null(file);
        assert_int_equal(fwrite(bytes, 1, length, file), length);
}

/* Writes the settings file and makes the environment name it. */
static void use_file(const char *text) {
        char path[64];
        snprintf(path, sizeof(path), "%s/settings", scratch);
        write_bytes("settings", text, strlen(text));
        setenv("SANDBOX_CONFIG_FILE", path, 1);
}

static void load(struct config *config) {
        struct err e = {0};
        int r = config_load(config, &e);
        if (r < 0)
                fail_msg("refused: %s", e.message);
}

/* Loading must fail, and the message must hold each of the words. */
static void refused_(int line, const char *const words[]) {
        struct config config;
        struct err e = {0};
        int r = config_load(&config, &e);
        if (r >= 0)
                fail_msg("line %d: was accepted", line);
        for (size_t i = 0; words[i]; i++)
                if (!strstr(e.message, words[i]))
                        fail_msg("line %d: \"%s\" is not in: %s", line, words[i], e.message);
        if (strchr(e.message, '\n'))
                fail_msg("line %d: the message has a line break", line);
        assert_null(config.listen); /* nothing is left behind */
        assert_null(config.admin_key);
}
#define refused(...) refused_(__LINE__, (const char *const[]){__VA_ARGS__, NULL})

static void refused_value(const char *name, const char *value, const char *allowed) {
        clearenv();
        setenv(name, value, 1);
        refused(name, value, allowed);
}

static void test_defaults(void **state) {
        struct config config;
        (void)state;
        load(&config);
        assert_string_equal(config.listen, "127.0.0.1:8080");
        assert_string_equal(config.admin_key, "");
        assert_string_equal(config.user, "");
        assert_string_equal(config.database, "");
        assert_string_equal(config.log_level, "info");
        assert_int_equal(config.warm_pool, 3);
        assert_int_equal(config.queue_max, 64);
        assert_int_equal(config.queue_timeout_s, 30);
        assert_int_equal(config.execute_timeout_s, 20);
        assert_int_equal(config.execute_max_timeout_s, 60);
        assert_int_equal(config.body_max_bytes, 32 << 20);
        assert_int_equal(config.output_keep_bytes, 1 << 20);
        assert_int_equal(config.output_max_bytes, 64 << 20);
        assert_int_equal(config.session_idle_s, 900);
        assert_int_equal(config.sessions_per_project, 2);
        assert_int_equal(config.max_sessions, 20);
        assert_int_equal(config.conversation_ttl_s, 86400);
        assert_int_equal(config.rate_limit, 0);
        config_deinit(&config);
        config_deinit(&config); /* twice is harmless */
}

/* The compiled table must not hold a default that it would itself refuse. */
static void test_defaults_are_allowed(void **state) {
        (void)state;
        for (size_t i = 0; i < config_settings_count; i++) {
                const struct setting *setting = &config_settings[i];
                if (!setting->parse && !setting->compute_number) {
                        assert_true(setting->initial >= setting->min);
                        assert_true(setting->initial <= setting->max);
                }
                assert_non_null(setting->doc);
                assert_true(setting->parse ? setting->allowed != NULL : setting->unit != NULL);
        }
}

/* This test runs from a build folder, so the defaults lie in it; what is a link there, such as an image that is shared
   with another build folder, is named by where it leads. */
static void test_places_in_a_build_folder(void **state) {
        static const char *const forms[] = {"image.erofs", "image.squashfs", "rootfs"};
        struct config config;
        char path[4096], *there = NULL;
        (void)state;
        load(&config);
        int length = (int)(strlen(config.data_dir) - strlen("/data"));
        assert_string_equal(config.data_dir + length, "/data");
        snprintf(path, sizeof(path), "%.*s/build.ninja", length, config.data_dir);
        assert_int_equal(access(path, F_OK), 0);
        for (size_t i = 0; i < ARRAY_SIZE(forms) && !there; i++) {
                snprintf(path, sizeof(path), "%.*s/image/%s", length, config.data_dir, forms[i]);
                there = realpath(path, NULL);
        }
        if (!there)
                snprintf(path, sizeof(path), "%.*s/image/image.erofs", length, config.data_dir);
        assert_string_equal(config.image, there ? there : path);
        free(there);
        config_deinit(&config);
}

static void test_max_concurrent_follows_the_cpus(void **state) {
        cpu_set_t all, one;
        (void)state;
        assert_int_equal(sched_getaffinity(0, sizeof(all), &all), 0);
        assert_int_equal(value_default_max_concurrent(), 4 * CPU_COUNT(&all));
        CPU_ZERO(&one);
        for (int cpu = 0; CPU_COUNT(&one) == 0; cpu++)
                if (CPU_ISSET(cpu, &all))
                        CPU_SET(cpu, &one);
        assert_int_equal(sched_setaffinity(0, sizeof(one), &one), 0);
        assert_int_equal(value_default_max_concurrent(), 4);
        assert_int_equal(sched_setaffinity(0, sizeof(all), &all), 0);
}

static void test_environment(void **state) {
        struct config config;
        (void)state;
        setenv("SANDBOX_LISTEN", "[::1]:9000", 1);
        setenv("SANDBOX_WARM_POOL", "64", 1);
        setenv("SANDBOX_DATA_DIR", "/srv/data", 1);
        setenv("SANDBOX_IMAGE", "/srv/image.erofs", 1);
        setenv("SANDBOX_ADMIN_KEY", "0123456789abcdef", 1);
        setenv("SANDBOX_USER", "nobody", 1);
        setenv("SANDBOX_LOG_LEVEL", "warning", 1);
        setenv("SANDBOX_DATABASE", "sqlite", 1);
        setenv("SANDBOX_QUEUE_MAX", "", 1);      /* empty: not set */
        setenv("SANDBOX_URL", "http://x/", 1);   /* clients' own */
        setenv("SANDBOX_KEY", "whatever", 1);    /* clients' own */
        setenv("SANDBOXES", "not ours", 1);      /* another prefix */
        setenv("sandbox_listen", "not ours", 1); /* names have one case */
        load(&config);
        assert_string_equal(config.listen, "[::1]:9000");
        assert_string_equal(config.data_dir, "/srv/data");
        assert_string_equal(config.image, "/srv/image.erofs");
        assert_string_equal(config.admin_key, "0123456789abcdef");
        assert_string_equal(config.user, "nobody");
        assert_string_equal(config.database, "");
        assert_int_equal(config_log_level(&config), LOG_LEVEL_WARNING);
        assert_int_equal(config.warm_pool, 64);
        assert_int_equal(config.queue_max, 64);
        config_deinit(&config);
}

static void test_the_console_is_one_of_three(void **state) {
        static const struct {
                const char *text;
                enum config_console mode;
        } rows[] = {{"", CONSOLE_ON}, {"on", CONSOLE_ON}, {"off", CONSOLE_OFF}, {"https", CONSOLE_HTTPS}};
        struct config config;
        struct err e;
        (void)state;
        for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
                setenv("SANDBOX_CONSOLE", rows[i].text, 1);
                load(&config);
                assert_int_equal(config_console(&config), rows[i].mode);
                config_deinit(&config);
        }
        setenv("SANDBOX_CONSOLE", "ON", 1);
        assert_int_equal(config_load(&config, &e), -EINVAL);
        assert_non_null(strstr(e.message, "on, off or https"));
        unsetenv("SANDBOX_CONSOLE");
}

static void test_front_doors(void **state) {
        struct config config;
        struct err e;
        (void)state;
        load(&config);
        assert_false(config_front_door(&config, "e2b"));
        config_deinit(&config);
        setenv("SANDBOX_FRONT_DOORS", "e2b, azure", 1);
        load(&config);
        assert_true(config_front_door(&config, "e2b") && config_front_door(&config, "azure"));
        assert_false(config_front_door(&config, "dify") || config_front_door(&config, "e2"));
        config_deinit(&config);
        setenv("SANDBOX_FRONT_DOORS", "e2b,openai", 1);
        assert_int_equal(config_load(&config, &e), -EINVAL);
        assert_non_null(strstr(e.message, "e2b, dify, piston and azure"));
        unsetenv("SANDBOX_FRONT_DOORS");
}

static void test_every_number_at_its_bounds(void **state) {
        (void)state;
        for (size_t i = 0; i < config_settings_count; i++) {
                const struct setting *setting = &config_settings[i];
                struct config config;
                char name[64], value[32], allowed[128];
                if (setting->parse)
                        continue;
                snprintf(name, sizeof(name), "SANDBOX_%s", setting->name);
                for (int side = 0; side < 2; side++) {
                        long long bound = side == 0 ? setting->min : setting->max;
                        clearenv();
                        setenv("SANDBOX_OUTPUT_MAX_BYTES", "1073741824", 1); /* lets the other one have its maximum */
                        setenv("SANDBOX_OUTPUT_KEEP_BYTES", "4096", 1);      /* and this one its minimum */
                        snprintf(value, sizeof(value), "%lld", bound);
                        setenv(name, value, 1);
                        load(&config);
                        assert_int_equal(*(int64_t *)((char *)&config + setting->offset), bound);
                        config_deinit(&config);
                        snprintf(value, sizeof(value), "%lld", bound + (side == 0 ? -1 : 1));
                        refused_value(name, value, setting_allowed(setting, allowed, sizeof(allowed)));
                }
        }
}

static void test_what_is_no_number(void **state) {
        static const char *const values[] = {"many", "3.5", "0x3", " 3", "3 ", "+3", "3k", "1e1", "--1", "-", "٣"};
        (void)state;
        for (size_t i = 0; i < ARRAY_SIZE(values); i++)
                refused_value("SANDBOX_WARM_POOL", values[i], "not a whole number; allowed is 0 to 64 sandboxes");
        refused_value("SANDBOX_WARM_POOL", "99999999999999999999", "out of range; allowed is 0 to 64 sandboxes");
        refused_value("SANDBOX_WARM_POOL", "-99999999999999999999", "out of range; allowed is 0 to 64 sandboxes");
}

static void test_unknown_names(void **state) {
        (void)state;
        setenv("SANDBOX_WARMPOOL", "3", 1);
        refused("SANDBOX_WARMPOOL is not a setting", "did you mean SANDBOX_WARM_POOL?");
        clearenv();
        setenv("SANDBOX_EXECUTE_MAX_TIMEOUT", "3", 1);
        refused("did you mean SANDBOX_EXECUTE_MAX_TIMEOUT_S?");
        clearenv();
        setenv("SANDBOX_Listen", "127.0.0.1:1", 1);
        refused("did you mean SANDBOX_LISTEN?");
        clearenv();
        setenv("SANDBOX_SOMETHING_ELSE_ENTIRELY", "3", 1);
        struct config config;
        struct err e = {0};
        assert_int_equal(config_load(&config, &e), -EINVAL);
        assert_null(strstr(e.message, "did you mean"));
        assert_non_null(strstr(e.message, "--help-config"));
        clearenv();
        setenv("SANDBOX_", "3", 1);
        refused("SANDBOX_ is not a setting");
        clearenv();
        setenv("SANDBOX_LISTEN_FILE", "/x", 1); /* only secrets have the form with a file */
        refused("SANDBOX_LISTEN_FILE is not a setting");
        clearenv();
        char longest[300] = "SANDBOX_";
        memset(longest + 8, 'X', sizeof(longest) - 9);
        longest[sizeof(longest) - 1] = '\0';
        setenv(longest, "3", 1);
        refused("SANDBOX_XXXX", "... is not a setting");
        assert_int_equal(config_load(&config, NULL), -EINVAL); /* nobody has to want the text */
}

static void test_addresses(void **state) {
        struct config config;
        (void)state;
        setenv("SANDBOX_LISTEN", "localhost:0", 1);
        load(&config);
        assert_string_equal(config.listen, "127.0.0.1:0");
        config_deinit(&config);
        refused_value("SANDBOX_LISTEN", "127.0.0.1", "has no port");
        refused_value("SANDBOX_LISTEN", "8080", "has no port");
        refused_value("SANDBOX_LISTEN", ":8080", "has no address");
        refused_value("SANDBOX_LISTEN", "*:8080", "not a numeric address");
        refused_value("SANDBOX_LISTEN", "example.org:80", "not a numeric address");
        refused_value("SANDBOX_LISTEN", "127.0.0.256:80", "not a numeric address");
        refused_value("SANDBOX_LISTEN", "127.0.0.1:65536", "port that is not a number from 0 to 65535");
        refused_value("SANDBOX_LISTEN", "127.0.0.1:", "port that is not a number");
        refused_value("SANDBOX_LISTEN", "127.0.0.1:http", "port that is not a number");
        refused_value("SANDBOX_LISTEN", "::1:8080", "needs brackets");
        refused_value("SANDBOX_LISTEN", "[::1]", "no port after the bracket");
        refused_value("SANDBOX_LISTEN", "[127.0.0.1]:80", "not a numeric address");
        refused_value("SANDBOX_LISTEN", "[]:80", "has no address");
        refused_value("SANDBOX_LISTEN", "[:80", "no port after the bracket");
        refused_value("SANDBOX_LISTEN", "1234567890123456789012345678901234567890123456789:80", "is not an address");
}

static void test_registries(void **state) {
        struct config config;
        (void)state;
        setenv("SANDBOX_REGISTRIES", "docker.io, ghcr.io:443,http://registry.internal", 1);
        load(&config);
        assert_string_equal(config.registries, "docker.io,ghcr.io:443,http://registry.internal");
        config_deinit(&config);
        refused_value("SANDBOX_REGISTRIES", "https://ghcr.io", "not that of a registry");
        refused_value("SANDBOX_REGISTRIES", "ghcr.io/acme", "not that of a registry");
        refused_value("SANDBOX_REGISTRIES", "ghcr.io,http://", "not that of a registry");
        refused_value("SANDBOX_REGISTRIES", "ghcr.io,,docker.io", "an empty name");
}

static void test_relative_paths_count_from_the_working_directory(void **state) {
        struct config config;
        char before[4096];
        (void)state;
        assert_non_null(getcwd(before, sizeof(before)));
        assert_int_equal(chdir("/"), 0);
        setenv("SANDBOX_DATA_DIR", "data", 1);
        load(&config);
        assert_string_equal(config.data_dir, "/data");
        config_deinit(&config);
        assert_int_equal(chdir("/tmp"), 0);
        load(&config);
        assert_string_equal(config.data_dir, "/tmp/data");
        config_deinit(&config);
        assert_int_equal(chdir(before), 0);
}

static void test_words(void **state) {
        (void)state;
        refused_value("SANDBOX_LOG_LEVEL", "loud", "debug, info, warning or error");
        refused_value("SANDBOX_USER", "root", "as root");
        refused_value("SANDBOX_USER", "0", "not the number of an unprivileged user");
        refused_value("SANDBOX_USER", "-1", "not the number of an unprivileged user");
        refused_value("SANDBOX_USER", "4294967295", "not the number of an unprivileged user");
        refused_value("SANDBOX_USER", "no one", "not the name of a user");
        refused_value("SANDBOX_USER", "-x", "not the name of a user");
        clearenv();
        setenv("SANDBOX_LOG_LEVEL", "a\nb\x1b[31m", 1);
        refused("\"a?b?[31m\"");
}

/* A refusal never shows a secret, only what is wrong with it. */
static void test_secrets_are_not_shown(void **state) {
        static const char *const values[] = {"geheim", "geheim and spaces", "geheim\xc3\xa9-long-enough"};
        (void)state;
        for (size_t i = 0; i < ARRAY_SIZE(values); i++) {
                struct config config;
                struct err e = {0};
                clearenv();
                setenv("SANDBOX_ADMIN_KEY", values[i], 1);
                assert_int_equal(config_load(&config, &e), -EINVAL);
                assert_null(strstr(e.message, "geheim"));
                assert_non_null(strstr(e.message, "SANDBOX_ADMIN_KEY"));
                assert_non_null(strstr(e.message, "8 to 256 visible ASCII characters"));
        }
        clearenv();
        setenv("SANDBOX_DATABASE", "postgresql://user:geheim@db/x", 1);
        struct config config;
        struct err e = {0};
        assert_int_equal(config_load(&config, &e), -EINVAL);
        assert_null(strstr(e.message, "geheim"));
        assert_non_null(strstr(e.message, "PostgreSQL"));
}

static void test_secret_from_a_file(void **state) {
        struct config config;
        char path[64];
        (void)state;
        snprintf(path, sizeof(path), "%s/key", scratch);
        write_bytes("key", "0123456789abcdef\r\n", 18);
        setenv("SANDBOX_ADMIN_KEY_FILE", path, 1);
        load(&config);
        assert_string_equal(config.admin_key, "0123456789abcdef");
        config_deinit(&config);

        setenv("SANDBOX_ADMIN_KEY", "fedcba9876543210", 1);
        refused("SANDBOX_ADMIN_KEY and SANDBOX_ADMIN_KEY_FILE are both given");
        setenv("SANDBOX_ADMIN_KEY", "", 1);
        load(&config);
        assert_string_equal(config.admin_key, "0123456789abcdef");
        config_deinit(&config);

        write_bytes("key", "\n", 1);
        refused("SANDBOX_ADMIN_KEY_FILE", path, "is empty");
        write_bytes("key", "0123456789\0abcdef", 17);
        refused("SANDBOX_ADMIN_KEY_FILE", "NUL");
        write_bytes("key", "short", 5);
        refused("SANDBOX_ADMIN_KEY_FILE", "5 characters");
        char large[5000];
        memset(large, 'x', sizeof(large));
        write_bytes("key", large, sizeof(large));
        refused("SANDBOX_ADMIN_KEY_FILE", "longer than 4096 bytes");
        setenv("SANDBOX_ADMIN_KEY_FILE", "/nowhere/key", 1);
        refused("SANDBOX_ADMIN_KEY_FILE", "/nowhere/key", "No such file");
        setenv("SANDBOX_ADMIN_KEY_FILE", scratch, 1);
        refused("SANDBOX_ADMIN_KEY_FILE", scratch, "Is a directory");
}

static void test_secret_from_a_credential(void **state) {
        struct config config;
        char path[64];
        (void)state;
        snprintf(path, sizeof(path), "%s/admin_key", scratch);
        setenv("CREDENTIALS_DIRECTORY", scratch, 1);
        load(&config); /* there is none */
        assert_string_equal(config.admin_key, "");
        config_deinit(&config);
        write_bytes("admin_key", "0123456789abcdef\n", 17);
        load(&config);
        assert_string_equal(config.admin_key, "0123456789abcdef");
        config_deinit(&config);
        setenv("SANDBOX_ADMIN_KEY", "fedcba9876543210", 1);
        load(&config);
        assert_string_equal(config.admin_key, "fedcba9876543210");
        config_deinit(&config);
        setenv("SANDBOX_ADMIN_KEY", "", 1);
        write_bytes("admin_key", "short", 5);
        refused(path, "5 characters");
        unlink(path);
}

/* ---- changes while it runs */

static char told[1024];

static void note_change(void *data, const char *name, int64_t from, int64_t to) {
        size_t used = strlen(told);
        (void)data;
        snprintf(told + used, sizeof(told) - used, "%s %lld %lld;", name, (long long)from, (long long)to);
}

static void note_pending(void *data, const char *name) {
        size_t used = strlen(told);
        (void)data;
        snprintf(told + used, sizeof(told) - used, "%s;", name);
}

static void test_what_can_change_and_what_waits(void **state) {
        struct config config, fresh;
        struct config_numbers numbers;
        (void)state;
        assert_in_range(config_settings_count, 1, CONFIG_NUMBERS);
        use_file("warm_pool = 3\nadmin_key = 0123456789abcdef\n");
        load(&config);
        use_file("warm_pool = 5\nlog_level = debug\nlisten = 127.0.0.1:9\nadmin_key = fedcba9876543210\n"
                 "execute_max_timeout_s = 7\nuid_base = 100000\n");
        load(&fresh);
        told[0] = '\0';
        config_each_pending(&config, &fresh, note_pending, NULL);
        assert_string_equal(told, "SANDBOX_LISTEN;SANDBOX_UID_BASE;");
        config_numbers_of(&fresh, &numbers);
        told[0] = '\0';
        assert_int_equal(config_numbers_take(&config, &numbers, note_change, NULL), 0);
        assert_string_equal(told, "SANDBOX_WARM_POOL 3 5;SANDBOX_EXECUTE_MAX_TIMEOUT_S 60 7;SANDBOX_LOG_LEVEL 1 0;");
        assert_int_equal(config.warm_pool, 5);
        assert_int_equal(config.execute_timeout_s, 7);
        assert_int_equal(config_log_level(&config), LOG_LEVEL_DEBUG);
        assert_string_equal(config.listen, "127.0.0.1:8080");
        assert_string_equal(config.admin_key, "0123456789abcdef");
        assert_int_equal(config.uid_base, 1900000000);
        told[0] = '\0';
        assert_int_equal(config_numbers_take(&config, &numbers, note_change, NULL), 0);
        assert_string_equal(told, "");
        memset(&numbers, 0xff, sizeof(numbers)); /* from who knows where: all or nothing */
        assert_int_equal(config_numbers_take(&config, &numbers, note_change, NULL), -EINVAL);
        assert_string_equal(told, "");
        config_deinit(&config);
        config_deinit(&fresh);
}

/* The sample is a file that says what holds without it, also with every line in force that has a value. */
static void test_the_sample(void **state) {
        static char page[65536];
        struct config plain, sampled;
        char *text = NULL;
        size_t length;
        (void)state;
        FILE *out = open_memstream(&text, &length);
        config_print_sample(out);
        fclose(out);
        CLEANUP_FCLOSE FILE *file = fopen(SOURCE_ROOT "/packaging/sandboxd.conf", "r");
        assert_non_null(file);
        page[fread(page, 1, sizeof(page) - 1, file)] = '\0';
        assert_string_equal(page, text); /* sandboxd --sample-config > packaging/sandboxd.conf makes it anew */
        load(&plain);
        use_file(text);
        load(&sampled);
        config_deinit(&sampled);
        for (char *line = text; *line; line += strcspn(line, "\n") + 1) {
                assert_in_range(strcspn(line, "\n"), 0, 120);
                if (line[0] == '#' && line[1] >= 'a' && line[1] <= 'z')
                        line[0] = ' ';
        }
        use_file(text);
        load(&sampled);
        assert_string_equal(sampled.listen, plain.listen);
        assert_int_equal(sampled.warm_pool, plain.warm_pool);
        assert_int_equal(sampled.quota_bytes, plain.quota_bytes);
        assert_string_equal(sampled.console, plain.console);
        config_deinit(&sampled);
        config_deinit(&plain);
        free(text);
}

static void test_configuration_file(void **state) {
        struct config config;
        char expected[64];
        (void)state;
        use_file(
                "# a comment\n\n  warm_pool = 7  \r\nlisten=127.0.0.1:1 \nSANDBOX_QUEUE_MAX = 9\nadmin_key_file = key\n"
                "data_dir = here\nlog_level =\nlog_level_of_nothing");
        refused("settings, line 9", "not of the form name = value");
        write_bytes("key", "0123456789abcdef", 16);
        use_file(
                "# a comment\n\n  warm_pool = 7  \r\nlisten=127.0.0.1:1 \nSANDBOX_QUEUE_MAX = 9\nadmin_key_file = key\n"
                "data_dir = here\nlog_level =");
        load(&config);
        assert_int_equal(config.warm_pool, 7);
        assert_int_equal(config.queue_max, 9);
        assert_string_equal(config.listen, "127.0.0.1:1");
        assert_string_equal(config.admin_key, "0123456789abcdef");
        assert_string_equal(config.log_level, "info");
        snprintf(expected, sizeof(expected), "%s/here", scratch); /* relative to the file, not to us */
        assert_string_equal(config.data_dir, expected);
        config_deinit(&config);

        setenv("SANDBOX_WARM_POOL", "1", 1); /* the environment wins, in either form of a secret */
        setenv("SANDBOX_QUEUE_MAX", "", 1);
        setenv("SANDBOX_ADMIN_KEY", "from-environment", 1);
        load(&config);
        assert_int_equal(config.warm_pool, 1);
        assert_int_equal(config.queue_max, 9);
        assert_string_equal(config.admin_key, "from-environment");
        config_deinit(&config);
}

static void test_refusals_of_the_configuration_file(void **state) {
        struct config config;
        struct err e = {0};
        (void)state;
        use_file("listen = 127.0.0.1:1\nwarm_pol = 3\n");
        refused("settings, line 2", "warm_pol is not a setting", "did you mean warm_pool?");
        use_file("url = http://x/\n"); /* not a setting of the service */
        refused("line 1", "url is not a setting");
        use_file("config_file = /other\n");
        refused("line 1", "config_file is not a setting");
        use_file("warm_pool = 3\n\nWARM_POOL = 3\n");
        refused("line 3", "given twice");
        use_file("warm_pool = 300\n");
        refused("warm_pool (", "settings, line 1)", "\"300\"", "0 to 64 sandboxes");
        use_file("= 3\n");
        refused("line 1", "is not a setting");
        use_file("admin_key = 0123456789\nadmin_key_file = /x\n");
        refused("admin_key (", "admin_key_file (", "both given");
        use_file("geheim-key-on-a-line-of-its-own\n");
        assert_int_equal(config_load(&config, &e), -EINVAL);
        assert_null(strstr(e.message, "geheim"));
        write_bytes("settings", "warm_pool = 3\0\n", 15);
        refused("SANDBOX_CONFIG_FILE", "NUL");
        setenv("SANDBOX_CONFIG_FILE", "/nowhere/settings", 1);
        refused("SANDBOX_CONFIG_FILE", "/nowhere/settings", "No such file");
        setenv("SANDBOX_CONFIG_FILE", "/dev/zero", 1);
        refused("SANDBOX_CONFIG_FILE", "longer than");
        setenv("SANDBOX_CONFIG_FILE", "", 1);
        load(&config);
        config_deinit(&config);
}

static void test_settings_that_contradict_each_other(void **state) {
        struct config config;
        (void)state;
        setenv("SANDBOX_OUTPUT_MAX_BYTES", "65536", 1);
        refused("SANDBOX_OUTPUT_KEEP_BYTES is 1048576", "SANDBOX_OUTPUT_MAX_BYTES (65536)");
        setenv("SANDBOX_OUTPUT_KEEP_BYTES", "65536", 1);
        setenv("SANDBOX_EXECUTE_MAX_TIMEOUT_S", "7", 1);
        load(&config);
        assert_int_equal(config.execute_timeout_s, 7); /* the default of a run never exceeds the maximum */
        config_deinit(&config);
}

static void test_help(void **state) {
        char *text = NULL;
        size_t length;
        (void)state;
        FILE *out = open_memstream(&text, &length);
        config_print_help(out);
        fclose(out);
        for (size_t i = 0; i < config_settings_count; i++) {
                char name[64];
                snprintf(name, sizeof(name), "- `SANDBOX_%s`", config_settings[i].name);
                assert_non_null(strstr(text, name));
        }
        for (const char *line = text; *line; line += strcspn(line, "\n") + 1)
                assert_in_range(strcspn(line, "\n"), 0, 120);
        free(text);
}

/* The page in docs is this text: sandboxd --help-config > docs/configuration.md makes it anew. */
static void test_the_documentation_is_up_to_date(void **state) {
        static char page[65536];
        char *text = NULL;
        size_t length;
        (void)state;
        FILE *out = open_memstream(&text, &length);
        config_print_help(out);
        fclose(out);
        CLEANUP_FCLOSE FILE *file = fopen(SOURCE_ROOT "/docs/configuration.md", "r");
        assert_non_null(file);
        page[fread(page, 1, sizeof(page) - 1, file)] = '\0';
        assert_string_equal(page, text);
        free(text);
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test_setup(test_defaults, start),
                cmocka_unit_test_setup(test_defaults_are_allowed, start),
                cmocka_unit_test_setup(test_places_in_a_build_folder, start),
                cmocka_unit_test_setup(test_max_concurrent_follows_the_cpus, start),
                cmocka_unit_test_setup(test_environment, start),
                cmocka_unit_test_setup(test_the_console_is_one_of_three, start),
                cmocka_unit_test_setup(test_front_doors, start),
                cmocka_unit_test_setup(test_every_number_at_its_bounds, start),
                cmocka_unit_test_setup(test_what_is_no_number, start),
                cmocka_unit_test_setup(test_unknown_names, start),
                cmocka_unit_test_setup(test_addresses, start),
                cmocka_unit_test_setup(test_registries, start),
                cmocka_unit_test_setup(test_relative_paths_count_from_the_working_directory, start),
                cmocka_unit_test_setup(test_words, start),
                cmocka_unit_test_setup(test_secrets_are_not_shown, start),
                cmocka_unit_test_setup(test_secret_from_a_file, start),
                cmocka_unit_test_setup(test_secret_from_a_credential, start),
                cmocka_unit_test_setup(test_what_can_change_and_what_waits, start),
                cmocka_unit_test_setup(test_the_sample, start),
                cmocka_unit_test_setup(test_configuration_file, start),
                cmocka_unit_test_setup(test_refusals_of_the_configuration_file, start),
                cmocka_unit_test_setup(test_settings_that_contradict_each_other, start),
                cmocka_unit_test_setup(test_help, start),
                cmocka_unit_test_setup(test_the_documentation_is_up_to_date, start),
        };
        return cmocka_run_group_tests(tests, make_scratch, remove_scratch);
}
