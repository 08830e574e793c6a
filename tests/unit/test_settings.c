/* Settings to paste, and what the training that runs with them has and the measurement has not. */
#include "scenarios/judge/judge.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "tests/support/judged.h"

/* 32 samples a batch, shuffled, loaded by the training loop itself. */
static struct dlb_spec *plain(void)
{
    struct dlb_spec *spec = dlb_mem_new(sizeof(*spec));
    dlb_spec_defaults(spec);
    spec->loader.batch_size = 32;
    spec->loader.num_workers = 0;
    spec->loader.pin_memory = false;
    spec->loader.shuffle = true;
    spec->loader.drop_last = false;
    return spec;
}

static void test_pytorch_text(void **state)
{
    (void)state;
    char text[256];
    struct dlb_spec *spec = plain();
    spec->run.epochs = 3;
    dlb_pytorch_text(spec, false, NULL, NULL, text, sizeof(text));
    assert_string_equal(text, "DataLoader(dataset, batch_size=32, num_workers=0, pin_memory=False, "
                              "shuffle=True, drop_last=False)");
    spec->loader.num_workers = 3;
    spec->loader.prefetch_factor = 5;
    spec->run.epochs = 1;
    dlb_pytorch_text(spec, true, NULL, NULL, text, sizeof(text));
    assert_string_equal(text, "DataLoader(dataset, batch_size=32, num_workers=3, pin_memory=False, "
                              "prefetch_factor=5, persistent_workers=True, drop_last=False)");
    /* With processes what was measured is what is told. */
    while (!dlb_spec_forks(spec))
        spec->loader.kind++;
    spec->loader.persistent_workers = true;
    spec->loader.order = DLB_ORDER_ANY;
    spec->loader.timeout_s = 30;
    dlb_pytorch_text(spec, true, NULL, NULL, text, sizeof(text));
    assert_string_equal(text, "DataLoader(dataset, batch_size=32, num_workers=3, pin_memory=False, "
                              "prefetch_factor=5, persistent_workers=True, drop_last=False, "
                              "timeout=30, in_order=False)");
    /* Where its epochs' borders were too few to measure, nothing speaks against keeping them. */
    spec->loader.persistent_workers = false;
    dlb_pytorch_text(spec, true, NULL, NULL, text, sizeof(text));
    assert_non_null(strstr(text, "persistent_workers=True"));
    spec->run.epochs = 3;
    dlb_pytorch_text(spec, true, NULL, NULL, text, sizeof(text));
    assert_non_null(strstr(text, "persistent_workers=False"));
    free(spec);
}

/* A loader of the user's own is called with the settings; DataLoader's cells do not name it. */
static void test_own_loaders_are_named(void **state)
{
    (void)state;
    char text[256];
    struct dlb_spec *spec = plain();
    (void)snprintf(spec->python.loader, sizeof(spec->python.loader), "train.py:make_loader");
    dlb_pytorch_text(spec, true, NULL, NULL, text, sizeof(text));
    assert_non_null(strstr(text, "DataLoader(dataset, batch_size=32"));
    dlb_spec_make_torch(spec);
    dlb_pytorch_text(spec, true, NULL, NULL, text, sizeof(text));
    assert_string_equal(
        text, "make_loader: batch_size=32, num_workers=0, pin_memory=False, drop_last=False");
    free(spec);
}

static void pastes(const struct dlb_spec *spec, json_t *python, const char *wanted)
{
    char text[512];
    dlb_pytorch_text(spec, false, python, NULL, text, sizeof(text));
    assert_string_equal(text, wanted);
    json_decref(python);
}

/* What the module's own arguments decide is not contradicted. */
static void test_the_modules_own_arguments(void **state)
{
    (void)state;
    struct dlb_spec *spec = plain();
    dlb_spec_make_torch(spec);
    pastes(spec, json_pack("{s[ss]}", "given", "sampler", "collate_fn"),
           "DataLoader(dataset, batch_size=32, num_workers=0, pin_memory=False, drop_last=False, "
           "sampler=sampler, collate_fn=collate_fn)");
    pastes(spec, json_pack("{s[s], s[s]}", "given", "batch_sampler", "made", "batch_sampler"),
           "DataLoader(dataset, num_workers=0, pin_memory=False, "
           "batch_sampler=batch_sampler(dataset))");
    /* Iterable data has its own order and its own ranks, which the interpreter alone knows of. */
    pastes(spec, json_pack("{s[], sb}", "given", "iterable_dataset", 1),
           "DataLoader(dataset, batch_size=32, num_workers=0, pin_memory=False, drop_last=False)");
    spec->run.world = 2;
    pastes(spec, json_pack("{s[], sb}", "given", "iterable_dataset", 1),
           "DataLoader(dataset, batch_size=32, num_workers=0, pin_memory=False, drop_last=False)");
    spec->run.world = 1;
    /* A loader of the user's own was given what it has parameters for. */
    (void)snprintf(spec->python.loader, sizeof(spec->python.loader), "train.py:make_loader");
    pastes(spec, json_pack("{s[sss]}", "accepted", "batch_size", "num_workers", "shuffle"),
           "make_loader: batch_size=32, num_workers=0, shuffle=True");
    pastes(spec, json_pack("{s[]}", "accepted"), "make_loader: it takes none of the settings");
    free(spec);
}

#define KEEP_RAGGED                                                                                \
    "def keep_ragged(samples): return [x for x, _ in samples], torch.tensor([y for _, y in "       \
    "samples])"

/* What default_collate cannot stack is collated as in the cell, and the function is in the remark,
 * last. A loader of the user's own collates itself. */
static void test_ragged_samples_have_a_collate(void **state)
{
    (void)state;
    static const char call[] =
        "DataLoader(dataset, batch_size=32, num_workers=0, pin_memory=False, "
        "shuffle=True, drop_last=False, collate_fn=keep_ragged)  # ";
    char text[640], wanted[640];
    struct dlb_judgement j = {.ragged = true};
    struct dlb_spec *spec = plain();
    (void)snprintf(wanted, sizeof(wanted), "%s%s", call, KEEP_RAGGED);
    dlb_pytorch_text(spec, false, NULL, &j, text, sizeof(text));
    assert_string_equal(text, wanted);
    dlb_spec_make_torch(spec);
    pastes(spec, json_pack("{s[], ss}", "given", "collate", "keep_ragged"), wanted);
    dlb_pytorch_text(spec, false, NULL, &j, text, sizeof(text));
    assert_null(strstr(text, "collate_fn"));
    spec->python.threads = 3;
    (void)snprintf(wanted, sizeof(wanted), "%safter torch.set_num_threads(3); %s", call,
                   KEEP_RAGGED);
    pastes(spec, json_pack("{s[], ss}", "given", "collate", "keep_ragged"), wanted);
    (void)snprintf(spec->python.loader, sizeof(spec->python.loader), "train.py:make_loader");
    pastes(spec, json_pack("{s[s], ss}", "accepted", "batch_size", "collate", "keep_ragged"),
           "make_loader: batch_size=32  # after torch.set_num_threads(3)");
    free(spec);
}

static void set_data(struct dlb_spec *spec, const char *format, const char *codec, int crop)
{
    spec->transform.crop = crop;
    for (spec->dataset.format = 0; strcmp(dlb_format_names[spec->dataset.format], format) != 0;)
        spec->dataset.format++;
    for (spec->dataset.codec = 0; strcmp(dlb_codec_names[spec->dataset.codec], codec) != 0;)
        spec->dataset.codec++;
}

static void test_which_samples_are_ragged(void **state)
{
    (void)state;
    struct dlb_plan plan = {.host = {.n_samples = 10, .n_bytes = 95, .max_payload_bytes = 10}};
    struct dlb_spec *spec = plain();
    set_data(spec, "webdataset", "jpeg", DLB_CROP_NONE);
    assert_true(dlb_pytorch_is_ragged(&plan, spec));
    set_data(spec, "files", "jpeg", DLB_CROP_CENTER);
    assert_false(dlb_pytorch_is_ragged(&plan, spec));
    set_data(spec, "lmdb", "raw", DLB_CROP_CENTER);
    assert_true(dlb_pytorch_is_ragged(&plan, spec));
    plan.host.n_bytes = 100;
    assert_false(dlb_pytorch_is_ragged(&plan, spec));
    plan.host = (struct dlb_plan_host){0}; /* not known */
    assert_false(dlb_pytorch_is_ragged(&plan, spec));
    set_data(spec, "synthetic", "jpeg", DLB_CROP_NONE);
    assert_false(dlb_pytorch_is_ragged(&plan, spec));
    set_data(spec, "files", "jpeg", DLB_CROP_NONE);
    dlb_spec_make_torch(spec); /* what its interpreter says */
    assert_false(dlb_pytorch_is_ragged(&plan, spec));
    free(spec);
}

static void test_how_workers_start(void **state)
{
    (void)state;
    struct dlb_spec *spec = plain();
    dlb_spec_make_torch(spec);
    spec->loader.persistent_workers = true;
    spec->loader.num_workers = 2;
    spec->loader.prefetch_factor = 2;
    spec->python.start_method = DLB_START_SPAWN;
    spec->python.threads = 3;
    pastes(spec, NULL,
           "DataLoader(dataset, batch_size=32, num_workers=2, "
           "pin_memory=False, prefetch_factor=2, persistent_workers=True, shuffle=True, "
           "drop_last=False, multiprocessing_context=\"spawn\")  # after torch.set_num_threads(3)");
    spec->loader.num_workers = 0;
    spec->python.threads = 0;
    pastes(spec, NULL,
           "DataLoader(dataset, batch_size=32, num_workers=0, pin_memory=False, shuffle=True, "
           "drop_last=False)");
    free(spec);
}

/* Ranks divide the data set: DataLoader takes shuffle or a sampler, and neither for iterable data.
 */
static void test_ranks_have_a_sampler(void **state)
{
    (void)state;
    char text[256];
    struct dlb_spec *spec = plain();
    spec->run.world = 4;
    dlb_pytorch_text(spec, false, NULL, NULL, text, sizeof(text));
    assert_string_equal(text,
                        "DataLoader(dataset, batch_size=32, num_workers=0, pin_memory=False, "
                        "sampler=DistributedSampler(dataset, shuffle=True), drop_last=False)");
    spec->loader.drop_last = true;
    spec->run.world = 1;
    spec->accelerators.count = 2;
    dlb_pytorch_text(spec, false, NULL, NULL, text, sizeof(text));
    assert_non_null(
        strstr(text, "DistributedSampler(dataset, shuffle=True, drop_last=True), drop"));
    spec->accelerators.shared_workers = true;
    dlb_pytorch_text(spec, false, NULL, NULL, text, sizeof(text));
    assert_null(strstr(text, "sampler"));
    spec->run.world = 4;
    dlb_pytorch_text(spec, true, NULL, NULL, text, sizeof(text));
    assert_null(strstr(text, "sampler"));
    assert_null(strstr(text, "shuffle"));
    free(spec);
}

/* Whether a cell of these settings is told this, with these figures; figures may be NULL. */
static void tells(const char *setting, bool iterable, const char *code, const char *figures,
                  bool told)
{
    struct judged t;
    const char *const settings[] = {"loader.num_workers=2", "sweep.run.seed=[0]", setting, NULL};
    open_judged(&t, settings);
    t.plan.cells[0].iterable = iterable;
    add(&t, 0, (const double[]){500, 500}, 2, 1000);
    judge(&t);
    size_t n = 0;
    const char *text = noted(t.j.not_modelled, code, &n);
    if (n != told || (told && figures && !strstr(text, figures)))
        fail_msg("%s: %s was told %zu times: %s", setting, code, n, text ? text : "");
    close_judged(&t);
}

static void test_what_the_training_has_to_do(void **state)
{
    (void)state;
    tells("loader.pin_memory=true", false, "NO_PIN_THREAD", "loader.pin_mode = \"thread\"", true);
    tells("loader.pin_memory=false", false, "NO_PIN_THREAD", NULL, false);
    tells("device.prefetch=1", false, "COPIES_AHEAD", "device.prefetch = 1", true);
    tells("device.prefetch=2", false, "COPIES_AHEAD", "device.prefetch = 2", true);
    tells("device.prefetch=0", false, "COPIES_AHEAD", NULL, false);
    tells("run.epochs=1", false, "NO_PERSISTENT_WORKERS", "run.epochs = 1", true);
    tells("run.epochs=3", false, "NO_PERSISTENT_WORKERS", NULL, true);
    tells("loader.num_workers=0", false, "NO_PERSISTENT_WORKERS", NULL, false);
    tells("run.world=4", false, "RANKS_OF_DATA_SET", NULL, false);
    tells("run.world=4", true, "RANKS_OF_DATA_SET", "4 ranks", true);
    tells("loader.shuffle=true", true, "SHUFFLE_OF_DATA_SET", NULL, true);
    tells("loader.shuffle=true", false, "SHUFFLE_OF_DATA_SET", NULL, false);
}

static void test_no_pin_thread_is_missed(void **state)
{
    (void)state;
    static const char *const others[] = {"loader.num_workers=0", "loader.pin_mode=thread"};
    for (size_t i = 0; i < 2; i++) {
        struct judged t;
        const char *const settings[] = {"loader.num_workers=2", "loader.pin_memory=true",
                                        "sweep.run.seed=[0]", others[i], NULL};
        open_judged(&t, settings);
        add(&t, 0, (const double[]){500, 500}, 2, 1000);
        judge(&t);
        assert_null(noted(t.j.not_modelled, "NO_PIN_THREAD", NULL));
        close_judged(&t);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_pytorch_text),
        cmocka_unit_test(test_own_loaders_are_named),
        cmocka_unit_test(test_the_modules_own_arguments),
        cmocka_unit_test(test_ragged_samples_have_a_collate),
        cmocka_unit_test(test_which_samples_are_ragged),
        cmocka_unit_test(test_how_workers_start),
        cmocka_unit_test(test_ranks_have_a_sampler),
        cmocka_unit_test(test_what_the_training_has_to_do),
        cmocka_unit_test(test_no_pin_thread_is_missed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
