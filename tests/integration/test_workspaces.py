"""Workspaces and what is written into them by the host (API §6; field cases A01, A02, A06,
A07, A12, D17)."""
import os
import pathlib
import shutil
import socket

import pytest
from broker import fresh

MIB = 1 << 20


@pytest.fixture(name="broker", scope="module")
def tiered_broker(tiered):
    """Every test of this file, on every tier."""
    return tiered[0]


@pytest.fixture
def tier(tiered):
    return tiered[1]


@pytest.fixture
def writer(broker):
    return broker.agent("command.run", "fs.workspace.read", "fs.workspace.write")


@pytest.fixture
def workspace(broker):
    name = fresh("workspace")
    assert broker.put(f"/v1/workspaces/{name}", {"disk_bytes": 16 * MIB}).status_code == 201
    yield name
    assert broker.delete(f"/v1/workspaces/{name}").status_code in (200, 204)


def test_named_ones_keep_their_bytes(broker, writer, workspace):
    broker.run(["sh", "-c", "echo kept > f; mkdir d; ln -s f l"], agent=writer,
               workspace=workspace)
    execution = broker.run(["sh", "-c", "cat l; find f -printf '%U %G\\n'; id -u"], agent=writer,
                           workspace=workspace)
    assert execution["stdout"]["data"] == "kept\n1000 1000\n1000\n"


def test_ephemeral_ones_are_empty_and_die(broker):
    broker.run(["sh", "-c", "echo x > f"])
    assert broker.run(["find", "/workspace", "-mindepth", "1"])["stdout"]["data"] == ""
    assert broker.run(["sh", "-c", "pwd; echo $HOME"])["stdout"]["data"] == \
        "/workspace\n/workspace\n"


def test_without_the_capability_it_is_read_only(broker, workspace):
    reader = broker.agent("command.run", "fs.workspace.read")
    execution = broker.run(["sh", "-c", "echo x > f"], agent=reader, workspace=workspace)
    assert execution["exit_code"] != 0 and "Read-only" in execution["stderr"]["data"]


def test_files_need_the_capability_to_write_a_named_workspace(broker, writer, workspace):
    reader = broker.agent("command.run", "fs.workspace.read")
    files = [{"path": "planted", "data": "x"}]
    answer = broker.submit(["true"], agent=reader, workspace=workspace, files=files, wait=20)
    assert answer.status_code == 422, answer.text
    assert answer.json()["code"] == "capability_scope_mismatch"
    assert answer.json()["errors"][0]["pointer"] == "/files"
    listed = broker.run(["ls"], agent=writer, workspace=workspace)
    assert "planted" not in listed["stdout"]["data"]
    assert broker.run(["cat", "planted"], agent=reader, files=files)["stdout"]["data"] == "x"


def test_a_decision_says_what_would_be_refused(broker, writer, workspace):
    def problems(**members):
        decision = broker.post("/v1/decisions",
                               {"agent": writer, "argv": ["true"], **members}).json()
        assert decision["available"] is not bool(decision["problems"])
        return " ".join(decision["problems"])
    assert problems(workspace=workspace) == ""
    assert "no workspace nowhere" in problems(workspace="nowhere")
    assert "no image nowhere" in problems(image="nowhere")
    identity = broker.begin(["sleep", "100"], agent=writer, workspace=workspace)
    assert "in use" in problems(workspace=workspace)
    broker.delete(f"/v1/executions/{identity}")
    broker.execution(identity, wait=20)


def test_one_writer_at_a_time(broker, writer, workspace):
    identity = broker.begin(["sleep", "100"], agent=writer, workspace=workspace)
    answer = broker.submit(["true"], agent=writer, workspace=workspace)
    assert answer.status_code == 409 and answer.json()["code"] == "workspace_busy"
    assert broker.delete(f"/v1/workspaces/{workspace}").status_code == 409
    broker.delete(f"/v1/executions/{identity}")
    broker.execution(identity, wait=20)
    assert broker.run(["true"], agent=writer, workspace=workspace)["exit_code"] == 0


def test_read_list_and_strictness(broker, workspace):
    shown = broker.get(f"/v1/workspaces/{workspace}").json()
    assert shown["workspace"] == workspace and shown["disk_bytes"] == 16 * MIB
    assert workspace in [item["workspace"] for item in broker.list("/v1/workspaces")]
    for body in ({}, {"disk_bytes": 0}, {"disk_bytes": "1"}, {"disk_bytes": 1 << 60},
                 {"disk_bytes": MIB, "x": 1}):
        assert broker.put(f"/v1/workspaces/{fresh('w')}", body).status_code == 400
    assert broker.get("/v1/workspaces/none").status_code == 404


def test_files_of_the_request_land_before_the_start(broker):
    files = [{"path": "main.py", "data": "print('hi')", "encoding": "utf-8", "mode": "0644"},
             {"path": "bin/tool", "data": "IyEvYmluL3NoCmVjaG8gdG9vbAo=", "encoding": "base64",
              "mode": "0755"}]
    execution = broker.run(["sh", "-c", "python3 main.py; ./bin/tool; find bin/tool -printf '%m %U\\n'"],
                           files=files)
    assert execution["stdout"]["data"] == "hi\ntool\n755 1000\n", execution


def test_planted_links_send_nothing_outside(broker, writer, workspace, tmp_path):
    canary = tmp_path / "canary"
    canary.write_text("untouched")
    os.chmod(canary, 0o600)
    before = canary.stat()
    names = ["main.py", "stdin", "stdout", "stderr", "result.json", "script", "meta"]
    plant = "; ".join(f"ln -sfn {canary} {name}" for name in names)
    broker.run(["sh", "-c", f"{plant}; ln -sfn {tmp_path} dir; mkfifo pipe"], agent=writer,
               workspace=workspace)
    for path in names + ["dir/main.py", "pipe"]:
        answer = broker.submit(["cat", path], agent=writer, workspace=workspace, wait=20,
                               stdin={"data": "in"},
                               files=[{"path": path, "data": "from the host"}])
        assert answer.status_code in (201, 400, 422), answer.text
        if answer.status_code == 201 and answer.json()["outcome"] == "exited":
            assert answer.json()["stdout"]["data"] == "from the host"
    after = canary.stat()
    assert canary.read_text() == "untouched"
    assert (before.st_mode, before.st_uid, before.st_mtime_ns) == \
        (after.st_mode, after.st_uid, after.st_mtime_ns)
    assert sorted(os.listdir(tmp_path)) == ["canary"]


@pytest.mark.parametrize("directory", ["/workspace/out", "/proc/self/fd/7", "/proc/self/cwd"])
def test_a_working_directory_never_leads_outside(broker, writer, workspace, directory):
    broker.run(["ln", "-sfn", "/proc/self/fd/7", "out"], agent=writer, workspace=workspace)
    answer = broker.submit(["cat", "../../../etc/hostname"], agent=writer, workspace=workspace,
                           cwd=directory, wait=20)
    host = pathlib.Path("/etc/hostname").read_text().strip()
    assert answer.status_code in (201, 400)
    if answer.status_code == 201:
        assert host not in answer.json()["stdout"]["data"].split()
        assert answer.json()["exit_code"] != 0 or answer.json()["stdout"]["data"] != host


def test_descriptors_of_the_broker_do_not_pass(own_broker, tmp_path):
    secret = tmp_path / "secret"
    secret.write_text("the broker's secret")
    descriptor = os.open(secret, os.O_RDONLY)
    os.set_inheritable(descriptor, True)
    left, right = socket.socketpair()
    right.set_inheritable(True)
    broker = own_broker(pass_fds=(descriptor, right.fileno()))
    script = ("ls /proc/self/fd | tr '\\n' ' '; readlink /proc/self/fd/0;"
              f"cat <&{descriptor} 2>/dev/null; true")
    for _ in range(5):
        out = broker.run(["sh", "-c", script])["stdout"]["data"]
        assert out.startswith("0 1 2 3 "), out
        assert "secret" not in out and ("pipe:" in out or "/dev/null" in out)
    left.close(), right.close(), os.close(descriptor)


def fill(path):
    return (f"dd if=/dev/zero of={path}/fill bs=64k 2>&1 | tail -n 1; "
            f"dd if=/dev/zero of={path}/more bs=4k count=64 2>&1 | head -n 1; "
            f"find {path}/fill -printf %s")


@pytest.mark.parametrize("place", ["/workspace", "/tmp", "/dev/shm"])
@pytest.mark.parametrize("memory", [256 * MIB, 64 * MIB])
def test_a_full_disk_is_enospc_not_oom_and_not_the_hosts(broker, place, memory):
    free = shutil.disk_usage("/").free
    execution = broker.run(["sh", "-c", fill(place)],
                           limits={"disk_bytes": 64 * MIB, "memory_bytes": memory})
    assert execution["outcome"] == "exited" and execution["usage"]["oom_kills"] == 0, execution
    text = execution["stdout"]["data"]
    assert "No space left" in text, text
    assert int(text.split()[-1]) <= 66 * MIB
    assert abs(free - shutil.disk_usage("/").free) < 256 * MIB


def test_workspace_and_tmp_share_one_limit(broker):
    script = ("dd if=/dev/zero of=/workspace/a bs=1M count=40 2>/dev/null;"
              "dd if=/dev/zero of=/tmp/b bs=1M count=40 2>&1 | head -n 1")
    execution = broker.run(["sh", "-c", script], limits={"disk_bytes": 64 * MIB})
    assert "No space left" in execution["stdout"]["data"]


def test_inodes_run_out_too(broker):
    script = "i=0; while :; do : > f$i || exit 9; i=$((i + 1)); done 2>/dev/null"
    execution = broker.run(["timeout", "20", "sh", "-c", script],
                           limits={"disk_bytes": 4 * MIB, "cpu_ms": 60000})
    assert execution["exit_code"] in (1, 2, 9), execution


def test_a_named_workspace_has_its_own_limit(broker, writer, workspace):
    execution = broker.run(["sh", "-c", fill("/workspace")], agent=writer, workspace=workspace)
    assert "No space left" in execution["stdout"]["data"]
    size = int(execution["stdout"]["data"].split()[-1])
    assert 12 * MIB < size <= 17 * MIB
    broker.run(["sh", "-c", "rm -f fill more"], agent=writer, workspace=workspace)


@pytest.mark.parametrize("size", [MIB, 3000000])
def test_a_small_named_workspace_has_its_size(broker, writer, size):
    name = fresh("workspace")
    made = broker.put(f"/v1/workspaces/{name}", {"disk_bytes": size})
    assert made.status_code == 201, made.text
    execution = broker.run(["sh", "-c", fill("/workspace")], agent=writer, workspace=name)
    assert "No space left" in execution["stdout"]["data"]
    assert int(execution["stdout"]["data"].split()[-1]) <= size * 104 // 100
    assert broker.delete(f"/v1/workspaces/{name}").status_code == 204


def test_every_writable_mount_is_capped_and_nothing_is_setuid(broker, tier):
    script = "while read -r _ target type options _; do echo $target $type $options; done" \
        " < /proc/mounts"
    mounts = [line.split() for line in
              broker.run(["sh", "-c", script])["stdout"]["data"].splitlines()]
    writable = {target for target, _, options in mounts if "rw" in options.split(",")}
    capped = {"/workspace", "/tmp", "/dev/shm", "/proc"}
    if tier == "userkernel":  # its kernel's own, root's and empty; and it shows no nosuid
        assert writable <= capped | {"/dev", "/dev/pts", "/sys"}, writable
        return
    assert writable <= capped, writable
    for target, _, options in mounts:
        mask = target.startswith("/proc/") and "ro" in options.split(",")
        assert mask or "nosuid" in options.split(","), (target, options)


def test_setuid_files_gain_nothing(broker, tier, writer, workspace):
    script = ("cp /bin/sh s; chmod 4755 s; grep NoNewPrivs /proc/self/status;"
              "./s -p -c 'id -u'; mknod d c 1 1 || echo refused")
    out = broker.run(["sh", "-c", script], agent=writer, workspace=workspace)["stdout"]["data"]
    lines = out.splitlines()
    assert "1000" in lines and "refused" in lines
    assert "NoNewPrivs:\t1" in lines or tier == "userkernel"  # whose status does not tell
