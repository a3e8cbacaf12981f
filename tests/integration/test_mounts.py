"""An agent's own mounts (API §3; field cases A04, A09, A11, A12)."""
import ctypes
import os
import pathlib
import shutil
import socket
import subprocess
import tempfile
import threading

import pytest
from broker import fresh

OWNER = 4711  # of writable sources: nobody in particular, and not root
RENAME_EXCHANGE = 2
AT_FDCWD = -100
MIB = 1 << 20

# Writable mounts need the container tier by the built-in rules; these leave it to the host.
RULES = [{"name": "anything", "when": {}, "tier": "subprocess", "text": "a test"}]


def exchange(first, second):
    """renameat2(2) in one step, so that both names always lead somewhere."""
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.renameat2(AT_FDCWD, os.fsencode(first), AT_FDCWD, os.fsencode(second),
                      RENAME_EXCHANGE) != 0:
        raise OSError(ctypes.get_errno(), "renameat2")


def give(path):
    os.chown(path, OWNER, OWNER)
    return path


@pytest.fixture(scope="module")
def root():
    """An allowed root on an ext4 file system, which can map owners whatever the host's can. The
    loop device goes with the mount."""
    with tempfile.TemporaryDirectory(prefix="bulkhead-mounts-") as directory:
        image = pathlib.Path(directory, "image")
        place = pathlib.Path(directory, "allowed")
        place.mkdir()
        with open(image, "wb") as file:
            file.truncate(16 * MIB)
        subprocess.run(["mkfs.ext4", "-q", image], check=True)
        subprocess.run(["mount", "-o", "loop", image, place], check=True)
        place.chmod(0o755)
        yield place
        subprocess.run(["umount", "-l", place], check=True)


@pytest.fixture(scope="module")
def mounting(root):
    from broker import Broker
    running = Broker(policy={"rules": RULES, "mounts": {"allowed_roots": [str(root)]}}).start()
    yield running
    running.stop()


@pytest.fixture
def source(root):
    """A directory of its own with one file that everybody may read."""
    path = root / fresh("source")
    path.mkdir()
    path.chmod(0o755)
    (path / "file").write_text("seen")
    give(path / "file").chmod(0o644)
    return give(path)


def rule(source, target="/data", mode="ro"):
    mount = {"source": str(source), "target": target, "mode": mode}
    return mount | ({"justification": "a cache that pip writes"} if mode == "rw" else {})


def body(*mounts):
    return {"owner": "o", "mounts": list(mounts),
            "capabilities": ["command.run", "fs.workspace.write", "fs.mount.read",
                             "fs.mount.write"]}


def agent_with(broker, *mounts):
    name = fresh("agent")
    answer = broker.put(f"/v1/agents/{name}", body(*mounts))
    assert answer.status_code == 201, answer.text
    return name


def output(broker, agent, script, **members):
    execution = broker.run(["sh", "-c", script], agent=agent, **members)
    assert execution["outcome"] == "exited", execution
    return execution["stdout"]["data"]


def test_a_read_only_mount_is_seen_and_not_written(mounting, source):
    (source / "private").write_text("not seen")
    (source / "private").chmod(0o600)
    agent = agent_with(mounting, rule(source), rule(source / "file", "/srv/deep/file"))
    text = output(mounting, agent,
                  "cat /data/file /srv/deep/file; cat /data/private 2>/dev/null;"
                  "(echo x > /data/new) 2>/dev/null || echo refused;"
                  "(echo x > /data/file) 2>/dev/null || echo refused;"
                  "(echo x > /new) 2>/dev/null || echo refused; cat file", files=[
                      {"path": "file", "data": "mine", "encoding": "utf-8", "mode": "0644"}])
    assert text == "seenseenrefused\nrefused\nrefused\nmine"
    assert sorted(os.listdir(source)) == ["file", "private"]


def test_the_built_in_rules_take_a_read_only_mount(own_broker, source, root):
    broker = own_broker(policy={"mounts": {"allowed_roots": [str(root)]}})
    name = fresh("agent")
    spec = {**body(rule(source)), "capabilities": ["command.run", "fs.mount.read"]}
    assert broker.put(f"/v1/agents/{name}", spec).status_code == 201
    assert output(broker, name, "cat /data/file") == "seen"


def test_what_is_written_belongs_to_the_sources_owner(mounting, source):
    agent = agent_with(mounting, rule(source, "/cache", "rw"))
    text = output(mounting, agent, "cd /cache; echo x > made; mkdir d; stat -c '%u %g' made d .")
    assert text == "1000 1000\n" * 3
    for name in ("made", "d"):
        status = (source / name).stat()
        assert (status.st_uid, status.st_gid) == (OWNER, OWNER)
    # The next execution has another host uid, and finds what the first one left.
    assert output(mounting, agent, "cat /cache/made; rm -r /cache/made /cache/d") == "x\n"
    assert os.listdir(source) == ["file"]


def test_the_plan_says_why_and_the_boundary_what(mounting, source):
    agent = agent_with(mounting, rule(source, "/cache", "rw"))
    answer = mounting.post("/v1/decisions", {"agent": agent, "argv": ["true"]})
    plan = answer.json()["plan"]
    assert "mounts" in plan["controls"] and answer.json()["available"] is True
    assert plan["mounts"][0]["justification"] == "a cache that pip writes"
    mounts = [line.split() for line in
              output(mounting, agent, "cat /proc/self/mountinfo").splitlines()]
    cache = [line for line in mounts if line[4] == "/cache"]
    assert len(cache) == 1 and cache[0][6] == "-"  # no peer: nothing propagates
    assert {"rw", "nosuid", "nodev", "idmapped"} <= set(cache[0][5].split(","))
    writable = {line[4] for line in mounts if "rw" in line[5].split(",")}
    assert writable == {"/workspace", "/tmp", "/dev/shm", "/proc", "/cache"}


def test_setuid_and_devices_gain_nothing(mounting, source):
    """A12."""
    agent = agent_with(mounting, rule(source, "/cache", "rw"))
    text = output(mounting, agent,
                  "cp /bin/sh /cache/s; chmod 4755 /cache/s; /cache/s -p -c 'id -u';"
                  "grep NoNewPrivs /proc/self/status; mknod /cache/d c 1 1 || echo refused;"
                  "mkfifo /cache/p || echo refused")
    assert text == "1000\nNoNewPrivs:\t1\nrefused\nrefused\n"
    for path in source.iterdir():
        status = path.lstat()
        assert status.st_uid == OWNER and status.st_gid == OWNER, path
    assert sorted(os.listdir(source)) == ["file", "s"]


def test_roots_own_directories_are_never_writable(mounting, source):
    os.chown(source, 0, 0)
    answer = mounting.put(f"/v1/agents/{fresh('agent')}", body(rule(source, mode="rw")))
    assert answer.status_code == 422 and answer.json()["code"] == "mount_not_allowed"
    assert "belongs to root" in answer.text
    give(source)
    agent = agent_with(mounting, rule(source, mode="rw"))
    os.chown(source, OWNER, 0)  # since then
    answer = mounting.submit(["true"], agent=agent, wait=20)
    assert answer.status_code == 422 and answer.json()["code"] == "mount_not_allowed"
    assert "belongs to root" in answer.json()["detail"]


def test_sockets_devices_and_the_brokers_own_are_no_sources(own_broker, tmp_path):
    """A09: also where an allowed root holds them."""
    root = tmp_path / "allowed"
    root.mkdir()
    listener = socket.socket(socket.AF_UNIX)
    listener.bind(str(root / "docker.sock"))
    os.mknod(root / "device", 0o20666, os.makedev(1, 3))
    os.mkfifo(root / "fifo")
    broker = own_broker(policy={"mounts": {"allowed_roots": [str(root), "/tmp", "/var", "/run"]}})
    sources = [root / "docker.sock", root / "device", root / "fifo", broker.state,
               broker.state / "tokens", broker.state.parent, broker.run_dir, "/etc", "/", "/proc"]
    for source in sources:
        answer = broker.put(f"/v1/agents/{fresh('agent')}", body(rule(source)))
        assert answer.status_code == 422, (source, answer.text)
        assert answer.json()["code"] == "mount_not_allowed", answer.text
    listener.close()


def test_a_link_that_takes_a_sources_place_is_not_followed(mounting, source, root, tmp_path):
    """A04: neither what was planted in a mount, nor at the source's own name."""
    (tmp_path / "canary").write_text("canary")
    os.chmod(tmp_path, 0o755)
    agent = agent_with(mounting, rule(source, "/cache", "rw"))
    output(mounting, agent, f"ln -s {tmp_path} /cache/link; ln -s /etc/shadow /cache/shadow")
    text = output(mounting, agent, "cat /cache/link/canary /cache/shadow; ls -R / 2>/dev/null")
    assert "canary" not in text
    answer = mounting.put(f"/v1/agents/{fresh('agent')}", body(rule(source / "link")))
    assert answer.status_code == 422 and str(source / "link") in answer.text
    shutil.rmtree(source)
    source.symlink_to(tmp_path)
    answer = mounting.submit(["cat", "/cache/canary"], agent=agent, wait=20)
    assert answer.status_code == 422, answer.text
    assert "reached through a symbolic link" in answer.json()["detail"]
    source.unlink()
    answer = mounting.submit(["true"], agent=agent, wait=20)
    assert "cannot be opened" in answer.json()["detail"]


def test_a_source_swapped_all_the_time_never_shows_the_other(mounting, root, tmp_path):
    """A11: a directory and a link to elsewhere change places while executions start."""
    outer = root / fresh("swapped")
    (outer / "real").mkdir(parents=True)
    (outer / "real" / "file").write_text("real")
    outer.chmod(0o755)
    (outer / "real").chmod(0o755)
    (tmp_path / "file").write_text("CANARY")
    os.chmod(tmp_path, 0o755)
    agent = agent_with(mounting, rule(outer / "real"), rule(outer / "real" / "file", "/one"))
    (outer / "other").symlink_to(tmp_path)
    done = threading.Event()

    def swap():
        while not done.is_set():
            exchange(outer / "real", outer / "other")

    swapper = threading.Thread(target=swap)
    swapper.start()
    seen = {"real": 0, "refused": 0}
    try:
        for _ in range(300):
            answer = mounting.submit(["cat", "/data/file", "/one"], agent=agent, wait=20)
            assert "CANARY" not in answer.text
            if answer.status_code == 422:
                assert answer.json()["code"] == "mount_not_allowed"
                seen["refused"] += 1
            else:
                assert answer.json()["stdout"]["data"] == "realreal", answer.text
                seen["real"] += 1
    finally:
        done.set()
        swapper.join()
    assert seen["real"] > 0 and seen["refused"] > 0, seen


def test_sixty_four_mounts(mounting, source):
    agent = agent_with(mounting, *(rule(source, f"/many/{n}") for n in range(64)))
    assert output(mounting, agent, "cat /many/*/file | wc -c") == "256\n"


def test_others_have_no_trace_of_it(mounting, source):
    agent = agent_with(mounting, rule(source))
    assert output(mounting, agent, "cat /data/file") == "seen"
    assert mounting.run(["ls", "/data"])["exit_code"] != 0
    assert str(source) not in pathlib.Path("/proc/mounts").read_text()
