"""What bulkhead-api makes of the broker's replies, with a fake broker behind it: documents with
output in them, raw output with Range and follow, Server-Sent Events with resume, cancelled calls,
the drain, and how the process is shut in."""
import base64
import json
import os
import re
import socket
import tempfile
import threading
import time

import pytest
import requests
from fake_broker import TOKENS, FakeBroker

EXECUTION = "ex_01m8p6fzcx29sn61w4k4kfbnp0"
HEADERS = {"Authorization": f"Bearer {TOKENS['orchestrator']}"}
BASE = f"/v1/executions/{EXECUTION}"


class Run:
    """An execution with two growing output files."""

    def __init__(self, out=b"", err=b""):
        self.files = [tempfile.TemporaryFile(), tempfile.TemporaryFile()]
        self.write(out, err)

    def write(self, out=b"", err=b""):
        for file, data in zip(self.files, (out, err)):
            file.write(data)
            file.flush()

    def document(self, state="ended", size=None):
        def stream(file):
            return {"bytes": size or os.fstat(file.fileno()).st_size, "truncated": False,
                    "dropped_bytes": 0}
        return {"execution": EXECUTION, "state": state, "stdout": stream(self.files[0]),
                "stderr": stream(self.files[1]), "labels": {"stdout": "mine"}}

    def reply(self, state="ended", status=200, **more):
        fds = [os.open(f"/proc/self/fd/{file.fileno()}", os.O_RDONLY) for file in self.files]
        return dict({"status": status, "body": self.document(state)}, **more), fds

    def output(self):
        return {"event": "output", "stdout": os.fstat(self.files[0].fileno()).st_size,
                "stderr": os.fstat(self.files[1].fileno()).st_size}

    def ended(self):
        return {"event": "ended", "sequence": 4, "execution": self.document()}


class Script:
    """The handler of the module's broker, set by each test."""

    def __init__(self):
        self.handler = None

    def __call__(self, frame, fds):
        for fd in fds:
            os.close(fd)
        answer = self.handler(frame)
        if isinstance(answer, tuple):
            self.opened = answer[1]
        return answer


@pytest.fixture(scope="module")
def api():
    script = Script()
    broker = FakeBroker(handler=script)
    broker.script = script
    broker.url = f"http://127.0.0.1:{broker.port}"
    yield broker
    assert broker.process.poll() is None, broker.log()
    assert broker.stop() == 0


def get(api, path, handler=None, **arguments):
    if handler:
        api.script.handler = handler
    headers = dict(HEADERS, **arguments.pop("headers", {}))
    return requests.request(arguments.pop("method", "GET"), api.url + path, headers=headers,
                            timeout=arguments.pop("timeout", 10), **arguments)


def state(sequence, name):
    return {"event": "state", "sequence": sequence, "state": name, "at": "2026-11-30T12:00:00.000Z"}


# -- documents ------------------------------------------------------------------------


@pytest.mark.parametrize("data,encoding", [
    (b"", "utf-8"), (b"plain\n", "utf-8"), ("grüße \U0001f600\n".encode(), "utf-8"),
    (b"\0\1\x1b[31m\x7f\"\\\r\n\t\b\f", "utf-8"), (b"\377\376\000A\033", "base64"),
    ("x\U0001f600".encode()[:-1], "base64"), (b"\xed\xa0\x80", "base64"), (b"\xc0\x80", "base64"),
    (b"\0" * 8000000, "utf-8"), (os.urandom(3000001), "base64"), ("é".encode() * 200001, "utf-8"),
    (b"a" * 65535 + "é".encode() + b"b" * 100000, "utf-8"), (b"a" * 200000 + b"\xff", "base64"),
], ids=range(13))
def test_output_stands_in_the_document_without_loss(api, data, encoding):
    run = Run(out=data, err=b"error")
    response = get(api, BASE, lambda frame: run.reply())
    assert response.status_code == 200
    document = response.json()
    stdout = document["stdout"]
    assert stdout["encoding"] == encoding
    decoded = base64.b64decode(stdout["data"]) if encoding == "base64" else stdout["data"].encode()
    assert decoded == data
    assert stdout["bytes"] == len(data)
    assert document["stderr"]["data"] == "error"
    assert document["labels"] == {"stdout": "mine"}


def test_large_output_costs_no_memory(api):
    run = Run(out=b"\0" * (64 << 20))

    def peak():
        return int(re.search(r"VmHWM:\s+(\d+)", open(f"/proc/{api.process.pid}/status").read())[1])
    before = peak()
    with get(api, BASE, lambda frame: run.reply(), stream=True, timeout=60) as response:
        size = sum(len(piece) for piece in response.iter_content(1 << 20))
    assert size > 6 * (64 << 20)
    assert peak() - before < 2048


def test_lists_have_no_data(api):
    run = Run(out=b"x")
    listed = get(api, "/v1/executions?label.k=v&state=ended&limit=7",
                 lambda frame: {"status": 200, "body": {"data": [run.document()], "next_cursor": None}})
    assert listed.json()["data"][0]["stdout"] == {"bytes": 1, "truncated": False, "dropped_bytes": 0}
    assert api.requests[-1]["params"] == {"labels": {"k": "v"}, "state": "ended", "limit": 7}


def test_headers_and_problems_of_the_broker_come_through(api):
    answer = get(api, "/v1/agents/a1", lambda frame: {"status": 200, "body": {}, "headers": {"ETag": '"7"'}})
    assert answer.headers["ETag"] == '"7"'
    problem = {"code": "secret_missing", "detail": "no é", "errors": [{"pointer": "/a", "reason": "r"}]}
    answer = get(api, "/v1/agents/a1", lambda frame: {"status": 422, "problem": problem},
                 headers={"X-Request-ID": "mine.1-2_3"})
    assert answer.status_code == 422 and answer.headers["X-Request-ID"] == "mine.1-2_3"
    assert answer.headers["Content-Type"] == "application/problem+json"
    assert answer.json() == {"type": "about:blank", "title": "Unprocessable Content", "status": 422,
                             **problem, "request_id": "mine.1-2_3"}
    answer = get(api, "/v1/agents/a1", lambda frame: {"status": 204}, method="DELETE",
                 headers={"X-Request-ID": "bad id"})
    assert answer.status_code == 204 and answer.content == b""
    assert answer.headers["X-Request-ID"].startswith("req_")
    answer = get(api, "/v1/agents/a1", lambda frame: {"nonsense": 1})
    assert answer.status_code == 500


def test_head_is_get_without_a_body(api):
    run = Run(out=b"hello")
    for path in ("/healthz", "/v1/agents", BASE, f"{BASE}/stdout", f"{BASE}/stdout?follow=true"):
        answer = get(api, path, lambda frame: run.reply(), method="HEAD")
        assert answer.status_code == 200 and answer.content == b""
        assert int(answer.headers["Content-Length"]) > 0
        assert api.requests[-1]["op"] != "executions.watch"
    answer = get(api, f"{BASE}/events", lambda frame: run.reply(), method="HEAD")
    assert answer.headers["Content-Type"] == "text/event-stream"


def test_the_request_reaches_the_broker_whole(api):
    payloads = []

    def handler(frame, fds):
        payloads.append(os.read(fds[0], 100) if fds else None)
        for fd in fds:
            os.close(fd)
        return {"status": 201, "body": {"execution": EXECUTION}}
    broker = FakeBroker(handler=handler)
    try:
        body = {"agent": "a", "argv": ["x"],
                "files": [{"path": "a", "data": "é", "mode": "0600"},
                          {"path": "b", "data": "AP8=", "encoding": "base64"}],
                "stdin": {"data": "in"}}
        for key in ("k1", "k1"):
            answer = requests.post(f"http://127.0.0.1:{broker.port}/v1/executions?wait=0.25", json=body,
                                   headers=dict(HEADERS, **{"Idempotency-Key": key}), timeout=5)
            assert answer.status_code == 201
        assert payloads == [b"\xc3\xa9\0\xffin"] * 2
        first, second = broker.requests
        assert first["params"] == second["params"]
        assert first["params"]["wait_ms"] == 250 and first["params"]["idempotency_key"] == "k1"
        assert first["params"]["body_digest"].startswith("sha256:")
        assert first["params"]["body"] == {
            "agent": "a", "argv": ["x"], "stdin": {"offset": 4, "length": 2},
            "files": [{"path": "a", "mode": "0600", "offset": 0, "length": 2},
                      {"path": "b", "offset": 2, "length": 2}]}
        requests.post(f"http://127.0.0.1:{broker.port}/v1/executions", json={"agent": "a"},
                      headers=HEADERS, timeout=5)
        assert payloads[-1] is None
    finally:
        assert broker.stop() == 0


def test_a_document_of_many_members_is_digested(api):
    """qsort(3) wants a system call of its own for more than 64 members."""
    body = {"agent": "a", "argv": ["x"], "env": {f"K{i}": "v" for i in range(5000)}}
    answer = get(api, "/v1/executions", lambda frame: {"status": 201, "body": {}}, method="POST", json=body)
    assert answer.status_code == 201


# -- raw output -----------------------------------------------------------------------


@pytest.mark.parametrize("header,status,data,content_range", [
    (None, 200, b"0123456789", None), ("bytes=0-3", 206, b"0123", "bytes 0-3/10"),
    ("bytes=4-", 206, b"456789", "bytes 4-9/10"), ("bytes=-3", 206, b"789", "bytes 7-9/10"),
    ("bytes=-99", 206, b"0123456789", "bytes 0-9/10"), ("bytes=8-99", 206, b"89", "bytes 8-9/10"),
    ("bytes=9-9", 206, b"9", "bytes 9-9/10"), ("bytes=10-", 416, None, "bytes */10"),
    ("bytes=-0", 416, None, "bytes */10"), ("bytes=99999999999999999999-", 416, None, "bytes */10"),
    ("bytes=0-1,3-4", 200, b"0123456789", None), ("bytes=3-1", 200, b"0123456789", None),
    ("lines=0-1", 200, b"0123456789", None), ("bytes=a-b", 200, b"0123456789", None),
])
def test_raw_output_and_ranges(api, header, status, data, content_range):
    run = Run(err=b"0123456789")
    answer = get(api, f"{BASE}/stderr", lambda frame: run.reply(),
                 headers={"Range": header} if header else {})
    assert answer.status_code == status
    assert answer.headers.get("Content-Range") == content_range
    if status != 416:
        assert answer.content == data
        assert answer.headers["Content-Type"] == "application/octet-stream"
        assert answer.headers["Accept-Ranges"] == "bytes"


def test_raw_output_of_nothing_and_of_much(api):
    assert get(api, f"{BASE}/stdout", lambda frame: {"status": 200, "body": {}}).content == b""
    data = os.urandom(5000000)
    run = Run(out=data)
    assert get(api, f"{BASE}/stdout", lambda frame: run.reply()).content == data


def watch(api, run, first=()):
    """Makes the next watch wait with run's reply; returns a function that sends events."""
    begun = threading.Event()
    numbers = []

    def handler(frame):
        assert frame["op"] == "executions.watch"
        numbers.append(frame["id"])
        reply, fds = run.reply("running")
        begun.set()
        return [reply, *first], fds
    api.script.handler = handler

    def send(*events):
        assert begun.wait(5)
        api.answer(numbers[-1], list(events))
    return send


def test_follow_streams_until_the_end(api):
    run = Run(out=b"first ")
    send = watch(api, run)
    with get(api, f"{BASE}/stdout?follow=true", stream=True) as answer:
        assert answer.status_code == 200
        pieces = answer.iter_content(None)
        assert next(pieces) == b"first "
        run.write(out=b"second ", err=b"not this")
        started = time.monotonic()
        send(run.output())
        assert next(pieces) == b"second "
        assert time.monotonic() - started < 1
        run.write(out=b"x" * 1000000)
        send(run.ended())
        assert b"".join(pieces) == b"x" * 1000000


def test_follow_honours_where_a_range_begins(api):
    run = Run(out=b"0123456789")
    send = watch(api, run)
    with get(api, f"{BASE}/stdout?follow=true", headers={"Range": "bytes=4-"}, stream=True) as answer:
        assert answer.headers["Bulkhead-Offset"] == "4"
        send(run.ended())
        assert answer.content == b"456789"
    send = watch(api, run)
    with get(api, f"{BASE}/stdout?follow=true", headers={"Range": "bytes=2-3"}, stream=True) as answer:
        assert answer.content == b"23"


def test_a_client_that_goes_away_is_forgotten(api):
    def last_is_cancelled():
        return api.requests[-1]["id"] in [frame["id"] for frame in api.cancelled]

    run = Run(out=b"data")
    for path in (f"{BASE}/stdout?follow=true", f"{BASE}/events"):
        watch(api, run, [state(1, "queued")])
        answer = get(api, path, stream=True)
        next(answer.iter_content(None))
        answer.close()
        assert api.wait_for(last_is_cancelled)
    api.script.handler = lambda frame: None
    count = len(api.requests)
    client = socket.create_connection(("127.0.0.1", api.port))
    client.sendall(f"GET {BASE}?wait=60 HTTP/1.1\r\nHost: x\r\n"
                   f"Authorization: {HEADERS['Authorization']}\r\n\r\n".encode())
    assert api.wait_for(lambda: len(api.requests) > count)
    client.close()
    assert api.wait_for(last_is_cancelled)
    # A late reply to a cancelled call harms nobody.
    api.answer(api.requests[-1]["id"], {"status": 200, "body": {}})
    assert get(api, "/healthz", lambda frame: {"status": 200, "body": {}}).status_code == 200


def test_a_client_that_only_closes_its_sending_side_gets_its_answer(api):
    api.script.handler = lambda frame: (time.sleep(0.2), {"status": 200, "body": {"late": True}})[1]
    with socket.create_connection(("127.0.0.1", api.port), timeout=5) as client:
        client.sendall(b"GET /healthz HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
        client.shutdown(socket.SHUT_WR)
        data = b""
        while piece := client.recv(4096):
            data += piece
    assert b'"late":true' in data


# -- events ---------------------------------------------------------------------------


def parse_events(text):
    """[(id, event, data)], comments left out."""
    events = []
    for block in text.split("\n\n"):
        fields = dict(line.split(": ", 1) for line in block.split("\n") if line and line[0] != ":")
        if fields:
            events.append((fields["id"], fields["event"], json.loads(fields["data"])))
    return events


def whole_run():
    run = Run(out=b"out-one|" * 9000, err=b"error")
    return run, [state(1, "queued"), state(2, "provisioning"), state(3, "running"), run.output(),
                 run.ended()]


def all_events(api, run, first, last=None):
    watch(api, run, first)
    answer = get(api, f"{BASE}/events", headers={"Last-Event-ID": last} if last else {})
    assert answer.headers["Content-Type"] == "text/event-stream"
    return parse_events(answer.text)


def gist(events):
    """States, the two outputs with where they begin, and the end."""
    result = {"states": [data["state"] for _, kind, data in events if kind == "state"],
              "end": events[-1]}
    for which in ("stdout", "stderr"):
        pieces = [data for _, kind, data in events if kind == which]
        result[which] = (pieces[0]["offset"] if pieces else None,
                         b"".join(base64.b64decode(piece["data"]) for piece in pieces))
    return result


def test_events_tell_states_output_and_the_end(api):
    run, first = whole_run()
    events = all_events(api, run, first)
    assert [data["state"] for _, kind, data in events if kind == "state"] == ["queued", "provisioning",
                                                                              "running"]
    kinds = [kind for _, kind, _ in events]
    assert kinds[:3] == ["state"] * 3  # what is past comes first, though there is output already
    assert kinds[-1] == "ended" and kinds.count("ended") == 1
    assert events[-1][2]["execution"] == EXECUTION and "data" not in events[-1][2]["stdout"]
    for which, want in (("stdout", b"out-one|" * 9000), ("stderr", b"error")):
        seen = b""
        for _, kind, data in events:
            if kind == which:
                assert data["offset"] == len(seen)
                piece = base64.b64decode(data["data"])
                assert 0 < len(piece) <= 32 << 10
                seen += piece
        assert seen == want


def test_resuming_at_every_event_loses_and_repeats_nothing(api):
    run, first = whole_run()
    events = all_events(api, run, first)
    assert len(events) > 6
    for index, (number, _, _) in enumerate(events[:-1]):
        # A state may come between two pieces of output, so the order across kinds is free.
        assert gist(all_events(api, run, first, last=number)) == gist(events[index + 1:])
    watch(api, run, first)
    assert get(api, f"{BASE}/events", headers={"Last-Event-ID": events[-1][0]}).status_code == 204
    for bad in ("1", "s1", "s1.o1.e1.", "s01.o1.e1", "s-1.o1.e1", "s1.o1.e1.end2", "é", "s1.o1.e" + "9" * 19):
        watch(api, run, first)
        answer = get(api, f"{BASE}/events", headers={"Last-Event-ID": bad.encode()})
        assert answer.status_code == 400, bad


def test_events_come_when_they_happen(api):
    run = Run()
    send = watch(api, run, [state(1, "queued")])
    with get(api, f"{BASE}/events", stream=True) as answer:
        pieces = answer.iter_content(None)
        assert b"queued" in next(pieces)
        for text in (b"one", b"two"):
            run.write(out=text)
            started = time.monotonic()
            send(run.output())
            assert base64.b64encode(text) in next(pieces)
            assert time.monotonic() - started < 0.5
        send(run.ended())
        assert b"event: ended" in b"".join(pieces)


def test_a_quiet_stream_has_heartbeats(api):
    watch(api, Run(), [state(1, "queued")])
    with get(api, f"{BASE}/events", stream=True, timeout=30) as answer:
        pieces = answer.iter_content(None)
        next(pieces)
        started = time.monotonic()
        assert next(pieces) == b":\n\n"
        assert 13 < time.monotonic() - started < 17


def test_a_client_that_does_not_read_costs_no_memory(api):
    run = Run(out=os.urandom(30 << 20))
    watch(api, run, [run.output(), run.ended()])

    def resident():
        return int(re.search(r"VmRSS:\s+(\d+)", open(f"/proc/{api.process.pid}/status").read())[1])
    before = resident()
    with get(api, f"{BASE}/events", stream=True) as answer:
        time.sleep(1)
        assert resident() - before < 4096
        text = b"".join(answer.iter_content(1 << 16)).decode()
    data = b"".join(base64.b64decode(data["data"]) for _, kind, data in parse_events(text) if kind == "stdout")
    run.files[0].seek(0)
    assert data == run.files[0].read()


# -- the process ----------------------------------------------------------------------


def test_the_process_is_shut_in(api):
    status = open(f"/proc/{api.process.pid}/status").read()
    fields = dict(line.split(":\t", 1) for line in status.strip().split("\n") if ":\t" in line)
    assert set(fields["Uid"].split()) == {"61234"} and set(fields["Gid"].split()) == {"61234"}
    assert fields["Groups"].strip() == ""
    for name in ("CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb"):
        assert int(fields[name], 16) == 0, name
    assert fields["NoNewPrivs"].strip() == "1" and fields["Seccomp"].strip() == "2"
    assert fields["Threads"].strip() == "1"
    limits = open(f"/proc/{api.process.pid}/limits").read()
    assert re.search(r"Max core file size\s+0\s+0", limits)
    assert re.search(r"Max processes\s+0\s+0", limits)
    # Not dumpable: its /proc entries belong to root.
    assert os.stat(f"/proc/{api.process.pid}/environ").st_uid == 0


def test_it_ends_with_its_broker():
    broker = FakeBroker()
    assert broker.stop() == 0
    assert "error" not in broker.log()


def test_a_drain_lets_requests_finish_and_accepts_no_more():
    broker = FakeBroker(handler=lambda frame, fds: None)
    url = f"http://127.0.0.1:{broker.port}"
    result = []
    thread = threading.Thread(
        target=lambda: result.append(requests.get(f"{url}/healthz", timeout=10).json()))
    thread.start()
    assert broker.wait_for(lambda: len(broker.requests) == 1)
    broker.send({"event": "drain"})
    time.sleep(0.3)
    assert broker.process.poll() is None
    broker.answer(broker.requests[0]["id"], {"status": 200, "body": {"late": True}})
    thread.join()
    assert result == [{"late": True}]
    assert broker.process.wait(5) == 0
    broker.stop()


def test_new_tokens_replace_the_old_ones(api):
    broker = FakeBroker()
    url = f"http://127.0.0.1:{broker.port}/v1/host"
    assert requests.get(url, headers=HEADERS, timeout=5).status_code == 200
    broker.send({"event": "principals", "tokens": []})
    deadline = time.monotonic() + 5
    while requests.get(url, headers=HEADERS, timeout=5).status_code != 401:
        assert time.monotonic() < deadline
    assert broker.stop() == 0


def test_a_broker_that_breaks_the_protocol_ends_it():
    for message in ({"event": "surprise"}, {"event": "listen"}, {"event": "principals", "tokens": [{}]}):
        broker = FakeBroker()
        broker.send(message)
        assert broker.process.wait(5) == 1
        assert '"level":"error"' in broker.log()
        broker.stop()
