# Shared by the tests of parts of loaders/torch/*.py, where a stand-in takes torch's place; sourced after lib.sh.
export PYTHONDONTWRITEBYTECODE=1 PYTHONPATH=$DLB_SOURCE_DIR/tests/support/torch_double:$DLB_SOURCE_DIR/loaders/torch

holds() { # what a Python program, which is read, asserts
    run python3 -c "import torch$(printf '\n%s' "$(cat)")"
    expect_exit 0
}
