#!/usr/bin/env bash
# As test_mutate.sh, with many cases.
export DLB_MUTATE_CASES=3000 DLB_MUTATE_SEED=100 DLB_TEST_LIMIT_S=3600
exec bash "$(dirname "$0")/test_mutate.sh"
