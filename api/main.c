/* bulkhead-api: HTTP in front of bulkheadd, which starts it with the channel as descriptor 3 and
 * --uid N, the user to become. Nobody runs it by hand. */
#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/isolate.h"
#include "api/server.h"
#include "base/log.h"

#ifdef BULKHEAD_SANITIZED
/* The leak check at exit traces this process from another, which seccomp does not let be made. */
const char *__asan_default_options(void);
const char *__asan_default_options(void)
{
        return "detect_leaks=0";
}
#endif

/* "--uid N" or "--uid=N". */
static int parse_uid(int argc, char **argv, uid_t *ret)
{
        const char *text = NULL;
        char *end;
        unsigned long value;

        if (argc == 2 && strncmp(argv[1], "--uid=", 6) == 0)
                text = argv[1] + 6;
        else if (argc == 3 && strcmp(argv[1], "--uid") == 0)
                text = argv[2];
        if (!text || text[strspn(text, "0123456789")] != '\0')
                return -1;
        errno = 0;
        value = strtoul(text, &end, 10);
        if (errno != 0 || end == text || value == 0 || value >= UINT32_MAX)
                return -1;
        *ret = (uid_t)value;
        return 0;
}

static int harden(void *context, struct bh_error *error)
{
        const uid_t *uid = context;

        return bh_isolate_final(*uid, error);
}

int main(int argc, char **argv)
{
        struct bh_server *server = NULL;
        struct bh_error error;
        uid_t uid;
        int result;

        bh_log_open("bulkhead-api", BH_LOG_INFO, 2);
        if (parse_uid(argc, argv, &uid) < 0) {
                (void)fprintf(stderr, "bulkhead-api is started by bulkheadd\n");
                return 2;
        }
        if (bh_isolate_early(&error) < 0 ||
            bh_server_new_take(BH_API_CHANNEL_FD, BH_CLIENT_LIMITS, &server, &error) < 0) {
                bh_log_error("start", "bulkhead-api", &error);
                return 1;
        }
        server->harden = harden;
        server->harden_context = &uid;
        result = bh_server_run(server);
        if (result < 0)
                bh_log_error("stop", "bulkhead-api", &server->failed);
        bh_server_free(server);
        return result < 0 ? 1 : 0;
}
