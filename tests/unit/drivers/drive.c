/* Runs one command in a boundary (lab.h says whose), without a broker, and tells how it went and
 * how long each step took; with --repeat n, medians. For trying a change of the driver by hand:
 *     drive [--repeat n] [--observe] command [argument…] */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "lab.h"

#define STEPS 5

static const char *const step_names[STEPS] = {"prepare", "start", "run", "release", "destroy"};

static int compare(const void *a, const void *b)
{
        int64_t left = *(const int64_t *)a, right = *(const int64_t *)b;

        return left < right ? -1 : left > right;
}

static int time_once(const struct bh_lab *lab, const struct bh_plan *plan, int64_t *ret)
{
        struct bh_lab_instance instance;
        struct bh_boundary *boundary = NULL;
        struct bh_error error;
        struct bh_end end;
        int64_t at[STEPS + 1];

        bh_lab_instance_open(lab, NULL, &instance);
        at[0] = bh_monotonic_us();
        if (lab->driver->prepare(&lab->host, plan, &instance.instance, &boundary, &error) < 0) {
                fprintf(stderr, "prepare: [%s] %s\n", error.subject, error.message);
                lab->driver->destroy(&lab->host, instance.instance.id, &error);
                bh_lab_instance_close(&instance);
                return -1;
        }
        at[1] = bh_monotonic_us();
        lab->driver->start(boundary, &error);
        at[2] = bh_monotonic_us();
        bh_lab_wait(boundary, &end, &error);
        at[3] = bh_monotonic_us();
        lab->driver->release(boundary);
        at[4] = bh_monotonic_us();
        lab->driver->destroy(&lab->host, instance.instance.id, &error);
        at[5] = bh_monotonic_us();
        bh_lab_instance_close(&instance);
        for (int i = 0; i < STEPS; i++)
                ret[i] = at[i + 1] - at[i];
        return 0;
}

static int measure(const struct bh_lab *lab, const struct bh_plan *plan, size_t repeat)
{
        _cleanup_free_ int64_t *times = bh_alloc_array(repeat * STEPS, sizeof(*times));
        _cleanup_free_ int64_t *column = bh_alloc_array(repeat, sizeof(*column));

        for (size_t i = 0; i < repeat; i++) {
                if (time_once(lab, plan, times + i * STEPS) < 0)
                        return EXIT_FAILURE;
        }
        for (size_t step = 0; step < STEPS; step++) {
                for (size_t i = 0; i < repeat; i++)
                        column[i] = times[i * STEPS + step];
                qsort(column, repeat, sizeof(*column), compare);
                printf("%-8s %6lld us\n", step_names[step], (long long)column[repeat / 2]);
        }
        return EXIT_SUCCESS;
}

static int show(const struct bh_lab *lab, const struct bh_plan *plan, bool observe)
{
        struct bh_lab_outcome outcome;

        bh_lab_run(lab, plan, NULL, &outcome);
        if (outcome.prepared < 0) {
                fprintf(stderr, "boundary_failed: [%s] %s\n", outcome.error.subject,
                        outcome.error.message);
                return EXIT_FAILURE;
        }
        fputs(outcome.output, stdout);
        if (observe)
                json_dumpf(outcome.observed, stdout, JSON_INDENT(2));
        json_decref(outcome.observed);
        printf("-- %s %d%s%s, %lld us of CPU, %lld bytes at most\n",
               outcome.end.by_signal ? "signal" : "exit", outcome.end.status,
               outcome.end.oom ? " oom" : "", outcome.end.lost ? " lost" : "",
               (long long)outcome.usage.cpu_us, (long long)outcome.usage.memory_peak_bytes);
        return EXIT_SUCCESS;
}

int main(int argc, char **argv)
{
        size_t repeat = 0;
        bool observe = false;
        int first = 1, result;
        struct bh_lab lab;

        if (argc > first + 1 && strcmp(argv[first], "--repeat") == 0) {
                repeat = (size_t)strtoul(argv[first + 1], NULL, 10);
                first += 2;
        }
        if (argc > first && strcmp(argv[first], "--observe") == 0) {
                observe = true;
                first++;
        }
        if (first >= argc) {
                fprintf(stderr, "usage: drive [--repeat n] [--observe] command [argument…]\n");
                return 2;
        }
        bh_lab_open(&lab);
        {
                _cleanup_(bh_plan_cleanup) struct bh_plan *plan =
                        bh_lab_plan((const char *const *)argv + first);

                result = repeat > 0 ? measure(&lab, plan, repeat) : show(&lab, plan, observe);
        }
        bh_lab_close(&lab);
        return result;
}
