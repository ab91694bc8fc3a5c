/*
 * platformctl backup, restore: the data folder of a service on this machine.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/config.h"
#include "cli/backup.h"
#include "cli/commands.h"
#include "cli/output.h"
#include "cli/progress.h"

#define PATH_BYTES 4096

struct backup_options {
        bool force;
        const char *data_dir;
};

#define DATA_DIR_ROW                                                                                                   \
        {                                                                                                              \
                "data-dir", 0, OPTION_TEXT, "DIR", offsetof(struct backup_options, data_dir),                          \
                        "the data folder; else that of the settings\n(SANDBOX_DATA_DIR, SANDBOX_CONFIG_FILE)"          \
        }

/* On the heap, or NULL after the reason was said. */
static char *find_data_dir(struct cli *cli, const struct backup_options *options) {
        struct config config;
        struct err e = {0};
        if (options->data_dir)
                return strdup(options->data_dir);
        if (config_load(&config, &e) < 0) {
                say_error(cli, EX_CONFIG, "%s", e.message);
                return NULL;
        }
        char *path = strdup(config.data_dir);
        config_deinit(&config);
        return path;
}

/* ---- progress: of long work, for who looks on */

struct look {
        struct progress progress;
        const char *step;
};

static void show_count(void *data, const struct backup_count *count) {
        struct look *look = data;
        if (look->progress.on_terminal)
                progress_show(&look->progress, look->step, (double)count->bytes, 0);
}

/* ---- backup and restore */

/* Under another name until it is whole. */
static int write_to(struct cli *cli, const char *data_dir, const char *path, bool force) {
        struct backup_count count = {0};
        struct err e = {0};
        char partial[PATH_BYTES];
        if (!force && access(path, F_OK) == 0)
                return say_error(cli, EX_CANTCREAT, "%s is there already; --force overwrites it", path);
        if ((size_t)snprintf(partial, sizeof(partial), "%s.partial", path) >= sizeof(partial))
                return say_error(cli, EX_CANTCREAT, "the name of the file is too long");
        unlink(partial);
        CLEANUP_CLOSE int fd = open(partial, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
        if (fd < 0)
                return say_error(cli, EX_CANTCREAT, "cannot write %s: %s", partial, strerror(errno));
        struct look look = {.step = "saving"};
        progress_init(&look.progress, cli, false);
        int r = backup_write(data_dir, fd, &(struct backup_listener){show_count, &look}, &count, &e);
        progress_end(&look.progress);
        if (r == 0 && (fsync(fd) < 0 || rename(partial, path) < 0))
                r = err_set(&e, -errno, "cannot write %s: %s", path, strerror(errno));
        if (r < 0) {
                unlink(partial);
                return say_error(cli, r == -EPERM || r == -EACCES ? EX_NOPERM : EX_IOERR, "%s", e.message);
        }
        say_note(cli, "saved %" PRIu64 " files (%s) of %s in %s; keys and secrets are among them: keep it safe",
                 count.files, human_bytes((double)count.bytes), data_dir, path);
        return EXIT_SUCCESS;
}

static int run_backup(struct cli *cli, const void *values, int argc, char **argv) {
        const struct backup_options *options = values;
        CLEANUP_FREE char *data_dir = find_data_dir(cli, options);
        (void)argc;
        return data_dir ? write_to(cli, data_dir, argv[0], options->force) : EX_CONFIG;
}

static int run_restore(struct cli *cli, const void *values, int argc, char **argv) {
        const struct backup_options *options = values;
        CLEANUP_FREE char *data_dir = find_data_dir(cli, options);
        struct backup_count count = {0};
        struct err e = {0};
        (void)argc;
        if (!data_dir)
                return EX_CONFIG;
        CLEANUP_CLOSE int fd = open(argv[0], O_RDONLY | O_CLOEXEC);
        if (fd < 0)
                return say_error(cli, EX_NOINPUT, "cannot open %s: %s", argv[0], strerror(errno));
        struct look look = {.step = "restoring"};
        progress_init(&look.progress, cli, false);
        int r = backup_restore(fd, data_dir, &(struct backup_listener){show_count, &look}, &count, &e);
        progress_end(&look.progress);
        if (r < 0)
                return say_error(cli, EX_DATAERR, "%s. Nothing was changed", e.message);
        say_note(cli, "restored %" PRIu64 " files (%s) into %s; start the service now", count.files,
                 human_bytes((double)count.bytes), data_dir);
        return EXIT_SUCCESS;
}

static const struct option_row backup_rows[] = {
        DATA_DIR_ROW,
        {"force", 0, OPTION_FLAG, NULL, offsetof(struct backup_options, force), "overwrite FILE"},
};

const struct command cmd_backup = {
        .name = "backup",
        .summary = "save all that a service on this machine keeps",
        .usage = "[--data-dir DIR] [--force] FILE",
        .description = "Saves the data folder of a service on this machine, which may be running, in\n"
                       "FILE: projects, keys, agents, conversations with their runs and files, images,\n"
                       "the audit log and the admin key, as they are at one moment. Needs root.\n",
        .examples = "  sudo platformctl backup /var/backups/sandbox.tar.zst\n",
        COMMAND_OPTIONS(backup_rows, struct backup_options),
        COMMAND_WORDS(1),
        .run = run_backup,
};

static const struct option_row restore_rows[] = {DATA_DIR_ROW};

const struct command cmd_restore = {
        .name = "restore",
        .summary = "make a data folder from a backup",
        .usage = "[--data-dir DIR] FILE",
        .description = "Makes the data folder of a service, which must not be there or be empty, from\n"
                       "what `platformctl backup` saved. Everything is checked before it is put in\n"
                       "place. Needs root; the service must not be running.\n",
        .examples = "  sudo platformctl restore /var/backups/sandbox.tar.zst\n",
        COMMAND_OPTIONS(restore_rows, struct backup_options),
        COMMAND_WORDS(1),
        .run = run_restore,
};
