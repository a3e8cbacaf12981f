"""What an execution costs, beside `bwrap --ro-bind / / --unshare-all true` in the same run, and in
the tiers of the container driver beside the bare runtime on the same bundle (bare_runtime.py):
latency on a keep-alive connection, throughput with 8 clients, memory of 300 sleeping
executions, descriptors after thousands. Called by tests/bench/run.

The state lies in TMPDIR. Where thousands of files were deleted in the last minutes, ext4 passes
over their inodes one by one (recently_deleted() in fs/ext4/ialloc.c) and every figure is worse:
run it before a test suite, not after."""
import argparse
import concurrent.futures
import json
import os
import pathlib
import re
import socket
import statistics
import subprocess
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "lib"))

from broker import Broker  # noqa: E402

BWRAP = ["/usr/bin/bwrap", "--ro-bind", "/", "/", "--unshare-all", "true"]
CLIENTS = 8


def progress(text):
    print(f"... {text}", file=sys.stderr, flush=True)


def run_bwrap():
    pid = os.posix_spawn(BWRAP[0], BWRAP, os.environ)
    _, status = os.waitpid(pid, 0)
    assert status == 0, status


class Client:
    """One keep-alive connection that runs /bin/true. It sends the same bytes each time and reads
    what comes, so that little of the two processors goes to the client."""

    def __init__(self, broker, agent, **members):
        self.socket = socket.create_connection(("127.0.0.1", broker.port))
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        body = json.dumps({"agent": agent, "argv": ["/bin/true"], **members}).encode()
        self.request = (f"POST /v1/executions?wait=30 HTTP/1.1\r\nHost: 127.0.0.1\r\n"
                        f"Authorization: Bearer {broker.token()}\r\n"
                        f"Content-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n"
                        ).encode() + body

    def receive(self, have, until):
        while not until(have):
            piece = self.socket.recv(65536)
            assert piece, have
            have += piece
        return have

    def run(self):
        self.socket.sendall(self.request)
        answer = self.receive(b"", lambda have: b"\r\n\r\n" in have)
        head, _, data = answer.partition(b"\r\n\r\n")
        length = re.search(rb"(?i)content-length: (\d+)", head)
        if length:
            data = self.receive(data, lambda have: len(have) >= int(length[1]))
        else:
            data = self.receive(data, lambda have: have.endswith(b"0\r\n\r\n"))
            data = b"".join(re.split(rb"(?:\r\n)?[0-9a-f]+\r\n", data))
        assert head.startswith(b"HTTP/1.1 201") and b'"exited"' in data, (head, data)
        return data


def timed(call):
    begun = time.perf_counter()
    call()
    return (time.perf_counter() - begun) * 1000


def latency(client, rounds):
    """Interleaved, so that a slow moment of the machine meets both."""
    for _ in range(20):
        client.run(), run_bwrap()
    ours, theirs, phases = [], [], []
    for _ in range(rounds):
        begun = time.perf_counter()
        data = client.run()
        ours.append((time.perf_counter() - begun) * 1000)
        phases.append(json.loads(data)["timing"])
        theirs.append(timed(run_bwrap))
    progress("phases, medians: " + ", ".join(
        f"{name} {statistics.median(p[name] for p in phases)}" for name in phases[0]))
    return statistics.median(ours), statistics.median(theirs)


def tier_latency(broker, agent, tier, rounds):
    """Of the tier and of the runtime that serves it, alone; and that runtime's name."""
    broker_client = Client(broker, agent, min_tier=tier)
    times = [timed(broker_client.run) for _ in range(rounds + 3)][3:]
    technology = broker.get("/v1/host").json()["tiers"][tier]["technology"]
    program = "runsc" if tier == "userkernel" else technology.split()[0]
    platform = technology.split("platform ")[1].split(")")[0] if tier == "userkernel" else ""
    bare = subprocess.run(
        ["unshare", "--mount", "--pid", "--fork", "--mount-proc", sys.executable,
         str(pathlib.Path(__file__).with_name("bare_runtime.py")), program, platform, str(rounds)],
        check=True, capture_output=True, text=True)
    return statistics.median(times), float(bare.stdout), program


def throughput(broker, agent, count):
    def rate(make):
        with concurrent.futures.ThreadPoolExecutor(CLIENTS) as pool:
            workers = [make() for _ in range(CLIENTS)]

            def loop(worker):
                for _ in range(count // CLIENTS):
                    worker()
            begun = time.perf_counter()
            list(pool.map(loop, workers))
            return count / (time.perf_counter() - begun)
    return rate(lambda: Client(broker, agent).run), rate(lambda: run_bwrap)


def private_bytes(pid):
    text = pathlib.Path(f"/proc/{pid}/smaps_rollup").read_text()
    return sum(int(line.split()[1]) * 1024 for line in text.splitlines()
               if line.startswith(("Private_Clean", "Private_Dirty")))


def descriptors(pid):
    return len(os.listdir(f"/proc/{pid}/fd"))


def program(pid):
    return os.path.basename(os.readlink(f"/proc/{pid}/exe"))


def shims(broker):
    """Shims of running executions: those that have a child."""
    for pid in broker.processes():
        if program(pid) == "bulkhead-shim":
            children = pathlib.Path(f"/proc/{pid}/task/{pid}/children").read_text()
            if children.strip():
                yield pid


def sleepers(broker, agent, count):
    made = []
    for _ in range(count):
        answer = broker.submit(["sleep", "600"], agent=agent, limits={"wall_ms": 600000})
        assert answer.status_code == 201, answer.text
        made.append(answer.json()["execution"])
    for identity in made:
        while broker.execution(identity)["state"] != "running":
            time.sleep(0.05)
    parents = {int(pathlib.Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[1])
               for pid in shims(broker)}
    own = [pid for pid in shims(broker) if broker.process.pid in parents]
    api = [pid for pid in broker.processes() if program(pid) == "bulkhead-api"]
    per_shim = statistics.median(private_bytes(pid) for pid in own)
    together = private_bytes(broker.process.pid) + private_bytes(api[0])
    return per_shim, together


def row(what, ours, theirs, goal):
    beside = f"{theirs:>10.2f} {ours / theirs:>7.2f}" if theirs else '         -       -'
    print(f"{what:<44} {ours:>10.2f} {beside}  {goal}")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--rounds", type=int, default=300)
    parser.add_argument("--executions", type=int, default=5000)
    parser.add_argument("--sleepers", type=int, default=300)
    options = parser.parse_args()

    broker = Broker().start()
    try:
        agent = broker.agent()
        progress(f"latency, {options.rounds} rounds")
        ours, theirs = latency(Client(broker, agent), options.rounds)
        tiers = {}
        for tier in ("container", "userkernel"):
            progress(f"latency of {tier}")
            tiers[tier] = tier_latency(broker, agent, tier, max(10, options.rounds // 10))
        before = descriptors(broker.process.pid)
        progress(f"throughput, {options.executions} executions")
        our_rate, their_rate = throughput(broker, agent, options.executions)
        time.sleep(1)
        after = descriptors(broker.process.pid)
        progress(f"memory, {options.sleepers} sleeping executions")
        per_shim, together = sleepers(broker, agent, options.sleepers)
        print(f"{'':<44} {'bulkhead':>10} {'bwrap':>10} {'ratio':>7}  goal")
        row("POST ?wait of /bin/true, ms (median)", ours, theirs, "ratio <= 1.5, aim 1.0")
        for tier, goal in (("container", "<= 1.15"), ("userkernel", "<= 1.2")):
            mine, bare, program = tiers[tier]
            row(f"the same in {tier}, ms; {program} run beside", mine, bare, f"ratio {goal}")
        row(f"{CLIENTS} clients, executions a second", our_rate, their_rate, ">= 250")
        row("private memory of a shim, MB", per_shim / 1e6, None, "< 2")
        row("private memory of broker and API, MB", together / 1e6, None, "< 64")
        row(f"broker's descriptors grown by, after {options.executions}", after - before, None,
            "0")
    finally:
        broker.stop()


if __name__ == "__main__":
    main()
