/*
 * The store in one SQLite file with a folder of contents beside it: opening and closing; see store.h.
 *
 * Runs in the api process, on the loop's thread. The writer's connection is opened here as well, and left to its thread
 * when everything is ready.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "base/loop.h"
#include "store/store_private.h"
#include "store/store_schema.h"

#define PATH_BYTES 4096

int store_new(struct loop *loop, struct store **ret) {
        struct store *store = calloc(1, sizeof(*store));
        if (!store)
                return -ENOMEM;
        blobs_init(&store->blobs);
        audit_init(&store->audit);
        store->loop = loop;
        int r = activity_init(&store->activity);
        if (r < 0) {
                free(store);
                return r;
        }
        r = writer_new(store, loop, &store->writer);
        if (r < 0) {
                store_close(store);
                return r;
        }
        *ret = store;
        return 0;
}

int store_open(struct store *store, const char *folder, struct err *e) {
        struct store_project project;
        char path[PATH_BYTES];
        if ((size_t)snprintf(path, sizeof(path), "%s/sandbox.db", folder) >= sizeof(path))
                return err_set(e, -ENAMETOOLONG, "the path of the database is too long");
        int r = sql_open(&store->database, path, true, e);
        if (r == 0)
                r = schema_migrate(store->database.database, e);
        if (r == 0)
                r = sql_prepare(&store->database, e);
        if (r == 0)
                r = blobs_open(&store->blobs, folder, e);
        if (r == 0)
                r = audit_open(store, folder, e);
        if (r == 0)
                r = sql_open(&store->reader, path, false, e);
        if (r == 0)
                r = sql_prepare(&store->reader, e);
        if (r < 0)
                return r;
        chores_init(store);
        writer_start(store->writer);
        r = store_project_create(store, STORE_DEFAULT_PROJECT, &project);
        return r < 0 ? err_set(e, r, "cannot write to the database") : 0;
}

/* The writer's connection is closed last: it copies the log into the database, and removes it. */
void store_close(struct store *store) {
        if (!store)
                return;
        loop_remove(store->loop, &store->flush_timer);
        audit_close(store);
        writer_free(store->writer);
        sql_close(&store->reader);
        sql_close(&store->database);
        blobs_close(&store->blobs);
        agents_forget(store);
        activity_deinit(&store->activity);
        free(store);
}

void store_settle(struct store *store) {
        writer_settle(store->writer);
}
