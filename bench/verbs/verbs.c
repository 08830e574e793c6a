#include "bench/cli/verb.h"

#define X(name) extern const struct dlb_verb dlb_verb_##name;
#include "bench/verbs/verbs.def"
#undef X

const struct dlb_verb *const dlb_verbs[] = {
#define X(name) &dlb_verb_##name,
#include "bench/verbs/verbs.def"
#undef X
    NULL};
