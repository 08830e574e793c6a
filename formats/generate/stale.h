/* What a gen that was killed leaves of the files that it writes beside the data: mark, list and
 * manifest under their temporary names.
 *
 * Floor 2. Control thread. */
#ifndef DLB_FORMATS_GENERATE_STALE_H
#define DLB_FORMATS_GENERATE_STALE_H

/* Removes such files from `folder`: regular ones that were last changed more than ten minutes ago,
 * and whose name has the number of a process that does not run here. The caller holds the lock
 * (target.h). Errors are ignored: no other program reads these files. */
void dlb_stale_remove(const char *folder);

#endif
