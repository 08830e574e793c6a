/* How cells are called, and which of them a chart shows.
 *
 * Floor 4. Any thread. */
#ifndef DLB_REPORTS_SHEETS_LABELS_H
#define DLB_REPORTS_SHEETS_LABELS_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define DLB_LABEL_CAP 400
#define DLB_VALUE_CAP 40 /* what dlb_text_value needs */
#define DLB_WORKERS "loader.num_workers"

/* Whether cells that ran differ in the setting. */
bool dlb_label_varies(const json_t *doc, const char *key);

typedef char dlb_label[DLB_LABEL_CAP];

/* For each cell its settings that vary, without the key `but`: "workers 4, pin yes"; "" when none
 * is left. Owned by the caller. */
dlb_label *dlb_labels_without(const json_t *doc, const char *but);

/* The same behind the cell's number: "3: workers 4, pin yes"; "cell 3" when none varies. */
dlb_label *dlb_labels_of(const json_t *doc);

/* The values of an axis, by what they are and by how they are shown. */
struct dlb_label_axis {
    json_t *numbers; /* of each value as JSON its number in the axis, from 1 on; owned */
    json_t *alike;   /* of each short text how many values have it; owned */
};

/* `axis` may be NULL, and is not borrowed. */
void dlb_label_axis_open(const json_t *axis, struct dlb_label_axis *out);
void dlb_label_axis_close(struct dlb_label_axis *axis);

/* A value of an axis, short. True: others of the axis are as short the same, so its number in the
 * axis is behind it. */
bool dlb_label_value(const struct dlb_label_axis *axis, const json_t *value, char *text,
                     size_t n_text);

/* The name of a setting in a table. Borrowed. */
const char *dlb_label_title(const char *key);

bool dlb_label_has_status(const json_t *cell, const char *status);

/* The numbers of the cells that ran, the fastest n at most, in their order. Owned by the caller.
 * *n_all: how many ran. */
uint32_t *dlb_label_fastest(const json_t *doc, uint32_t most, uint32_t *n, uint32_t *n_all);

#endif
