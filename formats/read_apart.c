#include "formats/read_apart.h"

#include <stdio.h>

int dlb_read_apart(const struct dlb_shape *shape, struct dlb_apart how, struct dlb_err *err)
{
    char doing[48];

    if (!shape->library[0])
        return how.work(how.ctx, err);
    (void)snprintf(doing, sizeof doing, "reading through %s", shape->library);
    how.who = "a process of its own";
    how.doing = doing;
    return dlb_apart(&how, err);
}
