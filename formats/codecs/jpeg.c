#include "formats/codecs/jpeg.h"

#ifdef DLB_HAVE_JPEG

#include <setjmp.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <jerror.h>
#include <jpeglib.h>

/* A hostile progressive image repeats its scans to burn time; libjpeg-turbo's fuzzers and djpeg
 * -maxscans have such a limit too. */
enum { MAX_SCANS = 100 };

struct errors {
    struct jpeg_error_mgr base; /* first: libjpeg hands this back */
    jmp_buf leave;
    char text[JMSG_LENGTH_MAX];
    enum dlb_code code; /* of the text */
};

struct dlb_jpeg {
    struct jpeg_decompress_struct d;
    struct errors errors;
    struct jpeg_progress_mgr progress;
    bool created;
};

_Noreturn static void on_error(j_common_ptr info)
{
    struct errors *errors = (struct errors *)(void *)info->err;
    (*info->err->format_message)(info, errors->text);
    errors->code = DLB_ERR_JPEG_DAMAGED;
    longjmp(errors->leave, 1);
}

/* After these warnings the pixels are guesses. The others (stray bytes between markers, odd version
 * numbers) are harmless. */
static void on_message(j_common_ptr info, int level)
{
    if (level >= 0)
        return;
    switch (info->err->msg_code) {
    case JWRN_HIT_MARKER:
    case JWRN_HUFF_BAD_CODE:
    case JWRN_JPEG_EOF:
    case JWRN_MUST_RESYNC:
        on_error(info);
    default:
        info->err->num_warnings++;
    }
}

static void on_output(j_common_ptr info)
{
    (void)info;
}

static void on_progress(j_common_ptr info)
{
    struct errors *errors = (struct errors *)(void *)info->err;
    if (info->is_decompressor && ((j_decompress_ptr)info)->input_scan_number > MAX_SCANS) {
        (void)snprintf(errors->text, sizeof errors->text, "more than %d scans", MAX_SCANS);
        errors->code = DLB_ERR_JPEG_TOO_LARGE;
        longjmp(errors->leave, 1);
    }
}

static struct jpeg_error_mgr *set_up_errors(struct errors *errors)
{
    (void)jpeg_std_error(&errors->base);
    errors->base.error_exit = on_error;
    errors->base.emit_message = on_message;
    errors->base.output_message = on_output;
    return &errors->base;
}

static bool create(struct dlb_jpeg *jpeg)
{
    jpeg->d.err = set_up_errors(&jpeg->errors);
    if (setjmp(jpeg->errors.leave))
        return false;
    jpeg_create_decompress(&jpeg->d);
    jpeg->created = true;
    jpeg->progress.progress_monitor = on_progress;
    jpeg->d.progress = &jpeg->progress;
    return true;
}

struct dlb_jpeg *dlb_jpeg_new(void)
{
    struct dlb_jpeg *jpeg = calloc(1, sizeof *jpeg);

    if (jpeg && !create(jpeg)) {
        dlb_jpeg_free(jpeg);
        return NULL;
    }
    return jpeg;
}

void dlb_jpeg_free(struct dlb_jpeg *jpeg)
{
    if (jpeg && jpeg->created)
        jpeg_destroy_decompress(&jpeg->d);
    free(jpeg);
}

static int fail(struct dlb_jpeg *jpeg, struct dlb_err *err, enum dlb_code code, const char *what)
{
    jpeg_abort_decompress(&jpeg->d);
    return dlb_fail(err, code, NULL, DLB_NO_OFFSET, "JPEG: %s", what);
}

/* Within scans 0xFF is always followed by a stuffed zero, so FF D9 is the marker. Only stray bytes
 * may follow it. */
static bool has_end(const uint8_t *data, size_t n_bytes)
{
    while (n_bytes >= 2) {
        const uint8_t *d9 = memrchr(data, 0xD9, n_bytes);
        if (!d9 || d9 == data)
            return false;
        if (d9[-1] == 0xFF)
            return true;
        n_bytes = (size_t)(d9 - data);
    }
    return false;
}

static bool becomes_rgb(J_COLOR_SPACE space)
{
    return space == JCS_GRAYSCALE || space == JCS_RGB || space == JCS_YCbCr || space == JCS_CMYK ||
           space == JCS_YCCK;
}

int dlb_jpeg_start(struct dlb_jpeg *jpeg, const uint8_t *data, size_t n_bytes, uint32_t *width,
                   uint32_t *height, struct dlb_err *err)
{
    struct jpeg_decompress_struct *d = &jpeg->d;

    if (n_bytes < 2 || data[0] != 0xFF || data[1] != 0xD8)
        return dlb_fail(err, DLB_ERR_JPEG_NOT_A_JPEG, NULL, DLB_NO_OFFSET,
                        n_bytes ? "not a JPEG: it does not begin with FF D8"
                                : "not a JPEG: it is empty");
    if (setjmp(jpeg->errors.leave))
        return fail(jpeg, err, jpeg->errors.code, jpeg->errors.text);
    jpeg_abort_decompress(d); /* an earlier image may have been started and not decoded */
    jpeg_mem_src(d, data, (unsigned long)n_bytes);
    (void)jpeg_read_header(d, TRUE);
    *width = d->image_width;
    *height = d->image_height;
    if ((uint64_t)d->image_width * d->image_height > DLB_IMAGE_MAX_PIXELS)
        return fail(jpeg, err, DLB_ERR_JPEG_TOO_LARGE, "more than 178,956,970 pixels");
    if (!becomes_rgb(d->jpeg_color_space))
        return fail(jpeg, err, DLB_ERR_JPEG_COLOURS_UNFIT, "a colour space that cannot become RGB");
    if (!has_end(d->src->next_input_byte, d->src->bytes_in_buffer))
        return fail(jpeg, err, DLB_ERR_JPEG_CUT_SHORT, "cut short: it has no end-of-image marker");
    return DLB_OK;
}

/* CMYK is stored inverted, as Adobe does: with c, m, y, k as stored, red is c * k / 255, as in
 * Pillow. */
static void cmyk_to_rgb(uint8_t *pixels, size_t n_pixels)
{
    for (size_t i = 0; i < n_pixels; i++) {
        uint8_t *p = pixels + 4 * i;
        for (int c = 0; c < 3; c++) {
            unsigned t = (unsigned)(255 - p[c]) * p[3] + 128;
            unsigned ink = ((t >> 8) + t) >> 8;
            p[c] = (uint8_t)(p[3] > ink ? p[3] - ink : 0);
        }
    }
}

/* jpeg_crop_scanline widens to whole blocks, but interpolates chroma at its edges without the
 * neighbours that it cut off. So two more columns are requested on either side. */
static void set_columns(struct jpeg_decompress_struct *d, const struct dlb_image_rect *want,
                        struct dlb_image_rect *got)
{
    JDIMENSION x = want->x >= 2 ? want->x - 2 : 0;
    JDIMENSION end = want->x + want->width + 2;
    JDIMENSION width = (end < d->output_width ? end : d->output_width) - x;

    if (x != 0 || width != d->output_width)
        jpeg_crop_scanline(d, &x, &width);
    got->x = x;
    got->width = width;
}

int dlb_jpeg_decode(struct dlb_jpeg *jpeg, uint32_t denom, const struct dlb_image_rect *want,
                    struct dlb_image_pixels *out, struct dlb_err *err)
{
    struct jpeg_decompress_struct *d = &jpeg->d;

    if (setjmp(jpeg->errors.leave))
        return fail(jpeg, err, jpeg->errors.code, jpeg->errors.text);
    bool cmyk = d->jpeg_color_space == JCS_CMYK || d->jpeg_color_space == JCS_YCCK;
    d->scale_num = 1;
    d->scale_denom = denom;
    d->out_color_space = cmyk ? JCS_CMYK : JCS_EXT_RGBX;
    (void)jpeg_start_decompress(d);
    if (want->width == 0 || want->height == 0 || want->x + want->width > d->output_width ||
        want->y + want->height > d->output_height)
        DLB_BUG("a part beyond the image");
    out->rect = (struct dlb_image_rect){.y = want->y, .height = want->height};
    set_columns(d, want, &out->rect);
    size_t stride = (size_t)out->rect.width * 4;
    if (dlb_image_reserve(out, &out->rect, err) != DLB_OK) {
        jpeg_abort_decompress(d);
        return DLB_E_NOMEM;
    }
    if (want->y > 0)
        (void)jpeg_skip_scanlines(d, want->y);
    while (d->output_scanline < want->y + want->height) {
        JSAMPROW rows[8];
        JDIMENSION at = d->output_scanline - want->y, left = want->height - at;
        JDIMENSION n = left < 8 ? left : 8;
        for (JDIMENSION i = 0; i < n; i++)
            rows[i] = out->data + stride * (at + i);
        (void)jpeg_read_scanlines(d, rows, n);
    }
    jpeg_abort_decompress(d);
    if (cmyk)
        cmyk_to_rgb(out->data, (size_t)out->rect.width * out->rect.height);
    return DLB_OK;
}

/* The rows of one run of 16 (chroma: 8) lines. */
static void write_rows(struct jpeg_compress_struct *c, const struct dlb_image_planes *planes)
{
    JSAMPROW y[16], cb[8], cr[8];
    JSAMPARRAY all[3] = {y, cb, cr};

    while (c->next_scanline < c->image_height) {
        size_t at = c->next_scanline;
        /* libjpeg only reads them; its type is not const. */
        for (size_t i = 0; i < 16; i++)
            y[i] = (JSAMPROW)(uintptr_t)(planes->y + (at + i) * planes->stride);
        for (size_t i = 0; i < 8; i++) {
            cb[i] = (JSAMPROW)(uintptr_t)(planes->cb + (at / 2 + i) * (planes->stride / 2));
            cr[i] = (JSAMPROW)(uintptr_t)(planes->cr + (at / 2 + i) * (planes->stride / 2));
        }
        (void)jpeg_write_raw_data(c, all, 16);
    }
}

int dlb_jpeg_encode(const struct dlb_image_planes *planes, int quality, struct dlb_bytes *out,
                    struct dlb_err *err)
{
    struct jpeg_compress_struct c = {0};
    struct errors errors;
    /* Changed by libjpeg and read after its longjmp: through memory, never in a register. */
    unsigned char *coded = NULL;
    unsigned char *volatile *volatile coded_at = (unsigned char *volatile *)&coded;
    unsigned long n_coded = 0;

    c.err = set_up_errors(&errors);
    if (setjmp(errors.leave)) {
        jpeg_destroy_compress(&c);
        free(*coded_at);
        return dlb_fail(err, DLB_ERR_JPEG_ENCODE_FAILED, NULL, DLB_NO_OFFSET, "encoding a JPEG: %s",
                        errors.text);
    }
    jpeg_create_compress(&c);
    jpeg_mem_dest(&c, &coded, &n_coded);
    c.image_width = planes->width;
    c.image_height = planes->height;
    c.input_components = 3;
    c.in_color_space = JCS_YCbCr;
    jpeg_set_defaults(&c); /* 4:2:0 */
    jpeg_set_quality(&c, quality, TRUE);
    c.raw_data_in = TRUE;
    jpeg_start_compress(&c, TRUE);
    write_rows(&c, planes);
    jpeg_finish_compress(&c);
    jpeg_destroy_compress(&c);
    int rc = dlb_bytes_append(out, coded, n_coded, err);
    free(coded);
    return rc;
}

#endif
