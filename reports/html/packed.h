/* Bytes as gzip in base64, which a browser, `base64 -d | gunzip` and every language unpack: for a
 * document that would make a page too large for an e-mail.
 *
 * Floor 4. Any thread. */
#ifndef DLB_REPORTS_HTML_PACKED_H
#define DLB_REPORTS_HTML_PACKED_H

#include "reports/text.h"

#include <stdbool.h>

/* Whether this build can; it needs zlib. */
bool dlb_html_can_pack(void);

/* Appends the packed text in one line. */
void dlb_html_pack(struct dlb_text *out, const struct dlb_text *plain);

#endif
