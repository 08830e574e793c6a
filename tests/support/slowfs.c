#include "tests/support/slowfs.h"

#include "core/base/clock.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/fuse.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

/* What is written to the file system is refused: a request is a header and a name. */
enum { IN_BYTES = 1 << 17 };
#define FIRST_FILE UINT64_C(1000000) /* node numbers: 1 the root, 2... folders, then files */
#define KEEP_S 3600                  /* names and sizes never change */

/* As many reads wait at a time as have a thread. */
struct source {
    char name[64];
    int fd;
    uint64_t n_bytes;
};

struct server {
    const struct slowfs *fs;
    const struct source *source; /* [n_sources] where fs->source is set */
    uint32_t n_sources;
    int fd;
    pthread_mutex_t lock;
    uint64_t free_ns; /* when the last byte so far will have come; under lock */
};

static bool is_file(uint64_t node)
{
    return node >= FIRST_FILE;
}

static uint64_t size_of(const struct server *s, uint64_t node)
{
    if (!is_file(node))
        return 0;
    return s->fs->source ? s->source[node - FIRST_FILE].n_bytes : s->fs->file_bytes;
}

static void fill_attr(const struct server *s, uint64_t node, struct fuse_attr *attr)
{
    *attr = (struct fuse_attr){.ino = node,
                               .size = size_of(s, node),
                               .mode = is_file(node) ? S_IFREG | 0444 : S_IFDIR | 0555,
                               .nlink = 1,
                               .blksize = 4096};
}

static void reply(const struct server *s, const struct fuse_in_header *in, int error,
                  const void *data, size_t n_bytes)
{
    struct fuse_out_header head = {
        .len = (uint32_t)(sizeof head + n_bytes), .error = -error, .unique = in->unique};
    struct iovec parts[] = {{&head, sizeof head}, {(void *)data, n_bytes}};
    if (writev(s->fd, parts, 2) < 0 && errno != ENOENT && errno != ENODEV)
        _exit(1); /* ENOENT: the caller was interrupted */
}

static void init(const struct server *s, const struct fuse_in_header *in)
{
    const struct fuse_init_in *asked = (const void *)(in + 1);
    struct fuse_init_out out = {.major = FUSE_KERNEL_VERSION,
                                .minor = FUSE_KERNEL_MINOR_VERSION,
                                .max_readahead = asked->max_readahead,
                                .flags = FUSE_ASYNC_READ | FUSE_PARALLEL_DIROPS,
                                .max_background = SLOWFS_MAX_DEPTH,
                                .congestion_threshold = SLOWFS_MAX_DEPTH,
                                .max_write = 4096,
                                .time_gran = 1};
    reply(s, in, 0, &out, sizeof out);
}

/* The node of a name: of a source's file; else "c0007" in the root, "f000042.bin" in a folder; 0:
 * none. */
static uint64_t find(const struct server *s, uint64_t parent, const char *name)
{
    const struct slowfs *fs = s->fs;
    char *end;

    for (uint32_t i = 0; i < s->n_sources; i++)
        if (strcmp(name, s->source[i].name) == 0)
            return FIRST_FILE + i;
    if (fs->source)
        return 0;
    unsigned long number = strtoul(name + 1, &end, 10);

    if (parent == FUSE_ROOT_ID)
        return name[0] == 'c' && *end == '\0' && number < fs->n_folders ? 2 + number : 0;
    if (name[0] != 'f' || strcmp(end, ".bin") != 0 || number >= fs->n_files)
        return 0;
    return FIRST_FILE + (parent - 2) * fs->n_files + number;
}

static void lookup(const struct server *s, const struct fuse_in_header *in)
{
    struct fuse_entry_out out = {.nodeid = find(s, in->nodeid, (const char *)(in + 1)),
                                 .entry_valid = KEEP_S,
                                 .attr_valid = KEEP_S};
    fill_attr(s, out.nodeid, &out.attr);
    if (out.nodeid)
        reply(s, in, 0, &out, sizeof out);
    else
        reply(s, in, ENOENT, NULL, 0);
}

static void list(const struct server *s, const struct fuse_in_header *in)
{
    const struct fuse_read_in *asked = (const void *)(in + 1);
    bool root = in->nodeid == FUSE_ROOT_ID;
    uint32_t n = s->fs->source ? s->n_sources : root ? s->fs->n_folders : s->fs->n_files;
    char out[4096] = {0};
    size_t used = 0, cap = asked->size < sizeof out ? asked->size : sizeof out;

    for (uint64_t i = asked->offset; i < n; i++) {
        struct fuse_dirent *entry = (void *)(out + used);
        char name[64];
        int len = s->fs->source
                      ? snprintf(name, sizeof name, "%s", s->source[i].name)
                      : snprintf(name, sizeof name, root ? "c%04u" : "f%06u.bin", (unsigned)i);
        size_t n_bytes = FUSE_DIRENT_ALIGN(FUSE_NAME_OFFSET + (size_t)len);
        if (used + n_bytes > cap)
            break;
        entry->ino = find(s, in->nodeid, name);
        entry->off = i + 1;
        entry->namelen = (uint32_t)len;
        entry->type = root && !s->fs->source ? DT_DIR : DT_REG;
        memcpy(entry->name, name, (size_t)len);
        used += n_bytes;
    }
    reply(s, in, 0, out, used);
}

/* When the request's last byte comes: after those of the requests before it. */
static uint64_t turn(struct server *s, uint64_t now_ns, size_t n_bytes)
{
    if (s->fs->bytes_per_s == 0)
        return now_ns;
    (void)pthread_mutex_lock(&s->lock);
    uint64_t start_ns = s->free_ns > now_ns ? s->free_ns : now_ns;
    uint64_t end_ns = s->free_ns = start_ns + (uint64_t)n_bytes * DLB_NS_PER_S / s->fs->bytes_per_s;
    (void)pthread_mutex_unlock(&s->lock);
    return end_ns;
}

static void give(struct server *s, const struct fuse_in_header *in, char *data)
{
    const struct fuse_read_in *asked = (const void *)(in + 1);
    uint64_t now_ns = dlb_now_ns();
    uint64_t size = size_of(s, in->nodeid);
    uint64_t left = asked->offset < size ? size - asked->offset : 0;
    size_t n_bytes = asked->size < left ? asked->size : (size_t)left;

    if (n_bytes > SLOWFS_REQUEST_BYTES)
        n_bytes = SLOWFS_REQUEST_BYTES;
    uint64_t until_ns = turn(s, now_ns, n_bytes);
    if (until_ns < now_ns + s->fs->read_ns)
        until_ns = now_ns + s->fs->read_ns;
    memset(data, (int)(in->nodeid * 7 % 251), n_bytes);
    if (s->fs->source && pread(s->source[in->nodeid - FIRST_FILE].fd, data, n_bytes,
                               (off_t)asked->offset) != (ssize_t)n_bytes)
        _exit(1);
    (void)dlb_sleep_until_ns(until_ns);
    reply(s, in, 0, data, n_bytes);
}

static void answer(struct server *s, const struct fuse_in_header *in, char *data)
{
    struct fuse_attr_out attr = {.attr_valid = KEEP_S};
    struct fuse_open_out opened = {.open_flags = FOPEN_DIRECT_IO};

    switch (in->opcode) {
    case FUSE_INIT:
        init(s, in);
        break;
    case FUSE_LOOKUP:
        lookup(s, in);
        break;
    case FUSE_GETATTR:
        fill_attr(s, in->nodeid, &attr.attr);
        reply(s, in, 0, &attr, sizeof attr);
        break;
    case FUSE_OPEN:
        reply(s, in, 0, &opened, sizeof opened);
        break;
    case FUSE_OPENDIR:
        opened.open_flags = 0;
        reply(s, in, 0, &opened, sizeof opened);
        break;
    case FUSE_READDIR:
        list(s, in);
        break;
    case FUSE_READ:
        give(s, in, data);
        break;
    case FUSE_RELEASE:
    case FUSE_RELEASEDIR:
    case FUSE_DESTROY:
        reply(s, in, 0, NULL, 0);
        break;
    case FUSE_FORGET:
    case FUSE_BATCH_FORGET:
    case FUSE_INTERRUPT:
        break; /* want no answer */
    default:
        reply(s, in, ENOSYS, NULL, 0); /* the kernel asks once */
    }
}

static void *serve(void *arg)
{
    struct server *s = arg;
    char *request = malloc(IN_BYTES), *data = malloc(SLOWFS_REQUEST_BYTES);

    for (;;) {
        ssize_t n = request && data ? read(s->fd, request, IN_BYTES) : -1;
        if (n >= (ssize_t)sizeof(struct fuse_in_header))
            answer(s, (const void *)request, data);
        else if (n < 0 && errno != EINTR && errno != ENOENT && errno != EAGAIN)
            _exit(errno == ENODEV ? 0 : 1); /* unmounted */
    }
}

/* The source's regular files, open; how many. */
static uint32_t open_sources(const char *folder, struct source *source)
{
    const struct dirent *entry;
    struct stat st;
    uint32_t n = 0;
    DIR *dir = opendir(folder);

    while (dir && n < SLOWFS_MAX_SOURCES && (entry = readdir(dir)) != NULL) {
        int fd = openat(dirfd(dir), entry->d_name, O_RDONLY | O_CLOEXEC);
        if (fd < 0 || fstat(fd, &st) != 0 || !S_ISREG(st.st_mode) ||
            strlen(entry->d_name) >= sizeof source->name)
            continue;
        source[n].fd = fd;
        source[n].n_bytes = (uint64_t)st.st_size;
        (void)strcpy(source[n++].name, entry->d_name);
    }
    return n;
}

static _Noreturn void be_server(const struct slowfs *fs, int fd)
{
    static struct source source[SLOWFS_MAX_SOURCES];
    struct server server = {fs,
                            source,
                            fs->source ? open_sources(fs->source, source) : 0,
                            fd,
                            PTHREAD_MUTEX_INITIALIZER,
                            0};
    uint32_t n_servers = fs->depth ? fs->depth : SLOWFS_MAX_DEPTH;
    pthread_t thread;

    (void)prctl(PR_SET_PDEATHSIG, (unsigned long)SIGKILL);
    (void)prctl(PR_SET_TIMERSLACK, 1UL);
    for (uint32_t i = 1; i < n_servers; i++)
        if (pthread_create(&thread, NULL, serve, &server) != 0)
            _exit(1);
    (void)serve(&server);
    _exit(1);
}

bool slowfs_open(struct slowfs *fs, char *why, size_t n_why)
{
    char how[128];
    int fd = open("/dev/fuse", O_RDWR | O_CLOEXEC);

    (void)snprintf(fs->path, sizeof fs->path, "/tmp/dlb-slowfs-XXXXXX");
    if (fd < 0 || !mkdtemp(fs->path)) {
        (void)snprintf(why, n_why, "/dev/fuse: %s", strerror(errno));
        if (fd >= 0)
            (void)close(fd);
        return false;
    }
    (void)snprintf(how, sizeof how, "fd=%d,rootmode=40000,user_id=0,group_id=0", fd);
    if (mount("dlb-slowfs", fs->path, "fuse", MS_NOSUID | MS_NODEV | MS_RDONLY, how) != 0) {
        (void)snprintf(why, n_why, "mounting a FUSE file system: %s", strerror(errno));
        (void)close(fd);
        (void)rmdir(fs->path);
        return false;
    }
    fs->server = fork();
    if (fs->server == 0)
        be_server(fs, fd);
    (void)close(fd);
    return fs->server > 0;
}

void slowfs_close(struct slowfs *fs)
{
    (void)umount2(fs->path, MNT_DETACH);
    (void)kill(fs->server, SIGKILL); /* what still waits for an answer gets an error now */
    (void)waitpid(fs->server, NULL, 0);
    (void)rmdir(fs->path);
}
