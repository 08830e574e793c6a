#include "formats/codecs/png.h"

#ifdef DLB_HAVE_PNG

#include <png.h>
#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* What chunks beside the pixels may take; a palette takes less than 1 KiB. */
enum { CHUNK_MAX_BYTES = 1 << 20 };

struct dlb_png {
    png_structp png; /* of the started image, or NULL */
    png_infop info;
    const uint8_t *data;
    size_t n_bytes, at;
    jmp_buf leave;
    enum dlb_code code;
    char text[96];
};

static void on_error(png_structp png, png_const_charp what)
{
    struct dlb_png *self = png_get_error_ptr(png);
    (void)snprintf(self->text, sizeof self->text, "%s", what);
    longjmp(self->leave, 1);
}

static void on_warning(png_structp png, png_const_charp what)
{
    (void)png, (void)what; /* of chunks that change no pixel */
}

static void on_read(png_structp png, png_bytep to, size_t n_bytes)
{
    struct dlb_png *self = png_get_io_ptr(png);

    if (n_bytes > self->n_bytes - self->at) {
        self->code = DLB_ERR_PNG_CUT_SHORT;
        png_error(png, "cut short");
    }
    memcpy(to, self->data + self->at, n_bytes);
    self->at += n_bytes;
}

struct dlb_png *dlb_png_new(void)
{
    return calloc(1, sizeof(struct dlb_png));
}

static void end(struct dlb_png *png)
{
    png_destroy_read_struct(&png->png, &png->info, NULL);
}

void dlb_png_free(struct dlb_png *png)
{
    if (png)
        end(png);
    free(png);
}

static int fail(struct dlb_png *png, struct dlb_err *err, enum dlb_code code, const char *what)
{
    end(png);
    return dlb_fail(err, code, NULL, DLB_NO_OFFSET, "PNG: %s", what);
}

static uint32_t u32_at(const uint8_t *data)
{
    return (uint32_t)data[0] << 24 | (uint32_t)data[1] << 16 | (uint32_t)data[2] << 8 | data[3];
}

/* By the lengths of its chunks, so that the result does not depend on the part that is decoded. */
static bool has_end(const uint8_t *data, size_t n_bytes)
{
    size_t at = 8;

    while (n_bytes - at >= 12) {
        size_t len = u32_at(data + at);
        if (len > n_bytes - at - 12)
            return false;
        if (memcmp(data + at + 4, "IEND", 4) == 0)
            return true;
        at += len + 12;
    }
    return false;
}

/* Colour profiles, texts and the like would be unpacked, and change no pixel here. */
static void skip_ancillary(png_structp png)
{
    png_set_keep_unknown_chunks(png, PNG_HANDLE_CHUNK_NEVER, NULL, 0);
    static const png_byte names[] = "bKGD\0cHRM\0eXIf\0gAMA\0hIST\0iCCP\0iTXt\0oFFs\0pCAL\0pHYs\0"
                                    "sBIT\0sCAL\0sPLT\0sRGB\0sTER\0tEXt\0tIME\0zTXt";
    png_set_keep_unknown_chunks(png, PNG_HANDLE_CHUNK_NEVER, names, sizeof names / 5);
}

int dlb_png_start(struct dlb_png *png, const uint8_t *data, size_t n_bytes, uint32_t *width,
                  uint32_t *height, struct dlb_err *err)
{
    end(png); /* an earlier image may have been started and not decoded */
    if (dlb_image_kind(data, n_bytes) != DLB_IMAGE_PNG)
        return dlb_fail(err, DLB_ERR_PNG_DAMAGED, NULL, DLB_NO_OFFSET, "PNG: it is none");
    if (!has_end(data, n_bytes))
        return fail(png, err, DLB_ERR_PNG_CUT_SHORT, "cut short: its chunks do not reach IEND");
    png->data = data;
    png->n_bytes = n_bytes;
    png->at = 0;
    png->code = DLB_ERR_PNG_DAMAGED;
    if (setjmp(png->leave))
        return fail(png, err, png->code, png->text);
    png->png = png_create_read_struct(PNG_LIBPNG_VER_STRING, png, on_error, on_warning);
    png->info = png->png ? png_create_info_struct(png->png) : NULL;
    if (!png->info)
        return fail(png, err, DLB_ERR_NOMEM, "out of memory");
    png_set_read_fn(png->png, png, on_read);
    png_set_chunk_malloc_max(png->png, CHUNK_MAX_BYTES);
    skip_ancillary(png->png);
    png_read_info(png->png, png->info);
    *width = png_get_image_width(png->png, png->info);
    *height = png_get_image_height(png->png, png->info);
    if ((uint64_t)*width * *height > DLB_IMAGE_MAX_PIXELS)
        return fail(png, err, DLB_ERR_PNG_TOO_LARGE, "more than 178,956,970 pixels");
    return DLB_OK;
}

static bool is_grey16(const struct dlb_png *png)
{
    return png_get_bit_depth(png->png, png->info) == 16 &&
           png_get_color_type(png->png, png->info) == PNG_COLOR_TYPE_GRAY;
}

/* Asks for 4 bytes a pixel; grey of 16 bits stays as it is. */
static void set_transforms(struct dlb_png *png)
{
    int depth = png_get_bit_depth(png->png, png->info);
    int colour = png_get_color_type(png->png, png->info);

    if (is_grey16(png))
        return;
    if (colour == PNG_COLOR_TYPE_PALETTE)
        png_set_palette_to_rgb(png->png);
    if (colour == PNG_COLOR_TYPE_GRAY && depth < 8)
        png_set_expand_gray_1_2_4_to_8(png->png);
    if (depth == 16)
        png_set_strip_16(png->png);
    if ((colour & PNG_COLOR_MASK_COLOR) == 0)
        png_set_gray_to_rgb(png->png);
    png_set_filler(png->png, 0xFF, PNG_FILLER_AFTER);
}

/* In place: grey of 16 bits lies in the second half of the row. */
static void widen_grey16(uint8_t *row, uint32_t width)
{
    const uint8_t *from = row + (size_t)width * 2;

    for (uint32_t x = 0; x < width; x++) {
        uint8_t level = from[2 * (size_t)x] ? 255 : from[2 * (size_t)x + 1];
        memset(row + (size_t)x * 4, level, 4);
    }
}

int dlb_png_decode(struct dlb_png *png, const struct dlb_image_rect *want,
                   struct dlb_image_pixels *out, struct dlb_err *err)
{
    if (setjmp(png->leave))
        return fail(png, err, png->code, png->text);
    uint32_t width = png_get_image_width(png->png, png->info);
    uint32_t height = png_get_image_height(png->png, png->info);
    if (want->width == 0 || want->height == 0 || want->x + want->width > width ||
        want->y + want->height > height)
        DLB_BUG("a part beyond the image");
    set_transforms(png);
    bool grey16 = is_grey16(png);
    int passes = png_set_interlace_handling(png->png);
    png_read_update_info(png->png, png->info);
    if (png_get_rowbytes(png->png, png->info) != (size_t)width * (grey16 ? 2 : 4))
        DLB_BUG("rows of another size than asked for");
    struct dlb_image_rect rect = {0, want->y, width, want->height};
    if (passes > 1)
        rect = (struct dlb_image_rect){0, 0, width, height};
    if (dlb_image_reserve(out, &rect, err) != DLB_OK) {
        end(png);
        return DLB_E_NOMEM;
    }
    size_t stride = (size_t)width * 4, skip = grey16 ? (size_t)width * 2 : 0;
    for (uint32_t y = 0; y < rect.y; y++)
        png_read_row(png->png, NULL, NULL);
    for (int pass = 0; pass < passes; pass++)
        for (uint32_t y = 0; y < rect.height; y++)
            png_read_row(png->png, out->data + y * stride + skip, NULL);
    end(png);
    for (uint32_t y = 0; grey16 && y < rect.height; y++)
        widen_grey16(out->data + y * stride, width);
    return DLB_OK;
}

struct target {
    struct dlb_bytes *out;
    struct dlb_err *err;
    jmp_buf leave;
    int rc;
    char text[96];
};

static void on_write_error(png_structp png, png_const_charp what)
{
    struct target *target = png_get_error_ptr(png);
    (void)snprintf(target->text, sizeof target->text, "%s", what);
    longjmp(target->leave, 1);
}

static void on_write(png_structp png, png_bytep data, size_t n_bytes)
{
    struct target *target = png_get_io_ptr(png);

    target->rc = dlb_bytes_append(target->out, data, n_bytes, target->err);
    if (target->rc != DLB_OK)
        png_error(png, "out of memory");
}

static void on_flush(png_structp png)
{
    (void)png;
}

int dlb_png_encode(const struct dlb_image_planes *planes, struct dlb_bytes *out,
                   struct dlb_err *err)
{
    struct target target = {.out = out, .err = err};
    png_structp png =
        png_create_write_struct(PNG_LIBPNG_VER_STRING, &target, on_write_error, on_warning);
    png_infop info = png ? png_create_info_struct(png) : NULL;
    uint8_t *row = malloc((size_t)planes->width * 3);

    if (!info || !row) {
        target.rc = dlb_fail_memory(err, NULL, (size_t)planes->width * 3);
        goto out;
    }
    if (setjmp(target.leave)) {
        if (target.rc == DLB_OK)
            target.rc = dlb_fail(err, DLB_ERR_IMAGE_ENCODE_FAILED, NULL, DLB_NO_OFFSET,
                                 "encoding a PNG: %s", target.text);
        goto out;
    }
    png_set_write_fn(png, &target, on_write, on_flush);
    png_set_IHDR(png, info, planes->width, planes->height, 8, PNG_COLOR_TYPE_RGB,
                 PNG_INTERLACE_NONE, PNG_COMPRESSION_TYPE_DEFAULT, PNG_FILTER_TYPE_DEFAULT);
    png_write_info(png, info);
    for (uint32_t y = 0; y < planes->height; y++) {
        dlb_image_rgb_row(planes, y, row);
        png_write_row(png, row);
    }
    png_write_end(png, NULL);
out:
    png_destroy_write_struct(&png, &info);
    free(row);
    return target.rc;
}

#else

#define MISSING "built without libpng"

struct dlb_png *dlb_png_new(void)
{
    return NULL;
}

void dlb_png_free(struct dlb_png *png)
{
    (void)png;
}

int dlb_png_start(struct dlb_png *png, const uint8_t *data, size_t n_bytes, uint32_t *width,
                  uint32_t *height, struct dlb_err *err)
{
    (void)png, (void)data, (void)n_bytes, (void)width, (void)height;
    return dlb_fail(err, DLB_ERR_MISSING, NULL, DLB_NO_OFFSET, MISSING);
}

int dlb_png_decode(struct dlb_png *png, const struct dlb_image_rect *want,
                   struct dlb_image_pixels *out, struct dlb_err *err)
{
    (void)png, (void)want, (void)out;
    return dlb_fail(err, DLB_ERR_MISSING, NULL, DLB_NO_OFFSET, MISSING);
}

int dlb_png_encode(const struct dlb_image_planes *planes, struct dlb_bytes *out,
                   struct dlb_err *err)
{
    (void)planes, (void)out;
    return dlb_fail(err, DLB_ERR_MISSING, NULL, DLB_NO_OFFSET, MISSING);
}

#endif
