/* Hands over what a run, or a call of a session, has left in its working directory; see collect.c. */
#pragma once

/*
 * Walks the folder and writes FRAME_FILE for what is new since the last time, FRAME_SKIPPED and FRAME_FILES_END. 0 or
 * negative errno of the channel.
 */
int collect(int work_fd, int workdir_fd);
