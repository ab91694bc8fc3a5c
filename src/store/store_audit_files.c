/* The audit log's files: names, lists, where one ends, what is read from them; see store_audit.h. */
#include <dirent.h>
#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/log.h"
#include "store/store_private.h"

#define NAME_DIGITS 20
#define NAME_END ".jsonl"

/* ---- names */

void audit_name(uint64_t first, char name[AUDIT_NAME_BYTES]) {
        snprintf(name, AUDIT_NAME_BYTES, "%0*" PRIu64 NAME_END, NAME_DIGITS, first);
}

/* 0: this is none of the log's files. */
static uint64_t number_of(const char *name) {
        if (strspn(name, "0123456789") != NAME_DIGITS || strcmp(name + NAME_DIGITS, NAME_END) != 0)
                return 0;
        return strtoull(name, NULL, 10);
}

static int by_number(const void *a, const void *b) {
        uint64_t first = ((const struct store_audit_segment *)a)->first;
        uint64_t second = ((const struct store_audit_segment *)b)->first;
        return first < second ? -1 : first > second;
}

int audit_list(int folder_fd, struct store_audit_segment **ret, size_t *count) {
        CLEANUP_FREE struct store_audit_segment *segments = calloc(STORE_AUDIT_SEGMENTS_MAX, sizeof(*segments));
        int fd = openat(folder_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        CLEANUP_CLOSEDIR DIR *dir = fd < 0 ? NULL : fdopendir(fd);
        struct dirent *entry;
        struct stat status;
        size_t found = 0;
        if (!segments || !dir) {
                int r = segments ? -errno : -ENOMEM;
                close_fd(&fd);
                return r;
        }
        while ((entry = readdir(dir)) && found < STORE_AUDIT_SEGMENTS_MAX) {
                uint64_t number = number_of(entry->d_name);
                if (number && fstatat(folder_fd, entry->d_name, &status, AT_SYMLINK_NOFOLLOW) == 0 &&
                    S_ISREG(status.st_mode))
                        segments[found++] = (struct store_audit_segment){number, (uint64_t)status.st_size};
        }
        qsort(segments, found, sizeof(*segments), by_number);
        *ret = TAKE_PTR(segments);
        *count = found;
        return 0;
}

/* ---- the end of a file */

static bool read_place(const char *line, size_t length, struct audit_place *place) {
        struct audit_line parts;
        if (audit_line_read(line, length, &parts) != AUDIT_OK)
                return false;
        place->seq = parts.seq;
        memcpy(place->hash, parts.hash, sizeof(place->hash));
        return true;
}

int audit_find_end(int fd, uint64_t bytes, struct audit_place *last, uint64_t *good) {
        *good = 0;
        if (bytes == 0)
                return 0;
        const char *text = mmap(NULL, bytes, PROT_READ, MAP_PRIVATE, fd, 0);
        if (text == MAP_FAILED)
                return -errno;
        assert(text); /* no address was asked for, so it is none that the system keeps free */
        size_t end = bytes;
        while (end > 0) {
                const char *line_end = memrchr(text, '\n', end);
                const char *before = line_end ? memrchr(text, '\n', (size_t)(line_end - text)) : NULL;
                const char *line = before ? before + 1 : text;
                if (!line_end)
                        break;
                if (read_place(line, (size_t)(line_end - line), last)) {
                        *good = (uint64_t)(line_end + 1 - text);
                        break;
                }
                end = (size_t)(line - text);
        }
        munmap((void *)(uintptr_t)text, bytes);
        return 0;
}

/* ---- how far it has come */

int audit_head_open(int folder_fd, int *ret, struct audit_place *place) {
        char text[AUDIT_PLACE_BYTES] = "";
        CLEANUP_CLOSE int fd = openat(folder_fd, AUDIT_HEAD, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
        audit_place_start(place);
        if (fd < 0 || pread(fd, text, sizeof(text) - 1, 0) < 0)
                return -errno;
        text[strcspn(text, "\n")] = '\0';
        if (text[0] && !audit_place_parse(text, place)) {
                audit_place_start(place);
                log_warning("what says where the audit log had come to was damaged, and is passed over");
        }
        *ret = take_fd(&fd);
        return 0;
}

void audit_head_write(int fd, const struct audit_place *place) {
        char text[AUDIT_PLACE_BYTES];
        audit_place_print(place, text);
        size_t length = strlen(text);
        text[length] = '\n'; /* in place of the NUL */
        if (pwrite(fd, text, length + 1, 0) != (ssize_t)length + 1)
                log_warning("cannot note where the audit log has come to", "error", log_errno(-errno));
}

/* ---- the beginning of one */

int audit_read_before(int folder_fd, uint64_t first, struct audit_place *ret) {
        char name[AUDIT_NAME_BYTES], text[AUDIT_LINE_MAX + 1];
        struct audit_line line;
        audit_name(first, name);
        CLEANUP_CLOSE int fd = openat(folder_fd, name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
        ssize_t length = fd < 0 ? -1 : read(fd, text, sizeof(text));
        if (length < 0)
                return -errno;
        const char *end = memchr(text, '\n', (size_t)length);
        if (!end || audit_line_read(text, (size_t)(end - text), &line) != AUDIT_OK)
                return -EBADMSG;
        ret->seq = line.seq - 1;
        memcpy(ret->hash, line.prev, sizeof(ret->hash));
        return 0;
}

/* ---- reading for others */

static int failed(int r) {
        log_error("the audit log cannot be read", "error", log_errno(r));
        return r;
}

int store_audit_segments(struct store *store, struct store_audit_segment **ret, size_t *count) {
        int r = audit_list(store->audit.folder_fd, ret, count);
        return r < 0 ? failed(r) : 0;
}

int store_audit_open(struct store *store, uint64_t first, int *ret, uint64_t *bytes) {
        char name[AUDIT_NAME_BYTES];
        struct stat status;
        audit_name(first, name);
        CLEANUP_CLOSE int fd = openat(store->audit.folder_fd, name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
        if (fd < 0 && errno == ENOENT)
                return STORE_E_NOT_FOUND;
        if (fd < 0 || fstat(fd, &status) < 0)
                return failed(-errno);
        *bytes = (uint64_t)status.st_size;
        *ret = take_fd(&fd);
        return 0;
}

/* The number of the line that begins at or after `at`, and where it begins. False: there is none. */
static bool line_after(int fd, uint64_t at, uint64_t *seq, uint64_t *begin) {
        static const char start[] = "{\"seq\":";
        char text[AUDIT_LINE_MAX + 64];
        ssize_t length = pread(fd, text, sizeof(text) - 1, (off_t)at);
        if (length <= 0)
                return false;
        text[length] = '\0';
        const char *line = at == 0 ? text : memchr(text, '\n', (size_t)length);
        if (line && at > 0)
                line++;
        if (!line || strncmp(line, start, strlen(start)) != 0)
                return false;
        *seq = strtoull(line + strlen(start), NULL, 10);
        *begin = at + (uint64_t)(line - text);
        return *seq > 0;
}

/* Where to begin to read for a line: at it or not far before. The numbers in a file grow, unless somebody was at it. */
static uint64_t place_of(int fd, uint64_t bytes, uint64_t wanted) {
        uint64_t low = 0, high = bytes, seq, begin;
        while (high - low > AUDIT_LINE_MAX) {
                uint64_t middle = low + (high - low) / 2;
                if (line_after(fd, middle, &seq, &begin) && begin < high && seq <= wanted)
                        low = begin;
                else
                        high = middle;
        }
        return low;
}

/* Gives the lines from `from` to `to` of one file; *next becomes the number that comes after the last one given. */
static int read_file(int fd, uint64_t bytes, uint64_t from, uint64_t to, store_audit_fn call, void *data) {
        CLEANUP_FCLOSE FILE *file = fdopen(fd, "r");
        CLEANUP_FREE char *line = NULL;
        size_t size = 0;
        ssize_t length;
        int r = 0;
        if (!file || fseeko(file, (off_t)place_of(fd, bytes, from), SEEK_SET) < 0) {
                r = -errno;
                if (!file)
                        close(fd);
                return r;
        }
        while (r == 0 && (length = getline(&line, &size, file)) > 0 && line[length - 1] == '\n') {
                struct audit_line parts;
                if (audit_line_read(line, (size_t)length - 1, &parts) == AUDIT_E_FORM || parts.seq < from)
                        continue;
                if (parts.seq > to)
                        break;
                r = call(data, line, (size_t)length - 1);
        }
        return r;
}

int store_audit_read(struct store *store, uint64_t from, uint64_t to, store_audit_fn call, void *data) {
        CLEANUP_FREE struct store_audit_segment *segments = NULL;
        size_t count;
        int r = store_audit_segments(store, &segments, &count);
        for (size_t i = 0; r == 0 && i < count; i++) {
                int fd;
                if ((i + 1 < count && segments[i + 1].first <= from) || segments[i].first > to)
                        continue;
                r = store_audit_open(store, segments[i].first, &fd, &segments[i].bytes);
                if (r == STORE_E_NOT_FOUND)
                        r = 0; /* dropped just now */
                else if (r == 0)
                        r = read_file(fd, segments[i].bytes, from, to, call, data);
        }
        return r < 0 ? failed(r) : r;
}
