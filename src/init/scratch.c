/*
 * Empties folders: /tmp and /dev/shm between two interpreters of one room, because their memory is charged to the room;
 * and what an import has left on the disk.
 *
 * Runs in a room's init after every other process of the room is dead, or as the "sweeper" once the room is gone, as
 * the user whom the files belong to. The trees are hostile: as deep as there are inodes, with modes that forbid
 * everything. No recursion: what is in a folder moves to the top before the folder goes.
 */
#include "init/scratch.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/cleanup.h"

#define FOLDER (O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)

static DIR *open_list(int dir_fd, const char *name) {
        int fd = openat(dir_fd, name, FOLDER);
        DIR *dir = fd < 0 ? NULL : fdopendir(fd);
        if (!dir && fd >= 0)
                close(fd);
        return dir;
}

static bool is_entry(const char *name) {
        return strcmp(name, ".") != 0 && strcmp(name, "..") != 0;
}

/* Its owner may open it again; where that fails, so does what follows, and it stays. */
static void allow(int dir_fd, const char *name, mode_t mode) {
        if (fchmodat(dir_fd, name, mode, 0) < 0)
                return;
}

/* Moves the folders in it to the top, deletes all else, and then the folder itself. True if that is gone. */
static bool dissolve(int top_fd, const char *name) {
        static unsigned moved;
        allow(top_fd, name, 0700);
        CLEANUP_CLOSEDIR DIR *dir = open_list(top_fd, name);
        for (struct dirent *entry; dir && (entry = readdir(dir));) {
                char place[32];
                if (!is_entry(entry->d_name) || unlinkat(dirfd(dir), entry->d_name, 0) == 0)
                        continue;
                snprintf(place, sizeof(place), "\001%u", moved++);
                allow(dirfd(dir), entry->d_name, 0700); /* a folder that moves is written to: its ".." */
                renameat(dirfd(dir), entry->d_name, top_fd, place);
        }
        return unlinkat(top_fd, name, AT_REMOVEDIR) == 0;
}

/* One pass over the top. True if something went, so that another one may find what has come up. */
static bool empty_once(const char *path) {
        bool progress = false;
        CLEANUP_CLOSEDIR DIR *dir = open_list(AT_FDCWD, path);
        for (struct dirent *entry; dir && (entry = readdir(dir));) {
                if (!is_entry(entry->d_name))
                        continue;
                progress |= unlinkat(dirfd(dir), entry->d_name, 0) == 0 || dissolve(dirfd(dir), entry->d_name);
        }
        return progress;
}

void scratch_sweep(void) {
        while (empty_once("."))
                ;
}

void scratch_empty(void) {
        static const char *const folders[] = {"/tmp", "/dev/shm"};
        struct timespec now, end;
        clock_gettime(CLOCK_MONOTONIC, &end);
        end.tv_sec++;
        for (size_t i = 0; i < ARRAY_SIZE(folders); i++) {
                allow(AT_FDCWD, folders[i], 01777);
                do
                        clock_gettime(CLOCK_MONOTONIC, &now);
                while (empty_once(folders[i]) && now.tv_sec <= end.tv_sec);
        }
}
