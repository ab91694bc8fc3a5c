/*
 * What the api process has of the working directory: files that it handed in, and files that were handed over to it.
 *
 * Runs in a room's init. In a session the folder is collected from again and again; whatever is as it was last time is
 * passed over. The kernel's time of change (ctime) tells, which nobody in the room can set back, where it can: not for
 * two changes within one tick of the clock, and not for writing through a mapping. There the content is compared.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/stat.h>

enum seen {
        SEEN_NEVER,   /* new, or changed */
        SEEN_PERHAPS, /* the same if the content is: seen_content */
        SEEN_AS_IT_IS,
};

enum seen_flags {
        SEEN_WRITABLE = 1,  /* somebody has it open for writing, or mapped: its times may not tell of a change */
        SEEN_HANDED_IN = 2, /* an input file: not handed back until its content differs */
};

/* A collection begins: from now on, what is changed has a later ctime than what is noted as sure. */
void seen_begin(void);

enum seen seen_look(const char *path, const struct stat *st);

/* Of a file that was PERHAPS seen: is this its content? Its note is renewed if so. */
bool seen_content(const char *path, const struct stat *st, uint64_t hash, unsigned flags);

/* `path` is handed over, or in, with this content. */
void seen_note(const char *path, const struct stat *st, uint64_t hash, unsigned flags);

/* `path` was reported but not handed over: not again, unless it might be changed without being noticed. */
void seen_note_skipped(const char *path, const struct stat *st);

/* The collection is over; if it came through the whole folder, what it did not meet is forgotten. */
void seen_end(bool whole);
