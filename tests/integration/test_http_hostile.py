"""bulkhead-api against clients that mean harm or are broken (FIELD-CASES F02, F03, F08, C17), with
a fake broker behind it: no request of theirs may reach the broker, each gets a problem document,
in bounded time and memory, and other clients do not notice."""
import json
import socket
import ssl
import subprocess
import threading
import time
import warnings

import pytest
import requests
from fake_broker import TOKENS, FakeBroker, echo

AUTH = f"Authorization: Bearer {TOKENS['operator']}\r\n"
HEAD = f"Host: localhost\r\n{AUTH}"


@pytest.fixture(scope="module")
def broker():
    running = FakeBroker()
    yield running
    assert running.process.poll() is None, running.log()
    assert running.stop() == 0


def connect(broker, timeout=20):
    client = socket.create_connection(("127.0.0.1", broker.port), timeout=timeout)
    client.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return client


def read_all(client):
    data = b""
    while True:
        try:
            piece = client.recv(65536)
        except ConnectionResetError:
            pytest.fail(f"reset after {data!r}")
        if not piece:
            return data
        data += piece


def parse(data):
    """Status, headers and JSON of exactly one response."""
    head, _, body = data.partition(b"\r\n\r\n")
    lines = head.decode().split("\r\n")
    headers = dict(line.split(": ", 1) for line in lines[1:])
    headers = {name.lower(): value for name, value in headers.items()}
    assert len(body) == int(headers["content-length"]), data
    return int(lines[0].split()[1]), headers, json.loads(body)


def talk(broker, request):
    """What comes back until the API closes."""
    if isinstance(request, str):
        request = request.encode()
    with connect(broker) as client:
        client.sendall(request)
        return read_all(client)


def assert_problem(data, status, code=None):
    got, headers, document = parse(data)
    assert got == status, document
    assert headers["content-type"] == "application/problem+json"
    assert headers["connection"] == "close"
    assert document["status"] == status and document["request_id"] and document["detail"]
    assert headers["x-content-type-options"] == "nosniff"
    assert headers["cache-control"] == "no-store"
    if code:
        assert document["code"] == code
    return document


MALFORMED = {
    "garbage": "GARBAGE\r\n\r\n",
    "binary": b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" + b"\0" * 64,
    "no version": f"GET /healthz\r\n{HEAD}\r\n",
    "version 0.9": "GET /\r\n\r\n",
    "two spaces": f"GET  /healthz HTTP/1.1\r\n{HEAD}\r\n",
    "space in target": f"GET /healthz x HTTP/1.1\r\n{HEAD}\r\n",
    "bytes in target": b"GET /v1/\xff HTTP/1.1\r\nHost: x\r\n\r\n",
    "bare LF": "GET /healthz HTTP/1.1\nHost: x\n\n",
    "bare LF in headers": f"GET /healthz HTTP/1.1\r\nHost: x\n{AUTH}\r\n",
    "bare CR in a header": "GET /healthz HTTP/1.1\r\nHost: x\rX: y\r\n\r\n",
    "no host": "GET /healthz HTTP/1.1\r\n\r\n",
    "two hosts": "GET /healthz HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n",
    "no colon": f"GET /healthz HTTP/1.1\r\n{HEAD}nonsense\r\n\r\n",
    "empty name": f"GET /healthz HTTP/1.1\r\n{HEAD}: x\r\n\r\n",
    "space before colon": f"GET /healthz HTTP/1.1\r\n{HEAD}X-A : x\r\n\r\n",
    "folded line": f"GET /healthz HTTP/1.1\r\n{HEAD}X-A: x\r\n y\r\n\r\n",
    "folded first line": f"GET /healthz HTTP/1.1\r\n X-A: x\r\n{HEAD}\r\n",
    "NUL in a header": f"GET /healthz HTTP/1.1\r\n{HEAD}X-A: x\0y\r\n\r\n",
    "DEL in a header": f"GET /healthz HTTP/1.1\r\n{HEAD}X-A: x\x7fy\r\n\r\n",
}

HIDDEN = f"DELETE /v1/agents/hidden HTTP/1.1\r\n{HEAD}\r\n"
POST = f"POST /v1/executions HTTP/1.1\r\n{HEAD}"
SMUGGLING = {
    "two lengths": f"{POST}Content-Length: 2\r\nContent-Length: {2 + len(HIDDEN)}\r\n\r\n{{}}",
    "two equal lengths": f"{POST}Content-Length: 2\r\nContent-Length: 2\r\n\r\n{{}}",
    "length list": f"{POST}Content-Length: 2, 2\r\n\r\n{{}}",
    "signed length": f"{POST}Content-Length: +2\r\n\r\n{{}}",
    "negative length": f"{POST}Content-Length: -2\r\n\r\n{{}}",
    "hex length": f"{POST}Content-Length: 0x2\r\n\r\n{{}}",
    "empty length": f"{POST}Content-Length:\r\n\r\n{{}}",
    "spaced length": f"{POST}Content-Length: 2 \r\n\r\n{{}}",
    "length and chunked": f"{POST}Content-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
    "chunked and length": f"{POST}Transfer-Encoding: chunked\r\nContent-Length: 2\r\n\r\n0\r\n\r\n",
    "chunked tab": f"{POST}Transfer-Encoding: chunked\t\r\n\r\n0\r\n\r\n",
    "xchunked": f"{POST}Transfer-Encoding: xchunked\r\n\r\n0\r\n\r\n",
    "gzip, chunked": f"{POST}Transfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n",
    "chunked twice": f"{POST}Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
    "chunked in 1.0": f"{POST.replace('1.1', '1.0')}Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
    "spaced name": f"{POST}Content-Length : 2\r\n\r\n{{}}",
    "body of a GET": f"GET /v1/host HTTP/1.1\r\n{HEAD}Content-Length: 4\r\n\r\nabcd",
    "body of a DELETE": f"DELETE /v1/agents/a HTTP/1.1\r\n{HEAD}"
                        "Transfer-Encoding: chunked\r\n\r\n1\r\na\r\n0\r\n\r\n",
    "chunk sign": f"{POST}Transfer-Encoding: chunked\r\n\r\n+2\r\n{{}}\r\n0\r\n\r\n",
    "chunk space": f"{POST}Transfer-Encoding: chunked\r\n\r\n2 \r\n{{}}\r\n0\r\n\r\n",
    "chunk 0x": f"{POST}Transfer-Encoding: chunked\r\n\r\n0x2\r\n{{}}\r\n0\r\n\r\n",
    "chunk bare LF": f"{POST}Transfer-Encoding: chunked\r\n\r\n2\n{{}}\r\n0\r\n\r\n",
    "chunk too long": f"{POST}Transfer-Encoding: chunked\r\n\r\n2\r\n{{}}x\r\n0\r\n\r\n",
    "chunk without end": f"{POST}Transfer-Encoding: chunked\r\n\r\n2\r\n{{}}\n0\r\n\r\n",
    "trailer": f"{POST}Transfer-Encoding: chunked\r\n\r\n2\r\n{{}}\r\n0\r\nX: y\r\n\r\n",
}


@pytest.mark.parametrize("name", MALFORMED)
def test_malformed_requests_get_400(broker, name):
    before = len(broker.requests)
    assert_problem(talk(broker, MALFORMED[name]), 400)
    assert len(broker.requests) == before


@pytest.mark.parametrize("name", SMUGGLING)
def test_ambiguous_framing_gets_400_and_hides_nothing(broker, name):
    before = len(broker.requests)
    assert_problem(talk(broker, SMUGGLING[name] + HIDDEN), 400)
    assert len(broker.requests) == before


def test_a_fault_in_the_second_request_leaves_the_first_its_answer(broker):
    first = f"GET /v1/host HTTP/1.1\r\n{HEAD}\r\n"
    data = talk(broker, first + "BROKEN\r\n\r\n")
    head, _, rest = data.partition(b"\r\n\r\n")
    assert head.startswith(b"HTTP/1.1 200")
    length = int(head.lower().split(b"content-length: ")[1].split(b"\r\n")[0])
    assert json.loads(rest[:length])["op"] == "host.get"
    assert_problem(rest[length:], 400)


def test_pipelined_requests_are_answered_in_order(broker):
    text = "".join(f"GET /v1/agents/a{i} HTTP/1.1\r\n{HEAD}"
                   + ("Connection: close\r\n" if i == 9 else "") + "\r\n" for i in range(10))
    data = talk(broker, text)
    assert [data.index(f'"agent":"a{i}"'.encode()) for i in range(10)] == sorted(
        data.index(f'"agent":"a{i}"'.encode()) for i in range(10))


@pytest.mark.parametrize("version,status", [("HTTP/2.0", 505), ("HTTP/1.2", 505),
                                            ("HTTP/0.9", 505), ("http/1.1", 400)])
def test_versions(broker, version, status):
    assert_problem(talk(broker, f"GET /healthz {version}\r\n{HEAD}\r\n"), status)


@pytest.mark.parametrize("request_text,status", [
    (f"GET /{'a' * 65536} HTTP/1.1\r\n{HEAD}\r\n", 414),
    (f"GET /{'a' * 8192} HTTP/1.1\r\n{HEAD}\r\n", 414),
    (f"GET /healthz HTTP/1.1\r\n{HEAD}" + "".join(f"X-{i}: y\r\n" for i in range(10000)) + "\r\n", 431),
    (f"GET /healthz HTTP/1.1\r\n{HEAD}X-A: {'b' * 17000}\r\n\r\n", 431),
    (f"GET /healthz HTTP/1.1\r\n{HEAD}{'c' * 1000000}: x\r\n\r\n", 431),
    (f"{'D' * 70000} / HTTP/1.1\r\n{HEAD}\r\n", 400),
    (f"GET /v1/agents?{'&'.join('x' for _ in range(2000))} HTTP/1.1\r\n{HEAD}\r\n", 400),
    (f"GET /healthz HTTP/1.1\r\n{HEAD}Expect: magic\r\n\r\n", 417),
    (f"{POST}Content-Length: 1073741824\r\n\r\n", 413),
    (f"{POST}Content-Length: 99999999999999999999\r\n\r\n", 413),
    (f"{POST}Content-Length: 8388609\r\nExpect: 100-continue\r\n\r\n", 413),
    (f"PUT /v1/agents/a HTTP/1.1\r\n{HEAD}Content-Length: 1048577\r\n\r\n", 413),
], ids=["64 KiB target", "8 KiB target", "10000 headers", "long value", "long name", "long method",
        "2000 parameters", "expectation", "1 GiB body", "huge length", "expects 100", "1 MiB body"])
def test_limits_are_answered_before_more_is_read(broker, request_text, status):
    started = time.monotonic()
    assert_problem(talk(broker, request_text), status)
    assert time.monotonic() - started < 2


def test_a_client_that_sends_a_large_body_regardless_reads_its_413(broker):
    body = b"x" * (20 << 20)
    with connect(broker) as client:
        client.sendall(f"{POST}Content-Length: {len(body)}\r\n\r\n".encode())
        client.sendall(body)
        assert_problem(read_all(client), 413, "body_too_large")


def test_chunked_without_end_is_cut(broker):
    chunk = b"10000\r\n" + b"x" * 65536 + b"\r\n"
    with connect(broker) as client:
        client.sendall(f"{POST}Transfer-Encoding: chunked\r\n\r\n".encode())
        try:
            for _ in range(4096):
                client.sendall(chunk)
            pytest.fail("256 MiB were taken")
        except (BrokenPipeError, ConnectionResetError):
            pass
    assert requests.get(f"http://127.0.0.1:{broker.port}/healthz", timeout=5).status_code == 200


def test_chunked_over_the_limit_reads_413(broker):
    chunk = b"10000\r\n" + b"x" * 65536 + b"\r\n"
    with connect(broker) as client:
        client.sendall(f"PUT /v1/agents/a HTTP/1.1\r\n{HEAD}Transfer-Encoding: chunked\r\n\r\n".encode())
        for _ in range(20):
            client.sendall(chunk)
        assert_problem(read_all(client), 413, "body_too_large")


def test_a_refused_chunked_body_is_skipped_or_cut(broker):
    start = "POST /v1/nothing HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n"
    with connect(broker) as client:
        client.sendall(start.encode() + b"3\r\nabc\r\n0\r\n\r\n"
                       + b"GET /healthz HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
        data = read_all(client)
        assert data.startswith(b"HTTP/1.1 401") and b"HTTP/1.1 200" in data
    with connect(broker) as client:
        client.sendall(start.encode() + (b"4000\r\n" + b"x" * 16384 + b"\r\n") * 6)
        assert_problem(read_all(client), 401, "unauthorized")


def drip(broker, start, byte, interval):
    """Sends a byte at a time; returns seconds until the answer and the answer."""
    with connect(broker, timeout=60) as client:
        started = time.monotonic()
        client.sendall(start.encode())
        client.settimeout(interval)
        data = b""
        while time.monotonic() - started < 50:
            try:
                piece = client.recv(65536)
                if not piece:
                    return time.monotonic() - started, data
                data += piece
            except TimeoutError:
                try:
                    client.sendall(byte)
                except (BrokenPipeError, ConnectionResetError):
                    return time.monotonic() - started, data
    pytest.fail("never cut")


def test_slow_clients_get_408_and_others_do_not_notice(broker):
    results = {}

    def slow(name, *arguments):
        results[name] = drip(broker, *arguments)

    threads = [
        threading.Thread(target=slow, args=("head", "GET /healthz HTTP/1.1\r\nX-A: ", b"a", 0.9)),
        threading.Thread(target=slow, args=("body", f"{POST}Content-Length: 9000\r\n\r\n", b"a", 0.9)),
        threading.Thread(target=slow, args=("chunked", f"{POST}Transfer-Encoding: chunked\r\n\r\n1000\r\n",
                                            b"a", 0.9)),
        threading.Thread(target=slow, args=("refused", "POST /nothing HTTP/1.1\r\nHost: x\r\n"
                                            "Content-Length: 9000\r\n\r\n", b"a", 0.9)),
    ]
    for thread in threads:
        thread.start()
    worst = 0
    while any(thread.is_alive() for thread in threads):
        started = time.monotonic()
        assert requests.get(f"http://127.0.0.1:{broker.port}/healthz", timeout=5).status_code == 200
        worst = max(worst, time.monotonic() - started)
        time.sleep(0.2)
    assert worst < 1
    assert 9 < results["head"][0] < 13
    assert_problem(results["head"][1], 408, "request_timeout")
    for name in ("body", "chunked", "refused"):
        assert 29 < results[name][0] < 34, name
        assert_problem(results[name][1], 408, "request_timeout")


def test_a_silent_connection_is_closed(broker):
    with connect(broker) as client:
        started = time.monotonic()
        assert read_all(client) == b""
        assert 9 < time.monotonic() - started < 13


def post_raw(broker, path, body, method="POST", **headers):
    return requests.request(method, f"http://127.0.0.1:{broker.port}{path}", data=body, timeout=30,
                            headers={"Authorization": f"Bearer {TOKENS['operator']}",
                                     "Content-Type": "application/json", **headers})


@pytest.mark.parametrize("body,pointer", [
    (b"", ""), (b"{", None), (b"{}x", None), (b"[" * 100000, None), (b'{"a":' * 100000, None),
    (b'{"a":1e400}', "/a"), (b'{"a":"\\ud800"}', "/a"), (b'{"a":"\xff"}', "/a"),
    (b'{"tier":"vm","tier":"subprocess"}', "/tier"), (b'{"a":"\\u0000"}', "/a"),
    (b'{"a":01}', None), (b'{"a":NaN}', None), (b'{"a":99999999999999999999}', "/a"),
    (b'\xef\xbb\xbf{}', None), ("{}".encode("utf-16"), None),
])
def test_hostile_json_gets_400_with_its_place(broker, body, pointer):
    before = len(broker.requests)
    response = post_raw(broker, "/v1/executions", body)
    assert response.status_code == 400
    document = response.json()
    assert document["code"] == "invalid_request"
    if pointer is not None:
        assert document["errors"][0]["pointer"] == pointer
    assert len(broker.requests) == before


@pytest.mark.parametrize("document,pointer", [
    ({"files": {}}, "/files"), ({"files": [1]}, "/files/0"), ({"files": [{}]}, "/files/0/data"),
    ({"files": [{"data": 1}]}, "/files/0/data"),
    ({"files": [{"path": "a", "data": "", "offset": 3}]}, "/files/0/offset"),
    ({"files": [{"path": "a", "data": "", "encoding": "hex"}]}, "/files/0/encoding"),
    ({"files": [{"path": "a", "data": "@@", "encoding": "base64"}]}, "/files/0/data"),
    ({"stdin": None}, "/stdin"), ({"stdin": {"data": "x", "length": 1}}, "/stdin/length"),
    ({"stdin": {"data": "YQ", "encoding": "base64"}}, "/stdin/data"),
    ([], ""), ("x", ""), (1, ""),
])
def test_malformed_payloads_get_400_with_their_place(broker, document, pointer):
    response = post_raw(broker, "/v1/decisions", json.dumps(document))
    assert response.status_code == 400
    assert response.json()["errors"][0]["pointer"] == pointer


@pytest.mark.parametrize("path", [
    "/v1/executions/..%2f..%2fcanary", "/v1/executions/%2e%2e", "/v1/executions/.",
    "/v1/executions/", "/v1/executions//tmp/x", "/v1/executions/a%00b", "/v1/executions/-rf",
    "/v1/executions/" + "a" * 4096, "/v1/executions/%zz", "/v1/executions/%2", "/v1/executions/%ff",
    "/v1/agents/..%2fx", "/v1/agents/A", "/v1/agents/a%22;drop", "/v1/agents/%5D%5D%3E",
    "/v1/agents/a%0Ab", "/v1/agents/" + "a" * 64, "/v1/workspaces/.hidden", "/v1/workspaces/a%2Fb",
    "/v1/agents/a/../b", "/v1/agents/a/reviews/", "//v1/agents", "/v1/agents/a#x", "/v1/agents/a\\b",
    "/v1/executions/ex_zzzzzzzzzzzzzzzzzzzzzzzzzz/stdout",
])
@pytest.mark.parametrize("method", ["GET", "DELETE"])
def test_names_are_never_paths(broker, method, path):
    before = len(broker.requests)
    data = talk(broker, f"{method} {path} HTTP/1.1\r\n{HEAD}Connection: close\r\n\r\n")
    status, headers, _ = parse(data)
    assert status in (400, 404), data
    assert headers["content-type"] == "application/problem+json"
    assert len(broker.requests) == before


@pytest.mark.parametrize("query,name", [
    ("limit=0", "limit"), ("limit=201", "limit"), ("limit=-1", "limit"), ("limit=1e2", "limit"),
    ("limit=1&limit=2", "limit"), ("limt=1", "limt"), ("limit", "limit"), ("=", ""),
    ("cursor=", "cursor"), ("limit=%31%00", "%00"), ("agent=A", "agent"), ("state=ended%20", "state"),
    ("label.=x", "label."), ("label.a=x&label.a=y", "label.a"), ("wait=1", "wait"),
    ("limit=1&", ""), ("%ff=1", ""),
])
def test_query_parameters_are_strict(broker, query, name):
    response = requests.get(f"http://127.0.0.1:{broker.port}/v1/executions?{query}", timeout=5,
                            headers={"Authorization": f"Bearer {TOKENS['operator']}"})
    assert response.status_code == 400
    assert name in response.json()["detail"]


@pytest.mark.parametrize("header", [
    None, "", "Bearer", "Bearer ", "Bearer short", f"Basic {TOKENS['operator']}",
    f"Bearer  {TOKENS['operator']}", f"Bearer {TOKENS['operator']} x", f"Bearer {TOKENS['operator']}x",
    f"Bearer {TOKENS['operator'][:-1]}", "Bearer " + "a" * 300, f"Bearer {TOKENS['operator']}, x",
])
@pytest.mark.parametrize("path", ["/v1/agents", "/v1/host", "/v1/nothing", "/metrics", "/", "/healthz/"])
def test_wrong_tokens_get_401(broker, path, header):
    before = len(broker.requests)
    headers = {} if header is None else {"Authorization": header}
    response = requests.get(f"http://127.0.0.1:{broker.port}{path}", headers=headers, timeout=5)
    assert response.status_code == 401
    assert response.headers["WWW-Authenticate"] == "Bearer"
    assert TOKENS["operator"] not in response.text
    assert len(broker.requests) == before


def test_roles_are_checked_before_the_broker_is_asked(broker):
    before = len(broker.requests)
    for role, method, path in [("auditor", "DELETE", "/v1/agents/a"), ("auditor", "PUT", "/v1/agents/a"),
                               ("auditor", "POST", "/v1/executions"), ("orchestrator", "GET", "/v1/audit")]:
        response = requests.request(method, f"http://127.0.0.1:{broker.port}{path}", timeout=5,
                                    headers={"Authorization": f"Bearer {TOKENS[role]}"})
        assert response.status_code == 403 and response.json()["code"] == "forbidden"
    assert len(broker.requests) == before


def test_bodies_of_other_types_get_415(broker):
    for kind in ("application/x-www-form-urlencoded", "multipart/form-data; boundary=x", "text/plain",
                 "application/jsonx"):
        response = post_raw(broker, "/v1/executions", b"{}", **{"Content-Type": kind})
        assert response.status_code == 415, kind
    for kind in ("application/json; charset=utf-8", "Application/JSON"):
        assert post_raw(broker, "/v1/executions", b"{}", **{"Content-Type": kind}).status_code == 200


def memory_kib(broker):
    for line in open(f"/proc/{broker.process.pid}/status"):
        if line.startswith("VmRSS"):
            return int(line.split()[1])
    raise AssertionError("no VmRSS")


def test_memory_is_flat_after_many_large_and_broken_requests(broker):
    body = json.dumps({"files": [{"path": "a", "data": "x" * (4 << 20)}]}).encode()
    for _ in range(5):
        assert post_raw(broker, "/v1/executions", body).status_code == 200
    before = memory_kib(broker)
    for _ in range(20):
        assert post_raw(broker, "/v1/executions", body).status_code == 200
        talk(broker, MALFORMED["garbage"])
    assert memory_kib(broker) - before < 24 << 10


def test_descriptors_do_not_leak(broker):
    def count():
        return int(subprocess.run(["sh", "-c", f"ls /proc/{broker.process.pid}/fd | wc -l"],
                                  capture_output=True, check=True).stdout)
    deadline = time.monotonic() + 10
    while count() > 24 and time.monotonic() < deadline:
        time.sleep(0.2)
    assert count() <= 24


def certificate(tmp_path, name, issuer=None):
    """A PEM key and certificate, self-signed or by issuer."""
    key, pem = tmp_path / f"{name}.key", tmp_path / f"{name}.pem"
    command = ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256",
               "-nodes", "-keyout", key, "-out", pem, "-days", "2", "-subj", f"/CN={name}",
               "-addext", "subjectAltName=DNS:localhost,IP:127.0.0.1"]
    if issuer:
        command += ["-CA", tmp_path / f"{issuer}.pem", "-CAkey", tmp_path / f"{issuer}.key"]
    subprocess.run(command, check=True, capture_output=True)
    return key, pem


def test_tls_is_inspected_too_and_wants_the_client_certificate(tmp_path):
    key, pem = certificate(tmp_path, "server")
    certificate(tmp_path, "ca")
    client_key, client_pem = certificate(tmp_path, "client", issuer="ca")
    tls = [pem.read_bytes(), key.read_bytes(), (tmp_path / "ca.pem").read_bytes()]
    broker = FakeBroker(handler=echo, tls=tls)
    try:
        url = f"https://127.0.0.1:{broker.tls_port}"
        headers = {"Authorization": f"Bearer {TOKENS['operator']}"}
        response = requests.get(f"{url}/v1/host", headers=headers, verify=str(pem), timeout=5)
        assert response.status_code == 401
        assert response.json()["code"] == "client_certificate_required"
        session = requests.Session()
        session.trust_env = False  # REQUESTS_CA_BUNDLE would win over verify
        session.cert, session.verify = (str(client_pem), str(client_key)), str(pem)
        for _ in range(3):
            assert session.get(f"{url}/v1/host", headers=headers, timeout=5).status_code == 200
        context = ssl.create_default_context(cafile=str(pem))
        context.load_cert_chain(client_pem, client_key)
        for name in ("two lengths", "length and chunked", "chunk sign"):
            with socket.create_connection(("127.0.0.1", broker.tls_port), timeout=10) as raw, \
                    context.wrap_socket(raw, server_hostname="localhost") as client:
                client.sendall((SMUGGLING[name] + HIDDEN).encode())
                assert_problem(read_all(client), 400)
        context.maximum_version = ssl.TLSVersion.TLSv1_2
        with socket.create_connection(("127.0.0.1", broker.tls_port), timeout=10) as raw, \
                context.wrap_socket(raw, server_hostname="localhost") as client:
            client.sendall(f"GET /v1/host HTTP/1.1\r\n{HEAD}Connection: close\r\n\r\n".encode())
            assert read_all(client).startswith(b"HTTP/1.1 200")
        old = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        old.check_hostname, old.verify_mode = False, ssl.CERT_NONE
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DeprecationWarning)
            old.minimum_version = old.maximum_version = ssl.TLSVersion.TLSv1_1
        with pytest.raises((ssl.SSLError, ConnectionResetError)):
            with socket.create_connection(("127.0.0.1", broker.tls_port), timeout=10) as raw:
                old.wrap_socket(raw)
        assert all(frame["op"] == "host.get" for frame in broker.requests)
    finally:
        assert broker.stop() == 0
