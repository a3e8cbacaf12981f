"""Tar archives of workspaces in and out: what may be in them, and that a refused one leaves no
trace (API §6; field cases A06, A12)."""
import io
import tarfile

import pytest
from broker import fresh, wait_until
from tarballs import archive, contents, device, directory, hardlink, member, symlink

MIB = 1 << 20


@pytest.fixture
def writer(broker):
    return broker.agent("command.run", "fs.workspace.read", "fs.workspace.write")


@pytest.fixture
def space(broker):
    name = fresh("archives")
    assert broker.put(f"/v1/workspaces/{name}", {"disk_bytes": 16 * MIB}).status_code == 201
    yield name
    wait_until(lambda: broker.delete(f"/v1/workspaces/{name}").status_code in (200, 204),
               what="workspace deleted")


def put(broker, space, data):
    return broker.request("PUT", f"/v1/workspaces/{space}/archive", data=data)


def paths(broker, space):
    return [item["path"] for item in broker.list(f"/v1/workspaces/{space}/tree")]


def run(broker, writer, space, script):
    return broker.run(["sh", "-c", script], agent=writer, workspace=space)["stdout"]["data"]


def test_in_and_out(broker, writer, space):
    data = archive(directory("./"), directory("./d", 0o750), member("./d/f", b"bytes", mode=0o640),
                   member("run", b"#!/bin/sh\necho ran\n", mode=0o755, mtime=1_000_000_000),
                   symlink("d/l", "../run"), hardlink("again", "d/f"),
                   member("grün/" + "n" * 200, b"long"))
    answer = put(broker, space, data)
    assert answer.status_code == 200, answer.text
    assert answer.json() == {"members": 6}
    script = "./run; cat d/l | head -1; stat -c '%a %u %g %h' d/f; stat -c %Y run; cat again"
    assert run(broker, writer, space, script) == \
        "ran\n#!/bin/sh\n640 1000 1000 2\n1000000000\nbytes"
    out = broker.get(f"/v1/workspaces/{space}/archive")
    assert out.headers["Content-Type"] == "application/x-tar"
    infos, files = contents(out.content)
    assert files["d/f"] == files["again"] == b"bytes"
    assert infos["d/l"].issym() and infos["d/l"].linkname == "../run"
    assert infos["run"].mode == 0o755 and infos["run"].uid == 1000
    assert files["grün/" + "n" * 200] == b"long"
    # What went out goes in again.
    assert put(broker, space, out.content).status_code == 200
    assert run(broker, writer, space, "cat d/f; stat -c %h d/f; ls -a") == \
        "bytes2\n.\n..\nagain\nd\ngrün\nlost+found\nrun\n"


@pytest.mark.parametrize("form", [tarfile.USTAR_FORMAT, tarfile.GNU_FORMAT, tarfile.PAX_FORMAT])
def test_forms(broker, space, form):
    assert put(broker, space, archive(member("a/b", b"x"), form=form)).status_code == 200
    assert paths(broker, space) == ["a", "a/b"]


GOOD = member("good", b"good")
BAD = {
    "dotdot": [member("../x", b"x")],
    "dotdot inside": [member("d/../../x", b"x")],
    "absolute": [member("/tmp/x", b"x")],
    "empty component": [member("a//b", b"x")],
    "link out": [symlink("l", "/etc")],
    "link up": [symlink("l", "../x")],
    "link up too far": [directory("d"), symlink("d/l", "../../x")],
    "link down and up": [symlink("l", "d/../../x")],
    "link without target": [symlink("l", "")],
    "link then file": [symlink("l", "d"), member("l/x", b"x")],
    "file then link": [member("l/x", b"x"), symlink("l", "d")],
    "file then beneath it": [member("f", b"x"), member("f/x", b"x")],
    "twice": [member("f", b"x"), member("f", b"y")],
    "link over file": [member("f", b"x"), symlink("f", "g")],
    "character device": [device("n")],
    "block device": [device("n", tarfile.BLKTYPE)],
    "fifo": [device("n", tarfile.FIFOTYPE)],
    "hard link out": [hardlink("h", "/etc/passwd")],
    "hard link up": [hardlink("h", "../x")],
    "hard link to what is not in it": [hardlink("h", "old")],
    "hard link to a later one": [hardlink("h", "z"), member("z", b"x")],
    "hard link to a link": [symlink("l", "good"), hardlink("h", "l")],
    "setuid": [member("s", b"x", mode=0o4755)],
    "setgid": [member("s", b"x", mode=0o2755)],
    "setuid directory": [directory("d", 0o4755)],
    "long name": [member("n" * 256, b"x")],
    "long path": [member("/".join(["n" * 200] * 21), b"x")],
}


@pytest.mark.parametrize("case", BAD)
def test_a_bad_member_is_refused_and_nothing_is_written(broker, writer, space, case):
    run(broker, writer, space, "echo old > old")
    for members in ([GOOD, *BAD[case]], [*BAD[case], GOOD]):
        answer = put(broker, space, archive(*members))
        assert answer.status_code == 400, answer.text
        assert answer.json()["code"] == "archive_not_allowed"
        assert paths(broker, space) == ["old"]


@pytest.mark.parametrize("data", [
    b"no archive at all" * 100, b"\x1f\x8b" + b"x" * 2000, archive(GOOD)[:700],
    archive(member("big", b"x" * 5000))[:2048], b"\0" * 100 + b"x" * 1000])
def test_what_is_no_sound_tar_is_refused(broker, space, data):
    answer = put(broker, space, data)
    assert answer.status_code == 400, answer.text
    assert answer.json()["code"] == "archive_not_allowed" and paths(broker, space) == []


def test_an_empty_archive_is_fine(broker, space):
    assert put(broker, space, archive()).json() == {"members": 0}
    assert put(broker, space, b"").status_code == 200


def test_planted_links_are_in_the_way(broker, writer, space):
    run(broker, writer, space, "ln -s /tmp l; ln -s /etc/hostname f; mkdir d; mkfifo p")
    before = paths(broker, space)
    for members in ([member("l/x", b"x")], [directory("l")]):
        answer = put(broker, space, archive(GOOD, *members))
        assert answer.status_code == 400 and answer.json()["code"] == "path_not_allowed"
    for members in ([member("d", b"x")], [member("p", b"x")], [directory("p")]):
        answer = put(broker, space, archive(GOOD, *members))
        assert answer.status_code == 409 and answer.json()["code"] == "not_a_file"
    assert paths(broker, space) == before
    # A link in a file's place is replaced, never written through.
    hostname = open("/etc/hostname").read()
    assert put(broker, space, archive(member("f", b"mine"))).status_code == 200
    assert open("/etc/hostname").read() == hostname
    assert run(broker, writer, space, "stat -c %F f; cat f") == "regular file\nmine"


def test_sizes(broker, space):
    too_much = archive(*[member(f"f{i}", b"x" * MIB) for i in range(18)])
    answer = put(broker, space, too_much)
    assert answer.status_code == 507 and answer.json()["code"] == "workspace_full"
    assert paths(broker, space) == []
    # A header that promises more than there is.
    info = tarfile.TarInfo("huge")
    info.size = 1 << 40
    answer = put(broker, space, info.tobuf(tarfile.GNU_FORMAT))
    assert answer.status_code == 507, answer.text
    assert paths(broker, space) == []


def test_special_files_do_not_go_out(broker, writer, space):
    run(broker, writer, space, "mkfifo p; cp /bin/true s; chmod 6755 s; ln -s /etc l;"
        "mkdir -m 3777 d; python3 -c 'import socket; socket.socket(socket.AF_UNIX).bind(\"k\")'")
    infos, _ = contents(broker.get(f"/v1/workspaces/{space}/archive").content)
    assert set(infos) == {"s", "l", "d"}
    assert infos["s"].mode == 0o755 and infos["d"].mode == 0o777
    assert infos["l"].linkname == "/etc", "a link is told, and not followed"


def test_names_that_are_not_utf8_survive(broker, writer, space):
    make = "python3 -c 'open(b\"a\\xff\\n\", \"w\").write(\"odd\")'"
    run(broker, writer, space, make)
    data = broker.get(f"/v1/workspaces/{space}/archive").content
    run(broker, writer, space, "rm a*")
    assert put(broker, space, data).status_code == 200
    assert run(broker, writer, space, "cat a*; ls -d a* | wc -l") == "odd2\n"


def test_deep_trees_are_cut_and_not_crashed_on(broker, writer):
    space = fresh("deep")
    broker.put(f"/v1/workspaces/{space}", {"disk_bytes": 128 * MIB})
    script = "import os\nfor i in range(3000):\n os.mkdir('d'); os.chdir('d')\n"
    run(broker, writer, space, f"python3 -c \"{script}\"; echo x > f")
    answer = broker.get(f"/v1/workspaces/{space}/archive", timeout=120)
    with tarfile.open(fileobj=io.BytesIO(answer.content)) as tar:
        assert max(len(info.name) for info in tar.getmembers()) == 4095
    assert len(paths(broker, space)) == 2049
    wait_until(lambda: broker.delete(f"/v1/workspaces/{space}").status_code == 204,
               what="workspace deleted")
