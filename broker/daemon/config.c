/* Flags and the decisions that need both flags and file. */
#include "broker/daemon/config.h"

#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"

#define CONFIG_FILE_MAX ((size_t)1 << 20) /* bytes */

const char bh_config_usage[] =
        "usage: bulkheadd [--config FILE] [--state-dir DIR] [--run-dir DIR] [--listen ADDR]...\n"
        "                 [--policy FILE] [--check]\n"
        "\n"
        "The Bulkhead isolation broker. Runs in the foreground and logs JSON lines to stderr.\n"
        "\n"
        "  --config FILE     JSON; flags beat it (docs/configuration.md)\n"
        "  --state-dir DIR   what must survive a restart [" BH_DEFAULT_STATE_DIR "]\n"
        "  --run-dir DIR     what need not [" BH_DEFAULT_RUN_DIR "]\n"
        "  --listen ADDR     unix:/path or IP:PORT; may be repeated [" BH_DEFAULT_LISTEN "]\n"
        "  --policy FILE     [the default policy that is compiled in]\n"
        "  --check           read config and policy, say what is wrong, exit 0 or 2\n"
        "  --help, --version\n"
        "\n"
        "SIGTERM stops it and leaves running executions to be taken up by the next start;\n"
        "SIGHUP reads config and policy again. Exit: 0, 1 failed, 2 usage or configuration.\n";

struct flags {
        const char *config, *state_dir, *run_dir, *policy;
        const char **listen;
        size_t listen_count;
        bool check, help, version;
};

void bh_config_free(struct bh_config *config)
{
        if (!config)
                return;
        for (size_t i = 0; i < config->listen_count; i++)
                bh_address_clear(&config->listen[i]);
        free(config->listen);
        free(config->from);
        free(config->file);
        free(config->state_dir);
        free(config->run_dir);
        free(config->policy);
        free(config->tls_certificate);
        free(config->tls_key);
        free(config->tls_client_ca);
        free(config);
}

static void flags_clear(struct flags *flags)
{
        free(flags->listen);
}

static int read_flags(int argc, char *const argv[], struct flags *flags, struct bh_error *error)
{
        static const struct option options[] = {
                {"config", required_argument, NULL, 'c'},
                {"state-dir", required_argument, NULL, 's'},
                {"run-dir", required_argument, NULL, 'r'},
                {"listen", required_argument, NULL, 'l'},
                {"policy", required_argument, NULL, 'p'},
                {"check", no_argument, NULL, 'k'},
                {"help", no_argument, NULL, 'h'},
                {"version", no_argument, NULL, 'v'},
                {NULL, 0, NULL, 0},
        };
        flags->listen = bh_alloc_array((size_t)argc + 1, sizeof(*flags->listen));
        optind = 0; /* also resets glibc's state, so that a second call starts anew */
        for (;;) {
                int option = getopt_long(argc, argv, ":", options, NULL);
                switch (option) {
                case -1:
                        if (optind < argc)
                                return bh_error_invalid(error, "", "unexpected argument \"%s\"",
                                                        argv[optind]);
                        return 0;
                case 'c':
                        flags->config = optarg;
                        break;
                case 's':
                        flags->state_dir = optarg;
                        break;
                case 'r':
                        flags->run_dir = optarg;
                        break;
                case 'l':
                        flags->listen[flags->listen_count++] = optarg;
                        break;
                case 'p':
                        flags->policy = optarg;
                        break;
                case 'k':
                        flags->check = true;
                        break;
                case 'h':
                        flags->help = true;
                        break;
                case 'v':
                        flags->version = true;
                        break;
                case ':':
                        return bh_error_invalid(error, "", "%s needs a value", argv[optind - 1]);
                default:
                        return bh_error_invalid(error, "", "unknown flag \"%s\"", argv[optind - 1]);
                }
        }
}

static int read_file(const char *path, struct bh_config *config, struct bh_error *error)
{
        _cleanup_free_ char *text = NULL;
        _cleanup_json_ json_t *json = NULL;
        size_t size = 0;
        if (bh_read_file(AT_FDCWD, path, CONFIG_FILE_MAX, &text, &size, error) < 0)
                return bh_error_prefix(error, "config");
        if (bh_json_parse(text, size, &json, error) < 0)
                return bh_error_prefix(error, "config %s: %s", path, error->subject);
        struct bh_json_at root = BH_JSON_ROOT(json);
        if (bh_config_decode(&root, config, error) < 0)
                return bh_error_prefix(error, "config %s: %s", path, error->subject);
        config->file = bh_strdup(path);
        return 0;
}

/* A path of the command line. */
static char *absolute(const struct bh_config *config, const char *path)
{
        if (path[0] == '/' || path[0] == 0)
                return bh_strdup(path);
        return bh_format("%s/%s", config->from, path);
}

static void replace(const struct bh_config *config, char **slot, const char *path)
{
        if (!path)
                return;
        free(*slot);
        *slot = absolute(config, path);
}

static int apply_listen(const struct flags *flags, struct bh_config *config, struct bh_error *error)
{
        const char *standard[] = {BH_DEFAULT_LISTEN};
        const char *const *texts = flags->listen_count ? flags->listen : standard;
        size_t count = flags->listen_count ? flags->listen_count : 1;
        if (flags->listen_count == 0 && config->listen_count > 0)
                return 0;
        for (size_t i = 0; i < config->listen_count; i++)
                bh_address_clear(&config->listen[i]);
        free(config->listen);
        config->listen_count = 0;
        config->listen = bh_alloc_array(count, sizeof(*config->listen));
        for (size_t i = 0; i < count; i++) {
                if (bh_address_parse(texts[i], &config->listen[i], error) < 0)
                        return bh_error_prefix(error, "--listen %s", texts[i]);
                config->listen_count++;
        }
        return 0;
}

static int refuse_address(const struct bh_config *config, size_t index, bool of_file,
                          struct bh_error *error)
{
        bh_error_invalid(error, "",
                         "%s is not a loopback address, which needs TLS in the config: tokens "
                         "would cross the network in clear text",
                         config->listen[index].text);
        return of_file ? bh_error_prefix(error, "config %s: /listen/%zu", config->file, index) : -1;
}

static int check_whole(const struct bh_config *config, bool listen_of_file, struct bh_error *error)
{
        bool of_file = listen_of_file && config->file;
        if (config->state_dir[0] == 0 || config->run_dir[0] == 0)
                return bh_error_invalid(error, "", "state and run directory need names");
        if (!config->tls_certificate)
                for (size_t i = 0; i < config->listen_count; i++)
                        if (!bh_address_is_loopback(&config->listen[i]))
                                return refuse_address(config, i, of_file, error);
        return 0;
}

int bh_config_read(int argc, char *const argv[], struct bh_config **ret,
                   enum bh_config_result *ret_result, struct bh_error *error)
{
        _cleanup_free_ char *from = getcwd(NULL, 0);
        if (!from)
                return bh_error_errno(error, errno, "find the working directory");
        return bh_config_read_from(from, argc, argv, ret, ret_result, error);
}

int bh_config_read_from(const char *from, int argc, char *const argv[], struct bh_config **ret,
                        enum bh_config_result *ret_result, struct bh_error *error)
{
        _cleanup_(bh_config_cleanup) struct bh_config *config = bh_alloc(sizeof(*config));
        _cleanup_(flags_clear) struct flags flags = {0};
        if (read_flags(argc, argv, &flags, error) < 0)
                return -1;
        if (flags.help || flags.version) {
                *ret_result = flags.help ? BH_CONFIG_HELP : BH_CONFIG_VERSION;
                return 0;
        }
        config->from = bh_strdup(from);
        config->state_dir = bh_strdup(BH_DEFAULT_STATE_DIR);
        config->run_dir = bh_strdup(BH_DEFAULT_RUN_DIR);
        config->concurrent = 1000;
        config->queued = 10000;
        config->spares = 8;
        config->retain_days = 7;
        config->retain_count = 50000;
        config->uid_base = (uid_t)BH_DEFAULT_UID_BASE;
        config->check = flags.check;
        _cleanup_free_ char *file = flags.config ? absolute(config, flags.config) : NULL;
        if (file && read_file(file, config, error) < 0)
                return -1;
        replace(config, &config->state_dir, flags.state_dir);
        replace(config, &config->run_dir, flags.run_dir);
        replace(config, &config->policy, flags.policy);
        if (apply_listen(&flags, config, error) < 0 ||
            check_whole(config, flags.listen_count == 0, error) < 0)
                return -1;
        *ret_result = BH_CONFIG_RUN;
        *ret = bh_steal_ptr(&config);
        return 0;
}
