/*
 * The data folder: made ready before the process gives up its privilege.
 *
 * Runs in the api process, as root, before it has read a byte from the network. Layout:
 *
 *      DATA_DIR/            root's
 *        lock               held while the service runs
 *        admin-key          0600, root's: the generated admin key, for platformctl and people
 *        service/           0700, the service user's: what this process sees as "/" from the jail on
 *          sandbox.db       what the service remembers
 *          blobs/           contents of files, by their SHA-256
 */
#pragma once

#include <sys/types.h>

#include "base/err.h"

struct config;

struct datadir {
        int fd;         /* DATA_DIR; closed by the caller before the jail */
        int lock_fd;    /* never closed */
        int service_fd; /* DATA_DIR/service */
};

#define DATADIR_STORE "/" /* the folder of the store, as seen from inside the jail */
#define DATADIR_UPLOADS "/" /* for files without a name */

/* Makes what is missing. `uid` and `gid` are the service user's. 0 or a negative errno. */
int datadir_open(const struct config *config, uid_t uid, gid_t gid, struct datadir *ret, struct err *e);

/*
 * The admin key: SANDBOX_ADMIN_KEY, else that of the file, else a new one, which is printed and put into the file.
 * Returns malloc()ed text in *ret; the caller wipes it. 0 or a negative errno.
 */
int datadir_admin_key(const struct datadir *datadir, const struct config *config, char **ret, struct err *e);
