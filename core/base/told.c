#include "core/base/told.h"

#include <string.h>

bool dlb_told_bool(const bool *told)
{
    unsigned char byte;

    memcpy(&byte, told, sizeof byte);
    return byte <= 1;
}

bool dlb_told_text(const char *text, size_t n_text)
{
    return memchr(text, '\0', n_text) != NULL;
}

bool dlb_told_err(const struct dlb_err *err)
{
    return err->status >= DLB_OK && err->status <= DLB_E_CANCELLED && err->code >= 0 &&
           err->code < DLB_N_CODES && dlb_told_text(err->path, sizeof err->path) &&
           dlb_told_text(err->what, sizeof err->what);
}
