/*
 * The audit log: opening, adding, synchronising; see audit.h.
 *
 * A line is written when it is added, so that it outlives the process. Synchronising it to the disk takes longer
 * and is done by the writer's thread, for all lines of a second together; what changes rights is waited for.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/log.h"
#include "base/loop.h"
#include "store/store_private.h"

#define FOLDER "audit"
#define SEGMENT_MAX (UINT64_C(16) << 20)
#define SEGMENT_MIN (UINT64_C(64) << 10)
#define SEGMENTS_OF_ALL 16 /* files over which the allowed size is spread */
#define SYNC_DELAY_NS NS_PER_S
#define ANCHOR_NS (3600 * NS_PER_S)
#define TIME_BYTES 48
#define PATH_BYTES 4096
#define COPY_BYTES 65536

void audit_init(struct store_audit *audit) {
        *audit = (struct store_audit){.folder_fd = -1, .fd = -1, .head_fd = -1, .segment_max = SEGMENT_MAX};
        audit_place_start(&audit->last);
}

void store_audit_limit(struct store *store, uint64_t bytes) {
        uint64_t segment = bytes ? bytes / SEGMENTS_OF_ALL : SEGMENT_MAX;
        store->audit.total_max = bytes;
        store->audit.segment_max = segment > SEGMENT_MAX ? SEGMENT_MAX : segment < SEGMENT_MIN ? SEGMENT_MIN : segment;
}

static int failed(const char *what, int r) {
        log_error("the audit log cannot be written", "step", what, "error", log_errno(r));
        return r;
}

/* ---- synchronising */

/* What the writer's thread synchronises. The copies stay open whatever happens to the files meanwhile. */
struct copy {
        int fd, head_fd;
        struct audit_place place;
};

static void copy_free(struct copy *copy) {
        close_fd(&copy->fd);
        close_fd(&copy->head_fd);
        free(copy);
}

static struct copy *copy_new(const struct store_audit *audit) {
        struct copy *copy = malloc(sizeof(*copy));
        if (!copy)
                return NULL;
        *copy = (struct copy){.fd = fcntl(audit->fd, F_DUPFD_CLOEXEC, 0),
                              .head_fd = fcntl(audit->head_fd, F_DUPFD_CLOEXEC, 0),
                              .place = audit->last};
        if (copy->fd >= 0 && copy->head_fd >= 0)
                return copy;
        copy_free(copy);
        return NULL;
}

static int sync_copy(struct store *store, void *data) {
        struct copy *copy = data;
        (void)store;
        int r = fdatasync(copy->fd) < 0 ? failed("fdatasync", -errno) : 0;
        if (r == 0)
                audit_head_write(copy->head_fd, &copy->place);
        copy_free(copy);
        return r;
}

static void on_synced(void *data, int result) {
        (void)data;
        (void)result;
}

static int sync_now(struct store *store) {
        struct store_audit *audit = &store->audit;
        loop_remove(store->loop, &audit->timer);
        audit->unsynced = false;
        if (fdatasync(audit->fd) < 0)
                return failed("fdatasync", -errno);
        if (audit->last.seq > 0)
                audit_head_write(audit->head_fd, &audit->last);
        return 0;
}

static void on_time(void *data) {
        struct store *store = data;
        struct store_audit *audit = &store->audit;
        audit->timer = NULL;
        struct copy *copy = copy_new(audit);
        audit->unsynced = false;
        if (copy && writer_submit(store, sync_copy, copy, 0, on_synced, NULL) == 0)
                return;
        if (copy)
                copy_free(copy);
        sync_now(store);
}

static int sync_later(struct store *store) {
        struct store_audit *audit = &store->audit;
        audit->unsynced = true;
        if (audit->timer || loop_add_timer(store->loop, SYNC_DELAY_NS, on_time, store, &audit->timer) == 0)
                return 0;
        return sync_now(store);
}

/* ---- files */

static int begin_file(struct store_audit *audit, uint64_t first) {
        char name[AUDIT_NAME_BYTES];
        audit_name(first, name);
        int fd = openat(audit->folder_fd, name, O_RDWR | O_APPEND | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
        if (fd < 0 || fsync(audit->folder_fd) < 0) {
                int r = -errno;
                close_fd(&fd);
                return r;
        }
        close_fd(&audit->fd);
        audit->fd = fd;
        audit->segment_bytes = 0;
        if (!audit->first)
                audit->first = first;
        return 0;
}

/* What no power loss, no full disk may leave behind: half a line. */
static int append(struct store_audit *audit, const char *line, size_t length) {
        ssize_t written = write(audit->fd, line, length);
        if (written == (ssize_t)length) {
                audit->segment_bytes += length;
                return 0;
        }
        int r = written < 0 ? -errno : -ENOSPC;
        if (ftruncate(audit->fd, (off_t)audit->segment_bytes) < 0)
                failed("ftruncate", -errno);
        return r;
}

static void print_now(char text[TIME_BYTES]) {
        int64_t now = clock_wall_ms();
        time_t seconds = now / 1000;
        struct tm utc;
        gmtime_r(&seconds, &utc);
        size_t used = strftime(text, TIME_BYTES, "%Y-%m-%dT%H:%M:%S", &utc);
        snprintf(text + used, TIME_BYTES - used, ".%03dZ", (int)(now % 1000));
}

static int write_line(struct store *store, const char *members) {
        struct store_audit *audit = &store->audit;
        CLEANUP_FREE char *line = NULL;
        struct audit_place place;
        char now[TIME_BYTES];
        print_now(now);
        int r = audit_line_write(&audit->last, now, members, &place, &line);
        if (r < 0)
                return failed("compose", r);
        size_t length = strlen(line);
        line[length] = '\n'; /* in place of the NUL */
        r = append(audit, line, length + 1);
        if (r < 0)
                return failed("write", r);
        audit->last = place;
        return 0;
}

/* Says what goes before it goes: a log that begins later than with line 1 then tells why. */
static int drop_oldest(struct store *store, uint64_t second) {
        struct store_audit *audit = &store->audit;
        CLEANUP_FREE char *members = NULL;
        char name[AUDIT_NAME_BYTES];
        struct audit_place before;
        int r = audit_read_before(audit->folder_fd, second, &before);
        if (r < 0)
                return failed("read the second file", r);
        if (asprintf(&members, "{\"action\":\"audit.drop\",\"details\":{\"through\":%" PRIu64 ",\"hash\":\"%s\"}}",
                     before.seq, before.hash) < 0)
                return -ENOMEM;
        r = write_line(store, members);
        if (r == 0)
                r = sync_now(store);
        audit_name(audit->first, name);
        if (r == 0 && unlinkat(audit->folder_fd, name, 0) < 0)
                r = failed("remove the oldest file", -errno);
        if (r == 0)
                audit->first = second;
        return r;
}

static int drop_old_files(struct store *store) {
        CLEANUP_FREE struct store_audit_segment *segments = NULL;
        uint64_t bytes = 0;
        size_t count;
        int r = audit_list(store->audit.folder_fd, &segments, &count);
        for (size_t i = 0; r == 0 && i < count; i++)
                bytes += segments[i].bytes;
        bool limited = store->audit.total_max > 0;
        for (size_t i = 0; r == 0 && i + 1 < count && limited && bytes > store->audit.total_max; i++) {
                r = drop_oldest(store, segments[i + 1].first);
                bytes -= segments[i].bytes;
        }
        return r;
}

static int next_file(struct store *store) {
        int r = sync_now(store);
        if (r == 0)
                r = begin_file(&store->audit, store->audit.last.seq + 1);
        if (r < 0)
                return failed("begin a file", r);
        return drop_old_files(store);
}

/* Whoever keeps the service's log somewhere else can then see that lines are missing at the end of this one. */
static void anchor(struct store_audit *audit) {
        audit->anchored_ns = clock_now_ns();
        log_info("the audit log has come to here", "line", log_num((long long)audit->last.seq), "hash",
                 audit->last.hash);
}

int store_audit_add(struct store *store, const char *members, bool durable) {
        struct store_audit *audit = &store->audit;
        int r = 0;
        if (audit->fd < 0)
                return -EBADF;
        if (audit->segment_bytes >= audit->segment_max && next_file(store) < 0)
                log_warning("the audit log goes on in a file that has its full size already");
        r = write_line(store, members);
        if (r < 0)
                return r;
        if (clock_now_ns() - audit->anchored_ns > ANCHOR_NS)
                anchor(audit);
        return durable ? sync_now(store) : sync_later(store);
}

struct audit_place store_audit_head(const struct store *store, uint64_t *first) {
        *first = store->audit.first;
        return store->audit.last;
}

/* ---- opening */

/* Copies what stands at the end of a file and is no line to a file of its own, and cuts it off. */
static int set_aside(struct store_audit *audit, int fd, uint64_t from, char name[AUDIT_NAME_BYTES]) {
        char bytes[COPY_BYTES];
        ssize_t length;
        snprintf(name, AUDIT_NAME_BYTES, "damaged-%" PRId64, clock_wall_ms());
        CLEANUP_CLOSE int copy = openat(audit->folder_fd, name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
        if (copy < 0)
                return -errno;
        for (off_t at = (off_t)from; (length = pread(fd, bytes, sizeof(bytes), at)) > 0; at += length)
                if (write(copy, bytes, (size_t)length) != length)
                        return -EIO;
        if (length < 0 || fsync(copy) < 0 || ftruncate(fd, (off_t)from) < 0 || fsync(fd) < 0)
                return -errno;
        return 0;
}

/* A file of the log, to go on with: finds its end. *damaged: bytes that were set aside. */
static int open_file(struct store_audit *audit, const struct store_audit_segment *segment, uint64_t *damaged,
                     char aside[AUDIT_NAME_BYTES]) {
        char name[AUDIT_NAME_BYTES];
        uint64_t good;
        audit_name(segment->first, name);
        CLEANUP_CLOSE int fd = openat(audit->folder_fd, name, O_RDWR | O_APPEND | O_CLOEXEC | O_NOFOLLOW);
        int r = fd < 0 ? -errno : audit_find_end(fd, segment->bytes, &audit->last, &good);
        if (r < 0)
                return r;
        *damaged = segment->bytes - good;
        if (*damaged) {
                r = set_aside(audit, fd, good, aside);
                log_warning("the end of the audit log was damaged, and was set aside", "bytes",
                            log_num((long long)*damaged), "file", aside);
        }
        if (r == 0 && good == 0)
                return unlinkat(audit->folder_fd, name, 0) < 0 ? -errno : 1;
        if (r == 0) {
                audit->segment_bytes = good;
                audit->fd = take_fd(&fd);
        }
        return r;
}

/* Whether it ends where it had come to. If not, a line says so for ever: somebody was at it, or the disk lost it. */
static int compare_with_head(struct store *store) {
        struct store_audit *audit = &store->audit;
        CLEANUP_FREE char *members = NULL;
        struct audit_place head;
        int r = audit_head_open(audit->folder_fd, &audit->head_fd, &head);
        bool is_there = head.seq < audit->last.seq ||
                        (head.seq == audit->last.seq && strcmp(head.hash, audit->last.hash) == 0);
        if (r < 0 || is_there)
                return r;
        log_error("lines of the audit log that were on the disk are gone, or were changed", "last",
                  log_num((long long)audit->last.seq), "expected", log_num((long long)head.seq), "hash", head.hash);
        if (asprintf(&members, "{\"action\":\"audit.lost\",\"details\":{\"through\":%" PRIu64 ",\"hash\":\"%s\"}}",
                     head.seq, head.hash) < 0)
                return -ENOMEM;
        r = write_line(store, members);
        return r == 0 ? sync_now(store) : r;
}

/* The newest file with a line in it is gone on with; one without any was about to be begun. */
static int open_newest(struct store *store) {
        CLEANUP_FREE struct store_audit_segment *segments = NULL;
        struct store_audit *audit = &store->audit;
        CLEANUP_FREE char *members = NULL;
        char aside[AUDIT_NAME_BYTES];
        uint64_t damaged = 0, all_damaged = 0;
        size_t count;
        int r = audit_list(audit->folder_fd, &segments, &count);
        if (r == 0 && count > 0)
                audit->first = segments[0].first;
        while (r == 0 && audit->fd < 0 && count > 0) {
                r = open_file(audit, &segments[--count], &damaged, aside);
                all_damaged += damaged;
                r = r > 0 ? 0 : r;
        }
        if (r == 0 && audit->fd < 0) {
                audit->first = 0;
                r = begin_file(audit, 1);
        }
        if (r == 0)
                r = compare_with_head(store);
        if (r < 0 || all_damaged == 0)
                return r;
        if (asprintf(&members, "{\"action\":\"audit.repair\",\"details\":{\"bytes\":%" PRIu64 ",\"file\":\"%s\"}}",
                     all_damaged, aside) < 0)
                return -ENOMEM;
        return write_line(store, members);
}

int audit_open(struct store *store, const char *folder, struct err *e) {
        struct store_audit *audit = &store->audit;
        char path[PATH_BYTES];
        int r = 0;
        snprintf(path, sizeof(path), "%s/" FOLDER, folder);
        if (mkdir(path, 0700) < 0 && errno != EEXIST)
                r = -errno;
        if (r == 0)
                audit->folder_fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
        if (r == 0)
                r = audit->folder_fd < 0 ? -errno : open_newest(store);
        if (r < 0)
                return err_set(e, r, "cannot open the audit log, the folder " FOLDER " beside the database: %s",
                               strerror(-r));
        if (audit->last.seq > 0)
                anchor(audit);
        return 0;
}

void audit_close(struct store *store) {
        struct store_audit *audit = &store->audit;
        loop_remove(store->loop, &audit->timer);
        if (audit->fd >= 0) {
                sync_now(store);
                if (audit->last.seq > 0)
                        anchor(audit);
        }
        close_fd(&audit->fd);
        close_fd(&audit->head_fd);
        close_fd(&audit->folder_fd);
}
