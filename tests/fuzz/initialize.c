/* What each harness does before its first input. A parser that runs out of memory ends its process
 * (core/base/mem.h), of which libFuzzer would see nothing: here that is a crash, whose input is
 * kept. */
#include "core/base/mem.h"

#include <stdlib.h>

int LLVMFuzzerInitialize(int *argc, char ***argv);

static void crash(void *ctx)
{
    (void)ctx;
    abort();
}

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
    (void)argc;
    (void)argv;
    dlb_mem_at_exhaustion(crash, NULL);
    return 0;
}
