"""A real bulkheadd for tests: its own state and run directories, a loopback port and a unix
socket, tokens read from disk, and a look at what it left on the host.

Used by tests/integration, tests/escape and tests/bench."""
import contextlib
import hashlib
import itertools
import json
import os
import pathlib
import shutil
import signal
import subprocess
import tempfile
import threading
import time

import requests

ROOT = pathlib.Path(__file__).resolve().parents[2]
BIN = pathlib.Path(os.environ.get("BULKHEAD_BIN", ROOT / "build" / "bin"))
SANITIZED = "sanitize" in str(BIN)
READY_SECONDS = 30
names = itertools.count(1)


def fresh(prefix):
    """A name no other test of this run uses."""
    return f"{prefix}-{next(names)}"


def wait_until(condition, seconds=10, what="condition"):
    """Polls until condition() is true and returns its value; fails the test when it never is."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        value = condition()
        if value:
            return value
        time.sleep(0.02)
    raise AssertionError(f"{what}: not within {seconds} s")


def cgroup_directories(parent):
    """Of one broker, in every hierarchy. Looks only below the parent: others' cgroups come and
    go meanwhile, and a walk over all of them would trip over one that is gone."""
    found = []
    root = pathlib.Path("/sys/fs/cgroup")
    for hierarchy in [root, *root.iterdir()]:
        with contextlib.suppress(OSError):
            found += [entry.path for entry in os.scandir(hierarchy / parent) if entry.is_dir()]
    return sorted(found)


def loop_devices():
    return sorted(path.parent.parent.name
                  for path in pathlib.Path("/sys/block").glob("loop*/loop/backing_file"))


class Broker:
    def __init__(self, config=None, policy=None, listen=None, environment=None,
                 pass_fds=(), directory=None):
        self.directory = pathlib.Path(directory or tempfile.mkdtemp(prefix="bulkhead-test-"))
        self.state, self.run_dir = self.directory / "state", self.directory / "run"
        self.socket = self.directory / "api.sock"
        self.listen = listen or ["127.0.0.1:0", f"unix:{self.socket}"]
        self.environment = dict(os.environ, **(environment or {}))
        self.pass_fds = pass_fds
        self.config, self.policy = config, policy
        self.process = None
        self.defaults = {}  # members of every execution that does not say otherwise
        self.lines = []
        self.session = requests.Session()

    # -- the process ------------------------------------------------------------------

    def arguments(self):
        arguments = [str(BIN / "bulkheadd"), "--state-dir", str(self.state),
                     "--run-dir", str(self.run_dir)]
        for address in self.listen:
            arguments += ["--listen", address]
        if self.config is not None:
            path = self.directory / "config.json"
            path.write_text(json.dumps(self.config))
            arguments += ["--config", str(path)]
        if self.policy is not None:
            path = self.policy_path()
            if not path.exists():
                path.write_text(json.dumps(self.policy))
            arguments += ["--policy", str(path)]
        return arguments

    def policy_path(self):
        return self.directory / "policy.json"

    def start(self):
        self.ready = threading.Event()
        self.process = subprocess.Popen(
            self.arguments(), stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE, env=self.environment, pass_fds=self.pass_fds, text=True)
        threading.Thread(target=self._read, args=(self.process, self.ready), daemon=True).start()
        if not self.ready.wait(READY_SECONDS):
            self.kill()
            raise AssertionError("bulkheadd was not ready:\n" + "\n".join(self.lines[-40:]))
        if self.process.poll() is not None:
            raise AssertionError("bulkheadd ended at start:\n" + "\n".join(self.lines[-40:]))
        return self

    def _read(self, process, ready):
        for line in process.stderr:
            self.lines.append(line.rstrip("\n"))
            with contextlib.suppress(ValueError):
                message = json.loads(line)
                if message.get("event") == "ready" and "listen" in message:
                    self.addresses = message["listen"]
                    ready.set()
        ready.set()

    def terminate(self, seconds=20):
        """SIGTERM, as a service manager stops it. Running executions stay."""
        if self.process and self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
            assert self.process.wait(seconds) == 0, "\n".join(self.lines[-40:])
        self.session.close()

    def kill(self):
        """kill -9, as a crash."""
        if self.process and self.process.poll() is None:
            self.process.kill()
            self.process.wait()
        self.session.close()

    def stop(self):
        """Ends all executions, stops, and says what was left on the host."""
        try:
            self.kill_executions()
            self.terminate()
            assert self.leftovers() == []
        finally:
            self.kill()
            shutil.rmtree(self.directory, ignore_errors=True)

    def kill_executions(self):
        for execution in self.list("/v1/executions"):
            if execution["state"] != "ended":
                self.delete(f"/v1/executions/{execution['execution']}")
        wait_until(lambda: all(e["state"] == "ended" for e in self.list("/v1/executions")),
                   what="executions ended")

    # -- what it leaves on the host ------------------------------------------------------

    def cgroup_parent(self):
        digest = hashlib.sha256(os.path.realpath(self.state).encode()).hexdigest()
        return f"bulkhead.{digest[:8]}"

    def processes(self):
        """Pids of our programs that belong to this broker, the broker itself left out."""
        found = []
        for path in pathlib.Path("/proc").glob("[0-9]*"):
            with contextlib.suppress(OSError):
                executable = os.readlink(path / "exe").removesuffix(" (deleted)")
                if not executable.startswith(str(BIN)) or executable.endswith("/bulkheadd"):
                    continue
                mounts = (path / "mountinfo").read_text()
                if str(self.run_dir) in mounts:
                    found.append(int(path.name))
        return found

    def leftovers(self):
        def look():
            left = [f"cgroup {path}" for path in cgroup_directories(self.cgroup_parent())]
            left += [f"process {pid}" for pid in self.processes()]
            mounts = pathlib.Path("/proc/mounts").read_text()
            left += [f"mount {line}" for line in mounts.splitlines() if str(self.directory) in line]
            for path in pathlib.Path("/sys/block").glob("loop*/loop/backing_file"):
                with contextlib.suppress(OSError):  # detached in between
                    left += [f"loop {path}"] if str(self.directory) in path.read_text() else []
            return left
        end = time.monotonic() + 5
        while look() and time.monotonic() < end:
            time.sleep(0.05)
        return look()

    # -- HTTP ------------------------------------------------------------------------------

    @property
    def url(self):
        for address in self.addresses:
            if not address.startswith("unix:"):
                return f"http://{address}"
        raise AssertionError("no TCP listener")

    @property
    def port(self):
        return int(self.url.rsplit(":", 1)[1])

    def token(self, role="operator"):
        return (self.state / "tokens" / role).read_text().strip()

    def request(self, method, path, role="operator", headers=None, **arguments):
        sent = dict(headers or {})
        if role:
            sent.setdefault("Authorization", f"Bearer {self.token(role)}")
        arguments.setdefault("timeout", 60)
        return self.session.request(method, self.url + path, headers=sent, **arguments)

    def get(self, path, **arguments):
        return self.request("GET", path, **arguments)

    def put(self, path, body=None, **arguments):
        return self.request("PUT", path, json=body, **arguments)

    def post(self, path, body=None, **arguments):
        return self.request("POST", path, json=body, **arguments)

    def delete(self, path, **arguments):
        return self.request("DELETE", path, **arguments)

    def list(self, path, **arguments):
        """Every item of a list, over all its pages."""
        cursor, items = None, []
        for _ in range(1000):
            params = dict(arguments, limit=200, **({"cursor": cursor} if cursor else {}))
            page = self.get(path, params=params)
            assert page.status_code == 200, page.text
            items += page.json()["data"]
            cursor = page.json()["next_cursor"]
            if cursor is None:
                return items
        raise AssertionError(f"{path}: the cursor never ends")

    # -- agents and executions ----------------------------------------------------------

    def agent(self, *capabilities, name=None, **members):
        """Declares an agent and returns its name."""
        name = name or fresh("agent")
        body = {"owner": "tests@example.test",
                "capabilities": list(capabilities or ("command.run", "fs.workspace.write")),
                **members}
        answer = self.put(f"/v1/agents/{name}", body)
        assert answer.status_code in (200, 201), answer.text
        return name

    def submit(self, argv, agent=None, wait=None, headers=None, **members):
        """POST /v1/executions as it is answered."""
        agent = agent or self.default_agent()
        path = "/v1/executions" + ("" if wait is None else f"?wait={wait}")
        return self.post(path, {"agent": agent, "argv": argv, **self.defaults, **members}, headers=headers,
                         timeout=120)

    def run(self, argv, agent=None, wait=60, **members):
        """Runs to the end and returns the execution; the boundary must have been built."""
        answer = self.submit(argv, agent=agent, wait=wait, **members)
        assert answer.status_code == 201, answer.text
        execution = answer.json()
        assert execution["state"] == "ended", execution
        assert execution["outcome"] != "boundary_failed", execution
        return execution

    def begin(self, argv, agent=None, **members):
        """Starts an execution and returns its id once it runs."""
        answer = self.submit(argv, agent=agent, **members)
        assert answer.status_code == 201, answer.text
        identity = answer.json()["execution"]
        wait_until(lambda: self.execution(identity)["state"] in ("running", "ended"),
                   what=f"{identity} running")
        return identity

    def execution(self, identity, wait=None):
        path = f"/v1/executions/{identity}" + ("" if wait is None else f"?wait={wait}")
        answer = self.get(path)
        assert answer.status_code == 200, answer.text
        return answer.json()

    def default_agent(self):
        if not hasattr(self, "_default_agent"):
            self._default_agent = self.agent()
        return self._default_agent
