/* Agents and their settings on disk. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "store/agents.h"
#include "store/conversations.h"
#include "store/images.h"
#include "store_fixture.h"

static void agents_are_made_and_changed(void **state) {
        struct store_fixture *f = *state;
        int64_t project = store_fixture_project(f);
        struct store_agent agent;
        bool created;

        assert_int_equal(store_agent_find(f->store, project, "a", &agent), STORE_E_NOT_FOUND);
        assert_int_equal(store_agent_put(f->store, project, "a", NULL, NULL, &created), 0);
        assert_true(created);
        assert_int_equal(store_agent_find(f->store, project, "a", &agent), 0);
        assert_string_equal(agent.name, "a");
        assert_null(agent.image);
        assert_string_equal(agent.tools, "[]");
        assert_true(agent.id > 0 && agent.created_ms > 1700000000000 && agent.updated_ms == agent.created_ms);
        int64_t id = agent.id;
        store_agent_deinit(&agent);

        assert_int_equal(store_agent_put(f->store, project, "a", "docker://one", NULL, &created), 0);
        assert_false(created);
        assert_int_equal(store_agent_put(f->store, project, "a", NULL, "[{\"name\": \"ä\"}]", &created), 0);
        store_fixture_reopen(f);
        assert_int_equal(store_agent_find(f->store, project, "a", &agent), 0);
        assert_int_equal(agent.id, id);
        assert_string_equal(agent.image, "docker://one");
        assert_string_equal(agent.tools, "[{\"name\": \"ä\"}]");
        store_agent_deinit(&agent);
}

static void a_project_has_so_many_agents(void **state) {
        struct store_fixture *f = *state;
        struct store_retired retired;
        int64_t project = store_fixture_project(f);
        struct store_project other;
        bool created;

        store_fixture_sql(f, "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 999)"
                             " INSERT INTO agents (project_id, name, tools, created_ms, updated_ms)"
                             " SELECT (SELECT id FROM projects WHERE name = 'default'), 'n' || i, '[]', 1, 1 FROM n");
        assert_int_equal(store_agent_put(f->store, project, "last", NULL, NULL, &created), 0);
        assert_true(created);
        assert_int_equal(store_agent_put(f->store, project, "more", NULL, NULL, &created), STORE_E_FULL);
        assert_false(created);
        assert_int_equal(store_agent_put(f->store, project, "n7", NULL, "[1]", &created), 0);
        assert_false(created);
        assert_int_equal(store_project_create(f->store, "other", &other), 0);
        assert_int_equal(store_agent_put(f->store, other.id, "more", NULL, NULL, &created), 0);
        assert_int_equal(store_agent_delete(f->store, project, "n7", &retired), 0);
        assert_int_equal(store_agent_put(f->store, project, "more", NULL, NULL, &created), 0);
}

static void agents_are_listed_page_by_page(void **state) {
        struct store_fixture *f = *state;
        int64_t project = store_fixture_project(f);
        static const char *const names[] = {"b", "d", "a", "c"};
        struct store_project other;
        struct store_agent list[8];
        bool created;
        assert_int_equal(store_project_create(f->store, "other", &other), 0);
        for (size_t i = 0; i < 4; i++)
                assert_int_equal(store_agent_put(f->store, project, names[i], "docker://i", NULL, &created), 0);
        assert_int_equal(store_agent_put(f->store, other.id, "a", NULL, NULL, &created), 0);
        assert_true(created);

        assert_int_equal(store_agent_list(f->store, project, "", list, 3), 3);
        assert_string_equal(list[0].name, "a");
        assert_string_equal(list[2].name, "c");
        for (size_t i = 0; i < 3; i++)
                store_agent_deinit(&list[i]);
        assert_int_equal(store_agent_list(f->store, project, "c", list, 3), 1);
        assert_string_equal(list[0].name, "d");
        assert_string_equal(list[0].image, "docker://i");
        assert_null(list[0].tools);
        store_agent_deinit(&list[0]);
        assert_int_equal(store_agent_list(f->store, project, "d", list, 3), 0);
        assert_int_equal(store_agent_list(f->store, other.id, "", list, 8), 1);
        store_agent_deinit(&list[0]);
}

/* The number of settings, or STORE_E_NOT_FOUND; asked twice, as the second answer may come from memory. */
static long long count_settings(const struct store_fixture *f, int64_t project, const char *agent) {
        struct store_env *env = NULL;
        size_t counts[2] = {0};
        int r = 0;
        for (size_t i = 0; r == 0 && i < 2; i++) {
                r = store_env_list(f->store, project, agent, &env, &counts[i]);
                if (r == 0)
                        store_env_free(env, counts[i]);
        }
        assert_int_equal(counts[0], counts[1]);
        return r == 0 ? (long long)counts[0] : r;
}

static void changed_settings_are_not_remembered(void **state) {
        struct store_fixture *f = *state;
        int64_t project = store_fixture_project(f);
        struct store_retired retired;
        bool created;
        for (int i = 0; i < 20; i++) { /* more than are remembered */
                char name[8];
                snprintf(name, sizeof(name), "a%d", i);
                assert_int_equal(store_agent_put(f->store, project, name, NULL, NULL, &created), 0);
                assert_int_equal(store_env_set(f->store, project, name, "K", name), 0);
                assert_int_equal(count_settings(f, project, name), 1);
        }
        assert_int_equal(count_settings(f, project + 1, "a19"), STORE_E_NOT_FOUND);
        assert_int_equal(store_env_set(f->store, project, "a19", "L", "x"), 0);
        assert_int_equal(count_settings(f, project, "a19"), 2);
        assert_int_equal(store_env_unset(f->store, project, "a19", "K"), 0);
        assert_int_equal(count_settings(f, project, "a19"), 1);
        assert_int_equal(store_agent_delete(f->store, project, "a19", &retired), 0);
        assert_int_equal(count_settings(f, project, "a19"), STORE_E_NOT_FOUND);
        assert_int_equal(store_agent_put(f->store, project, "a19", NULL, NULL, &created), 0);
        assert_int_equal(count_settings(f, project, "a19"), 0);
        free(retired.files);
}

static void settings(void **state) {
        struct store_fixture *f = *state;
        int64_t project = store_fixture_project(f);
        struct store_env *env = NULL;
        size_t count = 9;
        char value[16];
        bool created;

        assert_int_equal(store_env_set(f->store, project, "a", "K", "v"), STORE_E_NOT_FOUND);
        assert_int_equal(store_env_list(f->store, project, "a", &env, &count), STORE_E_NOT_FOUND);
        assert_int_equal(store_agent_put(f->store, project, "a", NULL, NULL, &created), 0);
        assert_int_equal(store_env_list(f->store, project, "a", &env, &count), 0);
        assert_int_equal(count, 0);
        store_env_free(env, count);

        assert_int_equal(store_env_set(f->store, project, "a", "K2", "two"), 0);
        assert_int_equal(store_env_set(f->store, project, "a", "K1", ""), 0);
        assert_int_equal(store_env_set(f->store, project, "a", "K2", "zwei"), 0);
        store_fixture_reopen(f);
        assert_int_equal(store_env_list(f->store, project, "a", &env, &count), 0);
        assert_int_equal(count, 2);
        assert_string_equal(env[0].name, "K1");
        assert_string_equal(env[0].value, "");
        assert_string_equal(env[1].name, "K2");
        assert_string_equal(env[1].value, "zwei");
        store_env_free(env, count);

        assert_int_equal(store_env_get(f->store, project, "a", "K2", value, sizeof(value)), 0);
        assert_string_equal(value, "zwei");
        assert_int_equal(store_env_get(f->store, project, "a", "K2", value, 3), 0);
        assert_string_equal(value, "zw");
        assert_int_equal(store_env_get(f->store, project, "a", "K3", value, 3), STORE_E_NOT_FOUND);
        assert_int_equal(store_env_get(f->store, project, "b", "K2", value, 3), STORE_E_NOT_FOUND);
        assert_int_equal(store_env_unset(f->store, project, "a", "K3"), STORE_E_NOT_FOUND);
        assert_int_equal(store_env_unset(f->store, project, "b", "K2"), STORE_E_NOT_FOUND);
        assert_int_equal(store_env_unset(f->store, project, "a", "K2"), 0);
        assert_int_equal(store_env_get(f->store, project, "a", "K2", value, 3), STORE_E_NOT_FOUND);
}

static void an_agent_has_so_many_settings(void **state) {
        struct store_fixture *f = *state;
        int64_t project = store_fixture_project(f);
        char sql[256];
        bool created;
        assert_int_equal(store_agent_put(f->store, project, "a", NULL, NULL, &created), 0);
        snprintf(sql, sizeof(sql),
                 "WITH n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < %d)"
                 " INSERT INTO agent_env SELECT (SELECT id FROM agents), 'K' || i, 'v' FROM n",
                 STORE_ENV_PER_AGENT_MAX - 1);
        store_fixture_sql(f, sql);
        assert_int_equal(store_env_set(f->store, project, "a", "LAST", "v"), 0);
        assert_int_equal(store_env_set(f->store, project, "a", "MORE", "v"), STORE_E_FULL);
        assert_int_equal(store_env_set(f->store, project, "a", "K7", "changed"), 0);
        assert_int_equal(store_env_unset(f->store, project, "a", "K7"), 0);
        assert_int_equal(store_env_set(f->store, project, "a", "MORE", "v"), 0);
}

static void a_deleted_agent_leaves_its_conversations(void **state) {
        struct store_fixture *f = *state;
        struct store_retired retired;
        int64_t project = store_fixture_project(f);
        struct store_conversation there, list[4];
        const struct store_cursor start = {.id = 0};
        bool created;
        assert_int_equal(store_agent_delete(f->store, project, "a", &retired), STORE_E_NOT_FOUND);
        assert_int_equal(store_agent_put(f->store, project, "a", NULL, NULL, &created), 0);
        assert_int_equal(store_env_set(f->store, project, "a", "K", "v"), 0);
        assert_int_equal(store_conversation_use(f->store, project, "talk", "a", &there), 0);
        assert_int_equal(store_agent_delete(f->store, project, "a", &retired), 0);
        assert_int_equal(store_fixture_number(f, "SELECT count(*) FROM agent_env"), 0);
        assert_int_equal(store_conversation_find(f->store, project, "talk", &there), 0);
        assert_string_equal(there.agent, "");

        /* The next agent of that name is another one. */
        assert_int_equal(store_agent_put(f->store, project, "a", NULL, NULL, &created), 0);
        assert_true(created);
        assert_int_equal(store_conversation_find(f->store, project, "talk", &there), 0);
        assert_string_equal(there.agent, "");
        assert_int_equal(store_conversation_list(f->store, project, &(struct store_filter){.agent = "a"}, start, list, 4), 0);
        assert_int_equal(store_conversation_use(f->store, project, "talk", "a", &there), 0);
        assert_string_equal(there.agent, "a");
        assert_int_equal(store_conversation_list(f->store, project, &(struct store_filter){.agent = "a"}, start, list, 4), 1);
}

static struct store_image image_of(const char *digest, const char *file) {
        struct store_image image = {.env = (char *)"[\"A=1\"]", .working_dir = (char *)"/app", .bytes = 7};
        snprintf(image.digest, sizeof(image.digest), "%s", digest);
        snprintf(image.file, sizeof(image.file), "%s", file);
        snprintf(image.python, sizeof(image.python), "3.12.7");
        return image;
}

#define FILE_1 "00000000000000000000000000000001"
#define FILE_2 "00000000000000000000000000000002"
#define FILE_3 "00000000000000000000000000000003"

/* Deploys, and looks at what is of no use any more. */
static void deploy(struct store_fixture *f, int64_t project, const char *agent, const char *digest, const char *file,
                   const char *retired_file) {
        const struct store_image image = image_of(digest, file);
        struct store_retired retired;
        bool created;
        assert_int_equal(store_agent_deploy(f->store, project, agent, "oci-archive", "[]", &image, &created, &retired),
                         0);
        assert_int_equal(retired.count, retired_file ? 1 : 0);
        if (retired_file)
                assert_string_equal(retired.files[0], retired_file);
        free(retired.files);
}

static void images_live_as_long_as_an_agent_of_theirs(void **state) {
        struct store_fixture *f = *state;
        int64_t project = store_fixture_project(f);
        struct store_retired retired;
        struct store_image image;
        struct store_project other;
        char(*files)[STORE_IMAGE_FILE_MAX + 1];
        size_t count;

        assert_int_equal(store_image_of_agent(f->store, project, "a", &image), STORE_E_NOT_FOUND);
        deploy(f, project, "a", "sha256:1", FILE_1, NULL);
        deploy(f, project, "b", "sha256:1", FILE_1, NULL); /* the import knew it */
        deploy(f, project, "a", "sha256:2", FILE_2, NULL);
        deploy(f, project, "b", "sha256:2", FILE_2, FILE_1);
        store_fixture_reopen(f);
        assert_int_equal(store_image_of_agent(f->store, project, "b", &image), 0);
        assert_string_equal(image.file, FILE_2);
        assert_string_equal(image.env, "[\"A=1\"]");
        store_image_deinit(&image);
        deploy(f, project, "b", "sha256:2", FILE_3, FILE_2); /* the same image, unpacked anew: both agents have it */
        assert_int_equal(store_image_of_agent(f->store, project, "a", &image), 0);
        assert_string_equal(image.file, FILE_3);
        store_image_deinit(&image);

        /* What another project has is its own, whatever the digest. */
        assert_int_equal(store_project_create(f->store, "other", &other), 0);
        assert_int_equal(store_image_find(f->store, other.id, "sha256:2", &image), STORE_E_NOT_FOUND);
        deploy(f, other.id, "a", "sha256:2", FILE_1, NULL);
        assert_int_equal(store_image_files(f->store, &files, &count), 0);
        assert_int_equal(count, 2);
        free(files);

        assert_int_equal(store_agent_delete(f->store, project, "a", &retired), 0);
        assert_int_equal(retired.count, 0);
        assert_int_equal(store_agent_delete(f->store, project, "b", &retired), 0);
        assert_int_equal(retired.count, 1);
        assert_string_equal(retired.files[0], FILE_3);
        free(retired.files);
        assert_int_equal(store_fixture_number(f, "SELECT count(*) FROM images"), 1);
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test_setup_teardown(images_live_as_long_as_an_agent_of_theirs, store_set_up, store_tear_down),
                cmocka_unit_test_setup_teardown(agents_are_made_and_changed, store_set_up, store_tear_down),
                cmocka_unit_test_setup_teardown(a_project_has_so_many_agents, store_set_up, store_tear_down),
                cmocka_unit_test_setup_teardown(agents_are_listed_page_by_page, store_set_up, store_tear_down),
                cmocka_unit_test_setup_teardown(settings, store_set_up, store_tear_down),
                cmocka_unit_test_setup_teardown(changed_settings_are_not_remembered, store_set_up, store_tear_down),
                cmocka_unit_test_setup_teardown(an_agent_has_so_many_settings, store_set_up, store_tear_down),
                cmocka_unit_test_setup_teardown(a_deleted_agent_leaves_its_conversations, store_set_up,
                                                store_tear_down),
        };
        return cmocka_run_group_tests(tests, NULL, NULL);
}
