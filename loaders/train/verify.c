#include "loaders/train/verify.h"

#include "core/base/hash.h"

/* The hash of what the device made of a batch, computed as dlb_batch.made_hash is. */
static int hash_made(const struct dlb_consume *how, void *device_state, uint32_t buf,
                     uint64_t *hash, struct dlb_err *err)
{
    const uint8_t *made = NULL;
    size_t n = 0, n_bytes = how->augment->out_bytes;

    int rc = how->device->made(device_state, buf, &made, &n, err);
    *hash = 0;
    for (size_t i = 0; rc == DLB_OK && i < n; i++)
        *hash = dlb_hash64(made + i * n_bytes, n_bytes, *hash);
    return rc;
}

int dlb_verify_batch(const struct dlb_consume *how, void *device_state, uint32_t buf,
                     const struct dlb_batch *batch, uint64_t *n_mismatches, struct dlb_err *err)
{
    uint64_t sum = 0, made = batch->made_hash;
    int rc = how->device->checksum(device_state, buf, &sum, err);

    if (rc == DLB_OK && how->augment && how->augment->kind != DLB_AUGMENT_NONE)
        rc = hash_made(how, device_state, buf, &made, err);
    *n_mismatches += rc == DLB_OK && (sum != batch->payload_hash || made != batch->made_hash);
    return rc;
}
