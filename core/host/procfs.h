/* Reading the kernel's small text files.
 *
 * Floor 1, private to core/host. Any thread. Whatever is missing, unreadable or not as expected
 * answers false: the kernel, a container or a sandbox may leave any of them out. */
#ifndef DLB_CORE_HOST_PROCFS_H
#define DLB_CORE_HOST_PROCFS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The file's beginning, terminated, without trailing blanks and newlines. */
bool dlb_procfs_text(const char *path, char *text, size_t n_text);

/* A file that holds one decimal number. */
bool dlb_procfs_u64(const char *path, uint64_t *out);

/* The number behind a key at the start of a line: "MemAvailable:   1234 kB" with key
 * "MemAvailable:" gives 1234, and so does "inactive_file 1234" with key "inactive_file". */
bool dlb_procfs_field(const char *path, const char *key, uint64_t *out);

/* The text behind a key and a colon: "model name\t: AMD EPYC" with key "model name". */
bool dlb_procfs_value(const char *path, const char *key, char *text, size_t n_text);

/* The chosen word of a list of choices: "always [madvise] never" gives "madvise". */
bool dlb_procfs_chosen(const char *path, char *word, size_t n_word);

/* Digits up to a blank or the end; what follows is left out. */
bool dlb_parse_u64(const char *text, uint64_t *out);

#endif
