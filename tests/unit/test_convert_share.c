/* formats/convert/share: a conversion by several processes makes the files of one, and finds what
 * one finds. */
#include "tests/support/dataset.h"
#include "tests/support/folder.h"
#include "tests/support/tarball.h"

#include "core/base/io.h"
#include "formats/convert/convert.h"
#include "formats/generate/manifest.h"
#include "formats/webdataset/write.h"

#include <dirent.h>

enum { N_SHARDS = 4, EACH = 6 };

/* What the conversion's watch heard. */
static struct heard {
    unsigned n_cut, n_named[2];
    char text[2][4096]; /* paths of what is skipped, and of what is damaged, one a line */
} heard;

/* The first of them, as the command names them. */
static void name(unsigned list, const struct dlb_err *why)
{
    char *text = heard.text[list];
    size_t len = strlen(text);

    if (heard.n_named[list] == 16)
        return;
    heard.n_named[list]++;
    (void)snprintf(text + len, sizeof heard.text[list] - len, "%s\n", why->path);
}

static void report(void *ctx, enum dlb_convert_phase phase, uint64_t n_done, uint64_t n_total,
                   uint64_t n_bytes)
{
    (void)ctx, (void)phase, (void)n_bytes;
    assert_true(n_done <= n_total);
}

static void skipped(void *ctx, const struct dlb_err *why, bool shard)
{
    (void)ctx;
    heard.n_cut += shard;
    name(0, why);
}

static void damaged(void *ctx, const struct dlb_err *why)
{
    (void)ctx;
    name(1, why);
}

/* The processes, one after the other. Each has the source open for itself, and closed when it
 * checks. */
static struct job {
    const char *format, *codec, *from, *to_format;
    int on_error;
    const void *to_opts;
    uint32_t n_processes;
    const struct dlb_convert *how;
    /* How one of them, `odd`, is misled. */
    enum { NOTHING, OTHER_SOURCE, OTHER_FOLDER, CHANGED } plant;
    uint32_t odd;
} job;

static int share(const struct dlb_convert_step *step, uint32_t rank, struct dlb_err *why)
{
    const bool odd = rank == job.odd, writes = step->phase == DLB_CONVERT_WRITE;
    struct dlb_convert_step told = *step;
    struct dlb_convert how = *job.how;
    struct dlb_dataset ds;

    if (odd && job.plant == OTHER_SOURCE)
        told.seen.id ^= 1;
    if (odd && job.plant == OTHER_FOLDER)
        told.id = "another";
    how.from = NULL;
    if (!writes)
        return dlb_convert_share(&how, &told, rank, why);
    assert_int_equal(dataset_open(&ds, job.format, job.codec, job.from, why), DLB_OK);
    ds.on_error = job.on_error;
    how.from = &ds;
    int rc = dlb_convert_share(&how, &told, rank, why);
    dlb_dataset_close(&ds);
    return rc;
}

static void change_one_byte(const char *part)
{
    char path[512];
    (void)snprintf(path, sizeof path, "%s/out/shard-000002.tar", part);
    FILE *f = fopen(path, "r+b");
    assert_non_null(f);
    assert_int_equal(fseek(f, 512, SEEK_SET), 0);
    assert_int_equal(fputc('?', f), '?');
    assert_int_equal(fclose(f), 0);
}

static int together(void *ctx, const struct dlb_convert_step *step, struct dlb_err *why)
{
    int rc = DLB_OK;

    (void)ctx;
    if (step->phase == DLB_CONVERT_CHECK && job.plant == CHANGED)
        change_one_byte(step->part);
    for (uint32_t rank = 0; rc == DLB_OK && rank < step->n_processes; rank++)
        rc = share(step, rank, why);
    return rc;
}

/* Converts job.from to "out"; by one process if n is 0. */
static int convert(uint32_t n, struct dlb_converted *done)
{
    static const struct dlb_convert_watch watch = {
        .report = report, .skipped = skipped, .damaged = damaged};
    struct dlb_dataset ds;
    char path[512];

    heard = (struct heard){.n_cut = 0};
    (void)snprintf(path, sizeof path, "%s", folder_path("out"));
    assert_int_equal(dataset_open(&ds, job.format, job.codec, job.from, &err), DLB_OK);
    ds.on_error = job.on_error;
    const struct dlb_convert how = {.from = &ds,
                                    .from_path = job.from,
                                    .to = dlb_format_by_name(job.to_format),
                                    .to_opts = job.to_opts,
                                    .to_path = path,
                                    .watch = &watch,
                                    .together = n ? together : NULL,
                                    .n_processes = n};
    job.how = &how;
    int rc = dlb_convert(&how, done, &err);
    dlb_dataset_close(&ds);
    return rc;
}

static void move(const char *to)
{
    char path[512];
    (void)snprintf(path, sizeof path, "%s", folder_path(to));
    (void)nftw(path, folder_remove_one, 16, FTW_DEPTH | FTW_PHYS);
    assert_int_equal(rename(folder_path("out"), path), 0);
}

static void expect_equal(const char *a, const char *b)
{
    char command[1200];
    (void)snprintf(command, sizeof command, "diff -r %s %s", folder_path(a), folder_path(b));
    assert_int_equal(system(command), 0);
}

static unsigned n_left(void)
{
    unsigned n = 0;
    DIR *dir = opendir(folder);
    assert_non_null(dir);
    for (const struct dirent *entry; (entry = readdir(dir));)
        n += strstr(entry->d_name, ".part-") != NULL;
    (void)closedir(dir);
    return n;
}

/* By 1 to 9 processes as by one: files, figures, and what is noted. */
static void same_by_any_number(void)
{
    struct dlb_converted one, many;
    struct heard by_one;

    assert_int_equal(convert(0, &one), DLB_OK);
    by_one = heard;
    move("by-one");
    for (uint32_t n = 1; n <= 9; n++) {
        if (convert(n, &many) != DLB_OK)
            fail_msg("%u: %s: %s", n, err.path, err.what);
        assert_memory_equal(&many, &one, sizeof one);
        assert_int_equal(heard.n_cut, by_one.n_cut);
        assert_string_equal(heard.text[0], by_one.text[0]);
        assert_string_equal(heard.text[1], by_one.text[1]);
        assert_int_equal(n_left(), 0);
        move("by-many");
        expect_equal("by-one", "by-many");
    }
}

/* Fails with the error of one process. A process may see in its own share that samples differ: then
 * it names the first of these, not the first of all. */
static void refused_by_any_number(enum dlb_code code, bool at_same_place)
{
    struct dlb_err by_one;
    struct dlb_converted done;

    assert_int_equal(convert(0, &done), dlb_code_status(code));
    by_one = err;
    assert_int_equal(by_one.code, code);
    for (uint32_t n = 1; n <= 9; n++) {
        assert_int_equal(convert(n, &done), dlb_code_status(code));
        assert_string_equal(dlb_code_name(err.code), dlb_code_name(code));
        if (at_same_place) {
            assert_string_equal(err.path, by_one.path);
            assert_int_equal(err.offset_bytes, by_one.offset_bytes);
        }
        assert_false(folder_has("out"));
        assert_int_equal(n_left(), 0);
    }
}

/* Members of a sample, by the fields' names. Keys are those of numbers, different in each shard. */
static void put_sample(unsigned number, const char *fields)
{
    char name[64], field[16], content[64];

    for (int n, at = 0; sscanf(fields + at, "%15s%n", field, &n) == 1; at += n) {
        (void)snprintf(name, sizeof name, "k%03u.%s", number, field);
        (void)snprintf(content, sizeof content, "%u", number % 3);
        if (strcmp(field, "cls") != 0)
            (void)snprintf(content, sizeof content, "%s of %u", field, number);
        file(name, content);
    }
}

/* Shards of EACH samples. */
static void write_shards(const char *fields)
{
    char name[32];

    folder_sub("in");
    for (unsigned s = 0; s < N_SHARDS; s++) {
        start();
        for (unsigned i = 0; i < EACH; i++)
            put_sample(s * EACH + i, fields);
        (void)snprintf(name, sizeof name, "in/%u.tar", s);
        finish(name);
    }
}

static void rewrite_shard(unsigned s, const char *name, unsigned number, const char *fields,
                          const char *others)
{
    start();
    for (unsigned i = 0; i < EACH; i++)
        put_sample(s * EACH + i, s * EACH + i == number ? fields : others);
    finish(name);
}

static const struct dlb_wds_opts five = {.shard_samples = 5}, one_each = {.shard_samples = 1};

static void from_shards(const char *to)
{
    static char from[512];
    (void)snprintf(from, sizeof from, "%s", folder_path("in"));
    job = (struct job){.format = "webdataset",
                       .codec = "raw",
                       .from = from,
                       .to_format = to,
                       .to_opts = strcmp(to, "webdataset") == 0 ? &five : NULL,
                       .odd = UINT32_MAX};
}

static void shards_to_other_shards(void **state)
{
    (void)state;
    write_shards("jpg cls json");
    from_shards("webdataset");
    same_by_any_number();
    assert_true(folder_has("by-one/shard-000004.tar"));
    assert_true(folder_has("by-one/" DLB_MANIFEST_NAME));
}

/* A file for each field, so that borders of what is read back lie within samples. */
static void shards_to_files(void **state)
{
    (void)state;
    write_shards("jpg cls json txt");
    from_shards("files");
    same_by_any_number();
    assert_true(folder_has("by-one/class_000002/00000023.txt"));
}

static void files_to_shards(void **state)
{
    (void)state;
    write_shards("jpg cls txt");
    from_shards("files");
    same_by_any_number();
    char kept[512];
    (void)snprintf(kept, sizeof kept, "%s", folder_path("kept"));
    assert_int_equal(rename(folder_path("by-one"), kept), 0);
    from_shards("webdataset");
    job.format = "files";
    job.from = kept;
    same_by_any_number();
}

/* A shard that breaks off is cut once, however many processes have a part of it. */
static void what_is_cut_counts_once(void **state)
{
    struct dlb_converted done;
    struct stat st;

    (void)state;
    write_shards("jpg cls");
    assert_int_equal(stat(folder_path("in/1.tar"), &st), 0);
    assert_int_equal(truncate(folder_path("in/1.tar"), st.st_size - 5 * 1024 - 700), 0);
    from_shards("webdataset");
    refused_by_any_number(DLB_ERR_TAR_DAMAGED, true);
    job.on_error = DLB_ON_ERROR_SKIP;
    same_by_any_number();
    assert_int_equal(convert(3, &done), DLB_OK);
    assert_int_equal(done.n_cut_shards, 1);
    assert_int_equal(heard.n_cut, 1);
}

/* A data set of shards with a manifest, whose numbers are not counted again. */
static void make_listed(const struct dlb_wds_opts *opts)
{
    static char from[512];
    struct dlb_converted done;

    write_shards("jpg cls");
    from_shards("webdataset");
    job.to_opts = opts;
    assert_int_equal(convert(0, &done), DLB_OK);
    move("listed");
    (void)snprintf(from, sizeof from, "%s", folder_path("listed"));
    job.from = from;
}

/* Samples behind the damage were announced: every process that has some of them meets it. Their
 * numbers stay unused, and a shard of them alone is not written. */
static void what_is_lost_counts_once(void **state)
{
    static const char rubbish[512] = "rubbish";
    struct dlb_converted done;

    (void)state;
    make_listed(&five);
    FILE *f = fopen(folder_path("listed/shard-000001.tar"), "r+b");
    assert_non_null(f);
    assert_int_equal(fseek(f, 2 * 2048, SEEK_SET), 0); /* the header that ends sample 6 */
    assert_int_equal(fwrite(rubbish, 1, sizeof rubbish, f), sizeof rubbish);
    assert_int_equal(fclose(f), 0);
    job.to_format = "files";
    job.to_opts = NULL;
    refused_by_any_number(DLB_ERR_TAR_DAMAGED, true);
    job.on_error = DLB_ON_ERROR_SKIP;
    same_by_any_number();
    assert_int_equal(convert(24, &done), DLB_OK);
    assert_int_equal(done.n_samples, N_SHARDS * EACH - 3 - 1);
    assert_int_equal(done.n_cut_shards, 1);
    assert_int_equal(heard.n_cut, 1);
    move("by-many");
    job.to_format = "webdataset";
    job.to_opts = &one_each;
    same_by_any_number();
    for (unsigned i = 5; i <= 10; i++) {
        char name[40];
        (void)snprintf(name, sizeof name, "by-one/shard-%06u.tar", i);
        assert_int_equal(folder_has(name), i < 6 || i > 9);
    }
}

/* A list that announces too many samples, of a shard that opening does not look at. */
static void a_wrong_list_is_found(void **state)
{
    size_t n;

    (void)state;
    make_listed(&one_each);
    char *text = (char *)folder_read("listed/" DLB_MANIFEST_NAME, &n);
    text[n] = '\0';
    char *shard = strstr(text, "\"shard-000023.tar\""), *at = shard;
    assert_true(shard && (at = strstr(shard, "\"samples\": 1,")));
    at[11] = '2';
    folder_write("listed/" DLB_MANIFEST_NAME, text, n);
    free(text);
    refused_by_any_number(DLB_ERR_SOURCE_CHANGED, true);
}

static void samples_that_lack_what_others_have(void **state)
{
    (void)state;
    write_shards("jpg cls");
    rewrite_shard(2, "in/2.tar", 2 * EACH, "jpg", "jpg cls");
    from_shards("files");
    refused_by_any_number(DLB_ERR_SAMPLE_NO_LABEL, true);
    rewrite_shard(2, "in/2.tar", 2 * EACH, "json cls", "jpg cls");
    refused_by_any_number(DLB_ERR_SAMPLE_NO_PAYLOAD, true);
    rewrite_shard(0, "in/0.tar", 0, "json cls", "json cls");
    rewrite_shard(2, "in/2.tar", 0, "", "jpg cls");
    refused_by_any_number(DLB_ERR_SAMPLE_NO_PAYLOAD, false);
}

/* The key of sample 1, in shards that other processes read. */
static void keys_that_occur_again(void **state)
{
    (void)state;
    write_shards("jpg cls");
    rewrite_shard(0, "in/0.tar", 1, "jpg", "jpg cls");
    start();
    put_sample(18, "jpg cls");
    put_sample(1, "cls txt");
    for (unsigned i = 20; i < 24; i++)
        put_sample(i, "jpg cls");
    finish("in/3.tar");
    from_shards("webdataset");
    refused_by_any_number(DLB_ERR_SAMPLE_KEY_TWICE, true); /* halves */
    start();
    for (unsigned i = 18; i < 24; i++)
        put_sample(i == 23 ? 18 : i, i == 23 ? "txt" : "jpg cls");
    finish("in/3.tar");
    refused_by_any_number(DLB_ERR_SAMPLE_KEY_TWICE, true); /* within a shard */
    start();
    for (unsigned i = 0; i < 6; i++)
        put_sample(i, i < 2 ? "jpg cls" : "png cls"); /* names in another order than in 0.tar */
    finish("in/3.tar");
    rewrite_shard(0, "in/0.tar", 1, "jpg", "png cls");
    same_by_any_number(); /* other samples of another shard */
}

/* Fields of all earlier shards decide, also of those that another process reads. */
static void keys_of_three_shards(void **state)
{
    (void)state;
    write_shards("jpg cls");
    rewrite_shard(0, "in/0.tar", 1, "jpg cls txt", "jpg cls");
    start();
    put_sample(1, "txt");
    finish("in/1.tar");
    start();
    put_sample(1, "jpg cls");
    finish("in/2.tar");
    from_shards("webdataset");
    same_by_any_number();
}

static void another_folder_or_source_is_refused(void **state)
{
    struct dlb_converted done;

    (void)state;
    write_shards("jpg cls");
    from_shards("webdataset");
    for (job.odd = 0; job.odd < 3; job.odd++)
        for (int plant = OTHER_SOURCE; plant <= OTHER_FOLDER; plant++) {
            job.plant = plant;
            assert_int_equal(convert(3, &done), DLB_E_CONFIG);
            assert_string_equal(dlb_code_name(err.code), dlb_code_name(DLB_ERR_RANKS_DATA));
            assert_false(folder_has("out"));
            assert_int_equal(n_left(), 0);
        }
}

static void what_is_read_back_is_compared(void **state)
{
    struct dlb_converted done;

    (void)state;
    write_shards("jpg cls");
    from_shards("webdataset");
    job.plant = CHANGED;
    for (uint32_t n = 1; n <= 9; n++) {
        assert_int_equal(convert(n, &done), DLB_E_FORMAT);
        assert_string_equal(dlb_code_name(err.code), dlb_code_name(DLB_ERR_READ_BACK_DIFFERS));
        assert_non_null(strstr(err.what, " 1 of 24 "));
        assert_int_equal(done.n_verified, 23);
        assert_false(folder_has("out"));
        assert_int_equal(n_left(), 0);
    }
}

static void formats_of_many_files_are_shared(void **state)
{
    (void)state;
    assert_true(dlb_convert_is_shared(dlb_format_by_name("files")));
    assert_false(dlb_convert_is_shared(dlb_format_by_name("tokens")));
    assert_false(dlb_convert_is_shared(dlb_format_by_name("hdf5")));
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, folder_make, folder_remove)
    const struct CMUnitTest tests[] = {
        TEST(shards_to_other_shards),
        TEST(shards_to_files),
        TEST(files_to_shards),
        TEST(what_is_cut_counts_once),
        TEST(what_is_lost_counts_once),
        TEST(a_wrong_list_is_found),
        TEST(samples_that_lack_what_others_have),
        TEST(keys_that_occur_again),
        TEST(keys_of_three_shards),
        TEST(another_folder_or_source_is_refused),
        TEST(what_is_read_back_is_compared),
        cmocka_unit_test(formats_of_many_files_are_shared),
    };
    if (dlb_format_by_name("webdataset")->missing)
        return 77;
    return cmocka_run_group_tests(tests, NULL, NULL);
}
