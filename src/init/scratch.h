/* The folders of a room whose processes are dead; see scratch.c. */
#pragma once

/* Empties /tmp and /dev/shm, as far as can be done in a second. */
void scratch_empty(void);

/* Empties the current folder, however long it takes; ends at what cannot be removed. */
void scratch_sweep(void);
