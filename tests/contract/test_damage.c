/* Damage is reported, for every format that gen can write: files cut, emptied, with flipped bits or
 * another magic number, cut while they are read, unreadable. Every sample is right, or there is an
 * error with a path; never a crash, a hang, or wrong bytes without an error. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "core/base/hash.h"
#include "formats/generate/manifest.h"
#include "tests/support/folder.h"
#include "tests/support/pipeline.h"
#include "tests/support/variants.h"

#include <errno.h>
#include <sys/wait.h>

enum { N_SAMPLES = 26, SAMPLE_BYTES = 4000, MAX_FORMATS = 64, MAX_FILES = 128, N_FLIPS = 10 };
enum { PATIENCE_S = 240 }; /* longer is a hang; asan on a busy machine takes a few seconds */

struct scene {
    struct variant *v;
    int access;
    const char *doing; /* for messages */
    struct victim {
        char path[320];
        size_t n_bytes;
    } file[MAX_FILES];
    size_t n_files;
    uint64_t right[N_SAMPLES * 4]; /* sums of the undamaged samples */
    uint64_t n_right;
    unsigned n_told, n_fine; /* attempts with an error, and without */
};

static struct scene *scene; /* nftw passes no context */

static void wrong(const struct scene *s, const char *why, const struct dlb_err *err)
{
    char text[512] = "";
    fail_msg("%s, %s, %s=%s, access %s, %s: %s %s", s->v->format->name, s->v->codec->name,
             s->v->option, s->v->word, dlb_access_names[s->access], s->doing, why,
             err ? dlb_err_text(err, text, sizeof text) : "");
}

static int list_one(const char *path, const struct stat *st, int flag, struct FTW *ftw)
{
    const char *name = path + ftw->base;
    if (flag == FTW_F && name[0] != '.' && scene->n_files < MAX_FILES) {
        struct victim *file = &scene->file[scene->n_files++];
        (void)snprintf(file->path, sizeof file->path, "%s", path);
        file->n_bytes = (size_t)st->st_size;
    }
    return 0;
}

static const char *extension(const char *path)
{
    const char *dot = strrchr(path, '.'), *slash = strrchr(path, '/');
    return dot && dot > slash ? dot : "";
}

/* The largest, or with `but` the largest of another kind: an index beside its data. */
static const struct victim *largest(const struct scene *s, const struct victim *but)
{
    const struct victim *best = NULL;
    for (size_t i = 0; i < s->n_files; i++) {
        bool other = !but || strcmp(extension(s->file[i].path), extension(but->path)) != 0;
        if (other && (!best || s->file[i].n_bytes > best->n_bytes))
            best = &s->file[i];
    }
    return best;
}

static uint8_t *load(const struct victim *file)
{
    uint8_t *data = malloc(file->n_bytes + 1);
    FILE *f = fopen(file->path, "rb");
    assert_non_null(f);
    assert_non_null(data);
    assert_int_equal(fread(data, 1, file->n_bytes, f), file->n_bytes);
    (void)fclose(f);
    return data;
}

/* In place, so that maps of the file change too. */
static void store(const struct victim *file, const uint8_t *data, size_t n_bytes)
{
    FILE *f = fopen(file->path, "r+b");
    assert_non_null(f);
    assert_int_equal(fwrite(data, 1, n_bytes, f), n_bytes);
    assert_int_equal(fclose(f), 0);
    assert_int_equal(truncate(file->path, (off_t)n_bytes), 0);
}

/* An error must name the file, unless the machine or the configuration is the cause. */
static void told(struct scene *s, const struct dlb_err *err)
{
    if (err->what[0] == '\0')
        wrong(s, "an error without a word", err);
    if ((err->status == DLB_E_IO || err->status == DLB_E_FORMAT) && err->path[0] == '\0')
        wrong(s, "an error without a path:", err);
    s->n_told++;
}

struct reading {
    struct dlb_dataset ds;
    void *rd, *cd;
};

static int reading_open(struct scene *s, struct reading *r, struct dlb_err *err)
{
    memset(r, 0, sizeof *r);
    int rc = variant_open(s->v, s->access, &r->ds, err);
    if (rc != DLB_OK)
        return rc;
    r->rd = pipeline_state(r->ds.format->reader->state_bytes);
    r->cd = pipeline_state(r->ds.codec->state_bytes);
    rc = r->ds.format->reader->open(r->rd, r->ds.state, err);
    if (rc == DLB_OK && r->ds.codec->open)
        assert_int_equal(r->ds.codec->open(r->cd, &r->ds.transform, err), DLB_OK);
    return rc;
}

static void reading_close(struct reading *r)
{
    if (r->rd) {
        r->ds.format->reader->close(r->rd);
        if (r->ds.codec->close)
            r->ds.codec->close(r->cd);
        dlb_dataset_close(&r->ds);
    }
    free(r->rd);
    free(r->cd);
}

/* One sample, decoded, and its sum; DLB_END after the last. */
static int reading_next(struct reading *r, uint64_t i, bool start, uint64_t *sum,
                        struct dlb_err *err)
{
    struct dlb_sample sample = {.offset_bytes = DLB_NO_OFFSET};
    struct dlb_dest none = {0};
    const struct dlb_format *format = r->ds.format;
    uint32_t shard = (uint32_t)i;

    if (start)
        return format->reader->shard_open(r->rd, shard, err);
    int rc = r->ds.shape.iterable ? format->reader->next(r->rd, none, &sample, err)
                                  : format->reader->read(r->rd, i, none, &sample, err);
    if (rc == DLB_OK && !r->ds.codec->identity)
        rc = r->ds.codec->decode(r->cd, &sample, dlb_rng_seed(1, 0, sample.index), err);
    if (rc != DLB_OK)
        return rc;
    *sum = dlb_mix64(sample.index + DLB_GOLDEN);
    for (uint32_t f = 0; f < sample.n_fields; f++)
        *sum = dlb_hash64(sample.field[f].data, sample.field[f].len_bytes, *sum);
    return DLB_OK;
}

struct outcome {
    uint64_t n_good, n_odd, n_errors; /* right samples, wrong ones, and errors */
    uint64_t n_samples;
    uint32_t n_mentioned; /* oddities that inspect would report */
};

static void count(struct scene *s, struct outcome *out, int rc, uint64_t sum,
                  const struct dlb_err *err)
{
    bool good = false;
    if (rc != DLB_OK) {
        told(s, err);
        out->n_errors++;
        return;
    }
    for (uint64_t i = 0; i < s->n_right && !good; i++)
        good = s->right[i] == sum;
    *(good ? &out->n_good : &out->n_odd) += 1;
}

/* Reads all samples; continues after an error with the next sample, or shard. */
static void read_all(struct scene *s, struct reading *r, struct outcome *out)
{
    const struct dlb_shape *shape = &r->ds.shape;
    uint64_t n = shape->iterable ? shape->n_shards : shape->n_samples, sum = 0;
    struct dlb_err err = {0};

    out->n_samples = shape->n_samples;
    out->n_mentioned = shape->n_odd;
    for (uint64_t i = 0; i < n && i < 8 * N_SAMPLES; i++) {
        if (!shape->iterable) {
            int rc = reading_next(r, i, false, &sum, &err);
            count(s, out, rc, sum, &err);
            continue;
        }
        int rc = reading_next(r, i, true, &sum, &err);
        if (rc != DLB_OK)
            count(s, out, rc, sum, &err);
        for (unsigned k = 0; rc == DLB_OK && k < 8 * N_SAMPLES; k++) {
            rc = reading_next(r, i, false, &sum, &err);
            if (rc != DLB_END)
                count(s, out, rc, sum, &err);
        }
    }
}

/* The same through a loader. */
static void run_all(struct scene *s, const char *kind, uint32_t n_workers)
{
    struct dlb_dataset ds;
    struct dlb_err err = {0};

    if (variant_open(s->v, s->access, &ds, &err) != DLB_OK) {
        told(s, &err);
        return;
    }
    if (ds.max_payload_bytes < 16 << 20) { /* no slots for a hostile size */
        struct pipeline p = {
            .dataset = &ds,
            .loader = {.kind = pipeline_kind(kind), .num_workers = n_workers, .batch_size = 4}};
        (void)fflush(NULL);
        pipeline_run(&p);
        if (p.rc != DLB_OK)
            told(s, &p.err);
        pipeline_free(&p);
    }
    dlb_dataset_close(&ds);
}

/* Reads it without and with a loader, and returns the outcome. */
static struct outcome attempt(struct scene *s, const char *doing, bool processes)
{
    struct outcome out = {0};
    struct reading r;
    struct dlb_err err = {0};
    unsigned before = s->n_told;

    s->doing = doing;
    if (reading_open(s, &r, &err) == DLB_OK) {
        read_all(s, &r, &out);
    } else {
        told(s, &err);
        out.n_errors++;
    }
    reading_close(&r);
    run_all(s, processes ? "processes" : "threads", 2);
    s->n_fine += s->n_told == before;
    return out;
}

/* Bare tokens: any bytes are valid, and fewer bytes are fewer samples. */
static bool is_bare(const struct variant *v, const struct victim *file)
{
    return strcmp(v->format->name, "tokens") == 0 && strcmp(v->word, "llmc") != 0 &&
           strcmp(extension(file->path), ".bin") == 0;
}

/* Undetectable: no error, the right number of samples, no oddity. */
static bool is_silent(const struct outcome *out, uint64_t n_samples)
{
    return out->n_odd > 0 && out->n_errors == 0 && out->n_samples == n_samples &&
           out->n_mentioned == 0;
}

static void cut_and_emptied(struct scene *s, const struct victim *file, const uint8_t *data)
{
    static const uint8_t other[16] = "not your magic!";
    struct outcome out;

    store(file, data, file->n_bytes / 2);
    out = attempt(s, "cut to half", true);
    if (is_silent(&out, s->n_right))
        wrong(s, "went unnoticed", NULL);
    store(file, data, 0);
    out = attempt(s, "emptied", false);
    if (is_silent(&out, s->n_right))
        wrong(s, "went unnoticed", NULL);
    uint8_t *copy = malloc(file->n_bytes);
    assert_non_null(copy);
    memcpy(copy, data, file->n_bytes);
    memcpy(copy, other, file->n_bytes < sizeof other ? file->n_bytes : sizeof other);
    store(file, copy, file->n_bytes);
    out = attempt(s, "another magic", false);
    if (is_silent(&out, s->n_right) && !is_bare(s->v, file))
        wrong(s, "went unnoticed", NULL);
    free(copy);
    store(file, data, file->n_bytes);
}

/* Where the format has no checksum, flips within samples cannot be detected. All other flips must
 * give an error or be harmless. */
static void flipped(struct scene *s, uint64_t seed)
{
    struct dlb_rng rng = dlb_rng_seed(seed, s->n_files, UINT64_C(0x666c6970)); /* "flip" */
    const struct victim *file = &s->file[dlb_rng_below(&rng, s->n_files)];
    uint8_t *data = load(file), *copy = load(file);
    /* The first bytes, where headers are, as often as all others together. */
    uint64_t reach = seed % 2 && file->n_bytes > 600 ? 600 : file->n_bytes;

    for (unsigned i = 0; i <= seed % 4 && file->n_bytes > 0; i++)
        copy[dlb_rng_below(&rng, reach)] ^= (uint8_t)(1U << dlb_rng_below(&rng, 8));
    store(file, copy, file->n_bytes);
    (void)attempt(s, "flipped bits", seed % 8 == 3);
    store(file, data, file->n_bytes);
    free(data);
    free(copy);
}

/* Between open and read, as when a file is rewritten during a run. */
static void cut_while_open(struct scene *s, const struct victim *file, const uint8_t *data)
{
    static const unsigned parts[] = {2, 8, 0};
    struct dlb_err err = {0};

    s->doing = "cut while it is open";
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
        struct outcome out = {0};
        struct reading r;
        if (reading_open(s, &r, &err) != DLB_OK)
            wrong(s, "is not restored:", &err);
        assert_int_equal(truncate(file->path, parts[i] ? (off_t)(file->n_bytes / parts[i]) : 0), 0);
        read_all(s, &r, &out);
        reading_close(&r);
        store(file, data, file->n_bytes);
        if (out.n_odd > 0)
            wrong(s, "gave bytes that the file does not have", NULL);
    }
}

/* In a child process with a uid that owns nothing. Exit status 0: there was an error with path and
 * reason. */
static int try_unreadable(struct scene *s)
{
    struct dlb_err err = {0};
    struct reading r;
    struct dlb_sample sample;

    if (geteuid() == 0 && (setgid(65534) != 0 || setresuid(65534, 65534, 65534) != 0))
        return 1;
    int rc = variant_open(s->v, s->access, &r.ds, &err);
    if (rc == DLB_OK) { /* not every format opens all files at once */
        r.rd = pipeline_state(r.ds.format->reader->state_bytes);
        rc = r.ds.format->reader->open(r.rd, r.ds.state, &err);
        for (uint64_t i = 0; rc == DLB_OK && i < r.ds.shape.n_samples; i++) {
            struct dlb_dest none = {0};
            sample = (struct dlb_sample){.offset_bytes = DLB_NO_OFFSET};
            if (!r.ds.shape.iterable)
                rc = r.ds.format->reader->read(r.rd, i, none, &sample, &err);
        }
        for (uint32_t i = 0; rc == DLB_OK && r.ds.shape.iterable && i < r.ds.shape.n_shards; i++)
            rc = r.ds.format->reader->shard_open(r.rd, i, &err);
    }
    if (rc == DLB_OK)
        return 2;
    if (err.path[0] == '\0')
        return 3;
    return err.sys_errno == EACCES || strstr(err.what, "ermission denied") ? 0 : 4;
}

static void unreadable(struct scene *s, const struct victim *file)
{
    static const char *const ends[] = {"", "cannot become nobody", "was read all the same",
                                       "an error without a path", "another reason is told"};
    int status = -1;

    s->doing = "unreadable";
    assert_int_equal(chmod(file->path, 0), 0);
    (void)fflush(NULL);
    pid_t pid = fork();
    if (pid == 0)
        _exit(try_unreadable(s));
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_int_equal(chmod(file->path, 0644), 0);
    if (!WIFEXITED(status))
        wrong(s, "a crash", NULL);
    if (WEXITSTATUS(status) != 0)
        wrong(s, WEXITSTATUS(status) < 5 ? ends[WEXITSTATUS(status)] : "left otherwise", NULL);
}

static void remember(struct scene *s)
{
    struct reading r;
    struct outcome out = {0};
    struct dlb_err err = {0};

    s->doing = "undamaged";
    s->n_right = 0;
    if (reading_open(s, &r, &err) != DLB_OK)
        wrong(s, "cannot be opened:", &err);
    const struct dlb_shape *shape = &r.ds.shape;
    assert_true(shape->n_samples <= sizeof s->right / sizeof *s->right);
    for (uint32_t shard = 0; shard < (shape->iterable ? shape->n_shards : 1); shard++) {
        uint64_t n = shape->iterable ? r.ds.format->reader->shard_samples(r.ds.state, shard)
                                     : shape->n_samples;
        if (shape->iterable)
            assert_int_equal(reading_next(&r, shard, true, NULL, &err), DLB_OK);
        for (uint64_t i = 0; i < n; i++)
            if (reading_next(&r, i, false, &s->right[s->n_right++], &err) != DLB_OK)
                wrong(s, "cannot be read:", &err);
    }
    read_all(s, &r, &out);
    assert_int_equal(out.n_good, s->n_right);
    reading_close(&r);
}

static void damage_one(struct scene *s, const struct victim *file)
{
    uint8_t *data = load(file);

    cut_and_emptied(s, file, data);
    cut_while_open(s, file, data);
    unreadable(s, file);
    free(data);
}

static void damage_all(struct scene *s, unsigned *turn)
{
    static const int no_access[] = {DLB_ACCESS_AUTO};
    const struct victim *file = largest(s, NULL), *other = largest(s, file);

    for (const int *access = s->v->format->access ? s->v->format->access : no_access;; access++) {
        struct dlb_dataset ds;
        struct dlb_err err;
        s->access = *access;
        /* AUTO repeats another access; a refused access gives its reason. */
        bool last = *access == DLB_ACCESS_AUTO;
        if ((!last || !s->v->format->access) && variant_open(s->v, *access, &ds, &err) == DLB_OK) {
            dlb_dataset_close(&ds);
            remember(s);
            damage_one(s, file);
            if (other)
                damage_one(s, other);
            for (unsigned i = 0; i < N_FLIPS; i++)
                flipped(s, (*turn)++);
        }
        if (last)
            break;
    }
}

static void check_variant(struct variant *v, void *ctx)
{
    unsigned *turn = ctx;
    char path[256];
    struct scene *s = calloc(1, sizeof *s);

    assert_non_null(s);
    (void)snprintf(path, sizeof path, "%s/%s-%s-%s", folder, v->format->name, v->codec->name,
                   v->word);
    variant_fill(v, path, N_SAMPLES, SAMPLE_BYTES);
    v->spec.transform.size = 32;
    s->v = v;
    scene = s;
    if (variant_generate(v)) {
        assert_int_equal(nftw(path, list_one, 16, FTW_PHYS), 0);
        assert_true(s->n_files > 0);
        damage_all(s, turn);
        /* As data without a manifest, which would tell the original size. */
        char manifest[300];
        (void)snprintf(manifest, sizeof manifest, "%s/%s", path, DLB_MANIFEST_NAME);
        if (remove(manifest) == 0 && !*v->option)
            damage_all(s, turn);
    }
    free(s);
}

/* Photographs where possible: their sizes differ, and cut ones do not decode. */
static const struct dlb_codec *codec_for(const struct dlb_format *format)
{
    const struct dlb_codec *jpeg = dlb_codec_by_name("jpeg");
    if (!format->numbers && variant_fits(format, jpeg))
        return jpeg;
    return dlb_codec_by_name("raw");
}

static void damaged(void **state)
{
    const struct dlb_format *format = *state;
    unsigned turn = 0;

    variant_n_missing = 0;
    if (format->missing || !format->generator || !variant_fits(format, codec_for(format)))
        skip();
    if (!format->numbers && codec_for(format)->identity)
        skip(); /* without libjpeg all bytes are valid */
    (void)alarm(PATIENCE_S);
    assert_int_equal(chmod(folder, 0755), 0);
    variants_of(format, codec_for(format), check_variant, &turn);
    (void)alarm(0);
    if (turn == 0 && variant_n_missing > 0)
        skip();
    assert_true(turn > 0);
}

int main(void)
{
    struct CMUnitTest tests[MAX_FORMATS];
    size_t n = variant_tests(tests, MAX_FORMATS, damaged, folder_make, folder_remove);
    return _cmocka_run_group_tests("damage", tests, n, NULL, NULL);
}
