#!/usr/bin/env bash
# `dlbench run --trace` of all loaders, of several accelerators and of PyTorch's stamps; cli/test_trace has two of them.
. "$(dirname "$0")/lib.sh"
. "$DLB_SOURCE_DIR/tests/cli/measure.sh"
. "$DLB_SOURCE_DIR/tests/cli/traced.sh"

holds threads --loader.num_workers 2 --loader.shuffle true --set loader.order=any
holds shared --loader.num_workers 2 --loader.pin_memory true --set accelerators.count=3 --set accelerators.shared_workers=true
holds apart --loader.num_workers 1 --loader.pin_memory true --set accelerators.count=2 --set accelerators.barrier=true

# --- it is the repetition whose stages the result shows
holds three --loader.num_workers 1 --set run.repeats=3

# --- PyTorch's, from its stamps; the double has its workers in one process, so test_trace_peers.sh has those
export PYTHONPATH=$DLB_SOURCE_DIR/tests/support/torch_double
holds torch --loader.num_workers 0 --set loader.kind=torch --set python.interpreter=python3
finish
