#!/usr/bin/env bash
# What tests/peers/fidelity counts with, by planted times; it needs no PyTorch.
set -euo pipefail
exec python3 "${DLB_SOURCE_DIR:?}/tests/fidelity/check.py"
