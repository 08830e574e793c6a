#include "formats/undecoded.h"

#include "core/base/mem.h"
#include "formats/codec.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct {
    const char *kind;
    uint32_t at, n_bytes;
    const char *bytes;
} signatures[] = {
    {"QuickTime video", 4, 8, "ftypqt  "},
    {"AVIF images", 4, 8, "ftypavif"},
    {"HEIC images", 4, 7, "ftyphei"},
    {"M4A audio", 4, 7, "ftypM4A"},
    {"MP4 video", 4, 4, "ftyp"},
    {"Matroska or WebM video", 0, 4, "\x1a\x45\xdf\xa3"},
    {"AVI video", 8, 4, "AVI "},
    {"MPEG video", 0, 4, "\0\0\1\xba"},
    {"Flash video", 0, 4, "FLV\1"},
    {"WAV audio", 8, 4, "WAVE"},
    {"FLAC audio", 0, 4, "fLaC"},
    {"Ogg audio", 0, 4, "OggS"},
    {"MP3 audio", 0, 3, "ID3"},
    {"Parquet files", 0, 4, "PAR1"},
    {"Arrow files", 0, 6, "ARROW1"},
    {"PDF documents", 0, 5, "%PDF-"},
    {"JPEG images", 0, 3, "\xff\xd8\xff"},
    {"PNG images", 0, 8, "\x89PNG\r\n\x1a\n"},
    {"WebP images", 8, 4, "WEBP"},
    {"GIF images", 0, 4, "GIF8"},
    {"TIFF images", 0, 4, "II*\0"},
    {"TIFF images", 0, 4, "MM\0*"},
    {"JPEG 2000 images", 4, 8, "jP  \r\n\x87\n"},
    {"JPEG XL images", 4, 8, "JXL \r\n\x87\n"},
    {"PPM images", 0, 3, "P6\n"},
    {"PGM images", 0, 3, "P5\n"},
    {"DICOM images", 128, 4, "DICM"},
};

static const char text[] = "text";

static const struct {
    const char *kind;
    const char *extensions; /* each between spaces */
} extensions[] = {
    {"MP4 video", " mp4 m4v "},
    {"QuickTime video", " mov "},
    {"AVI video", " avi "},
    {"Matroska or WebM video", " mkv webm "},
    {"MPEG video", " mpg mpeg "},
    {"Flash video", " flv "},
    {"WAV audio", " wav "},
    {"FLAC audio", " flac "},
    {"Ogg audio", " ogg oga opus "},
    {"MP3 audio", " mp3 "},
    {"M4A audio", " m4a "},
    {"Parquet files", " parquet "},
    {"Arrow files", " arrow feather "},
    {"PDF documents", " pdf "},
    {"GIF images", " gif "},
    {"TIFF images", " tif tiff "},
    {"AVIF images", " avif "},
    {"HEIC images", " heic "},
    {"BMP images", " bmp "},
    {"JPEG 2000 images", " jp2 j2k "},
    {"JPEG XL images", " jxl "},
    {"PPM images", " ppm "},
    {"PGM images", " pgm "},
    {"DICOM images", " dcm "},
    {"PNG images", " png "},
    {"WebP images", " webp "},
    {"JPEG images", " jpg jpeg "},
    {text, " txt text json jsonl ndjson csv tsv xml html md yaml "},
};

const char *dlb_undecoded_name(const char *name)
{
    const char *dot = strrchr(name, '.');
    char word[16];

    if ((size_t)snprintf(word, sizeof word, " %s ", dot ? dot + 1 : name) >= sizeof word)
        return NULL;
    for (size_t i = 0; i < sizeof extensions / sizeof *extensions; i++)
        if (strcasestr(extensions[i].extensions, word))
            return extensions[i].kind;
    return NULL;
}

static const char *codec_of(const char *kind)
{
    static const char *const codecs[][2] = {{"JPEG images", "jpeg"},
                                            {"PNG images", "image"},
                                            {"WebP images", "image"},
                                            {"WAV audio", "audio"},
                                            {"FLAC audio", "audio"}};

    for (size_t i = 0; i < sizeof codecs / sizeof *codecs; i++)
        if (strcmp(codecs[i][0], kind) == 0)
            return codecs[i][1];
    return NULL;
}

const struct dlb_codec *dlb_undecoded_codec(const char *kind)
{
    const char *name = codec_of(kind);
    const struct dlb_codec *codec = name ? dlb_codec_by_name(name) : NULL;

    return codec && !codec->missing ? codec : NULL;
}

int dlb_undecoded_fail(struct dlb_err *err, const char *path, const char *kind)
{
    const struct dlb_codec *codec = dlb_undecoded_codec(kind);

    if (codec)
        return dlb_fail(err, DLB_ERR_DATASET_OTHER_CODEC, path, DLB_NO_OFFSET,
                        "holds %s: set dataset.codec = \"%s\"", kind, codec->name);
    return dlb_fail(
        err, DLB_ERR_DATASET_NOT_DECODED, path, DLB_NO_OFFSET,
        "holds %s, which %s does not decode: bytes alone load faster than any "
        "training that decodes them, so a verdict would be wrong. Measure your own data "
        "set (loader.kind = \"torch\" with python.dataset), or set dataset.codec = "
        "\"raw\" to measure reading alone",
        kind, codec_of(kind) ? "this build of dlbench" : "dlbench");
}

/* By its name; what holds a zero byte is no text, whatever its name is. */
static bool is_text(const char *name, const uint8_t *data, size_t n_bytes)
{
    return dlb_undecoded_name(name) == text && n_bytes > 0 &&
           !memchr(data, 0, n_bytes < 256 ? n_bytes : 256);
}

/* Its two letters alone are found in other data, too; the reserved bytes are 0. */
static bool is_bmp(const uint8_t *data, size_t n_bytes)
{
    return n_bytes >= 26 && memcmp(data, "BM", 2) == 0 && memcmp(data + 6, "\0\0\0\0", 4) == 0;
}

const char *dlb_undecoded_kind(const char *name, const uint8_t *data, size_t n_bytes)
{
    for (size_t i = 0; i < sizeof signatures / sizeof *signatures; i++)
        if (n_bytes >= signatures[i].at + signatures[i].n_bytes &&
            memcmp(data + signatures[i].at, signatures[i].bytes, signatures[i].n_bytes) == 0)
            return signatures[i].kind;
    if (is_bmp(data, n_bytes))
        return "BMP images";
    return is_text(name, data, n_bytes) ? text : NULL;
}

const char *dlb_undecoded_sample(const struct dlb_sample *sample)
{
    const char *path = sample->path ? sample->path : "";
    bool all_text = sample->n_fields > 0;

    for (uint32_t i = 0; i < sample->n_fields; i++) {
        const struct dlb_field *field = &sample->field[i];
        const char *kind =
            dlb_undecoded_kind(field->name[0] ? field->name : path, field->data, field->len_bytes);
        if (kind && kind != text)
            return kind;
        all_text &= kind == text || strcmp(field->name, "cls") == 0;
    }
    bool label_alone = sample->n_fields == 1 && strcmp(sample->field[0].name, "cls") == 0;
    return all_text && !label_alone ? text : NULL;
}

static int read_first(struct dlb_dataset *ds, void *reader, struct dlb_sample *sample,
                      struct dlb_err *err)
{
    const struct dlb_reader *of = ds->format->reader;

    if (!ds->shape.iterable)
        return of->read(reader, 0, (struct dlb_dest){0}, sample, err);
    int rc = of->shard_open(reader, 0, err);
    return rc == DLB_OK ? of->next(reader, (struct dlb_dest){0}, sample, err) : rc;
}

void dlb_undecoded_look(struct dlb_dataset *ds)
{
    const struct dlb_reader *of = ds->format->reader;
    struct dlb_sample sample = {.offset_bytes = DLB_NO_OFFSET};
    struct dlb_err ignored = {0};

    if (!ds->codec->identity || ds->format->synthetic || ds->shape.element != DLB_ELEMENT_NONE)
        return;
    void *reader = dlb_mem_check(dlb_mem_state(of->state_bytes));
    if (of->open(reader, ds->state, &ignored) == DLB_OK &&
        read_first(ds, reader, &sample, &ignored) == DLB_OK) {
        const char *kind = dlb_undecoded_sample(&sample);
        (void)snprintf(ds->shape.undecoded, sizeof ds->shape.undecoded, "%s", kind ? kind : "");
    }
    of->close(reader);
    free(reader);
}
