/* Shards that webdataset's ShardWriter and Python's tarfile wrote: dlbench delivers the samples
 * that webdataset reads from them, field by field, streamed and by an index, and splits shards
 * among nodes and workers as it does. Skipped where there is no Python with webdataset ($PYTHON, or
 * python3). */
#include "loaders/sampler.h"
#include "tests/support/dataset.h"
#include "tests/support/peers.h"

static struct dlb_err err;

/* NAME.want, from the front: "sample", then "FIELD BYTES" and the bytes for each field. */
struct want {
    uint8_t *all;
    size_t n, at;
};

static bool want_line(struct want *want, char line[64])
{
    size_t len = 0;

    if (want->at == want->n)
        return false;
    while (want->all[want->at] != '\n' && len < 63)
        line[len++] = (char)want->all[want->at++];
    line[len] = '\0';
    want->at++;
    return true;
}

static void expect_sample(struct want *want, const struct dlb_sample *sample)
{
    char line[64], name[32];

    for (uint32_t i = 0; i < sample->n_fields; i++) {
        size_t n = 0;
        assert_true(want_line(want, line));
        assert_int_equal(sscanf(line, "%31s %zu", name, &n), 2);
        assert_string_equal(sample->field[i].name, name);
        assert_int_equal(sample->field[i].len_bytes, n);
        assert_true(n == 0 || memcmp(sample->field[i].data, want->all + want->at, n) == 0);
        want->at += n + 1;
    }
}

static void check(const char *name, int access)
{
    struct dlb_dataset ds;
    struct dlb_sample sample = {0};
    struct want want = {0};
    char want_name[128], line[64];
    uint64_t k = 0;

    (void)snprintf(want_name, sizeof want_name, "%s.want", name);
    want.all = folder_read(want_name, &want.n);
    if (dataset_open_as(&ds, "webdataset", "raw", folder_path(name), access, &err) != DLB_OK)
        fail_msg("%s: %s", name, err.what);
    bool packed = access == DLB_ACCESS_STREAM && strstr(name, ".tar."); /* they cannot be indexed */
    bool linked = !strstr(name, "writer"); /* shards of tarfile have a link */
    assert_int_equal(ds.shape.n_odd, packed + linked);
    void *reader = dataset_reader(&ds);
    if (ds.shape.iterable)
        assert_int_equal(ds.format->reader->shard_open(reader, 0, &err), DLB_OK);
    for (; want_line(&want, line); k++) {
        struct dlb_dest none = {NULL, 0};
        assert_string_equal(line, "sample");
        if ((ds.shape.iterable ? ds.format->reader->next(reader, none, &sample, &err)
                               : ds.format->reader->read(reader, k, none, &sample, &err)) != DLB_OK)
            fail_msg("%s, sample %u: %s", name, (unsigned)k, err.what);
        assert_int_equal(sample.index, k);
        expect_sample(&want, &sample);
    }
    assert_true(k >= 5);
    assert_int_equal(k, ds.shape.n_samples);
    if (ds.shape.iterable)
        assert_int_equal(ds.format->reader->next(reader, (struct dlb_dest){NULL, 0}, &sample, &err),
                         DLB_END);
    dataset_reader_free(&ds, reader);
    dlb_dataset_close(&ds);
    free(want.all);
}

static void shards_by_others(void **state)
{
    size_t n;
    uint32_t n_plain = 0, n_packed = 0;

    (void)state;
    uint8_t *list = folder_read("list", &n);
    list[n] = '\0';
    for (char *rest = NULL, *name = strtok_r((char *)list, "\n", &rest); name;
         name = strtok_r(NULL, "\n", &rest)) {
        bool packed = strstr(name, ".tar.") != NULL;
        check(name, DLB_ACCESS_STREAM);
        if (!packed)
            check(name, DLB_ACCESS_INDEXED);
        n_plain += !packed;
        n_packed += packed;
    }
    assert_int_equal(n_plain, 6);
    assert_int_equal(n_packed, 21);
    free(list);
}

/* webdataset's split_by_node, then split_by_worker. */
static void splits_by_webdataset(void **state)
{
    size_t n;
    uint32_t n_lines = 0;

    (void)state;
    uint8_t *text = folder_read("splits", &n);
    text[n] = '\0';
    for (char *rest = NULL, *line = strtok_r((char *)text, "\n", &rest); line;
         line = strtok_r(NULL, "\n", &rest), n_lines++) {
        uint32_t rank, world, worker, workers, shards[13], n_shards;
        int used = 0;
        struct dlb_sampler sampler;
        assert_int_equal(sscanf(line, "%u %u %u %u :%n", &rank, &world, &worker, &workers, &used),
                         4);
        struct dlb_shape shape = {.n_samples = 130, .n_shards = 13, .iterable = true};
        struct dlb_sampler_opts opts = {.rank = rank, .world = world, .batch_size = 1};
        assert_int_equal(dlb_sampler_open(&sampler, &shape, &opts, false, &err), DLB_OK);
        n_shards = dlb_sampler_shards(&sampler, 0, worker, workers, shards);
        const char *at = line + used;
        for (uint32_t i = 0; i < n_shards; i++) {
            char *end;
            assert_int_equal(strtoul(at, &end, 10), shards[i]);
            assert_true(end > at);
            at = end;
        }
        assert_int_equal(strspn(at, " "), strlen(at));
        dlb_sampler_close(&sampler);
    }
    assert_int_equal(n_lines, 42); /* (1 + 2 + 3) nodes times (1 + 2 + 4) workers */
    free(text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(shards_by_others),
                                       cmocka_unit_test(splits_by_webdataset)};

    if (!is_built("webdataset", "zstd"))
        return 77;
    return peers_run("write_webdataset.py", "", tests, sizeof tests / sizeof *tests);
}
