/* Fuzzes an execution request. What is accepted stays inside the boundary's own tree and the
 * payload, and can be decided upon. */
#include "support.h"

#include "policy/mount.h"

#define PAYLOAD_SIZE 1000

static void check_request(const struct bh_request *request)
{
        struct bh_capabilities capabilities = {0};

        require(request->argc >= 1 && request->argv[0][0] && !request->argv[request->argc]);
        require(request->cwd[0] == '/' && !strstr(request->cwd, "//") &&
                !strstr(request->cwd, "/../") && !bh_path_is_below(request->cwd, "/proc"));
        for (size_t i = 0; i < request->file_count; i++) {
                const struct bh_file_entry *file = &request->files[i];

                require(bh_relative_path_valid(file->path) && file->mode <= 0777);
                require(file->offset + file->length <= PAYLOAD_SIZE);
                for (size_t k = 0; k < i; k++)
                        require(!bh_path_is_below(file->path, request->files[k].path) &&
                                !bh_path_is_below(request->files[k].path, file->path));
        }
        require(!request->has_stdin ||
                request->stdin_offset + request->stdin_length <= PAYLOAD_SIZE);
        check_decision(&capabilities, request);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
        _cleanup_json_ json_t *document = parse(data, size);
        _cleanup_(bh_request_cleanup) struct bh_request *request = NULL;
        struct bh_error error = {0};

        if (!document)
                return 0;
        if (bh_request_decode(&BH_JSON_ROOT(document), &builtin_policy()->limits, PAYLOAD_SIZE,
                              &request, &error) < 0)
                check_refusal(&error);
        else
                check_request(request);
        return 0;
}
