"""The product on Debian 12's own kernel: cgroup v2 alone, and an older Landlock. One boot, many
steps; each test looks at one."""
import json

import pytest
from broker import BIN
from guest import Guest

MODULES = ["cgroup", "gateway", "image"]
RUN = "bulkhead run --agent a"
MIB = 1 << 20
TOO_LITTLE = [1, 4096, 65536]  # bytes of memory

START = """
bulkheadd --state-dir /var/state --run-dir /run/bulkhead --listen unix:/run/api.sock \\
    2>/tmp/log &
echo $! >/tmp/pid
for i in $(seq 300); do grep -q '"ready"' /tmp/log && break; sleep 0.1; done
cat /tmp/log
echo '{"owner": "tests@example.test", "capabilities": ["command.run", "fs.workspace.write"]}' |
    bulkhead agents apply --name a -
"""
ENVIRONMENT = """
export BULKHEAD_URL=unix:/run/api.sock BULKHEAD_TOKEN_FILE=/var/state/tokens/operator
"""
# Attempts that need what only a whole host has are judged in tests/escape.
ESCAPE = f"""
echo secret >/root/canary; chmod 777 /root; chmod 666 /root/canary
sleep 1000 & canary=$!
{RUN} -- escape-attempts --canary-file=/root/canary --canary-pid=$canary \\
    --outside-ipv4=192.0.2.1 --outside-ipv6=2001:db8::1
kill -0 $canary && echo alive
kill $canary
"""
STOP = """
kill $(cat /tmp/pid)
for i in $(seq 100); do kill -0 $(cat /tmp/pid) 2>/dev/null || break; sleep 0.1; done
ls /sys/fs/cgroup | grep bulkhead; losetup -a; grep state /proc/mounts
true
"""


def steps():
    yield "controllers", "cat /sys/fs/cgroup/cgroup.controllers; uname -r"
    for module in MODULES:
        yield f"kernel_{module}", f"test_kernel_{module}"
    broker = [
        ("start", START),
        ("doctor", "bulkhead doctor --json"),
        ("exit_code", f"{RUN} -- sh -c 'echo out; id -u; cat /proc/self/cgroup; exit 3'"),
        ("escape", ESCAPE),
        ("memory", f"{RUN} -- escape-attempts --exhaust=memory --limit={256 * MIB}"),
        ("processes", f"{RUN} -- escape-attempts --exhaust=processes --limit=128"),
        ("workspace", f"{RUN} -- escape-attempts --exhaust=workspace --limit={64 * MIB}"),
        ("wall", f"{RUN} --timeout 1 -- sleep 100"),
        *((f"start_in_{size}", f"{RUN} --memory {size} --json -- true") for size in TOO_LITTLE),
        ("stop", STOP),
    ]
    for name, script in broker:
        yield name, ENVIRONMENT + script


@pytest.fixture(scope="module")
def console(tmp_path_factory):
    programs = [BIN / name for name in ("bulkheadd", "bulkhead-api", "bulkhead-shim", "bulkhead",
                                        "escape-attempts")]
    programs += [BIN / f"test_kernel_{module}" for module in MODULES]
    return Guest(tmp_path_factory.mktemp("guest"), programs, steps()).run()


def lines(console, step, status=0):
    code, output = console[step]
    assert code == status, output
    return [json.loads(line) for line in output.splitlines() if line.startswith("{")]


def test_the_guest_has_cgroup_v2_alone(console):
    _, output = console["controllers"]
    assert {"cpu", "memory", "pids"} <= set(output.split()) and "cloud-amd64" in output


@pytest.mark.parametrize("module", MODULES)
def test_kernel_module(console, module):
    status, output = console[f"kernel_{module}"]
    assert status == 0 and "PASSED" in output, output


def test_the_subprocess_tier_is_available(console):
    assert console["start"][0] == 0, console["start"][1]
    status, output = console["doctor"]
    assert status == 0 and '"v2"' in output, output


def test_a_command_runs_and_its_exit_code_comes_back(console):
    status, output = console["exit_code"]
    assert status == 3, output
    assert output.split() == ["out", "1000", "0::/"]


def test_no_attempt_at_escape_works(console):
    status, output = console["escape"]
    assert status == 0 and "alive" in output, output
    results = [json.loads(line) for line in output.splitlines() if line.startswith("{")]
    assert len(results) > 150
    assert [r for r in results if r["result"] == "succeeded"] == []
    assert [r for r in results if r["result"] == "unknown" and "given" not in r["detail"]] == []


@pytest.mark.parametrize("what", ["memory", "processes", "workspace"])
def test_limit_holds(console, what):
    assert [result["result"] for result in lines(console, what)] == ["refused"]


def test_the_wall_limit_ends_it(console):
    assert console["wall"][0] == 124, console["wall"][1]


@pytest.mark.parametrize("size", TOO_LITTLE)
def test_memory_that_is_too_little_to_start_with_is_told_as_oom(console, size):
    status, output = console[f"start_in_{size}"]
    assert status == 137 and '"oom"' in output, output


def test_nothing_is_left(console):
    assert console["stop"] == (0, "")
