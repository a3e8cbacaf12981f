"""The command line client against a scripted server: what a real broker does only on a bad day.
Lost answers, streams that break, hostile text, signals, readers that leave."""
import base64
import contextlib
import http.server
import json
import os
import signal
import ssl
import subprocess
import threading
import time

import pytest
from broker import BIN

CLI = str(BIN / "bulkhead")
IDENTITY = "ex_01kbk4w5x3m7q2v9t8r6n1p0za"
ENDED = {"execution": IDENTITY, "state": "ended", "outcome": "exited", "exit_code": 0,
         "signal": None, "detail": "", "stdout": {"truncated": False},
         "stderr": {"truncated": False}}


class Script(http.server.ThreadingHTTPServer):
    """Answers with self.on(handler) and records (method, path, headers, body)."""
    daemon_threads = True

    def __init__(self, on):
        super().__init__(("127.0.0.1", 0), Handler)
        self.on, self.seen = on, []
        threading.Thread(target=self.serve_forever, args=(0.02,), daemon=True).start()

    @property
    def url(self):
        return f"http://127.0.0.1:{self.server_address[1]}"

    def count(self, method, path):
        return len([1 for m, p, _, _ in self.seen if (m, p) == (method, path)])


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def handle(self):
        with contextlib.suppress(OSError):  # a TLS handshake that failed
            super().handle()

    def log_message(self, *arguments):
        pass

    def answer(self):
        size = int(self.headers.get("Content-Length", 0))
        body = self.rfile.read(size)
        self.server.seen.append((self.command, self.path, dict(self.headers), body))
        with contextlib.suppress(BrokenPipeError, ConnectionResetError):
            self.server.on(self)

    do_GET = do_POST = do_PUT = do_DELETE = answer

    def json(self, status, document, kind="application/json"):
        body = json.dumps(document).encode()
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def problem(self, status, **members):
        self.json(status, {"status": status, **members}, "application/problem+json")

    def drop(self):
        self.close_connection = True

    def stream(self):
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.send_header("Connection", "close")
        self.end_headers()
        self.close_connection = True

    def event(self, identity, name, **data):
        self.wfile.write(f"id: {identity}\nevent: {name}\ndata: {json.dumps(data)}\n\n".encode())

    def output(self, identity, offset, data, stream="stdout"):
        self.event(identity, stream, offset=offset, data=base64.b64encode(data).decode())


@pytest.fixture
def script():
    started = []

    def start(on):
        started.append(Script(on))
        return started[-1]

    yield start
    for server in started:
        server.shutdown()
        server.server_close()


def command(server, *arguments, **environment):
    return [CLI, *arguments], {"PATH": os.environ["PATH"], "BULKHEAD_URL": server.url,
                               "BULKHEAD_TOKEN": "bht_test", **environment}


def cli(server, *arguments, stdin=b"", **environment):
    argv, env = command(server, *arguments, **environment)
    return subprocess.run(argv, env=env, input=stdin, capture_output=True, timeout=60)


def created_then(follow):
    """A handler that creates IDENTITY and leaves its event stream to follow(handler)."""
    def on(handler):
        if handler.command == "POST":
            handler.json(201, {"execution": IDENTITY, "state": "queued"})
        elif handler.command == "DELETE":
            handler.json(202, {"execution": IDENTITY})
        else:
            follow(handler)
    return on


def test_a_lost_answer_is_asked_for_again_under_the_same_key(script):
    def on(handler):
        if handler.command == "POST" and server.count("POST", "/v1/executions") < 3:
            handler.drop()
        elif handler.command == "POST":
            handler.json(200, {"execution": IDENTITY})
        else:
            handler.stream()
            handler.event("s1", "ended", **ENDED)
    server = script(on)
    assert cli(server, "run", "--agent", "a", "--", "true").returncode == 0
    posts = [(headers["Idempotency-Key"], body) for method, _, headers, body in server.seen
             if method == "POST"]
    assert len(posts) == 3 and len(set(posts)) == 1


def test_a_refusal_is_not_asked_for_again(script):
    server = script(lambda handler: handler.problem(503, code="tier_unavailable",
                                                    detail="needs vm", request_id="req_1"))
    ran = cli(server, "run", "--agent", "a", "--", "true")
    assert ran.returncode == 125 and server.count("POST", "/v1/executions") == 1
    text = ran.stderr.decode()
    assert "needs vm" in text and "tier_unavailable" in text and "req_1" in text
    assert "bulkhead doctor" in text


def test_a_broker_that_restarts_is_waited_for(script):
    def on(handler):
        if handler.command == "POST" and server.count("POST", "/v1/executions") == 1:
            handler.problem(503, code="draining", detail="stopping")
        elif handler.command == "POST":
            handler.json(201, {"execution": IDENTITY})
        else:
            handler.stream()
            handler.event("s1", "ended", **ENDED)
    server = script(on)
    ran = cli(server, "run", "--agent", "a", "--", "true")
    assert (ran.returncode, ran.stderr) == (0, b"")


def test_a_broken_stream_goes_on_where_it_broke(script):
    asked = []

    def follow(handler):
        asked.append(handler.headers.get("Last-Event-ID"))
        handler.stream()
        if len(asked) == 1:
            handler.output("i1", 0, b"abc")
            handler.wfile.write(b"id: i2\nevent: stdout\ndata: {\"off")
        elif len(asked) == 2:
            handler.output("i2", 0, b"abcdef")  # more than was asked for: nothing twice
            handler.output("i3", 0, b"err", stream="stderr")
        else:
            handler.output("i4", 6, b"\xff\x00g")
            handler.event("i5", "ended", **ENDED)

    server = script(created_then(follow))
    ran = cli(server, "run", "--agent", "a", "--", "x")
    assert (ran.returncode, ran.stdout, ran.stderr) == (0, b"abcdef\xff\x00g", b"err")
    assert asked == [None, "i1", "i3"]


def test_a_gap_in_the_output_is_told(script):
    def follow(handler):
        handler.stream()
        handler.output("i1", 0, b"abc")
        handler.output("i2", 5, b"f")
        handler.event("i3", "ended", **ENDED)
    ran = cli(script(created_then(follow)), "run", "--agent", "a", "--", "x")
    assert ran.returncode == 125 and b"3 to 5 of stdout are missing" in ran.stderr


def test_reconnecting_ends_sometime(script):
    server = script(created_then(lambda handler: handler.drop()))
    begun = time.monotonic()
    ran = cli(server, "run", "--agent", "a", "--", "x")
    assert ran.returncode == 125 and b"may still run" in ran.stderr
    assert 5 <= server.count("GET", f"/v1/executions/{IDENTITY}/events") <= 20
    assert time.monotonic() - begun < 30


@pytest.mark.parametrize("document, status, said", [
    ({"exit_code": 137}, 137, b""),
    ({"outcome": "signaled", "exit_code": None, "signal": "SIGSEGV"}, 139, b"SIGSEGV"),
    ({"outcome": "timeout", "exit_code": None}, 124, b"timeout"),
    ({"outcome": "oom", "exit_code": None}, 137, b"oom"),
    ({"outcome": "boundary_failed", "exit_code": None, "detail": "seccomp: no"}, 125,
     b"seccomp: no"),
    ({"outcome": "lost", "exit_code": None}, 125, b"lost"),
])
def test_exit_statuses(script, document, status, said):
    def follow(handler):
        if handler.path.endswith("/events"):
            handler.stream()
            handler.event("i1", "ended", **dict(ENDED, **document))
        else:
            handler.json(200, dict(ENDED, **document))
    server = script(created_then(follow))
    ran = cli(server, "run", "--agent", "a", "--", "x")
    assert ran.returncode == status and said in ran.stderr and ran.stdout == b""
    as_json = cli(server, "run", "--json", "--agent", "a", "--", "x")
    assert as_json.returncode == status
    assert json.loads(as_json.stdout)["execution"] == IDENTITY


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_kills_the_execution(script, number):
    following = threading.Event()

    def follow(handler):
        handler.stream()
        handler.output("i1", 0, b"begun\n")
        following.set()
        time.sleep(20)

    server = script(created_then(follow))
    argv, env = command(server, "run", "--agent", "a", "--", "sleep", "100")
    with subprocess.Popen(argv, env=env, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as child:
        assert following.wait(20) and child.stdout.readline() == b"begun\n"
        child.send_signal(number)
        assert child.wait(10) == 128 + number
        assert IDENTITY.encode() in child.stderr.read()
    assert server.count("DELETE", f"/v1/executions/{IDENTITY}") == 1


def test_a_reader_that_leaves_ends_it_like_a_pipe(script):
    def follow(handler):
        handler.stream()
        for piece in range(100):
            handler.output(f"i{piece}", piece * 65536, b"x" * 65536)
    server = script(created_then(follow))
    argv, env = command(server, "run", "--agent", "a", "--", "yes")
    with subprocess.Popen(argv, env=env, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as child:
        child.stdout.read(10)
        child.stdout.close()
        assert child.wait(20) == 128 + signal.SIGPIPE
    assert server.count("DELETE", f"/v1/executions/{IDENTITY}") == 1


HOSTILE = "\x1b[2J\x1b]0;owned\x07\x9b31m\u202egnp\nbulkhead: all is well"


def assert_harmless(raw):
    text = raw.decode()
    assert all(ord(char) >= 32 or char == "\n" for char in text), text
    assert "\x9b" not in text and "\u202e" not in text
    assert not any(line.startswith("bulkhead: all is well") for line in text.splitlines())


@pytest.mark.parametrize("mode", [(), ("--json",)])
def test_hostile_text_reaches_no_terminal(script, mode):
    def on(handler):
        if handler.command == "GET":
            handler.json(200, {"data": [{"agent": HOSTILE, "owner": HOSTILE, "generation": 1,
                                         "capabilities": [HOSTILE]}], "next_cursor": None})
        else:
            handler.problem(422, code=HOSTILE, detail=HOSTILE, request_id=HOSTILE,
                            errors=[{"pointer": HOSTILE, "reason": HOSTILE}])
    server = script(on)
    listed = cli(server, "agents", "list", *mode)
    refused = cli(server, "agents", "rm", "x", *mode)
    assert listed.returncode == 0 and refused.returncode == 1
    for raw in (listed.stdout, listed.stderr, refused.stdout, refused.stderr):
        assert_harmless(raw)
    assert b"\\x1b[2J" in refused.stderr


def test_output_of_the_workload_passes_as_it_is(script):
    def on(handler):
        handler.send_response(200)
        handler.send_header("Content-Length", "4")
        handler.end_headers()
        handler.wfile.write(b"\x1b[1m")
    assert cli(script(on), "executions", "logs", IDENTITY).stdout == b"\x1b[1m"


@pytest.mark.parametrize("name", ["..", ".", "../../secret", "a/b", "a?force=true", "%2e%2e", "é"])
def test_a_name_is_one_component_whatever_it_holds(script, name):
    server = script(lambda handler: handler.problem(400, code="invalid", detail="no"))
    assert cli(server, "agents", "show", name).returncode == 1
    (_, path, _, _), = server.seen
    assert path.startswith("/v1/agents/") and "/" not in path[len("/v1/agents/"):]
    assert "?" not in path


def test_lists_go_through_all_pages(script):
    def on(handler):
        second = "cursor=c%2F2" in handler.path
        handler.json(200, {"data": [{"agent": "b" if second else "a"}],
                           "next_cursor": None if second else "c/2"})
    server = script(on)
    ran = cli(server, "agents", "list", "--json")
    assert [agent["agent"] for agent in json.loads(ran.stdout)["data"]] == ["a", "b"]
    few = cli(server, "agents", "list", "--limit", "1")
    assert few.returncode == 0 and b"--limit" in few.stderr


def test_the_token_goes_nowhere_else(script):
    elsewhere = script(lambda handler: handler.json(200, {}))

    def redirect(handler):
        handler.send_response(307)
        handler.send_header("Location", elsewhere.url + "/v1/agents/a")
        handler.send_header("Content-Length", "0")
        handler.end_headers()
    server = script(redirect)
    proxy = {name: elsewhere.url for name in
             ("http_proxy", "HTTP_PROXY", "https_proxy", "ALL_PROXY", "all_proxy")}
    ran = cli(server, "agents", "show", "a", **proxy)
    assert ran.returncode == 1 and elsewhere.seen == []
    assert server.seen[0][2]["Authorization"] == "Bearer bht_test"
    clear = cli(server, "--url", "http://192.0.2.1:1", "agents", "list")
    assert clear.returncode == 2 and b"https" in clear.stderr


def certificate(directory, name):
    """A self-signed certificate for 127.0.0.1 and its key in one file."""
    path = directory / f"{name}.pem"
    subprocess.run(["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2",
                    "-subj", f"/CN={name}", "-addext", "subjectAltName=IP:127.0.0.1",
                    "-keyout", path, "-out", directory / "cert"], check=True, capture_output=True)
    path.write_bytes(path.read_bytes() + (directory / "cert").read_bytes())
    return str(path)


def test_tls_trusts_only_whom_it_is_told_to(script, tmp_path):
    ours, other = certificate(tmp_path, "broker"), certificate(tmp_path, "other")
    server = script(lambda handler: handler.json(200, {"data": [], "next_cursor": None}))
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(ours)
    context.verify_mode = ssl.CERT_REQUIRED
    context.load_verify_locations(ours)
    server.socket = context.wrap_socket(server.socket, server_side=True)
    url = server.url.replace("http:", "https:")

    def ask(*options):
        return cli(server, "--url", url, "agents", "list", *options)
    for refused in (ask(), ask("--ca-file", other), ask("--ca-file", "/nonexistent")):
        assert refused.returncode == 1 and b"--ca-file" in refused.stderr
    assert server.seen == []
    assert ask("--ca-file", ours).returncode == 1  # the server wants a certificate too
    good = ask("--ca-file", ours, "--certificate", ours)
    assert good.returncode == 0, good.stderr
    assert len(server.seen) == 1


@pytest.mark.parametrize("body", [b"<html>hello</html>", b"", b"{", b"[1,2", b"\xff" * 100])
def test_answers_that_are_no_broker(script, body):
    def on(handler):
        handler.send_response(200)
        handler.send_header("Content-Type", "application/json")
        handler.send_header("Content-Length", str(len(body)))
        handler.end_headers()
        handler.wfile.write(body)
    server = script(on)
    ran = cli(server, "policy", "show")
    assert ran.returncode == 1 and b"is that a broker?" in ran.stderr
    assert cli(server, "run", "--agent", "a", "--", "x").returncode == 125
    assert cli(server, "doctor").returncode == 1
