"""Files of workspaces in and out (API §6; field cases A01, A06, A12, F02, F08)."""
import hashlib
import os
import socket
import subprocess
import threading
import time
from urllib.parse import quote

import pytest
from broker import BIN, SANITIZED, fresh, wait_until

MIB = 1 << 20


@pytest.fixture
def writer(broker):
    return broker.agent("command.run", "fs.workspace.read", "fs.workspace.write")


@pytest.fixture
def workspace(broker):
    name = fresh("files")
    assert broker.put(f"/v1/workspaces/{name}", {"disk_bytes": 16 * MIB}).status_code == 201
    yield Workspace(broker, name)
    wait_until(lambda: broker.delete(f"/v1/workspaces/{name}").status_code in (200, 204),
               what="workspace deleted")


class Workspace:
    def __init__(self, broker, name):
        self.broker, self.name = broker, name

    def url(self, path):
        return f"/v1/workspaces/{self.name}/files/" + quote(path)

    def put(self, path, data, **arguments):
        return self.broker.request("PUT", self.url(path), data=data, **arguments)

    def get(self, path, **arguments):
        return self.broker.get(self.url(path), **arguments)

    def delete(self, path, **arguments):
        return self.broker.delete(self.url(path), **arguments)

    def tree(self, below=None):
        query = f"?path={quote(below)}" if below else ""
        return self.broker.list(f"/v1/workspaces/{self.name}/tree{query}")

    def paths(self):
        return [item["path"] for item in self.tree()]

    def raw(self, method, target, body=b"", role="operator", headers=()):
        """Sends the target as it is, which no HTTP library would. Returns status and the rest."""
        lines = [f"{method} {target} HTTP/1.1", "Host: x", "Connection: close",
                 f"Authorization: Bearer {self.broker.token(role)}", *headers]
        if method == "PUT":
            lines.append(f"Content-Length: {len(body)}")
        with socket.create_connection(("127.0.0.1", self.broker.port), 20) as connection:
            connection.sendall("\r\n".join(lines).encode() + b"\r\n\r\n" + body)
            answer = b""
            while chunk := connection.recv(65536):
                answer += chunk
        return int(answer.split()[1]), answer


def refused(answer, status, code):
    assert answer.status_code == status, (answer.status_code, answer.text)
    assert answer.json()["code"] == code, answer.text


# -- one file ------------------------------------------------------------------------------


def test_bytes_travel_both_ways_over_executions(broker, writer, workspace):
    data = os.urandom(300_000)
    made = workspace.put("in/deep/data.bin", data)
    assert made.status_code == 201
    item = made.json()
    assert item["path"] == "in/deep/data.bin" and item["type"] == "file"
    assert item["size"] == len(data) and item["mode"] == "0644"
    script = "sha256sum < in/deep/data.bin; stat -c '%u %g %a' in/deep/data.bin in;" \
             "cp in/deep/data.bin out; chmod 755 out"
    shown = broker.run(["sh", "-c", script], agent=writer, workspace=workspace.name)["stdout"]
    assert shown["data"].splitlines() == [hashlib.sha256(data).hexdigest() + "  -",
                                          "1000 1000 644", "1000 1000 755"]
    assert workspace.get("out").content == data
    assert workspace.put("out", b"second").status_code == 200
    assert workspace.get("out").content == b"second"
    mode = broker.run(["stat", "-c", "%a", "out"], agent=writer, workspace=workspace.name)
    assert mode["stdout"]["data"] == "755\n", "a file that is replaced keeps its mode"


def test_ranges_and_head(workspace):
    workspace.put("f", b"0123456789")
    part = workspace.get("f", headers={"Range": "bytes=2-4"})
    assert (part.status_code, part.content) == (206, b"234")
    assert part.headers["Content-Range"] == "bytes 2-4/10"
    assert workspace.get("f", headers={"Range": "bytes=-3"}).content == b"789"
    beyond = workspace.get("f", headers={"Range": "bytes=10-"})
    refused(beyond, 416, "range_not_satisfiable")
    head = workspace.broker.request("HEAD", workspace.url("f"))
    assert head.status_code == 200 and head.headers["Content-Length"] == "10"
    assert head.content == b""
    workspace.put("empty", b"")
    assert workspace.get("empty").content == b"" and workspace.get("f").status_code == 200


def test_delete(workspace):
    workspace.put("d/f", b"x")
    refused(workspace.delete("d"), 409, "not_empty")
    assert workspace.delete("d/f").status_code == 204
    refused(workspace.delete("d/f"), 404, "not_found")
    assert workspace.delete("d").status_code == 204
    refused(workspace.delete("d/e/f"), 404, "not_found")
    assert workspace.paths() == []


@pytest.mark.parametrize("name", [
    "--help", "-rf", "grün/日本", "a b+c&d=e?f#g", "x" * 255, "back\\slash", "100%", "'\";$(x)",
    "/".join(["d" * 200] * 12)])
def test_names_are_only_names(workspace, name):
    assert workspace.put(name, name.encode()).status_code == 201
    assert workspace.get(name).content == name.encode()
    assert name in workspace.paths()
    assert workspace.delete(name).status_code == 204


def test_a_name_too_long_is_refused(workspace):
    refused(workspace.put("x" * 256, b"x"), 400, "path_not_allowed")
    refused(workspace.get("x" * 256), 400, "path_not_allowed")
    refused(workspace.put("/".join(["d" * 200] * 21), b"x"), 400, "path_not_allowed")
    assert workspace.paths() == []


# -- what a workload leaves there (A01, A06, A12) --------------------------------------------

PLANT = """ln -s /etc l; ln -s /etc/hostname file-link; ln -s . here; echo ok > ./--help
mkdir d; ln -s ../.. d/up; mkfifo fifo; ln -s nowhere dangling
python3 -c 'import socket; socket.socket(socket.AF_UNIX).bind("socket")'
mknod device c 1 3 || echo refused; cp /bin/sh s; chmod 4755 s; mkdir -m 1777 t"""


@pytest.fixture
def planted(broker, writer, workspace):
    broker.run(["sh", "-c", PLANT], agent=writer, workspace=workspace.name)
    return workspace


@pytest.mark.parametrize("path", ["l/passwd", "file-link", "dangling", "here/--help", "d/up/x",
                                  "l", "here"])
def test_links_are_never_followed(planted, path):
    before = planted.paths()
    refused(planted.get(path), 400, "path_not_allowed")
    refused(planted.put(path, b"x"), 400, "path_not_allowed")
    if "/" in path:
        refused(planted.delete(path), 400, "path_not_allowed")
    assert planted.paths() == before
    assert planted.get("--help").content == b"ok\n"


def test_a_link_itself_can_be_removed(planted):
    assert planted.delete("l").status_code == 204
    assert os.path.exists("/etc/passwd") and "l" not in planted.paths()


@pytest.mark.parametrize("tail", [
    "../etc/passwd", "%2e%2e/etc/passwd", "d/../../etc/passwd", "d/%2E%2E/x", "./x", "d//x", "/etc",
    "..%2fetc%2fpasswd", "a%00b", "a%0ab", "d/", "", "..", "a%ffb"])
@pytest.mark.parametrize("method", ["GET", "PUT", "DELETE"])
def test_dots_and_escapes_are_refused(planted, method, tail):
    before = planted.paths()
    status, answer = planted.raw(method, f"/v1/workspaces/{planted.name}/files/{tail}",
                                 b"x" if method == "PUT" else b"")
    assert status == 400 and b"path_not_allowed" in answer, answer
    assert planted.paths() == before


def test_look_alikes_are_other_workspaces(workspace):
    for method in ("GET", "PUT", "DELETE"):
        answer = workspace.broker.request(method, f"/v1/workspaces/{workspace.name}-x/files/f",
                                          **({"data": b"x"} if method == "PUT" else {}))
        refused(answer, 404, "not_found")


@pytest.mark.parametrize("path", ["fifo", "socket", "d"])
def test_what_is_no_file_is_refused_at_once(planted, path):
    started = time.monotonic()
    refused(planted.get(path), 409, "not_a_file")
    refused(planted.put(path, b"x"), 409, "not_a_file")
    assert time.monotonic() - started < 10
    assert planted.delete("fifo").status_code == 204


def test_what_lies_beneath_a_file_is_refused(planted):
    refused(planted.put("--help/x", b"x"), 409, "not_a_file")
    assert planted.get("--help/x").status_code in (404, 409)


def test_the_tree_shows_no_special_files_and_no_special_bits(planted):
    shown = {item["path"]: item for item in planted.tree()}
    assert set(shown) == {"--help", "d", "d/up", "dangling", "file-link", "here", "l", "s", "t"}
    assert shown["s"]["mode"] == "0755" and shown["t"]["mode"] == "0777"
    assert shown["l"]["type"] == "symlink" and shown["d"]["type"] == "directory"
    assert shown["--help"]["size"] == 3


def test_modes_that_forbid_it(broker, writer, workspace):
    broker.run(["sh", "-c", "echo x > f; chmod 0 f; mkdir -m 0 d"], agent=writer,
               workspace=workspace.name)
    refused(workspace.get("f"), 403, "file_denied")
    refused(workspace.put("d/x", b"x"), 403, "file_denied")
    assert workspace.put("f", b"new").status_code == 200


# -- the tree --------------------------------------------------------------------------------


def test_the_tree_in_pages(broker, writer, workspace):
    script = "for d in a b c; do mkdir $d; for i in 1 2 3 4 5 6 7; do echo > $d/$i; done; done;" \
             "mkdir a/sub; echo > a/sub/x; echo > a.x"
    broker.run(["sh", "-c", script], agent=writer, workspace=workspace.name)
    whole = workspace.paths()
    assert whole[:3] == ["a", "a/1", "a/2"] and len(whole) == 27
    assert whole.index("a/sub/x") == whole.index("a/sub") + 1
    for limit in (1, 2, 5, 26):
        cursor, seen = None, []
        while True:
            params = {"limit": limit, **({"cursor": cursor} if cursor else {})}
            page = broker.get(f"/v1/workspaces/{workspace.name}/tree", params=params).json()
            assert 0 < len(page["data"]) <= limit
            seen += [item["path"] for item in page["data"]]
            cursor = page["next_cursor"]
            if cursor is None:
                break
        assert seen == whole
    below = [item["path"] for item in workspace.tree("a")]
    assert below == [path for path in whole if path.startswith("a/")]


def test_the_tree_is_strict(workspace):
    tree = f"/v1/workspaces/{workspace.name}/tree"
    workspace.put("f", b"x")
    for path in ("..", "../x", "/etc", "a//b", "./f"):
        refused(workspace.broker.get(tree, params={"path": path}), 400, "path_not_allowed")
    refused(workspace.broker.get(tree, params={"path": "none"}), 404, "not_found")
    refused(workspace.broker.get(tree, params={"path": "f"}), 409, "not_a_file")
    refused(workspace.broker.get(tree, params={"cursor": "!"}), 400, "invalid_request")
    refused(workspace.broker.get(tree, params={"depth": "1"}), 400, "invalid_request")


def test_names_that_are_not_utf8(broker, writer, workspace):
    broker.run(["python3", "-c", "open(b'a\\xff\\n', 'w')"], agent=writer, workspace=workspace.name)
    [item] = workspace.tree()
    assert item["encoding"] == "base64" and item["path"] == "Yf8K"


# -- sizes -----------------------------------------------------------------------------------


def resident(program, broker):
    """Peak memory of the broker's process of that name, in KiB."""
    for path in os.listdir("/proc"):
        try:
            if not path.isdigit() or os.readlink(f"/proc/{path}/exe") != str(BIN / program):
                continue
            parent = int(open(f"/proc/{path}/stat").read().rsplit(")", 1)[1].split()[1])
            if program == "bulkheadd" and int(path) != broker.process.pid:
                continue
            if program != "bulkheadd" and parent != broker.process.pid:
                continue
            status = open(f"/proc/{path}/status").read()
            return int(status.split("VmHWM:")[1].split()[0])
        except OSError:
            continue
    raise AssertionError(f"no {program}")


def test_large_files_stream_through_flat_memory(broker):
    name = fresh("large")
    broker.put(f"/v1/workspaces/{name}", {"disk_bytes": 192 * MIB})
    space = Workspace(broker, name)
    space.put("warm", b"x" * MIB)
    before = {program: resident(program, broker) for program in ("bulkhead-api", "bulkheadd")}
    block = os.urandom(MIB)
    digest = hashlib.sha256(block * 64).hexdigest()
    assert space.put("f", (block for _ in range(64))).status_code == 201  # chunked
    got = hashlib.sha256()
    with space.get("f", stream=True) as answer:
        for chunk in answer.iter_content(MIB):
            got.update(chunk)
    assert got.hexdigest() == digest
    with broker.get(f"/v1/workspaces/{name}/archive", stream=True) as answer:
        assert sum(len(chunk) for chunk in answer.iter_content(MIB)) > 65 * MIB
    if not SANITIZED:
        for program, peak in before.items():
            assert resident(program, broker) - peak < 4096, program
    broker.delete(f"/v1/workspaces/{name}")


def test_uploads_of_every_size_end(broker):
    """Announced at once, after 100 Continue, and in chunks; also over a buffer's edges."""
    name = fresh("sizes")
    broker.put(f"/v1/workspaces/{name}", {"disk_bytes": 64 * MIB})
    space = Workspace(broker, name)
    for size in (1, 32767, 32768, 32769, 65536, 100_001, 3_000_000, 3_000_001):
        data = os.urandom(size)
        begin_upload(space, "f", data, size, ["Connection: close"]).close()
        for headers in ([], ["Expect: 100-continue"]):
            with begin_upload(space, "f", data, size, headers) as connection:
                connection.settimeout(20)
                answer = connection.recv(4096)
                while b" 100 " in answer.split(b"\r\n")[0] and answer.endswith(b"e\r\n\r\n"):
                    answer = connection.recv(4096)
            assert b"HTTP/1.1 20" in answer, answer
            assert space.get("f").content == data
        assert space.put("f", (data[at:at + 7777] for at in range(0, size, 7777))).ok
        assert space.get("f").content == data
    wait_until(lambda: broker.delete(f"/v1/workspaces/{name}").status_code == 204,
               what="workspace deleted")


def test_a_full_workspace_says_so_and_keeps_what_it_had(workspace):
    workspace.put("kept", b"kept")
    answer = workspace.put("big", (b"x" * MIB for _ in range(15)))
    assert answer.status_code in (201, 507)
    status, answer = workspace.raw("PUT", workspace.url("more"), b"y" * (24 * MIB))
    assert status == 507 and b"workspace_full" in answer
    assert "more" not in workspace.paths()
    assert workspace.get("kept").content == b"kept"


# -- clients and helpers that go away --------------------------------------------------------


def helpers(broker):
    found = []
    for path in os.listdir("/proc"):
        try:
            if path.isdigit() and os.readlink(f"/proc/{path}/exe") == str(BIN / "bulkhead-files") \
                    and f" {broker.process.pid} " in open(f"/proc/{path}/stat").read():
                found.append(int(path))
        except OSError:
            continue
    return found


def begin_upload(space, path, sent, announced, headers=()):
    """A PUT that is not over. The one helper that there is afterwards is its own."""
    wait_until(lambda: not helpers(space.broker), what="no earlier helper")
    connection = socket.create_connection(("127.0.0.1", space.broker.port), 20)
    lines = [f"PUT {space.url(path)} HTTP/1.1", "Host: x", f"Content-Length: {announced}",
             f"Authorization: Bearer {space.broker.token()}", *headers]
    connection.sendall("\r\n".join(lines).encode() + b"\r\n\r\n" + sent)
    return connection


def test_a_client_that_goes_mid_upload_leaves_nothing(workspace):
    connection = begin_upload(workspace, "new/dir/f", b"x" * 100_000, MIB)
    wait_until(lambda: helpers(workspace.broker), what="a helper")
    connection.close()
    wait_until(lambda: not helpers(workspace.broker), what="no helper")
    assert workspace.paths() == []


def test_a_killed_helper_leaves_nothing_and_is_told(workspace):
    workspace.put("f", b"old")
    connection = begin_upload(workspace, "f", b"x" * 100_000, 200_000)
    [helper] = wait_until(lambda: helpers(workspace.broker), what="a helper")
    time.sleep(0.2)
    os.kill(helper, 9)
    wait_until(lambda: not helpers(workspace.broker), what="no helper")
    with connection:
        connection.sendall(b"x" * 100_000)
        answer = connection.recv(65536)
    assert answer.startswith(b"HTTP/1.1 500 "), answer
    assert workspace.paths() == ["f"] and workspace.get("f").content == b"old"


def test_helpers_have_nothing_but_the_workspace(workspace):
    connection = begin_upload(workspace, "f", b"x", 10)
    [helper] = wait_until(lambda: helpers(workspace.broker), what="a helper")
    wait_until(lambda: "Seccomp:\t2" in open(f"/proc/{helper}/status").read(), what="seccomp")
    status = dict(line.split(":\t", 1) for line in open(f"/proc/{helper}/status").read().split("\n")
                  if ":\t" in line)
    assert status["Uid"].split() == status["Gid"].split() == ["1000"] * 4
    assert status["Groups"].strip() == "" and status["NoNewPrivs"] == "1"
    for name in ("CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb"):
        assert int(status[name], 16) == 0, name
    connection.close()


# -- who may, and when -----------------------------------------------------------------------


def test_roles_and_tenants(broker, workspace):
    workspace.put("f", b"x")
    auditor = {"role": "auditor"}
    assert workspace.get("f", **auditor).status_code == 200
    refused(workspace.put("f", b"y", **auditor), 403, "forbidden")
    refused(workspace.delete("f", **auditor), 403, "forbidden")
    archive = f"/v1/workspaces/{workspace.name}/archive"
    assert broker.get(archive, **auditor).status_code == 200
    refused(broker.request("PUT", archive, data=b"", **auditor), 403, "forbidden")
    for path in ("files/f", "tree", "archive"):
        answer = broker.get(f"/v1/workspaces/{workspace.name}/{path}", role=None)
        refused(answer, 401, "unauthorized")
    refused(broker.get(workspace.url("f") + "?tenant=other"), 404, "not_found")
    refused(workspace.put("f?x", b"y", role="orchestrator", params={"tenant": "other"}), 403,
            "forbidden")


def test_writing_waits_for_executions_and_they_for_it(broker, writer, workspace):
    workspace.put("f", b"before")
    identity = broker.begin(["sh", "-c", "echo now > f; sleep 100"], agent=writer,
                            workspace=workspace.name)
    for answer in (workspace.put("g", b"x"), workspace.delete("f"),
                   broker.request("PUT", f"/v1/workspaces/{workspace.name}/archive", data=b"")):
        refused(answer, 409, "workspace_busy")
    wait_until(lambda: workspace.get("f").content == b"now\n", what="reading meanwhile")
    broker.delete(f"/v1/executions/{identity}")
    broker.execution(identity, wait=20)
    connection = begin_upload(workspace, "g", b"x", 10)
    wait_until(lambda: helpers(broker), what="a helper")
    refused(broker.submit(["true"], agent=writer, workspace=workspace.name), 409, "workspace_busy")
    refused(broker.delete(f"/v1/workspaces/{workspace.name}"), 409, "workspace_busy")
    connection.sendall(b"x" * 9)
    assert connection.recv(4096).startswith(b"HTTP/1.1 201 ")
    connection.close()
    assert broker.run(["cat", "g"], agent=writer, workspace=workspace.name)["exit_code"] == 0


def test_an_answered_write_never_holds_an_execution_up(broker, writer, workspace):
    for round_ in range(12):
        assert workspace.put("f", str(round_).encode()).status_code in (200, 201)
        execution = broker.run(["cat", "f"], agent=writer, workspace=workspace.name)
        assert execution["stdout"]["data"] == str(round_)


def test_many_at_once(workspace):
    wrong = []

    def one(number):
        data = os.urandom(50_000)
        for _ in range(3):
            if workspace.put(f"d/{number}", data).status_code not in (200, 201) or \
                    workspace.get(f"d/{number}").content != data:
                wrong.append(number)

    threads = [threading.Thread(target=one, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong and len(workspace.paths()) == 9


# -- the command line --------------------------------------------------------------------------


def bulkhead(broker, *arguments, **options):
    environment = {"BULKHEAD_URL": broker.url, "BULKHEAD_TOKEN": broker.token(), "PATH": "/bin"}
    return subprocess.run([str(BIN / "bulkhead"), "workspaces", *arguments], env=environment,
                          capture_output=True, timeout=60, **options)


def test_the_command_line(workspace, tmp_path):
    name, data = workspace.name, os.urandom(200_000)
    (tmp_path / "in").write_bytes(data)
    assert bulkhead(workspace.broker, "put", name, "d/f", str(tmp_path / "in")).returncode == 0
    assert bulkhead(workspace.broker, "get", name, "d/f").stdout == data
    assert bulkhead(workspace.broker, "get", name, "d/f", "--output",
                    str(tmp_path / "out")).returncode == 0
    assert (tmp_path / "out").read_bytes() == data
    assert bulkhead(workspace.broker, "put", name, "g", input=b"from stdin").returncode == 0
    shown = bulkhead(workspace.broker, "ls", name).stdout.decode()
    assert "d/f" in shown and "200000" in shown.replace(" ", "") or "195" in shown
    assert bulkhead(workspace.broker, "ls", name, "d").stdout.decode().count("d/f") == 1
    tar = bulkhead(workspace.broker, "get", name, "--archive").stdout
    assert bulkhead(workspace.broker, "put", name, "--archive", input=tar).returncode == 0
    missing = bulkhead(workspace.broker, "get", name, "none")
    assert missing.returncode == 1 and b"not_found" in missing.stderr and missing.stdout == b""
    odd = bulkhead(workspace.broker, "put", name, "../x", input=b"x")
    assert odd.returncode == 1 and b"path_not_allowed" in odd.stderr
    assert bulkhead(workspace.broker, "put", name).returncode == 2
