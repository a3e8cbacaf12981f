"""How executions end: exit codes, signals, limits, and what is kept of their output
(API §5; field cases D01, D03, D07-D13, D19)."""
import base64
import time

import pytest
from broker import SANITIZED, wait_until

PYTHON = "/usr/bin/python3"


@pytest.fixture(name="broker", scope="module")
def tiered_broker(tiered):
    """Every test of this file, on every tier."""
    return tiered[0]


@pytest.fixture
def tier(tiered):
    return tiered[1]


def output(execution, stream="stdout"):
    part = execution[stream]
    data = part["data"]
    return base64.b64decode(data) if part["encoding"] == "base64" else data.encode()


@pytest.mark.parametrize("argv, outcome, code, signal", [
    (["true"], "exited", 0, None),
    (["sh", "-c", "exit 7"], "exited", 7, None),
    (["sh", "-c", "exit 137"], "exited", 137, None),
    (["sh", "-c", "kill -9 $$"], "signaled", None, "SIGKILL"),
    (["sh", "-c", "kill -SEGV $$"], "signaled", None, "SIGSEGV"),
    (["sh", "-c", "kill -TERM $$"], "signaled", None, "SIGTERM"),
    (["no-such-command"], "exited", 127, None),
    (["/etc/passwd"], "exited", 126, None),
])
def test_the_end_of_the_process_is_told_as_it_was(broker, argv, outcome, code, signal):
    execution = broker.run(argv)
    assert (execution["outcome"], execution["exit_code"], execution["signal"]) == \
        (outcome, code, signal)


def test_both_streams_and_the_shape_of_the_answer(broker, tier):
    execution = broker.run(["sh", "-c", "echo out; echo err >&2"], labels={"run": "42"})
    assert output(execution) == b"out\n" and output(execution, "stderr") == b"err\n"
    assert execution["stdout"]["bytes"] == 4 and not execution["stdout"]["truncated"]
    assert execution["tier"]["required"] == execution["tier"]["effective"] == tier
    driver = "subprocess" if tier == "subprocess" else "container"
    assert execution["tier"]["driver"] == driver and execution["tier"]["technology"]
    assert execution["labels"] == {"run": "42"}
    assert execution["usage"]["memory_peak_bytes"] > 0
    assert set(execution["timing"]) == {"queued_ms", "provision_ms", "run_ms", "teardown_ms"}
    assert execution["created_at"] <= execution["started_at"] <= execution["ended_at"]
    for name in ("policy_digest", "plan_digest"):
        assert execution[name].startswith("sha256:")


def test_wall_limit_kills_everything_and_keeps_what_was_said(broker):
    begun = time.monotonic()
    execution = broker.run(["sh", "-c", "setsid sleep 999 & echo hi; sleep 999"],
                           limits={"wall_ms": 1000})
    assert execution["outcome"] == "timeout" and execution["exit_code"] is None
    assert output(execution) == b"hi\n"
    assert time.monotonic() - begun < 8


def test_a_process_that_ignores_term_is_killed_at_the_limit(broker):
    execution = broker.run(["sh", "-c", "trap '' TERM INT HUP; while :; do sleep 1; done"],
                           limits={"wall_ms": 500})
    assert execution["outcome"] == "timeout"


def test_what_is_left_running_dies_with_the_process_of_argv(broker):
    begun = time.monotonic()
    execution = broker.run(["sh", "-c", "(sleep 30 &); echo done; exit 3"])
    assert (execution["outcome"], execution["exit_code"]) == ("exited", 3)
    assert time.monotonic() - begun < 10


def test_a_daemon_writes_nothing_after_the_reply(broker):
    agent = broker.agent("command.run", "fs.workspace.write", "fs.workspace.read")
    assert broker.put("/v1/workspaces/daemon", {"disk_bytes": 8 << 20}).status_code == 201
    script = "(setsid sh -c 'while :; do echo x >> f; sleep 0.05; done' &) ; sleep 0.3"
    broker.run(["sh", "-c", script], agent=agent, workspace="daemon")
    first = broker.run(["find", "f", "-printf", "%s\n"], agent=agent, workspace="daemon")
    second = broker.run(["find", "f", "-printf", "%s\n"], agent=agent, workspace="daemon")
    assert int(output(first)) > 0 and output(first) == output(second)
    assert broker.delete("/v1/workspaces/daemon").status_code in (200, 204)


@pytest.mark.parametrize("script", ["while :; do :; done", "(while :; do :; done) & wait"])
def test_cpu_limit_counts_every_process(broker, script):
    execution = broker.run(["sh", "-c", script], limits={"cpu_ms": 500, "wall_ms": 20000})
    assert execution["outcome"] == "cpu_limit", execution
    assert execution["usage"]["cpu_ms"] < 3000


def test_counters_start_at_zero_each_time(broker):
    burn = "import time\nt = time.process_time()\nwhile time.process_time() - t < 0.6: pass"
    for _ in range(2):
        execution = broker.run([PYTHON, "-c", burn], limits={"cpu_ms": 1500})
        assert execution["outcome"] == "exited", execution


def test_memory_limit_is_told_as_oom(broker):
    execution = broker.run([PYTHON, "-c", "x = bytearray(400 << 20)\nprint(len(x))"],
                           limits={"memory_bytes": 64 << 20})
    assert execution["outcome"] == "oom" and execution["usage"]["oom_kills"] >= 1, execution


@pytest.mark.parametrize("bytes_", [1, 64, 4096, 16 << 10, 64 << 10, 128 << 10, 256 << 10])
def test_memory_that_is_too_little_to_start_with_is_told_as_oom(broker, tier, bytes_):
    execution = broker.run([PYTHON, "-c", "print('ran')"], limits={"memory_bytes": bytes_})
    if tier == "userkernel":  # the room for its kernel holds a small program, too
        assert execution["outcome"] in ("exited", "oom"), execution
        return
    assert execution["outcome"] == "oom", execution
    assert execution["usage"]["oom_kills"] >= 1 and not output(execution)
    assert f"memory_bytes limit of {bytes_} reached" in execution["detail"]


@pytest.mark.parametrize("bytes_", [512 << 10, 1 << 20, 2 << 20, 4 << 20])
def test_little_memory_runs_the_program_or_is_told_as_oom(broker, bytes_):
    execution = broker.run(["true"], limits={"memory_bytes": bytes_})
    assert execution["outcome"] in ("oom", "exited"), execution
    assert (execution["usage"]["oom_kills"] >= 1) == (execution["outcome"] == "oom")


def test_oom_of_a_child_is_not_the_outcome_of_the_parent(broker, tier):
    script = f"{PYTHON} -c 'x = bytearray(400 << 20)'; exit 0"
    execution = broker.run(["sh", "-c", script], limits={"memory_bytes": 64 << 20})
    # All processes of a userkernel are one for the host.
    ending = ("oom", None) if tier == "userkernel" else ("exited", 0)
    assert (execution["outcome"], execution["exit_code"]) == ending
    assert execution["usage"]["oom_kills"] >= 1


def test_memory_limits_do_not_leak_into_the_next_run(broker):
    broker.run(["true"], limits={"memory_bytes": 32 << 20})
    execution = broker.run([PYTHON, "-c", "x = bytearray(120 << 20); print(len(x))"])
    assert execution["outcome"] == "exited" and execution["exit_code"] == 0


@pytest.mark.parametrize("pids", [20, 128])
def test_pids_limit_stops_a_fork_bomb_and_nothing_else(broker, pids):
    script = ("import os\nn = 0\ntry:\n    while n < 500:\n        if os.fork() == 0:\n"
              "            import time; time.sleep(60)\n        n += 1\nexcept OSError as e:\n"
              "    print('refused', e.errno)\n")
    execution = broker.run([PYTHON, "-c", script],
                           limits={"pids": pids, "memory_bytes": 1 << 30})
    assert output(execution).startswith(b"refused 11"), execution
    assert broker.run(["true"])["exit_code"] == 0


def test_stdin_is_given_or_at_its_end(broker):
    assert output(broker.run(["cat"])) == b""
    assert output(broker.run(["sh", "-c", "read x; echo $?"])) == b"1\n"
    execution = broker.run(["cat"], stdin={"data": "hello\n", "encoding": "utf-8"})
    assert output(execution) == b"hello\n"
    execution = broker.run(["cat"], stdin={"data": base64.b64encode(b"\xff\x00").decode(),
                                           "encoding": "base64"})
    assert output(execution) == b"\xff\x00"


def test_stdin_nobody_reads_does_not_block(broker):
    big = {"data": "x" * (1 << 20), "encoding": "utf-8"}
    assert broker.run(["true"], stdin=big)["outcome"] == "exited"
    execution = broker.run(["sleep", "30"], stdin=big, limits={"wall_ms": 500})
    assert execution["outcome"] == "timeout"
    assert output(broker.run(["wc", "-c"], stdin=big)).strip() == b"1048576"


def test_output_over_the_limit_keeps_the_head_and_the_exit_code(broker):
    script = "head -c 3145728 /dev/zero | tr '\\0' a; echo FINAL >&2; exit 7"
    execution = broker.run(["sh", "-c", script], limits={"output_bytes": 1 << 20})
    assert execution["exit_code"] == 7
    assert output(execution) == b"a" * (1 << 20) and execution["stdout"]["truncated"]
    assert execution["stdout"]["dropped_bytes"] == 2 << 20
    assert output(execution, "stderr") == b"FINAL\n" and not execution["stderr"]["truncated"]


def test_bytes_that_are_not_text_come_back_whole(broker):
    execution = broker.run(["printf", r"\377\376\000A\033"])
    assert execution["stdout"]["encoding"] == "base64"
    assert output(execution) == b"\xff\xfe\x00A\x1b"


def test_a_cap_inside_a_character_loses_nothing(broker):
    execution = broker.run(["printf", "€€€"], limits={"output_bytes": 4})
    assert output(execution) == "€€€".encode()[:4]


def test_last_bytes_are_never_lost(broker):
    rounds = 40 if SANITIZED else 150
    for _ in range(rounds):
        assert output(broker.run(["printf", "tail-without-newline"])) == b"tail-without-newline"
    script = "import os\nos.write(1, b'z' * 65536)\nos._exit(0)"
    for _ in range(rounds // 4):
        assert output(broker.run([PYTHON, "-c", script])) == b"z" * 65536


def test_a_flood_is_cut_and_others_are_answered(broker):
    floods = [broker.submit(["yes"], limits={"wall_ms": 1500}).json()["execution"]
              for _ in range(8)]
    slowest = 0.0
    for _ in range(10):
        begun = time.monotonic()
        assert broker.get("/v1/host").status_code == 200
        slowest = max(slowest, time.monotonic() - begun)
    for identity in floods:
        execution = broker.execution(identity, wait=60)
        assert execution["outcome"] == "timeout" and execution["stdout"]["truncated"]
        assert len(output(execution)) == 1 << 20
    assert slowest < 5


@pytest.mark.parametrize("value", [0, -1, 0.0004, 1e308, 2147483648000, 9223372036854775807,
                                   "5", True, None, [], {}])
def test_odd_limits_are_refused(broker, value):
    answer = broker.submit(["true"], limits={"wall_ms": value})
    assert answer.status_code == 400, answer.text
    assert answer.json()["errors"][0]["pointer"] == "/limits/wall_ms"


def test_kill_is_repeatable_and_told(broker):
    identity = broker.begin(["sleep", "100"])
    assert broker.delete(f"/v1/executions/{identity}").status_code in (200, 202)
    execution = broker.execution(identity, wait=20)
    assert execution["outcome"] == "killed" and execution["exit_code"] is None
    assert broker.delete(f"/v1/executions/{identity}").status_code == 200


def test_a_client_that_goes_away_does_not_stop_it(broker):
    import requests
    agent = broker.default_agent()
    try:
        broker.post("/v1/executions?wait=30",
                    {"agent": agent, "argv": ["sh", "-c", "sleep 1; echo still here"]},
                    timeout=0.4)
    except requests.exceptions.Timeout:
        pass
    latest = wait_until(lambda: [e for e in broker.list("/v1/executions", agent=agent)
                                 if e["state"] == "running"], what="it runs on")[0]
    assert output(broker.execution(latest["execution"], wait=20)) == b"still here\n"
