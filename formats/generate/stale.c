#include "formats/generate/stale.h"

#include "formats/generate/listed.h"
#include "formats/generate/manifest.h"
#include "formats/generate/mark.h"
#include "formats/generate/names.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define TEMPORARIES                                                                                \
    DLB_NAMES_TEMPORARY(DLB_INCOMPLETE_MARK)                                                       \
    " " DLB_NAMES_TEMPORARY(DLB_FILES_NAME) " " DLB_NAMES_TEMPORARY(DLB_MANIFEST_NAME)

/* The process may run on another machine, or in another container, where this one does not see it.
 * It needs such a name for a moment only. */
#define OLD_S 600

/* Of NAME.PID.tmp or NAME.PID-NUMBER.tmp. */
static bool is_process_gone(const char *name)
{
    const char *end = name + strlen(name) - strlen(".tmp");

    while (end > name && end[-1] != '.')
        end--;
    long pid = strtol(end, NULL, 10);
    return pid > 0 && pid <= INT_MAX && kill((pid_t)pid, 0) != 0 && errno == ESRCH;
}

void dlb_stale_remove(const char *folder)
{
    DIR *dir = opendir(folder);
    struct stat st;

    for (const struct dirent *entry; dir && (entry = readdir(dir));)
        if (dlb_names_fit(TEMPORARIES, entry->d_name) && is_process_gone(entry->d_name) &&
            fstatat(dirfd(dir), entry->d_name, &st, AT_SYMLINK_NOFOLLOW) == 0 &&
            S_ISREG(st.st_mode) && st.st_mtime < time(NULL) - OLD_S)
            (void)unlinkat(dirfd(dir), entry->d_name, 0);
    if (dir)
        (void)closedir(dir);
}
