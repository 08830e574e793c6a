/* The last line of a process that cannot go on.
 *
 * Floor 0. Any thread. The terminal may be in use as a screen: what is written there would vanish
 * with it, so the screen makes room first. */
#ifndef DLB_CORE_BASE_LAST_H
#define DLB_CORE_BASE_LAST_H

/* Registers what makes room on the terminal: at most one, which must be async-signal-safe. A child
 * of fork() has its parent's. */
void dlb_last_make_room(void (*make_room)(void));

/* Makes room, and writes the text to stderr. It does not allocate, and does not end the process. */
void dlb_last_words(const char *text);

#endif
