"""kill -9 of each process at any moment: adopted, or a clean `lost`, nothing left behind,
nothing lost that was acknowledged (field cases D04, D06)."""
import contextlib
import json
import os
import pathlib
import signal
import threading
import time

import pytest
import requests
from broker import SANITIZED, cgroup_directories, wait_until


def programs(broker, name):
    found = []
    for pid in broker.processes():
        with contextlib.suppress(OSError):
            if os.readlink(f"/proc/{pid}/exe").endswith(name):
                found.append(pid)
    return found


def test_executions_go_on_without_the_broker_and_are_adopted(own_broker):
    broker = own_broker()
    identity = broker.begin(["sh", "-c", "sleep 2; echo survived; exit 4"])
    sleeper = broker.begin(["sleep", "100"])
    broker.kill()
    broker.start()
    assert broker.execution(sleeper)["state"] == "running"
    execution = broker.execution(identity, wait=20)
    assert (execution["outcome"], execution["exit_code"]) == ("exited", 4)
    assert execution["stdout"]["data"] == "survived\n"
    broker.delete(f"/v1/executions/{sleeper}")
    assert broker.execution(sleeper, wait=20)["outcome"] == "killed"


def test_a_result_of_the_time_without_a_broker_is_found(own_broker):
    broker = own_broker()
    identity = broker.begin(["sh", "-c", "sleep 0.7; echo alone; exit 9"])
    broker.kill()
    time.sleep(2)
    broker.start()
    execution = broker.execution(identity, wait=5)
    assert (execution["outcome"], execution["exit_code"]) == ("exited", 9)
    assert execution["stdout"]["data"] == "alone\n"


def test_a_drain_goes_on_after_a_restart(own_broker):
    broker = own_broker(policy={"retier": {"on_raise": "drain", "drain_ms": 1500}})
    agent = broker.agent()
    identity = broker.begin(["sleep", "100"], agent=agent)
    change = broker.put(f"/v1/agents/{agent}/capabilities", {"capabilities": ["root.inside"]})
    assert change.json()["affected"][0]["action"] == "drained"
    broker.kill()
    broker.start()
    assert broker.execution(identity)["state"] == "running"
    assert broker.execution(identity, wait=20)["outcome"] == "retiered"


def test_a_stricter_policy_at_a_start_ends_what_runs_below_it(own_broker):
    broker = own_broker(policy={"rules": [{"name": "all", "when": {}, "tier": "subprocess",
                                           "text": "all"}]})
    identity = broker.begin(["sleep", "100"])
    broker.kill()
    policy = json.loads(broker.policy_path().read_text())
    policy["rules"][0]["tier"] = "vm"
    broker.policy_path().write_text(json.dumps(policy))
    broker.start()
    assert broker.execution(identity, wait=20)["outcome"] == "retiered"


def test_limits_hold_without_the_broker(own_broker):
    broker = own_broker()
    identity = broker.begin(["sleep", "100"], limits={"wall_ms": 1500})
    broker.kill()
    time.sleep(3)
    assert broker.leftovers() == []
    broker.start()
    assert broker.execution(identity, wait=5)["outcome"] == "timeout"


def test_a_stop_leaves_executions_to_be_adopted(own_broker):
    broker = own_broker()
    identity = broker.begin(["sh", "-c", "sleep 2; exit 5"])
    broker.terminate()
    broker.start()
    assert broker.execution(identity, wait=20)["exit_code"] == 5


def test_a_stop_waits_for_nobody_who_waits(own_broker):
    broker = own_broker()
    identity = broker.begin(["sh", "-c", "echo out; sleep 100"])
    path = f"/v1/executions/{identity}"
    answers = {}

    def ask(name, query, **options):
        answers[name] = broker.get(f"{path}{query}", timeout=20, **options)

    waiter = threading.Thread(target=ask, args=("wait", "?wait=20"))
    waiter.start()
    ask("events", "/events", stream=True)
    ask("follow", "/stdout?follow=true", stream=True)
    events = answers["events"].iter_lines()
    assert any(line == b"event: stdout" for line in events)
    time.sleep(0.2)
    begun = time.monotonic()
    broker.terminate()
    assert time.monotonic() - begun < 1
    waiter.join()
    assert answers["wait"].status_code == 200 and answers["wait"].json()["state"] == "running"
    # One says by itself that it is not all; the other has to be seen to break off.
    assert b"event: ended" not in list(events)
    with pytest.raises(requests.exceptions.ChunkedEncodingError):
        list(answers["follow"].iter_content(None))
    broker.start()


def test_a_killed_shim_is_a_clean_lost(broker):
    before = set(programs(broker, "bulkhead-shim"))
    identity = broker.begin(["sh", "-c", "setsid sleep 100 & sleep 100"])
    cgroups = [pathlib.Path(path) for path in cgroup_directories(broker.cgroup_parent())
               if path.endswith(identity)]
    assert cgroups
    pids = {int(pid) for path in cgroups for pid in (path / "cgroup.procs").read_text().split()}
    parents = {int(pathlib.Path(f"/proc/{pid}/stat").read_text().rsplit(")")[-1].split()[1])
               for pid in pids}
    grandparents = {int(pathlib.Path(f"/proc/{pid}/stat").read_text().rsplit(")")[-1].split()[1])
                    for pid in parents if pid}
    shims = [pid for pid in programs(broker, "bulkhead-shim") if pid in parents | grandparents]
    assert shims, (before, pids, parents, grandparents)
    for pid in shims:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
    execution = broker.execution(identity, wait=20)
    assert execution["outcome"] == "lost" and execution["detail"]
    assert not any(path.exists() for path in cgroups)
    assert not any(os.path.exists(f"/proc/{pid}/root/workspace") for pid in pids)


def test_a_killed_api_comes_back(broker):
    identity = broker.begin(["sh", "-c", "sleep 1; echo on"])
    for pid in programs(broker, "bulkhead-api"):
        os.kill(pid, signal.SIGKILL)

    def answered():
        with contextlib.suppress(requests.exceptions.ConnectionError):
            return broker.get("/healthz", role=None).status_code == 200
    wait_until(answered, what="the API answers again")
    assert broker.execution(identity, wait=20)["stdout"]["data"] == "on\n"


def test_broker_killed_at_any_moment_loses_nothing_acknowledged(own_broker):
    broker = own_broker()
    agent = broker.agent()
    acknowledged = []
    for round_number in range(3 if SANITIZED else 6):
        stop = threading.Event()

        def submit():
            while not stop.is_set():
                try:
                    answer = broker.submit(["sh", "-c", "sleep 0.2; exit 3"], agent=agent)
                    if answer.status_code == 201:
                        acknowledged.append(answer.json()["execution"])
                except (requests.exceptions.RequestException, ValueError):
                    return
        threads = [threading.Thread(target=submit) for _ in range(4)]
        for thread in threads:
            thread.start()
        time.sleep(0.15 + 0.13 * round_number)
        broker.kill()
        stop.set()
        for thread in threads:
            thread.join(30)
        broker.start()
    assert acknowledged
    for identity in acknowledged:
        execution = broker.execution(identity, wait=30)
        assert execution["outcome"] in ("exited", "lost"), execution
        assert execution["outcome"] == "lost" or execution["exit_code"] == 3
    entries = broker.list("/v1/audit")
    assert [entry["sequence"] for entry in entries] == \
        sorted(entry["sequence"] for entry in entries)


@pytest.mark.parametrize("control", [
    "namespace.user", "namespace.mount", "namespace.pid", "namespace.net", "namespace.ipc",
    "namespace.uts", "namespace.cgroup", "root.readonly", "proc.private", "dev.private",
    "scratch.size", "shm.size", "workspace", "uid.distinct", "capabilities.empty",
    "no_new_privs", "seccomp", "landlock", "cgroup.memory", "cgroup.pids", "cgroup.cpu",
    "cgroup.kill", "gateway.deny_all", "descriptors.closed"])
def test_a_control_that_fails_ends_the_execution_by_name(control, own_broker, request):
    if not SANITIZED:  # fault injection is compiled into the test build only
        return
    broker = own_broker(environment={"BULKHEAD_FAULT": control})
    answer = broker.submit(["true"], wait=20)
    if answer.status_code == 503:  # the probe saw it first: the tier is not offered at all
        assert answer.json()["code"] == "tier_unavailable" and control in answer.text
        return
    execution = answer.json()
    assert execution["outcome"] == "boundary_failed" and control in execution["detail"], execution
    assert broker.leftovers() == [] or all("process" in item for item in broker.leftovers())
