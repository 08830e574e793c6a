/* Names from outside as words of a command line that the user may paste into a shell.
 *
 * Floor 0. Any thread. */
#ifndef DLB_CORE_BASE_SHELL_H
#define DLB_CORE_BASE_SHELL_H

/* The text as one word for bash and zsh: as it is, or between quotes, or as $'...' with \OOO for
 * control characters and what is no UTF-8. dlb_say prints it unchanged. Owned by the caller, never
 * NULL (core/base/mem.h). */
char *dlb_shell_word(const char *text);

/* The word KEY=VALUE that follows --set. A value that begins with a quote would be read as a string
 * of TOML (core/base/quoted.h); only paths may begin so, and get "./" before it. */
char *dlb_shell_path_setting(const char *key, const char *path);

#endif
