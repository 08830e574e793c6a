/* A test's own device in the stead of whichever is chosen (-Wl,--wrap=dlb_device_choose, in
 * CMakeLists.txt). Header-only. */
#ifndef DLB_TESTS_OWN_DEVICE_H
#define DLB_TESTS_OWN_DEVICE_H

#include "loaders/device/device.h"

#include <string.h>

extern const struct dlb_device dlb_dev_emulated;

static struct dlb_device own_device;

const struct dlb_device *__wrap_dlb_device_choose(const struct dlb_device_opts *opts,
                                                  const char *memo, char why[160],
                                                  struct dlb_err *err);
const struct dlb_device *__wrap_dlb_device_choose(const struct dlb_device_opts *opts,
                                                  const char *memo, char why[160],
                                                  struct dlb_err *err)
{
    (void)opts;
    (void)memo;
    (void)err;
    memcpy(why, "test", 5);
    return &own_device;
}

#endif
