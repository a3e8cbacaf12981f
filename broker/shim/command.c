/* Decoding the broker's frames; see command.h. */
#include "broker/shim/command.h"

#include <string.h>
#include <sys/stat.h>

#include "base/fd.h"

#define GO_FDS 3

static int decode_watch(const struct bh_json_at *root, struct bh_command *ret,
                        struct bh_error *error)
{
        static const char *const members[] = {"type", "on", NULL};
        struct bh_json_at at;

        if (bh_json_object(root, members, error) < 0 || bh_json_require(root, "on", &at, error) < 0)
                return -1;
        return bh_json_boolean(&at, &ret->on, error);
}

static int decode_kill(const struct bh_json_at *root, struct bh_command *ret,
                       struct bh_error *error)
{
        static const char *const members[] = {"type", "outcome", "detail", NULL};
        static const char *const outcomes[] = {"killed", "retiered", NULL};
        struct bh_json_at at;
        const char *detail;
        int outcome;

        if (bh_json_object(root, members, error) < 0 ||
            bh_json_require(root, "outcome", &at, error) < 0 ||
            bh_json_choice(&at, outcomes, &outcome, error) < 0 ||
            bh_json_require(root, "detail", &at, error) < 0 ||
            bh_json_string(&at, 0, sizeof(ret->detail) - 1, &detail, error) < 0)
                return -1;
        ret->outcome = outcome == 0 ? BH_OUTCOME_KILLED : BH_OUTCOME_RETIERED;
        memcpy(ret->detail, detail, strlen(detail) + 1);
        return 0;
}

static int decode_plain(const struct bh_json_at *root, struct bh_error *error)
{
        static const char *const members[] = {"type", NULL};

        return bh_json_object(root, members, error);
}

static int decode(const struct bh_json_at *root, struct bh_command *ret, struct bh_error *error)
{
        static const char *const types[] = {"watch", "kill", "adopt", "taken", "go", NULL};
        struct bh_json_at at;
        int type;

        if (bh_json_require(root, "type", &at, error) < 0 ||
            bh_json_choice(&at, types, &type, error) < 0)
                return -1;
        ret->type = (enum bh_command_type)type;
        if (ret->type == BH_COMMAND_WATCH)
                return decode_watch(root, ret, error);
        if (ret->type == BH_COMMAND_KILL)
                return decode_kill(root, ret, error);
        return decode_plain(root, error);
}

static bool is_of_type(int fd, mode_t type)
{
        struct stat status;

        return fstat(fd, &status) == 0 && (status.st_mode & S_IFMT) == type;
}

static int take_descriptors(struct bh_frame *frame, struct bh_command *command,
                            struct bh_error *error)
{
        if (frame->fd_count != (command->type == BH_COMMAND_GO ? GO_FDS : 0))
                return bh_error_set(error, BH_ERROR_PROTOCOL,
                                    "a frame brought other descriptors than it has to");
        if (command->type != BH_COMMAND_GO)
                return 0;
        if (!is_of_type(frame->fds[0], S_IFDIR) || !is_of_type(frame->fds[1], S_IFREG) ||
            !is_of_type(frame->fds[2], S_IFREG))
                return bh_error_set(error, BH_ERROR_PROTOCOL,
                                    "go did not bring a directory and two files");
        command->directory_fd = bh_steal_fd(&frame->fds[0]);
        command->out_fd = bh_steal_fd(&frame->fds[1]);
        command->err_fd = bh_steal_fd(&frame->fds[2]);
        return 0;
}

int bh_command_decode(struct bh_frame *frame, struct bh_command *ret, struct bh_error *error)
{
        struct bh_json_at root = BH_JSON_ROOT(frame->message);
        struct bh_error problem = {.code = BH_ERROR_NONE};
        struct bh_command command = {
                .type = BH_COMMAND_WATCH, .directory_fd = -1, .out_fd = -1, .err_fd = -1};

        if (decode(&root, &command, &problem) < 0)
                return bh_error_set(error, BH_ERROR_PROTOCOL, "frame: %s: %s", problem.subject,
                                    problem.message);
        if (take_descriptors(frame, &command, error) < 0)
                return -1;
        *ret = command;
        return 0;
}
