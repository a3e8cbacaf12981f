/* The broker's configuration: flags over a strict JSON file over built-in values. Read once at
 * start and again on SIGHUP. docs/configuration.md lists every member. */
#ifndef BULKHEAD_BROKER_DAEMON_CONFIG_H
#define BULKHEAD_BROKER_DAEMON_CONFIG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>
#include <sys/types.h>

#include "base/cleanup.h"
#include "base/json.h"

#define BH_DEFAULT_STATE_DIR "/var/lib/bulkhead"
#define BH_DEFAULT_RUN_DIR   "/run/bulkhead"
#define BH_DEFAULT_LISTEN    "unix:/run/bulkhead/api.sock"

/* First host uid of the broker's range; far from what distributions, systemd and container
 * tools hand out (systemd's UIDS-GIDS table ends container ranges at 1879048191). */
#define BH_DEFAULT_UID_BASE  ((int64_t)1900000000)

struct bh_address {
        bool is_unix;
        char *text; /* as configured; with the real port once bound */
        struct sockaddr_storage socket;
        socklen_t size;
};

struct bh_config {
        char *from; /* the directory that relative paths of flags begin at */
        char *file; /* NULL: none */
        char *state_dir, *run_dir;
        struct bh_address *listen;
        size_t listen_count;
        char *policy; /* NULL: the compiled-in default */
        char *tls_certificate, *tls_key, *tls_client_ca;
        int64_t concurrent; /* executions under way at a time */
        int64_t queued;     /* waiting for one of these places */
        int64_t spares;     /* shims kept ready */
        int64_t retain_days, retain_count;
        uid_t uid_base;
        bool check; /* --check */
};

enum bh_config_result { BH_CONFIG_RUN, BH_CONFIG_HELP, BH_CONFIG_VERSION };

/* Reads flags and the file that they name. An error's message is the one line to print. */
int bh_config_read(int argc, char *const argv[], struct bh_config **ret,
                   enum bh_config_result *ret_result, struct bh_error *error);

/* The same, after the working directory was left: from is an earlier result's. */
int bh_config_read_from(const char *from, int argc, char *const argv[], struct bh_config **ret,
                        enum bh_config_result *ret_result, struct bh_error *error);

/* The document of a config file over *config. Flags are applied after it. */
int bh_config_decode(const struct bh_json_at *at, struct bh_config *config, struct bh_error *error);

/* "unix:/path" or "IP:PORT" ("[v6]:PORT"). */
int bh_address_parse(const char *text, struct bh_address *ret, struct bh_error *error);
bool bh_address_is_loopback(const struct bh_address *address);
void bh_address_clear(struct bh_address *address);

void bh_config_free(struct bh_config *config);
BH_DEFINE_CLEANUP(struct bh_config *, bh_config, bh_config_free);

extern const char bh_config_usage[];

#endif
