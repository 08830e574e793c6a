/* Reading the kernel's small text files.
 *
 * Floor 1, private to core/host. Any thread. False for anything missing, unreadable or
 * unexpected: a kernel, container or sandbox may leave out any of these files. */
#ifndef DLB_CORE_HOST_PROCFS_H
#define DLB_CORE_HOST_PROCFS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Reads the file's beginning, terminated, without trailing blanks and newlines. */
bool dlb_procfs_text(const char *path, char *text, size_t n_text);

/* Reads a file that holds one decimal number. */
bool dlb_procfs_u64(const char *path, uint64_t *out);

/* Reads the number behind a key at the start of a line: "MemAvailable:   1234 kB" with key
 * "MemAvailable:" gives 1234, and so does "inactive_file 1234" with key "inactive_file". */
bool dlb_procfs_field(const char *path, const char *key, uint64_t *out);

/* Reads the text behind a key and a colon: "model name\t: AMD EPYC" with key "model name". */
bool dlb_procfs_value(const char *path, const char *key, char *text, size_t n_text);

/* Reads the chosen word of a list of choices: "always [madvise] never" gives "madvise". */
bool dlb_procfs_chosen(const char *path, char *word, size_t n_word);

/* Parses digits up to a blank or the end of the text. */
bool dlb_parse_u64(const char *text, uint64_t *out);

#endif
