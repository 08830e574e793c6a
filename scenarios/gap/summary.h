/* The ladder's part of summary.json.
 *
 * Floor 4. Control thread. reports/summary.schema.json is the contract. */
#ifndef DLB_SCENARIOS_GAP_SUMMARY_H
#define DLB_SCENARIOS_GAP_SUMMARY_H

#include "loaders/device/device.h"
#include "scenarios/gap/judgement.h"
#include "scenarios/scenario.h"

#include <jansson.h>

/* `gap` of summary.json. New reference. */
json_t *dlb_gap_json(const struct dlb_gap_setting *setting, const struct dlb_gap_judgement *j);

/* Adds the notes on the ladder to notes and not_modelled. */
void dlb_gap_notes(const struct dlb_gap_setting *setting, const struct dlb_device *device,
                   struct dlb_judgement *out);

#endif
