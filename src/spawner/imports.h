/*
 * What an import needs beside its room: the host's tools in a folder, and a folder on the disk to work in.
 *
 * Runs in the spawner. What an import has written is hostile: its files are opened without following links, and its
 * folder is emptied by a process that has become the import's own user first.
 */
#pragma once

#include "spawner/sandbox.h"

#define IMPORT_WORK_PREFIX "work-"

/* A folder that a room can have as its root: the host's programs, libraries and certificates. 0 or negative errno. */
int imports_prepare_tools(struct spawner *spawner, struct err *e);

/* Removes what imports have left behind that a killed predecessor was running. */
void imports_clean_up(struct spawner *spawner);

/* Makes the sandbox's folder, and gives it to its user. 0 or negative errno. */
int import_begin(struct sandbox *sandbox);

/* The import is over and well: its file becomes an image under its id. 0 or negative errno. */
int import_keep(const struct sandbox *sandbox, uint64_t *ret_bytes);

/* Has the folder emptied, once no process of the room is left; a child of the spawner, or 0. */
pid_t import_discard(const struct sandbox *sandbox);

/* Removes the folder, which is empty. Harmless for what is no import, and twice. */
void import_end(struct sandbox *sandbox);
