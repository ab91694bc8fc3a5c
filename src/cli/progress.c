/* How far long work has come; see progress.h. */
#include "cli/progress.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "cli/output.h"

#define REDRAW_MS 100
#define PATIENCE_MS 500 /* a transfer that is over sooner needs no line */

static int64_t passed_ms(const struct timespec *since) {
        struct timespec now;
        clock_gettime(CLOCK_MONOTONIC, &now);
        return (int64_t)(now.tv_sec - since->tv_sec) * 1000 + (now.tv_nsec - since->tv_nsec) / 1000000;
}

void progress_init(struct progress *progress, struct cli *cli, bool quiet) {
        const char *terminal = getenv("TERM");
        bool can_rewrite = isatty(fileno(cli->err.file)) && !(terminal && strcmp(terminal, "dumb") == 0);
        *progress = (struct progress){.cli = cli, .quiet = quiet, .on_terminal = can_rewrite};
        clock_gettime(CLOCK_MONOTONIC, &progress->began);
}

static bool too_early(struct progress *progress) {
        if (progress->drawn && passed_ms(&progress->drawn_at) < REDRAW_MS)
                return true;
        clock_gettime(CLOCK_MONOTONIC, &progress->drawn_at);
        return false;
}

void progress_show(struct progress *progress, const char *step, double done, double total) {
        bool is_new = strncmp(step, progress->step, sizeof(progress->step) - 1) != 0;
        char line[160];
        if (progress->quiet)
                return;
        if (!is_new && (!progress->on_terminal || too_early(progress)))
                return;
        snprintf(progress->step, sizeof(progress->step), "%s", step);
        if (!progress->on_terminal) {
                say_note(progress->cli, "%s", step);
                return;
        }
        if (total > 0)
                snprintf(line, sizeof(line), "%s: %s of %s (%.0f %%)", step, human_bytes(done), human_bytes(total),
                         100 * done / total);
        else if (done > 0)
                snprintf(line, sizeof(line), "%s: %s", step, human_bytes(done));
        else
                snprintf(line, sizeof(line), "%s", step);
        CLEANUP_FREE char *safe = terminal_line(line, strlen(line));
        fprintf(progress->cli->err.file, "\r\033[K%s", safe ? safe : "");
        fflush(progress->cli->err.file);
        progress->drawn = true;
}

void progress_transfer(struct progress *progress, const char *step, double done, double total) {
        if (!progress->on_terminal || done <= 0)
                return;
        if (total > 0 && done >= total)
                progress_end(progress);
        else if (progress->drawn || passed_ms(&progress->began) >= PATIENCE_MS)
                progress_show(progress, step, done, total);
}

void progress_end(struct progress *progress) {
        if (progress->drawn) {
                fputs("\r\033[K", progress->cli->err.file);
                fflush(progress->cli->err.file);
        }
        progress->drawn = false;
}
