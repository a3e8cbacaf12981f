"""The execution resource over HTTP: waiting, idempotency, lists, raw output, events
(API §2, §5; field case F06)."""
import base64
import concurrent.futures
import json
import threading
import time

import pytest
from broker import fresh


def events(response, limit=500):
    """Server-sent events of a response: (id, event, data)."""
    identity, name, data = None, None, []
    for line in response.iter_lines(decode_unicode=True):
        if line == "":
            if name:
                yield identity, name, json.loads("\n".join(data))
                limit -= 1
                if limit == 0:
                    return
            name, data = None, []
        elif line.startswith(":"):
            continue
        else:
            field, _, value = line.partition(":")
            value = value.removeprefix(" ")
            if field == "id":
                identity = value
            elif field == "event":
                name = value
            elif field == "data":
                data.append(value)


def test_created_has_a_location_and_wait_is_bounded(broker):
    begun = time.monotonic()
    answer = broker.submit(["sleep", "100"], wait=1)
    assert answer.status_code == 201 and 0.8 < time.monotonic() - begun < 5
    execution = answer.json()
    assert answer.headers["Location"] == f"/v1/executions/{execution['execution']}"
    assert execution["state"] == "running" and execution["outcome"] is None
    assert execution["exit_code"] is None and execution["signal"] is None
    broker.delete(answer.headers["Location"])


@pytest.mark.parametrize("wait", ["-1", "601", "x", "1.5x", ""])
def test_waits_out_of_range_are_refused(broker, wait):
    assert broker.submit(["true"], wait=wait).status_code == 400


def test_unknown_query_parameters_are_refused(broker):
    assert broker.get("/v1/executions?stat=running").status_code == 400
    assert broker.get("/v1/executions?limit=0").status_code == 400
    assert broker.get("/v1/executions?limit=201").status_code == 400
    assert broker.get("/v1/executions?cursor=garbage").status_code == 400


def test_the_same_key_is_the_same_execution(broker):
    agent, key = broker.default_agent(), {"Idempotency-Key": fresh("key")}
    body = {"agent": agent, "argv": ["sh", "-c", "sleep 0.3; echo once"]}

    def post(_):
        return broker.post("/v1/executions?wait=20", body, headers=key)
    with concurrent.futures.ThreadPoolExecutor(10) as pool:
        answers = list(pool.map(post, range(10)))
    assert {a.json()["execution"] for a in answers} == {answers[0].json()["execution"]}
    assert sorted(a.status_code for a in answers) == [200] * 9 + [201]
    replayed = [a for a in answers if a.status_code == 200]
    assert all(a.headers["Idempotency-Replayed"] == "true" for a in replayed)
    other = broker.post("/v1/executions", dict(body, argv=["true"]), headers=key)
    assert other.status_code == 409 and other.json()["code"] == "idempotency_key_reused"


def test_lists_page_filter_and_end(broker):
    agent = broker.agent()
    made = [broker.run(["true"], agent=agent, labels={"n": str(n % 2)})["execution"]
            for n in range(5)]
    page = broker.get(f"/v1/executions?agent={agent}&limit=2").json()
    assert len(page["data"]) == 2 and page["next_cursor"]
    assert sorted(e["execution"] for e in broker.list("/v1/executions", agent=agent)) == \
        sorted(made)
    odd = broker.list("/v1/executions", **{"agent": agent, "label.n": "1"})
    assert sorted(e["execution"] for e in odd) == sorted(made[1::2])
    assert broker.list("/v1/executions", agent=agent, state="running") == []
    assert broker.get("/v1/executions?state=sleeping").status_code == 400


def test_raw_output_honours_ranges(broker):
    identity = broker.run(["printf", "0123456789"])["execution"]
    path = f"/v1/executions/{identity}/stdout"
    whole = broker.get(path)
    assert whole.content == b"0123456789" and whole.headers["Accept-Ranges"] == "bytes"
    part = broker.get(path, headers={"Range": "bytes=2-4"})
    assert part.status_code == 206 and part.content == b"234"
    assert part.headers["Content-Range"] == "bytes 2-4/10"
    assert broker.get(path, headers={"Range": "bytes=-3"}).content == b"789"
    assert broker.get(path, headers={"Range": "bytes=7-"}).content == b"789"
    beyond = broker.get(path, headers={"Range": "bytes=10-"})
    assert beyond.status_code == 416 and beyond.headers["Content-Range"] == "bytes */10"
    assert broker.get(path, headers={"Range": "lines=1-2"}).content == b"0123456789"
    assert broker.get(f"/v1/executions/{identity}/stderr").content == b""


def test_follow_streams_as_it_comes(broker):
    identity = broker.begin(["sh", "-c", "for i in 1 2 3; do echo $i; sleep 0.5; done"])
    begun, seen = time.monotonic(), []
    answer = broker.get(f"/v1/executions/{identity}/stdout?follow=true", stream=True)
    for chunk in answer.iter_content(None):
        seen.append((time.monotonic() - begun, chunk))
    assert b"".join(chunk for _, chunk in seen) == b"1\n2\n3\n"
    assert seen[0][0] < 1.2 and seen[-1][0] - seen[0][0] > 0.5


def test_events_tell_the_whole_story_in_order(broker):
    identity = broker.begin(["sh", "-c", "echo a; sleep 0.3; echo b >&2; sleep 0.3; echo c"])
    answer = broker.get(f"/v1/executions/{identity}/events", stream=True)
    assert answer.headers["Content-Type"].startswith("text/event-stream")
    story = list(events(answer))
    names = [name for _, name, _ in story]
    assert names[-1] == "ended" and names.count("ended") == 1
    states = [data["state"] for _, name, data in story if name == "state"]
    assert "running" in states and states == sorted(
        states, key=["queued", "provisioning", "running", "ended"].index)
    stdout = [(d["offset"], base64.b64decode(d["data"])) for _, n, d in story if n == "stdout"]
    assert b"".join(piece for _, piece in stdout) == b"a\nc\n" and stdout[0][0] == 0
    assert [base64.b64decode(d["data"]) for _, n, d in story if n == "stderr"] == [b"b\n"]


def test_events_of_the_past_begin_with_its_states(broker):
    identity = broker.run(["sh", "-c", "echo out; echo err >&2"])["execution"]
    answer = broker.get(f"/v1/executions/{identity}/events", stream=True)
    assert [name for _, name, _ in events(answer)] == \
        ["state", "state", "state", "stdout", "stderr", "ended"]


def test_events_resume_after_any_of_them(broker):
    identity = broker.run(["sh", "-c", "for i in 1 2 3 4 5; do echo $i; sleep 0.1; done"])[
        "execution"]
    path = f"/v1/executions/{identity}/events"
    whole = list(events(broker.get(path, stream=True)))
    for position, (last, _, _) in enumerate(whole[:-1]):
        rest = list(events(broker.get(path, stream=True, headers={"Last-Event-ID": last})))
        def text(part, stream):
            return b"".join(base64.b64decode(d["data"]) for _, n, d in part if n == stream)
        assert text(whole[:position + 1], "stdout") + text(rest, "stdout") == b"1\n2\n3\n4\n5\n"
        assert [d for _, n, d in whole[:position + 1] + rest if n == "ended"] == \
            [d for _, n, d in whole if n == "ended"]
    assert broker.get(path, headers={"Last-Event-ID": "nonsense"}).status_code == 400


def test_two_watchers_and_a_kill(broker):
    identity = broker.begin(["sleep", "100"])
    seen = []

    def watch():
        answer = broker.get(f"/v1/executions/{identity}/events", stream=True)
        seen.append([name for _, name, _ in events(answer)])
    watchers = [threading.Thread(target=watch) for _ in range(2)]
    for watcher in watchers:
        watcher.start()
    time.sleep(0.3)
    broker.delete(f"/v1/executions/{identity}")
    for watcher in watchers:
        watcher.join(20)
    assert [names[-1] for names in seen] == ["ended", "ended"]


def test_create_and_delete_race(broker):
    agent = broker.default_agent()

    def pair(_):
        identity = broker.submit(["sleep", "5"], agent=agent).json()["execution"]
        deleted = broker.delete(f"/v1/executions/{identity}").status_code
        again = broker.delete(f"/v1/executions/{identity}").status_code
        return identity, deleted, again
    with concurrent.futures.ThreadPoolExecutor(4) as pool:
        for identity, deleted, again in pool.map(pair, range(40)):
            assert deleted in (200, 202) and again in (200, 202)
            assert broker.execution(identity, wait=20)["outcome"] == "killed"


def test_identifiers_that_are_none(broker):
    for identity in ("..%2f..%2fcanary", "%2e%2e", ".", "ex_", "ex_" + "0" * 26 + "x", "a%00b",
                     "/tmp/x", "x" * 4096, "-rf"):
        for call in (broker.get, broker.delete):
            assert call(f"/v1/executions/{identity}").status_code in (400, 404, 405), identity
