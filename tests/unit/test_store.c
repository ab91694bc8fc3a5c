/* Projects and keys on disk: what is kept, found, refused, and brought up to date. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>
#include <sqlite3.h>

#include "base/loop.h"
#include "store/conversations.h"
#include "store_fixture.h"

static struct store_key new_key(int64_t project_id, const char *public_id, const char *text) {
        struct store_key key = {.project_id = project_id};
        snprintf(key.public_id, sizeof(key.public_id), "%s", public_id);
        snprintf(key.label, sizeof(key.label), "label of %s", public_id);
        key_hint(text, key.hint);
        assert_int_equal(key_hash(text, strlen(text), &key.hash), 0);
        return key;
}

static int find(struct store *store, const char *text, struct store_key *ret) {
        struct key_hash hash;
        assert_int_equal(key_hash(text, strlen(text), &hash), 0);
        return store_key_find(store, &hash, ret);
}

static void keys_are_long_and_differ(void **state) {
        char a[KEY_TEXT_BYTES], b[KEY_TEXT_BYTES], hint[KEY_HINT_BYTES];
        (void)state;
        assert_int_equal(key_generate(a), 0);
        assert_int_equal(key_generate(b), 0);
        assert_int_equal(strlen(a), strlen(KEY_PREFIX) + 64);
        assert_memory_equal(a, KEY_PREFIX, strlen(KEY_PREFIX));
        assert_string_not_equal(a, b);
        key_hint(a, hint);
        assert_int_equal(strlen(hint), 9 + strlen("…"));
        key_hint("operator's own", hint);
        assert_string_equal(hint, "…");
}

static void hashes_as_sha256(void **state) {
        static const unsigned char of_abc[] = {0xba, 0x78, 0x16, 0xbf, 0x8f, 0x01, 0xcf, 0xea, 0x41, 0x41, 0x40,
                                               0xde, 0x5d, 0xae, 0x22, 0x23, 0xb0, 0x03, 0x61, 0xa3, 0x96, 0x17,
                                               0x7a, 0x9c, 0xb4, 0x10, 0xff, 0x61, 0xf2, 0x00, 0x15, 0xad};
        struct key_hash hash;
        (void)state;
        assert_int_equal(key_hash("abc", 3, &hash), 0);
        assert_memory_equal(hash.bytes, of_abc, sizeof(of_abc));
}

static void projects(void **state) {
        struct store_fixture *f = *state;
        struct store_project project, list[10];

        assert_int_equal(store_project_find(f->store, STORE_DEFAULT_PROJECT, &project), 0);
        assert_int_equal(store_project_create(f->store, STORE_DEFAULT_PROJECT, &project), STORE_E_EXISTS);
        assert_int_equal(store_project_find(f->store, "b", &project), STORE_E_NOT_FOUND);
        assert_int_equal(store_project_create(f->store, "b", &project), 0);
        assert_string_equal(project.name, "b");
        assert_true(project.created_ms > 1700000000000);
        int64_t id = project.id;
        assert_int_equal(store_project_create(f->store, "a'; DROP TABLE projects; --", &project), 0);

        store_fixture_reopen(f);
        assert_int_equal(store_project_find(f->store, "b", &project), 0);
        assert_int_equal(project.id, id);
        assert_int_equal(store_project_list(f->store, "", list, 10), 3);
        assert_string_equal(list[1].name, "b");
        assert_int_equal(store_project_list(f->store, "b", list, 10), 1);
        assert_string_equal(list[0].name, STORE_DEFAULT_PROJECT);
        assert_int_equal(store_project_list(f->store, "", list, 2), 2);
        assert_int_equal(store_project_list(f->store, "z", list, 10), 0);
}

static void keys(void **state) {
        struct store_fixture *f = *state;
        struct store_project a, b;
        struct store_key key, got, list[4];

        assert_int_equal(store_project_create(f->store, "a", &a), 0);
        assert_int_equal(store_project_create(f->store, "b", &b), 0);
        key = new_key(a.id, "key_1", "csk_first");
        assert_int_equal(store_key_create(f->store, &key), 0);
        assert_true(key.id > 0 && key.created_ms > 0);
        key = new_key(a.id, "key_2", "csk_second");
        assert_int_equal(store_key_create(f->store, &key), 0);
        key = new_key(b.id, "key_3", "csk_first");
        assert_int_equal(store_key_create(f->store, &key), STORE_E_EXISTS);
        key = new_key(b.id, "key_1", "csk_third");
        assert_int_equal(store_key_create(f->store, &key), STORE_E_EXISTS);

        store_fixture_reopen(f);
        assert_int_equal(find(f->store, "csk_first", &got), 0);
        assert_string_equal(got.public_id, "key_1");
        assert_string_equal(got.project, "a");
        assert_string_equal(got.label, "label of key_1");
        assert_string_equal(got.hint, "csk_…");
        assert_int_equal(got.project_id, a.id);
        assert_false(got.is_admin);
        assert_int_equal(find(f->store, "csk_firs", &got), STORE_E_NOT_FOUND);

        assert_int_equal(store_key_get(f->store, a.id, "key_2", &got), 0);
        assert_int_equal(store_key_get(f->store, b.id, "key_2", &got), STORE_E_NOT_FOUND);
        assert_int_equal(store_key_list(f->store, a.id, "", list, 4), 2);
        assert_int_equal(store_key_list(f->store, a.id, "key_1", list, 4), 1);
        assert_int_equal(store_key_list(f->store, b.id, "", list, 4), 0);

        assert_int_equal(store_key_revoke(f->store, b.id, "key_1"), STORE_E_NOT_FOUND);
        assert_int_equal(store_key_revoke(f->store, a.id, "key_1"), 0);
        assert_int_equal(store_key_revoke(f->store, a.id, "key_1"), STORE_E_NOT_FOUND);
        assert_int_equal(find(f->store, "csk_first", &got), STORE_E_NOT_FOUND); /* which was found a moment ago */
        store_fixture_reopen(f);
        assert_int_equal(find(f->store, "csk_first", &got), STORE_E_NOT_FOUND);
        assert_int_equal(find(f->store, "csk_second", &got), 0);
        assert_int_equal(store_key_list(f->store, a.id, "", list, 4), 1);
        /* A revoked key cannot come back under another name. */
        key = new_key(a.id, "key_4", "csk_first");
        assert_int_equal(store_key_create(f->store, &key), STORE_E_EXISTS);
}

/* More than are remembered; each is itself, before and after, and the one that is revoked is none. */
static void many_keys(void **state) {
        struct store_fixture *f = *state;
        struct store_project project;
        struct store_key key, got;
        char id[32], text[32];

        assert_int_equal(store_project_create(f->store, "many", &project), 0);
        for (int i = 0; i < 40; i++) {
                snprintf(id, sizeof(id), "key_%d", i);
                snprintf(text, sizeof(text), "csk_%d", i);
                key = new_key(project.id, id, text);
                assert_int_equal(store_key_create(f->store, &key), 0);
        }
        for (int i = 0; i < 120; i++) {
                snprintf(id, sizeof(id), "key_%d", i % 40);
                snprintf(text, sizeof(text), "csk_%d", i % 40);
                if (i == 60)
                        assert_int_equal(store_key_revoke(f->store, project.id, "key_10"), 0);
                int expected = i >= 60 && i % 40 == 10 ? STORE_E_NOT_FOUND : 0;
                assert_int_equal(find(f->store, text, &got), expected);
                if (expected == 0)
                        assert_string_equal(got.public_id, id);
        }
}

static void the_operators_admin_key(void **state) {
        struct store_fixture *f = *state;
        struct store_project a;
        struct store_key key, got;

        key = new_key(0, "key_1", "first");
        assert_int_equal(store_admin_key_set(f->store, &key), 0);
        key = new_key(0, "key_2", "first");
        assert_int_equal(store_admin_key_set(f->store, &key), 0);
        assert_int_equal(find(f->store, "first", &got), 0);
        assert_true(got.is_admin);
        assert_string_equal(got.public_id, "key_1");
        assert_string_equal(got.project, "");

        key = new_key(0, "key_3", "second");
        assert_int_equal(store_admin_key_set(f->store, &key), 0);
        assert_int_equal(find(f->store, "first", &got), STORE_E_NOT_FOUND);
        assert_int_equal(find(f->store, "second", &got), 0);
        key = new_key(0, "key_4", "first");
        assert_int_equal(store_admin_key_set(f->store, &key), 0);
        assert_int_equal(find(f->store, "first", &got), 0);

        /* A project's key does not become an admin key; the admin key stays what it was. */
        assert_int_equal(store_project_create(f->store, "a", &a), 0);
        key = new_key(a.id, "key_5", "of a project");
        assert_int_equal(store_key_create(f->store, &key), 0);
        key = new_key(0, "key_6", "of a project");
        assert_int_equal(store_admin_key_set(f->store, &key), STORE_E_EXISTS);
        assert_int_equal(find(f->store, "first", &got), 0);
        assert_int_equal(find(f->store, "of a project", &got), 0);
        assert_false(got.is_admin);
}

static void keeps_no_key_itself(void **state) {
        struct store_fixture *f = *state;
        struct store_project a;
        static char bytes[1 << 20];
        assert_int_equal(store_project_create(f->store, "a", &a), 0);
        struct store_key key = new_key(a.id, "key_1", "csk_0123456789abcdef0123456789abcdef");
        assert_int_equal(store_key_create(f->store, &key), 0);
        store_fixture_close(f);
        FILE *file = fopen(f->path, "r");
        assert_non_null(file);
        size_t length = fread(bytes, 1, sizeof(bytes), file);
        fclose(file);
        assert_non_null(memmem(bytes, length, "key_1", 5));
        assert_null(memmem(bytes, length, "456789abcdef", 12));
}

/* Opens what is in the folder, which must fail, and gives the reason. */
static struct err refusal(const char *folder) {
        struct err e = {.code = 0};
        struct loop *loop;
        struct store *store;
        assert_int_equal(loop_new(&loop), 0);
        assert_int_equal(store_new(loop, &store), 0);
        assert_true(store_open(store, folder, &e) < 0);
        store_close(store);
        loop_free(loop);
        return e;
}

/* What version 1 wrote, as it wrote it. */
static const char schema_1[] =
        "CREATE TABLE projects (id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE, created_ms INTEGER NOT NULL) STRICT;"
        "CREATE TABLE keys (id INTEGER PRIMARY KEY, public_id TEXT NOT NULL UNIQUE,"
        " project_id INTEGER REFERENCES projects (id),"
        " from_operator INTEGER NOT NULL CHECK (from_operator IN (0, 1)),"
        " hash BLOB NOT NULL UNIQUE CHECK (length(hash) = 32), hint TEXT NOT NULL, label TEXT NOT NULL,"
        " created_ms INTEGER NOT NULL, revoked_ms INTEGER) STRICT;"
        "CREATE INDEX keys_of_project ON keys (project_id, public_id);"
        "INSERT INTO projects VALUES (1, 'default', 1700000000001), (7, 'other', 1700000000002);"
        "INSERT INTO keys VALUES (3, 'key_3', 7, 0,"
        " x'ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad', 'csk_…', 'label', 1700000000003, NULL);"
        "PRAGMA user_version = 1";

static void migrates_from_schema_1(void **state) {
        struct store_fixture *f = *state;
        struct store_project project;
        struct store_conversation conversation;
        struct store_key key;
        store_fixture_close(f);
        assert_int_equal(unlink(f->path), 0);
        store_fixture_sql(f, schema_1);
        store_fixture_open(f);
        assert_true(store_fixture_number(f, "PRAGMA user_version") > 1);
        assert_int_equal(store_project_find(f->store, "other", &project), 0);
        assert_int_equal(project.id, 7);
        assert_true(project.created_ms == 1700000000002);
        assert_int_equal(find(f->store, "abc", &key), 0);
        assert_string_equal(key.public_id, "key_3");
        assert_string_equal(key.project, "other");
        assert_int_equal(store_conversation_use(f->store, 7, "talk", "", &conversation), 0);
        store_fixture_reopen(f);
        assert_int_equal(store_conversation_find(f->store, 7, "talk", &conversation), 0);
}

/* One that the version before wrote has all tables but the newest ones, and keeps what is in the others. */
static void migrates_from_schema_3(void **state) {
        struct store_fixture *f = *state;
        struct store_conversation conversation;
        store_fixture_use(f, "talk");
        store_fixture_save_one(f, "talk", 1, "a.txt", "text");
        store_fixture_close(f);
        store_fixture_sql(f, "DROP TABLE idempotency; DROP TABLE idempotency_usage; PRAGMA user_version = 3");
        store_fixture_open(f);
        assert_int_equal(store_fixture_number(f, "SELECT count(*) FROM idempotency"), 0);
        assert_int_equal(store_fixture_number(f, "SELECT count(*) FROM sqlite_schema WHERE type = 'trigger'"), 3);
        assert_int_equal(store_conversation_find(f->store, 1, "talk", &conversation), 0);
        assert_int_equal(conversation.files, 1);
}

static void refuses_a_newer_schema(void **state) {
        struct store_fixture *f = *state;
        long long version = store_fixture_number(f, "PRAGMA user_version");
        char back[64];
        store_fixture_close(f);
        store_fixture_sql(f, "PRAGMA user_version = 1000");
        struct err e = refusal(f->folder);
        assert_non_null(strstr(e.message, "schema 1000"));
        assert_non_null(strstr(e.message, "newer"));
        snprintf(back, sizeof(back), "PRAGMA user_version = %lld", version);
        store_fixture_sql(f, back);
        store_fixture_open(f);
}

static void refuses_what_is_no_database(void **state) {
        struct store_fixture *f = *state;
        store_fixture_close(f);
        FILE *file = fopen(f->path, "w");
        assert_non_null(file);
        for (int i = 0; i < 1000; i++)
                fputs("not a database ", file);
        fclose(file);
        struct err e = refusal(f->folder);
        assert_non_null(strstr(e.message, "database"));
        e = refusal("/nonexistent/folder");
        assert_non_null(strstr(e.message, "database"));
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(keys_are_long_and_differ),
                cmocka_unit_test(hashes_as_sha256),
                cmocka_unit_test_setup_teardown(projects, store_set_up, store_tear_down),
                cmocka_unit_test_setup_teardown(keys, store_set_up, store_tear_down),
                cmocka_unit_test_setup_teardown(many_keys, store_set_up, store_tear_down),
                cmocka_unit_test_setup_teardown(the_operators_admin_key, store_set_up, store_tear_down),
                cmocka_unit_test_setup_teardown(keeps_no_key_itself, store_set_up, store_tear_down),
                cmocka_unit_test_setup_teardown(migrates_from_schema_1, store_set_up, store_tear_down),
                cmocka_unit_test_setup_teardown(migrates_from_schema_3, store_set_up, store_tear_down),
                cmocka_unit_test_setup_teardown(refuses_a_newer_schema, store_set_up, store_tear_down),
                cmocka_unit_test_setup_teardown(refuses_what_is_no_database, store_set_up, store_tear_down),
        };
        return cmocka_run_group_tests(tests, NULL, NULL);
}
