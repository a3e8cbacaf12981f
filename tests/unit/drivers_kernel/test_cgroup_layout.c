/* Which layout a mountinfo means; needs no privilege. */
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/alloc.h"
#include "base/cleanup.h"
#include "drivers/kernel/cgroup_layout.h"

#define V1(id, point, options) \
        id " 31 0:" id " / " point " rw,relatime shared:9 - cgroup cgroup rw," options "\n"
#define V1_ALL                                    \
        V1("32", "/c/cpu,cpuacct", "cpu,cpuacct") \
        V1("35", "/c/mem\\040ory", "memory")      \
        V1("37", "/c/freezer", "freezer")         \
        V1("39", "/c/pids", "pids")               \
        V1("40", "/c/systemd", "xattr,name=systemd")

/* A stand-in for a v2 tree, of which only cgroup.controllers is looked at. */
static char tree[] = "/tmp/bulkhead-layout-XXXXXX";

static int make_tree(void **state)
{
        (void)state;
        return mkdtemp(tree) ? 0 : -1;
}

static int remove_tree(void **state)
{
        _cleanup_free_ char *path = bh_format("%s/cgroup.controllers", tree);

        (void)state;
        unlink(path);
        return rmdir(tree);
}

static void give_controllers(const char *text)
{
        _cleanup_free_ char *path = bh_format("%s/cgroup.controllers", tree);
        _cleanup_close_ int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

        assert_true(fd >= 0);
        assert_int_equal(bh_write_full(fd, text, strlen(text)), 0);
}

static const char *mount_of(const struct bh_cgroup_topology *topology, enum bh_cgroup_role role)
{
        return topology->hierarchies[topology->role[role]].mount;
}

static void test_v1(void **state)
{
        _cleanup_(bh_cgroup_topology_clear) struct bh_cgroup_topology topology = {0};
        struct bh_error error = {0};

        (void)state;
        assert_int_equal(bh_cgroup_topology_decide(V1_ALL, &topology, &error), 0);
        assert_int_equal(topology.layout, BH_CGROUP_V1);
        assert_int_equal(topology.count, 4);
        assert_string_equal(mount_of(&topology, BH_CGROUP_MEMORY), "/c/mem ory");
        assert_string_equal(mount_of(&topology, BH_CGROUP_CPU), "/c/cpu,cpuacct");
        assert_string_equal(mount_of(&topology, BH_CGROUP_SHARE), "/c/cpu,cpuacct");
        assert_string_equal(mount_of(&topology, BH_CGROUP_KILL), "/c/freezer");
}

static void test_hybrid(void **state)
{
        _cleanup_(bh_cgroup_topology_clear) struct bh_cgroup_topology topology = {0};
        _cleanup_free_ char *mountinfo =
                bh_format("%s41 31 0:38 / %s rw - cgroup2 cgroup2 rw\n", V1_ALL, tree);
        struct bh_error error = {0};

        (void)state;
        give_controllers("hugetlb\n");
        assert_int_equal(bh_cgroup_topology_decide(mountinfo, &topology, &error), 0);
        assert_int_equal(topology.layout, BH_CGROUP_HYBRID);
        assert_int_equal(topology.count, 4);
        assert_string_equal(mount_of(&topology, BH_CGROUP_KILL), tree);
        assert_string_equal(mount_of(&topology, BH_CGROUP_CPU), tree);
        assert_string_equal(mount_of(&topology, BH_CGROUP_SHARE), "/c/cpu,cpuacct");
        assert_true(topology.hierarchies[topology.role[BH_CGROUP_KILL]].v2);
        assert_string_equal(mount_of(&topology, BH_CGROUP_PIDS), "/c/pids");
        assert_false(topology.hierarchies[topology.role[BH_CGROUP_PIDS]].v2);
}

/* CONFIG_FAIR_GROUP_SCHED is off: nothing shares, and all else works. */
static void test_hybrid_without_shares(void **state)
{
        _cleanup_(bh_cgroup_topology_clear) struct bh_cgroup_topology topology = {0};
        _cleanup_free_ char *mountinfo = bh_format(
                "%s41 31 0:38 / %s rw - cgroup2 cgroup2 rw\n",
                V1("35", "/m", "memory") V1("39", "/p", "pids") V1("32", "/a", "cpuacct"), tree);
        struct bh_error error = {0};

        (void)state;
        give_controllers("hugetlb\n");
        assert_int_equal(bh_cgroup_topology_decide(mountinfo, &topology, &error), 0);
        assert_int_equal(topology.count, 3);
        assert_string_equal(mount_of(&topology, BH_CGROUP_SHARE), tree);
}

static void test_v2(void **state)
{
        _cleanup_(bh_cgroup_topology_clear) struct bh_cgroup_topology topology = {0};
        _cleanup_free_ char *mountinfo = bh_format(
                "31 23 0:28 / %s rw,nosuid shared:4 master:2 - cgroup2 cgroup2 rw\n", tree);
        struct bh_error error = {0};

        (void)state;
        give_controllers("cpuset cpu io memory hugetlb pids rdma\n");
        assert_int_equal(bh_cgroup_topology_decide(mountinfo, &topology, &error), 0);
        assert_int_equal(topology.layout, BH_CGROUP_V2);
        assert_int_equal(topology.count, 1);
        for (int role = 0; role < BH_CGROUP_ROLE_COUNT; role++)
                assert_string_equal(mount_of(&topology, (enum bh_cgroup_role)role), tree);
}

/* "cpuset" is not "cpu": a name is a whole word. */
static void test_v2_without_cpu(void **state)
{
        struct bh_cgroup_topology topology = {0};
        _cleanup_free_ char *mountinfo =
                bh_format("31 23 0:28 / %s rw - cgroup2 cgroup2 rw\n", tree);
        struct bh_error error = {0};

        (void)state;
        give_controllers("cpuset memory pids\n");
        assert_int_equal(bh_cgroup_topology_decide(mountinfo, &topology, &error), -1);
        assert_int_equal(error.code, BH_ERROR_CONTROL);
        assert_string_equal(error.subject, "cgroup.memory");
        assert_int_equal(topology.count, 0);
}

static void test_missing(void **state)
{
        static const struct {
                const char *mountinfo;
                const char *control;
        } cases[] = {
                {"", "cgroup.memory"},
                {"27 1 254:0 / / rw,relatime - ext4 /dev/vda rw\n", "cgroup.memory"},
                {V1("35", "/m", "memory"), "cgroup.pids"},
                {V1("35", "/m", "memory") V1("39", "/p", "pids"), "cgroup.cpu"},
                {V1("35", "/m", "memory") V1("39", "/p", "pids") V1("32", "/a", "cpuacct"),
                 "cgroup.kill"},
                /* A part of a hierarchy, as a container sees it, is not its root. */
                {"35 31 0:32 /docker/1 /m rw - cgroup cgroup rw,memory\n", "cgroup.memory"},
                {"35 31 0:32 / /m rw - cgroup\n", "cgroup.memory"},
                {"- cgroup cgroup rw,memory\n", "cgroup.memory"},
        };

        (void)state;
        for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
                struct bh_cgroup_topology topology = {0};
                struct bh_error error = {0};

                assert_int_equal(bh_cgroup_topology_decide(cases[i].mountinfo, &topology, &error),
                                 -1);
                assert_string_equal(error.subject, cases[i].control);
        }
}

/* One directory serves all its controllers. */
static void test_co_mounted(void **state)
{
        static const char mountinfo[] =
                V1("32", "/all", "cpu,cpuacct,memory,pids") V1("37", "/c/freezer", "freezer");
        _cleanup_(bh_cgroup_topology_clear) struct bh_cgroup_topology topology = {0};
        struct bh_error error = {0};

        (void)state;
        assert_int_equal(bh_cgroup_topology_decide(mountinfo, &topology, &error), 0);
        assert_int_equal(topology.count, 2);
        assert_string_equal(mount_of(&topology, BH_CGROUP_MEMORY), "/all");
        assert_string_equal(mount_of(&topology, BH_CGROUP_CPU), "/all");
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_v1),
                cmocka_unit_test(test_hybrid),
                cmocka_unit_test(test_hybrid_without_shares),
                cmocka_unit_test(test_v2),
                cmocka_unit_test(test_v2_without_cpu),
                cmocka_unit_test(test_missing),
                cmocka_unit_test(test_co_mounted),
        };

        return cmocka_run_group_tests(tests, make_tree, remove_tree);
}
