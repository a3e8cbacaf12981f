"""The broker's end of the channel to bulkhead-api, scripted: what the API does can then be seen
without executions, and broken brokers can be played.

A handler gets each request frame and returns the reply (a dict without "id"), a list of frames, or
None to leave it waiting; descriptors go in a second tuple member: (reply, [fd, ...])."""

import array
import hashlib
import json
import os
import pathlib
import socket
import struct
import subprocess
import tempfile
import threading

TOKENS = {
    "operator": "operator-token-0123456789",
    "orchestrator": "orchestrator-token-0123456789",
    "auditor": "auditor-token-0123456789",
}


ROOT = pathlib.Path(__file__).resolve().parents[2]
BIN = pathlib.Path(os.environ.get("BULKHEAD_BIN", ROOT / "build" / "bin"))


def echo(frame, fds):
    """Answers every request with what it was."""
    for fd in fds:
        os.close(fd)
    return {"status": 200, "body": {"op": frame["op"], "params": frame["params"],
                                    "request_id": frame["request_id"],
                                    "authenticated": "token" in frame}}


class FakeBroker:
    """Starts bulkhead-api with one unix and one TCP listener (and a TLS one when pem is given)."""

    def __init__(self, handler=echo, uid=61234, tls=None):
        self.handler = handler
        self.directory = tempfile.TemporaryDirectory(prefix="bh-api-")
        self.unix = os.path.join(self.directory.name, "api.sock")
        self.requests = []
        self.cancelled = []
        self.lock = threading.Lock()
        self.arrived = threading.Condition(self.lock)
        self.ready = threading.Event()
        self.closed = threading.Event()
        self._spawn(uid)
        self.listeners = [self._unix_listener(), self._tcp_listener()]
        self.port = self.listeners[1].getsockname()[1]
        self._introduce(tls)
        self.thread = threading.Thread(target=self._run, daemon=True)
        self.thread.start()
        if not self.ready.wait(10):
            raise RuntimeError("bulkhead-api is not ready: " + self.log())

    def _spawn(self, uid):
        self.sock, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_STREAM)
        self.stderr = tempfile.TemporaryFile()
        fd = theirs.fileno()
        # A sanitizer would keep 256 MiB of freed memory, and hide what the memory tests look at.
        environment = {"ASAN_OPTIONS": "quarantine_size_mb=2:thread_local_quarantine_size_kb=64"}
        self.process = subprocess.Popen([BIN / "bulkhead-api", "--uid", str(uid)], env=environment,
                                        stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                                        stderr=self.stderr, pass_fds=(3,),
                                        preexec_fn=lambda: os.dup2(fd, 3))
        theirs.close()

    def _unix_listener(self):
        listener = socket.socket(socket.AF_UNIX)
        listener.bind(self.unix)
        listener.listen(128)
        return listener

    @staticmethod
    def _tcp_listener():
        listener = socket.socket()
        listener.bind(("127.0.0.1", 0))
        listener.listen(128)
        return listener

    def _introduce(self, tls):
        tokens = [{"sha256": hashlib.sha256(token.encode()).hexdigest(), "role": role,
                   "tenant": "default", "name": role} for role, token in TOKENS.items()]
        self.send({"event": "principals", "tokens": tokens})
        kinds = ["unix", "tcp"]
        for kind, listener in zip(kinds, self.listeners):
            self.send({"event": "listen", "kind": kind, "address": kind, "tls": False},
                      [listener.fileno()])
        if tls:
            listener = self._tcp_listener()
            self.listeners.append(listener)
            self.tls_port = listener.getsockname()[1]
            fds = [self._memfd(text) for text in tls]
            self.send({"event": "listen", "kind": "tcp", "address": "tls", "tls": True},
                      [listener.fileno()] + fds)
            for fd in fds:
                os.close(fd)
        self.send({"event": "serve"})

    @staticmethod
    def _memfd(data):
        fd = os.memfd_create("pem")
        os.write(fd, data)
        return fd

    # Frames

    def send(self, message, fds=()):
        payload = json.dumps(message).encode()
        header = struct.pack("<II", len(payload), len(fds))
        control = [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", fds))] if fds else []
        with self.lock:
            self.sock.sendmsg([header], control)
            self.sock.sendall(payload)

    def _receive_exactly(self, size, fds=None):
        data = b""
        while len(data) < size:
            piece, controls, _, _ = self.sock.recvmsg(size - len(data), socket.CMSG_SPACE(4 * 8))
            if not piece:
                return None
            for level, kind, value in controls:
                if level == socket.SOL_SOCKET and kind == socket.SCM_RIGHTS and fds is not None:
                    numbers = array.array("i")
                    numbers.frombytes(value)
                    fds.extend(numbers)
            data += piece
        return data

    def _receive(self):
        fds = []
        header = self._receive_exactly(8, fds)
        if header is None:
            return None
        length, count = struct.unpack("<II", header)
        payload = self._receive_exactly(length)
        if payload is None:
            return None
        assert count == len(fds)
        return json.loads(payload), fds

    def _run(self):
        try:
            while (got := self._receive()) is not None:
                self._dispatch(*got)
        except OSError:
            pass
        self.closed.set()

    def _dispatch(self, frame, fds):
        if frame.get("event") == "ready":
            self.ready.set()
            return
        with self.lock:
            (self.cancelled if frame.get("op") == "cancel" else self.requests).append(frame)
            self.arrived.notify_all()
        if frame.get("op") == "cancel":
            return
        answer = self.handler(frame, fds)
        if answer is not None:
            self.answer(frame["id"], answer)

    def answer(self, number, answer):
        fds = ()
        if isinstance(answer, tuple):
            answer, fds = answer
        frames = answer if isinstance(answer, list) else [answer]
        for index, frame in enumerate(frames):
            self.send(dict(frame, id=number), fds if index == 0 else ())

    def wait_for(self, condition, timeout=5):
        """Until condition() about requests or cancelled holds."""
        with self.arrived:
            return self.arrived.wait_for(condition, timeout)

    # Life

    def log(self):
        self.stderr.seek(0)
        return self.stderr.read().decode(errors="replace")

    def stop(self):
        self.sock.shutdown(socket.SHUT_RDWR)
        try:
            status = self.process.wait(10)
        finally:
            if self.process.poll() is None:
                self.process.kill()
                self.process.wait()
            for listener in self.listeners:
                listener.close()
            self.sock.close()
            self.directory.cleanup()
        return status
