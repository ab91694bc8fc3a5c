/* How SQLite finds what the store asks for: by an index, whatever is in the tables. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>
#include <sqlite3.h>

#include "store/store_sql.h"
#include "store_fixture.h"

/* The table is small, or the whole of it is wanted. */
static bool may_scan(int statement) {
        return statement == SQL_ADMIN_DELETE_OTHERS || statement == SQL_CONVERSATION_LAST ||
               statement == SQL_IMAGE_FILES || statement == SQL_IMAGE_SWEEP || statement == SQL_USAGE_ALL;
}

static int check_step(int statement, const char *step) {
        if (strncmp(step, "SCAN CONSTANT ROW", 17) == 0 || may_scan(statement))
                return 0;
        if (!strstr(step, "SCAN") && !strstr(step, "TEMP B-TREE"))
                return 0;
        print_error("%s\n    %s\n", sql_texts[statement], step);
        return 1;
}

static void each_statement_uses_an_index(void **state) {
        const struct store_fixture *f = *state;
        sqlite3 *database;
        int wrong = 0, steps = 0;
        assert_int_equal(sqlite3_open(f->path, &database), SQLITE_OK);
        for (int i = SQL_PROJECT_INSERT; i < SQL_STATEMENTS; i++) {
                char text[4096];
                sqlite3_stmt *plan;
                snprintf(text, sizeof(text), "EXPLAIN QUERY PLAN %s", sql_texts[i]);
                assert_int_equal(sqlite3_prepare_v2(database, text, -1, &plan, NULL), SQLITE_OK);
                for (; sqlite3_step(plan) == SQLITE_ROW; steps++)
                        wrong += check_step(i, (const char *)sqlite3_column_text(plan, 3));
                sqlite3_finalize(plan);
        }
        sqlite3_close(database);
        assert_int_equal(wrong, 0);
        assert_true(steps > 40);
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test_setup_teardown(each_statement_uses_an_index, store_set_up, store_tear_down),
        };
        return cmocka_run_group_tests(tests, NULL, NULL);
}
