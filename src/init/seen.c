/* Notes of files; see seen.h. */
#include "init/seen.h"

#include <string.h>
#include <time.h>

#include "init/io.h"
#include "spawn/frames.h"

#define NOTES_MAX ENTRIES_MAX
#define BUCKETS 32768 /* a power of two */

struct note {
        uint64_t path_hash, content_hash, inode;
        int64_t size;
        struct timespec changed, accessed;
        uint32_t met;   /* the collection that met it last */
        uint32_t chain; /* the next of its bucket: an index plus one */
        bool in_doubt, handed_in;
};

/* Memory that is not touched costs nothing: a run without a session has few notes or none. */
static struct note notes[NOTES_MAX];
static uint32_t buckets[BUCKETS]; /* an index plus one; 0: empty */
static uint32_t note_count, collection;
static struct timespec began;

static bool earlier(const struct timespec *a, const struct timespec *b) {
        return a->tv_sec < b->tv_sec || (a->tv_sec == b->tv_sec && a->tv_nsec < b->tv_nsec);
}

static bool same_time(const struct timespec *a, const struct timespec *b) {
        return a->tv_sec == b->tv_sec && a->tv_nsec == b->tv_nsec;
}

/* Two names with one hash would take each other's place. Chance will not do it, and who does it on purpose loses. */
static uint64_t hash_of(const char *path) {
        return hash_more(HASH_START, path, strlen(path));
}

static struct note *find(uint64_t path_hash) {
        for (uint32_t at = buckets[path_hash % BUCKETS]; at; at = notes[at - 1].chain)
                if (notes[at - 1].path_hash == path_hash)
                        return &notes[at - 1];
        return NULL;
}

static void link_in(uint32_t index) {
        uint32_t *bucket = &buckets[notes[index].path_hash % BUCKETS];
        notes[index].chain = *bucket;
        *bucket = index + 1;
}

void seen_begin(void) {
        collection++;
        clock_gettime(CLOCK_REALTIME_COARSE, &began); /* the one that file systems take their times from */
}

enum seen seen_look(const char *path, const struct stat *st) {
        struct note *note = find(hash_of(path));
        if (!note)
                return SEEN_NEVER;
        note->met = collection;
        bool same = note->inode == st->st_ino && note->size == st->st_size && same_time(&note->changed, &st->st_ctim);
        if (same && !note->in_doubt && same_time(&note->accessed, &st->st_atim))
                return SEEN_AS_IT_IS;
        return note->size == st->st_size && (same || note->handed_in) ? SEEN_PERHAPS : SEEN_NEVER;
}

void seen_note(const char *path, const struct stat *st, uint64_t hash, unsigned flags) {
        uint64_t path_hash = hash_of(path);
        struct note *note = find(path_hash);
        if (!note) {
                if (note_count == NOTES_MAX)
                        return; /* it will be handed over again */
                note = &notes[note_count];
                note->path_hash = path_hash;
                link_in(note_count++);
        }
        note->content_hash = hash;
        note->inode = st->st_ino;
        note->size = st->st_size;
        note->changed = st->st_ctim;
        note->accessed = st->st_atim;
        note->met = collection;
        note->handed_in = flags & SEEN_HANDED_IN;
        /* Mapping a file sets its atime (the folder is mounted so); a second change in one tick leaves ctime alone. */
        note->in_doubt =
                (flags & SEEN_WRITABLE) || !earlier(&st->st_ctim, &began) || !earlier(&st->st_atim, &began);
}

bool seen_content(const char *path, const struct stat *st, uint64_t hash, unsigned flags) {
        const struct note *note = find(hash_of(path));
        if (!note || note->content_hash != hash)
                return false;
        seen_note(path, st, hash, flags | (note->handed_in ? SEEN_HANDED_IN : 0));
        return true;
}

void seen_note_skipped(const char *path, const struct stat *st) {
        struct note *note;
        if (earlier(&st->st_ctim, &began))
                seen_note(path, st, 0, 0);
        else if ((note = find(hash_of(path))) != NULL) {
                note->size = -1; /* as no file is */
                note->handed_in = false;
        }
}

void seen_end(bool whole) {
        uint32_t kept = 0;
        if (!whole)
                return;
        while (kept < note_count && notes[kept].met == collection)
                kept++;
        if (kept == note_count)
                return;
        for (uint32_t i = kept; i < note_count; i++)
                if (notes[i].met == collection)
                        notes[kept++] = notes[i];
        note_count = kept;
        memset(buckets, 0, sizeof(buckets));
        for (uint32_t i = 0; i < note_count; i++)
                link_in(i);
}
