"""Things outside the boundary that must stay untouched: a file, sockets, a listener, a process,
a shared memory segment. Used by test_escape.py, on the host, and by without_boundary.py."""
import contextlib
import ctypes
import os
import pathlib
import shutil
import signal
import socket
import subprocess
import sys
import tempfile

FILE_BYTES = b"the canary's own words\n"
SEGMENT_MODE = 0o1666  # IPC_CREAT and rw for all
IPC_RMID = 0
# RFC 5737 and RFC 3849: addresses that belong to nobody.
OUTSIDE_IPV4, OUTSIDE_IPV6 = "192.0.2.1", "2001:db8::1"

# Says where it can be heard when a signal reaches it.
PROCESS = """
import signal, sys
for number in (signal.SIGUSR1, signal.SIGTERM, signal.SIGHUP):
    signal.signal(number, lambda received, _: print(received, flush=True))
print("ready", flush=True)
while True:
    signal.pause()
"""


class Canaries:
    """Everything is open to everyone on the host: only the boundary keeps the workload off."""

    def __enter__(self):
        self.stack = contextlib.ExitStack()
        self.directory = pathlib.Path(tempfile.mkdtemp(prefix="bulkhead-canary-"))
        self.stack.callback(shutil.rmtree, self.directory)
        self.directory.chmod(0o777)
        self.file = self.directory / "file"
        self.file.write_bytes(FILE_BYTES)
        self.file.chmod(0o666)
        self.abstract_name = f"bulkhead-canary-{os.getpid()}"
        self.abstract = self._listen(socket.AF_UNIX, f"\0{self.abstract_name}")
        self.socket_path = self.directory / "socket"
        self.socket = self._listen(socket.AF_UNIX, str(self.socket_path))
        self.socket_path.chmod(0o777)
        self.tcp = self._listen(socket.AF_INET, ("127.0.0.1", 0))
        self.process = self.stack.enter_context(subprocess.Popen(
            [sys.executable, "-c", PROCESS], stdout=subprocess.PIPE))
        self.stack.callback(self.process.kill)
        assert self.process.stdout.readline() == b"ready\n"
        self._make_segment()
        return self

    def _listen(self, family, address):
        listener = self.stack.enter_context(socket.socket(family, socket.SOCK_STREAM))
        listener.bind(address)
        listener.listen(64)
        listener.setblocking(False)
        return listener

    def _make_segment(self):
        libc = ctypes.CDLL(None, use_errno=True)
        self.segment_key = 0x62680000 + os.getpid() % 0x10000
        segment = libc.shmget(self.segment_key, 4096, SEGMENT_MODE)
        assert segment >= 0, os.strerror(ctypes.get_errno())
        self.stack.callback(libc.shmctl, segment, IPC_RMID, None)

    def __exit__(self, *what):
        self.stack.close()

    def arguments(self):
        """For escape-attempts."""
        return [f"--canary-file={self.file}", f"--canary-abstract={self.abstract_name}",
                f"--canary-socket={self.socket_path}",
                f"--canary-tcp={self.tcp.getsockname()[1]}",
                f"--canary-pid={self.process.pid}", f"--canary-shm={self.segment_key}",
                f"--outside-ipv4={OUTSIDE_IPV4}", f"--outside-ipv6={OUTSIDE_IPV6}"]

    def touched(self):
        """What happened to them, as a list of sentences; empty when nothing did."""
        found = []
        if self.file.read_bytes() != FILE_BYTES:
            found.append("the file was changed")
        if self.file.stat().st_nlink != 1:
            found.append("the file has another link")
        if sorted(path.name for path in self.directory.iterdir()) != ["file", "socket"]:
            found.append("the directory was changed")
        for name in ("abstract", "socket", "tcp"):
            with contextlib.suppress(BlockingIOError):
                getattr(self, name).accept()[0].close()
                found.append(f"{name}: a connection arrived")
        if self.process.poll() is not None:
            found.append(f"the process ended: {self.process.returncode}")
        os.set_blocking(self.process.stdout.fileno(), False)
        if heard := self.process.stdout.read():
            found.append(f"the process got signals: {heard.split()}")
        return found


def ignore_signals():
    """For a caller that an attempt at everyone will reach."""
    signal.signal(signal.SIGUSR1, signal.SIG_IGN)
