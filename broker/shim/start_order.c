/* Decoding the `start` frame; see start_order.h and broker/shim_protocol.h. */
#include "broker/shim/start_order.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/alloc.h"
#include "policy/request.h"

#define CGROUP_NAME_MAX 64 /* bytes */

static int take_fd(struct bh_frame *frame, size_t index, int *ret, const struct bh_json_at *at,
                   struct bh_error *error)
{
        if (index >= frame->fd_count)
                return bh_json_fail(at, error, "a descriptor is missing");
        *ret = bh_steal_fd(&frame->fds[index]);
        return 0;
}

static int take_descriptors(const struct bh_json_at *root, struct bh_frame *frame,
                            struct bh_start_order *order, struct bh_error *error)
{
        struct bh_json_at at;
        bool payload, workspace;
        size_t next = 0;

        if (bh_json_require(root, "payload", &at, error) < 0 ||
            bh_json_boolean(&at, &payload, error) < 0 ||
            bh_json_require(root, "workspace_image", &at, error) < 0 ||
            bh_json_boolean(&at, &workspace, error) < 0)
                return -1;
        if (frame->fd_count != (size_t)payload + workspace + order->plan->mounts.count)
                return bh_json_fail(root, error, "%zu descriptors came with it", frame->fd_count);
        if ((payload && take_fd(frame, next++, &order->payload_fd, root, error) < 0) ||
            (workspace && take_fd(frame, next++, &order->workspace_fd, root, error) < 0))
                return -1;
        for (; order->mount_count < order->plan->mounts.count; order->mount_count++) {
                if (take_fd(frame, next++, &order->mount_fds[order->mount_count], root, error) < 0)
                        return -1;
        }
        return 0;
}

/* {"offset", "length"} (more members are the caller's) inside the payload. */
static int decode_span(const struct bh_json_at *at, uint64_t payload_size, uint64_t *ret_offset,
                       uint64_t *ret_length, struct bh_error *error)
{
        struct bh_json_at offset_at, length_at;
        int64_t offset, length;

        if (bh_json_require(at, "offset", &offset_at, error) < 0 ||
            bh_json_integer(&offset_at, 0, (int64_t)payload_size, &offset, error) < 0 ||
            bh_json_require(at, "length", &length_at, error) < 0 ||
            bh_json_integer(&length_at, 0, (int64_t)payload_size - offset, &length, error) < 0)
                return -1;
        *ret_offset = (uint64_t)offset;
        *ret_length = (uint64_t)length;
        return 0;
}

static int decode_file(const struct bh_json_at *at, uint64_t payload_size,
                       struct bh_file_entry *ret, struct bh_error *error)
{
        static const char *const members[] = {"path", "mode", "offset", "length", NULL};
        struct bh_json_at member;
        const char *path;
        int64_t mode;

        if (bh_json_object(at, members, error) < 0 ||
            bh_json_require(at, "path", &member, error) < 0 ||
            bh_json_string(&member, 1, PATH_MAX - 1, &path, error) < 0)
                return -1;
        if (!bh_relative_path_valid(path))
                return bh_json_fail(&member, error, "is no path beneath a workspace");
        if (bh_json_require(at, "mode", &member, error) < 0 ||
            bh_json_integer(&member, 0, 0777, &mode, error) < 0 ||
            decode_span(at, payload_size, &ret->offset, &ret->length, error) < 0)
                return -1;
        ret->path = bh_strdup(path);
        ret->mode = (mode_t)mode;
        return 0;
}

static int decode_files(const struct bh_json_at *root, uint64_t payload_size,
                        struct bh_start_order *order, struct bh_error *error)
{
        struct bh_json_at at;
        size_t count;

        if (bh_json_require(root, "files", &at, error) < 0 ||
            bh_json_array(&at, 0, BH_FILES_MAX, &count, error) < 0)
                return -1;
        if (count > 0 && order->payload_fd < 0)
                return bh_json_fail(&at, error, "needs a payload");
        order->files = bh_alloc_array(count, sizeof(*order->files));
        for (size_t i = 0; i < count; i++) {
                struct bh_json_at element = bh_json_element(&at, i);

                order->file_count = i + 1;
                if (decode_file(&element, payload_size, &order->files[i], error) < 0)
                        return -1;
        }
        return 0;
}

static int decode_stdin(const struct bh_json_at *root, uint64_t payload_size,
                        struct bh_start_order *order, struct bh_error *error)
{
        static const char *const members[] = {"offset", "length", NULL};
        struct bh_json_at at;

        if (bh_json_require(root, "stdin", &at, error) < 0)
                return -1;
        if (json_is_null(at.value))
                return 0;
        if (order->payload_fd < 0)
                return bh_json_fail(&at, error, "needs a payload");
        order->has_stdin = true;
        if (bh_json_object(&at, members, error) < 0)
                return -1;
        return decode_span(&at, payload_size, &order->stdin_offset, &order->stdin_length, error);
}

static int decode_payload(const struct bh_json_at *root, struct bh_start_order *order,
                          struct bh_error *error)
{
        struct stat payload = {.st_size = 0};

        if (order->payload_fd >= 0 && (bh_memfd_check_sealed(order->payload_fd, error) < 0 ||
                                       fstat(order->payload_fd, &payload) < 0))
                return bh_json_fail(root, error, "the payload is no sealed memory file");
        if (decode_files(root, (uint64_t)payload.st_size, order, error) < 0)
                return -1;
        return decode_stdin(root, (uint64_t)payload.st_size, order, error);
}

static int decode_directory(const struct bh_json_at *host, const char *key, char **ret,
                            struct bh_error *error)
{
        struct bh_json_at at;
        const char *text;

        if (bh_json_require(host, key, &at, error) < 0 ||
            bh_json_string(&at, 1, PATH_MAX - 1, &text, error) < 0)
                return -1;
        if (text[0] != '/')
                return bh_json_fail(&at, error, "must be an absolute path");
        *ret = bh_strdup(text);
        return 0;
}

static int decode_host(const struct bh_json_at *root, struct bh_driver_host *ret,
                       struct bh_error *error)
{
        static const char *const members[] = {"state_dir", "run_dir", "cgroup_parent", "uid_base",
                                              NULL};
        struct bh_json_at host, at;
        const char *parent;
        int64_t base;

        if (bh_json_require(root, "host", &host, error) < 0 ||
            bh_json_object(&host, members, error) < 0 ||
            decode_directory(&host, "state_dir", &ret->state_dir, error) < 0 ||
            decode_directory(&host, "run_dir", &ret->run_dir, error) < 0 ||
            bh_json_require(&host, "cgroup_parent", &at, error) < 0 ||
            bh_json_string(&at, 1, CGROUP_NAME_MAX, &parent, error) < 0)
                return -1;
        if (strchr(parent, '/') || parent[0] == '.')
                return bh_json_fail(&at, error, "must be one name");
        ret->cgroup_parent = bh_strdup(parent);
        if (bh_json_require(&host, "uid_base", &at, error) < 0 ||
            bh_json_integer(&at, 1, UINT32_MAX - 1, &base, error) < 0)
                return -1;
        ret->uid_base = (uid_t)base;
        return 0;
}

/* Never root, never another's: both lie in the broker's range. */
static int decode_uid(const struct bh_json_at *instance, const char *key, uid_t base, uid_t *ret,
                      struct bh_error *error)
{
        struct bh_json_at at;
        int64_t uid;

        if (bh_json_require(instance, key, &at, error) < 0 ||
            bh_json_integer(&at, (int64_t)base, UINT32_MAX - 1, &uid, error) < 0)
                return -1;
        *ret = (uid_t)uid;
        return 0;
}

static int decode_instance(const struct bh_json_at *root, struct bh_start_order *order,
                           struct bh_error *error)
{
        static const char *const members[] = {"workload_uid", "init_uid", NULL};
        struct bh_json_at instance, at;
        const char *id;

        if (bh_json_require(root, "execution", &at, error) < 0 ||
            bh_json_string(&at, 1, BH_ID_SIZE - 1, &id, error) < 0)
                return -1;
        if (!bh_id_valid("ex_", id))
                return bh_json_fail(&at, error, "is no execution's id");
        memcpy(order->instance.id, id, strlen(id) + 1);
        if (bh_json_require(root, "instance", &instance, error) < 0 ||
            bh_json_object(&instance, members, error) < 0 ||
            decode_uid(&instance, "workload_uid", order->host.uid_base,
                       &order->instance.workload_uid, error) < 0 ||
            decode_uid(&instance, "init_uid", order->host.uid_base, &order->instance.init_uid,
                       error) < 0)
                return -1;
        if (order->instance.workload_uid == order->instance.init_uid)
                return bh_json_fail(&instance, error, "init and workload share a uid");
        return 0;
}

static int decode(const struct bh_json_at *root, struct bh_frame *frame,
                  struct bh_start_order *order, struct bh_error *error)
{
        static const char *const members[] = {
                "type",    "execution",       "plan", "host", "instance", "files", "stdin",
                "payload", "workspace_image", NULL};
        static const char *const types[] = {"start", NULL};
        struct bh_json_at at;
        int type;

        if (bh_json_object(root, members, error) < 0 ||
            bh_json_require(root, "type", &at, error) < 0 ||
            bh_json_choice(&at, types, &type, error) < 0 ||
            bh_json_require(root, "plan", &at, error) < 0 ||
            bh_plan_decode(&at, &order->plan, error) < 0 ||
            take_descriptors(root, frame, order, error) < 0 ||
            decode_host(root, &order->host, error) < 0 || decode_instance(root, order, error) < 0 ||
            decode_payload(root, order, error) < 0)
                return -1;
        if ((order->plan->workspace_kind == BH_WORKSPACE_NAMED) != (order->workspace_fd >= 0))
                return bh_json_fail(root, error, "workspace_image does not fit the plan");
        return 0;
}

int bh_start_order_decode(struct bh_frame *frame, struct bh_start_order **ret,
                          struct bh_error *error)
{
        _cleanup_(bh_start_order_cleanup) struct bh_start_order *order = bh_alloc(sizeof(*order));
        struct bh_json_at root = BH_JSON_ROOT(frame->message);
        struct bh_error problem = {.code = BH_ERROR_NONE};

        order->payload_fd = order->workspace_fd = -1;
        order->instance.stdin_fd = order->instance.stdout_fd = order->instance.stderr_fd = -1;
        order->instance.gateway_fd = -1;
        if (decode(&root, frame, order, &problem) < 0)
                return bh_error_set(error, BH_ERROR_PROTOCOL, "start order: %s: %s",
                                    problem.subject, problem.message);
        order->instance.payload_fd = order->payload_fd;
        order->instance.workspace_fd = order->workspace_fd;
        order->instance.files = order->files;
        order->instance.file_count = order->file_count;
        order->instance.mount_fds = order->mount_fds;
        *ret = bh_steal_ptr(&order);
        return 0;
}

void bh_start_order_drop_mounts(struct bh_start_order *order)
{
        while (order->mount_count > 0)
                bh_close(order->mount_fds[--order->mount_count]);
}

void bh_start_order_free(struct bh_start_order *order)
{
        if (!order)
                return;
        bh_plan_free(order->plan);
        free(order->host.state_dir);
        free(order->host.run_dir);
        free(order->host.cgroup_parent);
        for (size_t i = 0; i < order->file_count; i++)
                free(order->files[i].path);
        free(order->files);
        bh_close(order->payload_fd);
        bh_close(order->workspace_fd);
        bh_start_order_drop_mounts(order);
        free(order);
}
