/* What is odd about the shards of a WebDataset, in sentences: one for each kind of thing, with how
 * many there are and the first place.
 *
 * Floor 2. Control thread. */
#ifndef DLB_FORMATS_WEBDATASET_ODD_H
#define DLB_FORMATS_WEBDATASET_ODD_H

#include "formats/webdataset/list.h"

/* After the scan: adds them to shape->odd. */
void dlb_wds_describe_odd(const struct dlb_wds_list *list, struct dlb_shape *shape);

#endif
