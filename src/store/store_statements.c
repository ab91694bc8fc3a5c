/*
 * Every statement that the store executes, in one table; see store_sql.h.
 *
 * Runs in the api process. A conversation that has been deleted has no project and no name any more, so that what leads
 * to a row through its conversation does not find it, whatever is left of it.
 */
#include "store/agents.h"
#include "store/store_sql.h"

#define TEXT_(x) #x
#define TEXT(x) TEXT_(x)

#define KEY_COLUMNS                                                                                                    \
        "k.id, k.public_id, k.project_id, p.name, k.hash, k.hint, k.label, k.created_ms"                               \
        " FROM keys k LEFT JOIN projects p ON p.id = k.project_id WHERE k.revoked_ms IS NULL"

#define AGENT_COLUMNS "id, name, image, tools, created_ms, updated_ms FROM agents WHERE project_id = ?1"

/* An agent that has been deleted is none. */
#define CONVERSATION_COLUMNS                                                                                           \
        "c.id, c.name, a.name, c.created_ms, c.active_ms, c.runs, c.files, c.bytes, c.stateful, c.not_kept"            \
        " FROM conversations c LEFT JOIN agents a ON a.id = c.agent_id WHERE c.project_id = ?1"
#define CONVERSATION_MATCH " AND (?6 = '' OR instr(lower(c.name), ?6) > 0 OR instr(lower(a.name), ?6) > 0)"
#define CONVERSATION_PAGE " AND (c.active_ms, c.id) < (?2, ?3) ORDER BY c.active_ms DESC, c.id DESC LIMIT ?4"

#define RUN_COLUMNS                                                                                                    \
        "r.public_id, c.project_id, c.name, r.agent, r.sandbox_id, r.outcome, r.exit_code, r.stateful, r.started_ms,"  \
        " r.wall_us, r.cpu_us, r.memory_max_bytes, r.files, r.results, r.tool"

#define FILE_COLUMNS                                                                                                   \
        "f.public_id, c.project_id, c.name, r.public_id, f.name, f.size, f.media_type, b.sha256, f.created_ms,"        \
        " f.latest FROM files f JOIN conversations c ON c.id = f.conversation_id JOIN runs r ON r.id = f.run_id"       \
        " JOIN blobs b ON b.id = f.blob_id"
#define FILE_PAGE " AND f.id < ?2 ORDER BY f.id DESC LIMIT ?3"

const char *const sql_texts[SQL_STATEMENTS] = {
        [SQL_BEGIN] = "BEGIN IMMEDIATE",
        [SQL_COMMIT] = "COMMIT",
        [SQL_ROLLBACK] = "ROLLBACK",
        [SQL_JOB_BEGIN] = "SAVEPOINT job",
        [SQL_JOB_KEEP] = "RELEASE job",
        [SQL_JOB_UNDO] = "ROLLBACK TO job",

        [SQL_PROJECT_INSERT] = "INSERT INTO projects (name, created_ms) VALUES (?1, ?2)"
                               " ON CONFLICT DO NOTHING RETURNING id, name, created_ms",
        [SQL_PROJECT_FIND] = "SELECT id, name, created_ms FROM projects WHERE name = ?1",
        [SQL_PROJECT_LIST] = "SELECT id, name, created_ms FROM projects WHERE name > ?1 ORDER BY name LIMIT ?2",
        [SQL_KEY_FIND] = "SELECT " KEY_COLUMNS " AND k.hash = ?1",
        [SQL_KEY_INSERT] = "INSERT INTO keys (public_id, project_id, from_operator, hash, hint, label, created_ms)"
                           " VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7) ON CONFLICT DO NOTHING RETURNING id",
        [SQL_KEY_GET] = "SELECT " KEY_COLUMNS " AND k.project_id = ?1 AND k.public_id = ?2",
        [SQL_KEY_LIST] =
                "SELECT " KEY_COLUMNS " AND k.project_id = ?1 AND k.public_id > ?2 ORDER BY k.public_id LIMIT ?3",
        [SQL_KEY_REVOKE] = "UPDATE keys SET revoked_ms = ?3"
                           " WHERE project_id = ?1 AND public_id = ?2 AND revoked_ms IS NULL RETURNING id",
        [SQL_ADMIN_DELETE_OTHERS] = "DELETE FROM keys WHERE from_operator = 1 AND hash <> ?1",

        [SQL_AGENT_INSERT] = "INSERT INTO agents (project_id, name, image, tools, created_ms, updated_ms)"
                             " SELECT ?1, ?2, ?3, coalesce(?4, '[]'), ?5, ?5"
                             " WHERE (SELECT count(*) FROM agents WHERE project_id = ?1) <"
                             " " TEXT(STORE_AGENTS_PER_PROJECT_MAX) " ON CONFLICT DO NOTHING RETURNING id",
        [SQL_AGENT_UPDATE] = "UPDATE agents SET image = coalesce(?3, image), tools = coalesce(?4, tools),"
                             " updated_ms = ?5 WHERE project_id = ?1 AND name = ?2 RETURNING id",
        [SQL_AGENT_FIND] = "SELECT " AGENT_COLUMNS " AND name = ?2",
        [SQL_AGENT_LIST] = "SELECT id, name, image, NULL, created_ms, updated_ms FROM agents"
                           " WHERE project_id = ?1 AND name > ?2 ORDER BY name LIMIT ?3",
        [SQL_AGENT_DELETE] = "DELETE FROM agents WHERE project_id = ?1 AND name = ?2 RETURNING id",
        [SQL_AGENT_SET_IMAGE] = "UPDATE agents SET image_id = ?3 WHERE project_id = ?1 AND name = ?2",
        [SQL_IMAGE_SAME] = "SELECT file FROM images WHERE project_id = ?1 AND digest = ?2 AND file <> ?3",
        [SQL_IMAGE_DIGESTS] = "SELECT digest, file FROM images WHERE project_id = ?1 ORDER BY digest LIMIT ?2",
        [SQL_IMAGE_FIND] = "SELECT file, digest, python, env, working_dir, bytes, created_ms FROM images"
                           " WHERE project_id = ?1 AND digest = ?2",
        [SQL_IMAGE_PUT] = "INSERT INTO images (project_id, digest, file, python, env, working_dir, bytes, created_ms)"
                          " VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8) ON CONFLICT (project_id, digest) DO UPDATE SET"
                          " file = excluded.file, python = excluded.python, env = excluded.env,"
                          " working_dir = excluded.working_dir, bytes = excluded.bytes RETURNING id",
        [SQL_IMAGE_SWEEP] = "DELETE FROM images WHERE NOT EXISTS"
                            " (SELECT 1 FROM agents WHERE agents.image_id = images.id) RETURNING file",
        [SQL_IMAGE_OF_AGENT] = "SELECT i.file, i.digest, i.python, i.env, i.working_dir, i.bytes, i.created_ms"
                               " FROM agents a JOIN images i ON i.id = a.image_id WHERE a.project_id = ?1 AND a.name = ?2",
        [SQL_IMAGE_FILES] = "SELECT file FROM images",
        [SQL_ENV_COUNT_OTHERS] = "SELECT count(*) FROM agent_env WHERE agent_id = ?1 AND name <> ?2",
        [SQL_ENV_SET] = "INSERT INTO agent_env (agent_id, name, value) VALUES (?1, ?2, ?3)"
                        " ON CONFLICT (agent_id, name) DO UPDATE SET value = excluded.value",
        [SQL_ENV_UNSET] = "DELETE FROM agent_env WHERE name = ?3 AND agent_id ="
                          " (SELECT id FROM agents WHERE project_id = ?1 AND name = ?2) RETURNING name",
        /* One row with NULL tells an agent without settings from none. */
        [SQL_ENV_LIST] = "SELECT e.name, e.value FROM agents a LEFT JOIN agent_env e ON e.agent_id = a.id"
                         " WHERE a.project_id = ?1 AND a.name = ?2 ORDER BY e.name",
        [SQL_ENV_GET] = "SELECT e.value FROM agents a JOIN agent_env e ON e.agent_id = a.id"
                        " WHERE a.project_id = ?1 AND a.name = ?2 AND e.name = ?3",

        [SQL_CONVERSATION_FIND] = "SELECT " CONVERSATION_COLUMNS " AND c.name = ?2",
        [SQL_CONVERSATION_LIST] = "SELECT " CONVERSATION_COLUMNS CONVERSATION_MATCH CONVERSATION_PAGE,
        [SQL_CONVERSATION_LIST_OF_AGENT] =
                "SELECT " CONVERSATION_COLUMNS
                " AND c.agent_id = (SELECT id FROM agents WHERE project_id = ?1 AND name = ?5)" CONVERSATION_MATCH
                        CONVERSATION_PAGE,
        [SQL_CONVERSATION_IDLE] = "SELECT id, project_id, active_ms, name FROM conversations"
                                  " WHERE project_id IS NOT NULL AND active_ms < ?1 ORDER BY active_ms, id",
        /* The number that AUTOINCREMENT gave last, also if its conversation is gone. */
        [SQL_CONVERSATION_LAST] = "SELECT seq FROM sqlite_sequence WHERE name = 'conversations'",
        [SQL_CONVERSATION_INSERT] = "INSERT INTO conversations (id, project_id, name, agent_id, created_ms, active_ms)"
                                    " VALUES (?1, ?2, ?3, ?4, ?5, ?5)",
        [SQL_CONVERSATION_SET_AGENT] = "UPDATE conversations SET agent_id = ?2 WHERE id = ?1",
        [SQL_CONVERSATION_TOUCH] = "UPDATE conversations SET active_ms = max(active_ms, ?2) WHERE id = ?1",
        [SQL_CONVERSATION_COUNT] = "UPDATE conversations SET active_ms = max(active_ms, ?2), runs = runs + 1,"
                                   " files = files + ?3, bytes = bytes + ?4, stateful = max(stateful, ?5),"
                                   " not_kept = CASE WHEN ?5 THEN ?6 ELSE not_kept END WHERE id = ?1",
        [SQL_CONVERSATION_DOOM] = "UPDATE conversations SET project_id = NULL, name = NULL"
                                  " WHERE project_id = ?1 AND name = ?2 RETURNING bytes, files",
        [SQL_CONVERSATION_DOOM_IDLE] = "UPDATE conversations SET project_id = NULL, name = NULL"
                                       " WHERE project_id = ?1 AND id = ?2 AND active_ms <= ?3 RETURNING bytes, files",

        [SQL_RUN_CONVERSATION] = "SELECT id, name FROM conversations WHERE project_id = ?1 AND id = ?2",
        [SQL_RUN_CONVERSATION_NAMED] = "SELECT id, name FROM conversations WHERE project_id = ?1 AND name = ?2",
        [SQL_RUN_INSERT] = "INSERT INTO runs (public_id, conversation_id, agent, sandbox_id, outcome, exit_code,"
                           " stateful, started_ms, wall_us, cpu_us, memory_max_bytes, files, results, tool)"
                           " VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14)"
                           " ON CONFLICT DO NOTHING RETURNING id",
        [SQL_RUN_DETAILS_INSERT] = "INSERT INTO run_details (run_id, code, reply) VALUES (?1, ?2, ?3)",
        [SQL_RUN_PLACE] = "SELECT id FROM runs WHERE public_id = ?1 AND conversation_id = ?2",
        [SQL_RUN_LIST] = "SELECT " RUN_COLUMNS " FROM runs r JOIN conversations c ON c.id = r.conversation_id"
                         " WHERE r.conversation_id = ?1 AND r.id > ?2 ORDER BY r.id LIMIT ?3",
        [SQL_RUN_GET] = "SELECT " RUN_COLUMNS ", d.code, d.reply FROM runs r"
                        " JOIN conversations c ON c.id = r.conversation_id JOIN run_details d ON d.run_id = r.id"
                        " WHERE r.public_id = ?2 AND c.project_id = ?1",

        [SQL_FILE_NOT_LATEST] = "UPDATE files SET latest = 0 WHERE conversation_id = ?1 AND name = ?2 AND latest = 1",
        [SQL_FILE_INSERT] = "INSERT INTO files (public_id, conversation_id, run_id, name, size, media_type, blob_id,"
                            " created_ms, latest) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, 1)"
                            " ON CONFLICT (public_id) DO NOTHING RETURNING id",
        [SQL_FILE_PLACE] = "SELECT id FROM files WHERE public_id = ?1 AND conversation_id = ?2",
        [SQL_FILE_LIST] = "SELECT " FILE_COLUMNS " WHERE f.conversation_id = ?1" FILE_PAGE,
        [SQL_FILE_LIST_LATEST] = "SELECT " FILE_COLUMNS " WHERE f.conversation_id = ?1 AND f.latest = 1" FILE_PAGE,
        [SQL_FILE_GET] = "SELECT " FILE_COLUMNS " WHERE f.public_id = ?2 AND c.project_id = ?1",

        [SQL_USAGE_GET] = "SELECT bytes, files FROM usage WHERE project_id = ?1",
        [SQL_USAGE_ALL] = "SELECT coalesce(sum(bytes), 0), coalesce(sum(files), 0) FROM usage",
        [SQL_USAGE_ADD] = "INSERT INTO usage (project_id, bytes, files) VALUES (?1, ?2, ?3)"
                          " ON CONFLICT DO UPDATE SET bytes = bytes + excluded.bytes, files = files + excluded.files",

        [SQL_BLOB_TAKE] = "INSERT INTO blobs (sha256, size, refs) VALUES (?1, ?2, 1)"
                          " ON CONFLICT (sha256) DO UPDATE SET refs = refs + 1 RETURNING id, refs",
        [SQL_BLOB_DROP] = "UPDATE blobs SET refs = refs - 1 WHERE id = ?1 RETURNING refs, sha256",
        [SQL_BLOB_DELETE] = "DELETE FROM blobs WHERE id = ?1",
        [SQL_BLOB_FIND] = "SELECT id FROM blobs WHERE sha256 = ?1",

        [SQL_IDEMPOTENCY_FIND] = "SELECT digest, begun_ms, is_stream, state, run_id, sandbox_id, bytes, reply"
                                 " FROM idempotency WHERE project_id = ?1 AND key = ?2 AND begun_ms >= ?3",
        [SQL_IDEMPOTENCY_BEGIN] =
                "INSERT INTO idempotency (project_id, key, digest, begun_ms, is_stream, conversation)"
                " SELECT ?1, ?2, ?3, ?4, ?5, ?6 WHERE NOT EXISTS"
                " (SELECT 1 FROM idempotency_usage WHERE project_id = ?1 AND (keys >= ?7 OR bytes >= ?8)) RETURNING id",
        [SQL_IDEMPOTENCY_KEEP] = "UPDATE idempotency SET state = ?3, run_id = ?4, sandbox_id = ?5, bytes = ?6,"
                                 " reply = ?7 WHERE project_id = ?1 AND key = ?2",
        [SQL_IDEMPOTENCY_REMOVE] = "DELETE FROM idempotency WHERE project_id = ?1 AND key = ?2 AND begun_ms < ?3",
        [SQL_IDEMPOTENCY_EXPIRE] = "DELETE FROM idempotency WHERE id IN (SELECT id FROM idempotency"
                                   " WHERE begun_ms < ?1 ORDER BY begun_ms, id LIMIT ?2) RETURNING id",
        [SQL_IDEMPOTENCY_DROP_REPLIES] =
                "UPDATE idempotency SET state = ?3, bytes = 0, reply = NULL"
                " WHERE project_id = ?1 AND conversation = ?2 AND state = ?4",

        [SQL_DOOMED_NEXT] = "SELECT id FROM conversations WHERE project_id IS NULL LIMIT 1",
        [SQL_DOOMED_FILES] = "SELECT id, blob_id FROM files WHERE conversation_id = ?1 LIMIT ?2",
        [SQL_DOOMED_FILE_DELETE] = "DELETE FROM files WHERE id = ?1",
        [SQL_DOOMED_RUNS] = "SELECT id FROM runs WHERE conversation_id = ?1 LIMIT ?2",
        [SQL_DOOMED_DETAILS_DELETE] = "DELETE FROM run_details WHERE run_id = ?1",
        [SQL_DOOMED_RUN_DELETE] = "DELETE FROM runs WHERE id = ?1",
        [SQL_DOOMED_DELETE] = "DELETE FROM conversations WHERE id = ?1",
};
