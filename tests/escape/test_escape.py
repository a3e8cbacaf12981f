"""What a workload must not be able to do, tried from inside a running boundary.

The inside part is `escape-attempts` (attempts_*.c, limits.c). It is brought along as one of the
execution's files, as an attacker would, tries everything, and prints a line an attempt; each
becomes a test here. That each attempt could succeed is shown by running them without any
boundary."""
import base64
import json
import os
import pathlib
import socket
import subprocess
import sys
import tempfile

import pytest
from broker import BIN, wait_until

from canaries import Canaries

HERE = pathlib.Path(__file__).resolve().parent
PROGRAM = BIN / "escape-attempts"
MIB = 1 << 20
CAP_SYS_RESOURCE = 24

# What the kernel says where the thing itself is not built in.
KERNEL_LACKS = {"Function not implemented", "No such file or directory",
                "Address family not supported by protocol", "Protocol not supported"}
# Attempts that even root without a boundary may be refused, and by what.
HOST_REFUSES = {
    "raise-limit": lambda: not has_capability(CAP_SYS_RESOURCE),
    "spare-from-oom": lambda: not has_capability(CAP_SYS_RESOURCE),
    "device-disk": lambda: True,  # a device cgroup around the tests themselves
}
# A userkernel grants these of what is its own: devices, scheduler, command line, the environment that
# the workload was given. The host's are not there to be reached.
OWN_KERNELS = {"device-nodes", "init-environment", "init-maps", "init-auxv", "init-descriptors",
               "lower-nice", "spare-from-oom", "read-command-line"}
WITHOUT_BOUNDARY_AT_LEAST = 150


def has_capability(number):
    status = pathlib.Path("/proc/self/status").read_text()
    effective = next(line for line in status.splitlines() if line.startswith("CapEff:"))
    return bool(int(effective.split()[1], 16) >> number & 1)


def attempt_names():
    listed = subprocess.run([PROGRAM, "--list"], capture_output=True, text=True, check=True)
    return [line.split()[0] for line in listed.stdout.splitlines()]


def program_file():
    return {"path": "escape-attempts", "mode": "0755", "encoding": "base64",
            "data": base64.b64encode(PROGRAM.read_bytes()).decode()}


def parse(text):
    lines = [json.loads(line) for line in text.splitlines()]
    return {line["name"]: line for line in lines}


def attempt(broker, *arguments, **members):
    """Runs the program inside and returns its execution."""
    return broker.run(["/workspace/escape-attempts", *arguments], files=[program_file()],
                      **members)


@pytest.fixture(name="broker", scope="module")
def tiered_broker(tiered):
    """Every attempt, on every tier."""
    return tiered[0]


@pytest.fixture(scope="module")
def tier(tiered):
    return tiered[1]


@pytest.fixture(scope="module")
def canaries(tier):
    with Canaries() as made:
        yield made


@pytest.fixture(scope="module")
def results(broker, canaries):
    execution = attempt(broker, *canaries.arguments(), limits={"wall_ms": 120000})
    assert execution["outcome"] == "exited", execution
    return parse(execution["stdout"]["data"])


@pytest.mark.parametrize("name", attempt_names())
def test_refused(results, tier, name):
    result = results[name]
    print(f"{result['tried']}: {result['result']} ({result['detail']})")
    own = tier == "userkernel" and name in OWN_KERNELS
    assert result["result"] == "refused" or own, result


def test_nothing_outside_was_touched(results, canaries):
    assert len(results) >= 55
    assert canaries.touched() == []


def test_each_attempt_can_succeed():
    unshared = ["unshare", "--mount", "--uts", "--ipc", "--net", "--pid", "--cgroup", "--fork",
                "--kill-child", "--mount-proc"]
    run = subprocess.run([*unshared, sys.executable, HERE / "without_boundary.py", PROGRAM],
                         capture_output=True, text=True, timeout=120)
    found = parse(run.stdout)
    assert set(found) == set(attempt_names()), run.stderr
    failed = {name: result for name, result in found.items()
              if result["result"] != "succeeded" and result["detail"] not in KERNEL_LACKS
              and not HOST_REFUSES.get(name, lambda: False)()}
    assert failed == {}
    assert sum(r["result"] == "succeeded" for r in found.values()) >= WITHOUT_BOUNDARY_AT_LEAST


@pytest.mark.parametrize("what, inside_limit, limits", [
    ("processes", 64, {"pids": 64}),
    ("memory", 64 * MIB, {"memory_bytes": 64 * MIB}),
    # Held in memory, and on a file system of its own.
    ("workspace", 16 * MIB, {"disk_bytes": 16 * MIB, "memory_bytes": 128 * MIB}),
    ("workspace", 96 * MIB, {"disk_bytes": 96 * MIB, "memory_bytes": 64 * MIB}),
    ("tmp", 16 * MIB, {"disk_bytes": 16 * MIB, "memory_bytes": 128 * MIB}),
    ("tmp", 96 * MIB, {"disk_bytes": 96 * MIB, "memory_bytes": 64 * MIB}),
    ("shm", 64 * MIB, {"memory_bytes": 128 * MIB}),
    # /dev/shm is memory, not disk.
    ("everywhere", (16 + 64) * MIB, {"disk_bytes": 16 * MIB, "memory_bytes": 128 * MIB}),
    ("files", 0, {"disk_bytes": 16 * MIB, "memory_bytes": 128 * MIB}),
    ("files", 0, {"disk_bytes": 96 * MIB, "memory_bytes": 64 * MIB}),
    ("descriptors", 0, {}),
    ("sockets", 64 * MIB, {"memory_bytes": 64 * MIB}),
])
def test_limit_holds(broker, tier, what, inside_limit, limits):
    execution = attempt(broker, f"--exhaust={what}", f"--limit={inside_limit}", limits=limits)
    if tier == "userkernel" and what in ("memory", "sockets"):
        # Its processes, and what they keep in sockets, are one process of the host.
        assert execution["outcome"] == "oom", execution
        return
    assert execution["outcome"] == "exited", execution
    result = parse(execution["stdout"]["data"])[what]
    print(f"{result['tried']}: {result['detail']}")
    assert result["result"] == "refused", result
    # A full disk is ENOSPC, never an end by the memory limit.
    assert execution["usage"]["oom_kills"] == (1 if what == "memory" else 0)


def test_a_flood_of_output_is_dropped_not_kept(broker):
    execution = attempt(broker, "--exhaust=output", f"--limit={8 * MIB}",
                        limits={"output_bytes": MIB})
    assert (execution["outcome"], execution["exit_code"]) == ("exited", 0)
    for stream in ("stdout", "stderr"):
        kept = execution[stream]
        assert kept["truncated"] and kept["bytes"] + kept["dropped_bytes"] >= 8 * MIB
        assert len(kept["data"]) == MIB


def test_a_workload_cannot_hold_up_its_own_end(broker):
    """The kernel copies a slow file into stdout's pipe for a process that is hardly ever scheduled,
    with the pipe's lock held: whoever reads the pipe waits as long."""
    identity = broker.begin(
        ["/workspace/escape-attempts", "--exhaust=output-lock", "--limit=24"],
        files=[program_file()], limits={"wall_ms": 3000, "disk_bytes": 256 * MIB,
                                        "memory_bytes": 64 * MIB, "cpu_ms": 60000})
    execution = broker.execution(identity, wait=20)
    assert execution["outcome"] == "timeout", execution
    assert execution["usage"]["wall_ms"] < 6000


def test_counts_of_one_user_are_not_those_of_another(broker):
    """Neither the host's root nor another execution misses what one has taken."""
    held = [broker.begin(["/workspace/escape-attempts", "--exhaust=user-counts", "--limit=0"],
                         files=[program_file()]) for _ in range(2)]
    wait_until(lambda: all(broker.execution(i)["stdout"]["data"] for i in held), what="all taken")
    outside = subprocess.run(
        [sys.executable, "-c", "import ctypes, signal, os\n"
         "signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGRTMIN})\n"
         "libc = ctypes.CDLL(None)\n"
         "assert libc.sigqueue(os.getpid(), signal.SIGRTMIN, None) == 0\n"
         "assert libc.inotify_init1(0) >= 0\n"], check=False)
    counts = [broker.execution(i)["stdout"]["data"].split() for i in held]
    for identity in held:
        broker.delete(f"/v1/executions/{identity}")
    print(counts)
    assert outside.returncode == 0
    assert all(int(count) > 0 for line in counts for count in line[::2]), counts


def test_descriptors_of_the_broker_do_not_arrive(own_broker):
    """Whatever the broker was started with, or has open for another execution (A07)."""
    here, there = socket.socketpair()
    with here, there, tempfile.TemporaryFile() as secret:
        broker = own_broker(pass_fds=(secret.fileno(), there.fileno()))
        agent = broker.agent()
        begun = [broker.submit(
            ["/workspace/escape-attempts", "descriptors-inherited", "descriptors-standard"],
            agent=agent, files=[program_file()]).json()["execution"] for _ in range(20)]
        for identity in begun:
            execution = broker.execution(identity, wait=60)
            for result in parse(execution["stdout"]["data"]).values():
                assert result["result"] == "refused", result


def test_a_named_workspace_keeps_no_set_user_id_file_of_root(broker):
    agent = broker.agent("command.run", "fs.workspace.write", "fs.workspace.read")
    broker.put("/v1/workspaces/set-user-id", {"disk_bytes": 16 * MIB})
    attempt(broker, "set-user-id-file", "file-capability", agent=agent, workspace="set-user-id")
    kept = broker.run(["sh", "-c", "find . -perm /6000 -printf '%m %U %p\\n'; id -u"],
                      agent=agent, workspace="set-user-id")
    *found, user = kept["stdout"]["data"].splitlines()
    print(found)
    assert found and all(line.split()[1] == user for line in found), found
