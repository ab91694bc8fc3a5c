/* Images of agents; see images.h. Runs in the api process; functions named write_… on the writer's thread. */
#include "store/images.h"

#include <errno.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "store/agents.h"
#include "store/store_private.h"

void store_image_deinit(struct store_image *image) {
        free(TAKE_PTR(image->env));
        free(TAKE_PTR(image->working_dir));
}

/* ---- lists of files */

static int add_file(struct store_retired *list, sqlite3_stmt *s) {
        void *files = reallocarray(list->files, list->count + 1, sizeof(*list->files));
        if (!files)
                return -ENOMEM;
        list->files = files;
        sql_copy_text(s, 0, list->files[list->count++], sizeof(*list->files));
        return 0;
}

/* All rows that the statement gives. */
static int read_files(struct sql *sql, sqlite3_stmt *s, struct store_retired *list) {
        int r;
        while ((r = sql_step(sql, s)) == 0 && (r = add_file(list, s)) == 0)
                ;
        sql_finish(sql, s, r);
        return r < 0 ? r : 0;
}

int store_image_files(struct store *store, char (**ret)[STORE_IMAGE_FILE_MAX + 1], size_t *ret_count) {
        struct store_retired list = {.files = NULL};
        int r = read_files(&store->reader, sql_statement(&store->reader, SQL_IMAGE_FILES), &list);
        if (r < 0) {
                free(list.files);
                return r;
        }
        *ret = list.files;
        *ret_count = list.count;
        return 0;
}

int write_unused_images(struct sql *sql, struct store_retired *retired) {
        return read_files(sql, sql_statement(sql, SQL_IMAGE_SWEEP), retired);
}

/* ---- deploying */

struct deployment {
        int64_t project_id;
        const char *agent, *reference, *tools;
        const struct store_image *image;
        bool created;
        struct store_retired *retired;
};

/* The file of an image of this digest that gives way. */
static int write_out_of_the_way(struct sql *sql, const struct deployment *deployment) {
        sqlite3_stmt *s = sql_statement(sql, SQL_IMAGE_SAME);
        sqlite3_bind_int64(s, 1, deployment->project_id);
        sql_bind_text(s, 2, deployment->image->digest);
        sql_bind_text(s, 3, deployment->image->file);
        return read_files(sql, s, deployment->retired);
}

static int write_image(struct sql *sql, const struct deployment *deployment, int64_t *ret_id) {
        const struct store_image *image = deployment->image;
        sqlite3_stmt *s = sql_statement(sql, SQL_IMAGE_PUT);
        sqlite3_bind_int64(s, 1, deployment->project_id);
        sql_bind_text(s, 2, image->digest);
        sql_bind_text(s, 3, image->file);
        sql_bind_text(s, 4, image->python);
        sql_bind_text(s, 5, image->env);
        sql_bind_text(s, 6, image->working_dir);
        sqlite3_bind_int64(s, 7, image->bytes);
        sqlite3_bind_int64(s, 8, sql_now_ms());
        int r = sql_step(sql, s);
        if (r == 0)
                *ret_id = sqlite3_column_int64(s, 0);
        return sql_finish(sql, s, r);
}

static int write_reference(struct sql *sql, const struct deployment *deployment, int64_t image_id) {
        sqlite3_stmt *s = sql_statement(sql, SQL_AGENT_SET_IMAGE);
        sqlite3_bind_int64(s, 1, deployment->project_id);
        sql_bind_text(s, 2, deployment->agent);
        sqlite3_bind_int64(s, 3, image_id);
        return sql_run(sql, s);
}

static int write_deployment(struct store *store, void *data) {
        struct deployment *deployment = data;
        struct sql *sql = &store->database;
        int64_t image_id = 0;
        int r = write_agent_row(sql, deployment->project_id, deployment->agent, deployment->reference,
                                deployment->tools, &deployment->created);
        if (r == 0)
                r = write_out_of_the_way(sql, deployment);
        if (r == 0)
                r = write_image(sql, deployment, &image_id);
        if (r == 0)
                r = write_reference(sql, deployment, image_id);
        return r == 0 ? write_unused_images(sql, deployment->retired) : r;
}

int store_agent_deploy(struct store *store, int64_t project_id, const char *agent, const char *reference,
                       const char *tools, const struct store_image *image, bool *ret_created,
                       struct store_retired *ret_retired) {
        struct deployment deployment = {
                .project_id = project_id,
                .agent = agent,
                .reference = reference,
                .tools = tools,
                .image = image,
                .retired = ret_retired,
        };
        *ret_retired = (struct store_retired){.files = NULL};
        int r = agents_change(store, write_deployment, &deployment);
        *ret_created = r == 0 && deployment.created;
        if (r != 0) {
                free(ret_retired->files);
                *ret_retired = (struct store_retired){.files = NULL};
        }
        return r;
}

/* ---- reading */

static int read_image(sqlite3_stmt *s, struct store_image *ret) {
        *ret = (struct store_image){.bytes = sqlite3_column_int64(s, 5), .created_ms = sqlite3_column_int64(s, 6)};
        sql_copy_text(s, 0, ret->file, sizeof(ret->file));
        sql_copy_text(s, 1, ret->digest, sizeof(ret->digest));
        sql_copy_text(s, 2, ret->python, sizeof(ret->python));
        int r = sql_duplicate(s, 3, &ret->env);
        if (r == 0)
                r = sql_duplicate(s, 4, &ret->working_dir);
        if (r < 0)
                store_image_deinit(ret);
        return r;
}

static int find_image(struct store *store, enum sql_statement which, int64_t project_id, const char *name,
                      struct store_image *ret) {
        sqlite3_stmt *s = sql_statement(&store->reader, which);
        sqlite3_bind_int64(s, 1, project_id);
        sql_bind_text(s, 2, name);
        int r = sql_step(&store->reader, s);
        if (r == 0)
                r = read_image(s, ret);
        return sql_end(s, r);
}

int store_image_of_agent(struct store *store, int64_t project_id, const char *agent, struct store_image *ret) {
        return find_image(store, SQL_IMAGE_OF_AGENT, project_id, agent, ret);
}

int store_image_find(struct store *store, int64_t project_id, const char *digest, struct store_image *ret) {
        return find_image(store, SQL_IMAGE_FIND, project_id, digest, ret);
}

int store_image_list(struct store *store, int64_t project_id, struct store_image_name *ret, size_t max) {
        sqlite3_stmt *s = sql_statement(&store->reader, SQL_IMAGE_DIGESTS);
        size_t count = 0;
        int r = 0;
        sqlite3_bind_int64(s, 1, project_id);
        sqlite3_bind_int64(s, 2, (sqlite3_int64)max);
        while (count < max && (r = sql_step(&store->reader, s)) == 0) {
                sql_copy_text(s, 0, ret[count].digest, sizeof(ret[count].digest));
                sql_copy_text(s, 1, ret[count++].file, sizeof(ret[count].file));
        }
        sql_end(s, r);
        return r < 0 ? r : (int)count;
}
