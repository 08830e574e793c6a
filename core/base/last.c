#include "core/base/last.h"

#include <stddef.h>
#include <string.h>
#include <unistd.h>

static void (*make_room_now)(void);

void dlb_last_make_room(void (*make_room)(void))
{
    make_room_now = make_room;
}

void dlb_last_words(const char *text)
{
    if (make_room_now)
        make_room_now();
    (void)!write(STDERR_FILENO, text, strlen(text));
}
