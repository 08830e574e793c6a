#!/usr/bin/env bash
# What tests/gpu/training.py counts with, by planted runs; it needs no PyTorch and no GPU.
set -euo pipefail
exec python3 "${DLB_SOURCE_DIR:?}/tests/gpu/training_check.py"
