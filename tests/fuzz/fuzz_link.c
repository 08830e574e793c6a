/* What an interpreter answers: a packet, which the user's code may write into its channel. What is
 * no answer is an error, and what is one has the numbers or the document of its kind. */
#include "core/base/told.h"
#include "loaders/torch/link.h"

#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n_bytes);

static void check(int rc, const struct dlb_link *link, const struct dlb_link_answer *answer,
                  const struct dlb_err *err)
{
    if (rc != DLB_OK && (err->status == DLB_OK || (int)err->status != rc || !dlb_told_err(err)))
        DLB_BUG("an error that is none");
    if (rc == DLB_OK && (answer->kind > DLB_LINK_END || answer->kind == DLB_LINK_FAILED))
        DLB_BUG("an answer of no kind");
    if (rc == DLB_OK && answer->kind == DLB_LINK_READY && !json_is_object(link->about))
        DLB_BUG("an answer without what it says");
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n_bytes)
{
    struct dlb_link link = {.interpreter = "python3", .keeper = {.told_fd = -1}};
    struct dlb_link_answer answer = {0};
    struct dlb_err err = {.status = DLB_OK};
    bool got;
    int ends[2];
    if (n_bytes == 0 || socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) != 0)
        return 0;
    link.fd = ends[0];
    if (send(ends[1], data, n_bytes, MSG_NOSIGNAL | MSG_DONTWAIT) == (ssize_t)n_bytes) {
        int rc = dlb_link_wait(&link, 0, &answer, &got, &err);
        if (!got)
            DLB_BUG("a packet that did not come");
        check(rc, &link, &answer, &err);
    }
    json_decref(link.about);
    (void)close(ends[0]);
    (void)close(ends[1]);
    return 0;
}
