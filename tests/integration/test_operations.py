"""Starting, configuring and looking at a broker: the command line, tokens and roles, health,
host, audit (API §1, §2, §10; field cases F01, F03, F04)."""
import json
import os
import pathlib
import shutil
import signal
import stat
import subprocess

import pytest
from broker import BIN, ROOT, Broker, fresh, wait_until


def bulkheadd(*arguments, **options):
    return subprocess.run([str(BIN / "bulkheadd"), *arguments], capture_output=True, text=True,
                          timeout=30, check=False, **options)


@pytest.mark.parametrize("address", ["0.0.0.0:0", "[::]:0", "192.0.2.1:80"])
def test_beyond_loopback_needs_tls(tmp_path, address):
    answer = bulkheadd("--state-dir", str(tmp_path / "s"), "--run-dir", str(tmp_path / "r"),
                       "--listen", address)
    assert answer.returncode == 2
    assert len(answer.stderr.strip().splitlines()) == 1 and "TLS" in answer.stderr


@pytest.mark.parametrize("arguments", [["--nonsense"], ["--listen"], ["--listen", "host:80"],
                                       ["--listen", "127.0.0.1:99999"], ["--config", "/none"],
                                       ["stray"]])
def test_wrong_usage_is_exit_2_and_one_line(tmp_path, arguments):
    answer = bulkheadd("--state-dir", str(tmp_path / "s"), "--run-dir", str(tmp_path / "r"),
                       *arguments)
    assert answer.returncode == 2 and len(answer.stderr.strip().splitlines()) == 1


@pytest.mark.parametrize("kind, document, pointer", [
    ("policy", '{"rules": [{"name": "x", "when": {}, "tier": "VM ", "text": "t"}]}', "/rules/0/tier"),
    ("policy", '{"limits": {"wall": {}}}', "/limits/wall"),
    ("policy", '{"rules": [{"tier": "vm", "tier": "subprocess", "name": "x"}]}', "/rules/0/tier"),
    ("policy", '{"limits": {"wall_ms": {"default": 5, "max": 2}}}', "/limits/wall_ms"),
    ("config", '{"listen": "127.0.0.1:0"}', "/listen"),
    ("config", '{"lisen": []}', "/lisen"),
    ("config", '{"listen": ["127.0.0.1:0", "192.0.2.1:80"]}', "/listen/1"),
])
def test_check_names_file_pointer_and_reason(tmp_path, kind, document, pointer):
    path = tmp_path / f"{kind}.json"
    path.write_text(document)
    answer = bulkheadd("--check", f"--{kind}", str(path))
    assert answer.returncode == 2
    assert str(path) in answer.stdout + answer.stderr and pointer in answer.stdout + answer.stderr


def test_check_accepts_the_default_policy(tmp_path):
    answer = bulkheadd("--check", "--policy", str(ROOT / "deploy" / "policy.json"))
    assert answer.returncode == 0, answer.stdout + answer.stderr
    path = tmp_path / "config.json"
    path.write_text(json.dumps({
        "listen": ["127.0.0.1:8460"],
        "egress": {"resolvers": ["10.0.0.2:53"], "hosts": {"api.example.test": ["10.199.0.2"]}},
        "drivers": {"container": {"runtimes": ["crun", "runc"]},
                    "vm": {"uri": "qemu:///system", "acceleration": "auto"}},
        "secrets": {"vault": {"address": "https://vault.test", "token_file": "/x"}}}))
    answer = bulkheadd("--check", "--config", str(path))
    assert answer.returncode == 0, answer.stdout + answer.stderr


def test_one_broker_for_one_state_directory(broker):
    answer = bulkheadd("--state-dir", str(broker.state), "--run-dir", str(broker.run_dir),
                       "--listen", "127.0.0.1:0")
    assert answer.returncode == 1 and "another" in answer.stderr


def test_first_tokens_are_private_and_only_hashes_are_kept(broker):
    store = b"".join(path.read_bytes() for path in broker.state.glob("bulkhead.db*"))
    for role in ("operator", "orchestrator", "auditor"):
        path = broker.state / "tokens" / role
        assert stat.S_IMODE(path.stat().st_mode) == 0o600
        assert broker.token(role).encode() not in store
    assert stat.S_IMODE(broker.state.stat().st_mode) & 0o077 == 0
    assert "bht_" not in "\n".join(broker.lines)


ROUTES = ["/v1/agents", "/v1/executions", "/v1/workspaces", "/v1/host", "/v1/policy",
          "/v1/audit"]


def test_nothing_but_health_is_answered_without_a_token(broker):
    for path in ROUTES + ["/v1/executions/ex_0", "/v1/nothing"]:
        for headers in ({}, {"Authorization": "Bearer"}, {"Authorization": "Bearer "},
                        {"Authorization": "Bearer wrong"}, {"Authorization": "Basic eDp5"}):
            answer = broker.get(path, role=None, headers=headers)
            assert answer.status_code == 401, (path, headers)
            assert answer.json()["code"] and "WWW-Authenticate" in answer.headers
    assert broker.get("/healthz", role=None).status_code == 200
    assert broker.get("/readyz", role=None).status_code == 200


def test_roles(broker):
    for path in ROUTES:
        assert broker.get(path, role="auditor").status_code == 200
    assert broker.get("/v1/audit", role="orchestrator").status_code == 403
    name = fresh("agent")
    spec = {"owner": "o", "capabilities": ["command.run"]}
    refused = broker.put(f"/v1/agents/{name}", spec, role="auditor")
    assert refused.status_code == 403 and refused.json()["code"]
    assert broker.put(f"/v1/agents/{name}", spec, role="orchestrator").status_code == 201
    body = {"agent": name, "argv": ["true"]}
    assert broker.post("/v1/executions", body, role="auditor").status_code == 403
    answer = broker.post("/v1/executions?wait=20", body, role="orchestrator")
    assert answer.status_code == 201 and answer.json()["outcome"] == "exited"


def test_host_says_what_is_missing(broker):
    host = broker.get("/v1/host").json()
    assert set(host["tiers"]) == {"subprocess", "container", "userkernel", "vm"}
    assert host["tiers"]["subprocess"]["available"] is True
    assert host["tiers"]["subprocess"]["driver"] == "subprocess"
    for name, tier in host["tiers"].items():
        assert tier["available"] or tier["missing"], name
    assert host["kernel"] == os.uname().release and host["cgroup"] in ("v1", "v2", "hybrid")
    assert host["kvm"]["usable"] in (True, False) and host["kvm"]["reason"]


def test_policy_is_shown_with_its_digest(broker):
    policy = broker.get("/v1/policy").json()
    assert policy["digest"].startswith("sha256:")
    assert policy["digest"] == broker.run(["true"])["policy_digest"]


def test_request_ids_are_echoed_or_made(broker):
    answer = broker.get("/v1/host", headers={"X-Request-ID": "mine-1"})
    assert answer.headers["X-Request-ID"] == "mine-1"
    assert broker.get("/v1/host").headers["X-Request-ID"].startswith("req_")


def test_wrong_paths_and_methods(broker):
    assert broker.get("/v1/nothing").status_code == 404
    answer = broker.request("PATCH", "/v1/agents")
    assert answer.status_code == 405 and "GET" in answer.headers["Allow"]
    assert broker.request("HEAD", "/v1/host").status_code == 200


def test_the_unix_socket_answers_too(broker):
    answer = subprocess.run(
        ["curl", "-s", "--unix-socket", str(broker.socket), "http://localhost/healthz"],
        capture_output=True, text=True, timeout=10, check=True)
    assert json.loads(answer.stdout)["status"] == "ok"


def test_relative_paths_begin_where_it_was_started(tmp_path):
    """Also on SIGHUP, when the broker has long left that directory."""
    policy = json.loads((ROOT / "deploy" / "policy.json").read_text())
    (tmp_path / "policy.json").write_text(json.dumps(policy))
    (tmp_path / "config.json").write_text('{"listen": ["127.0.0.1:0"]}')
    log = tmp_path / "log"
    with log.open("w") as output, subprocess.Popen(
            [str(BIN / "bulkheadd"), "--config", "config.json", "--policy", "policy.json",
             "--state-dir", "state", "--run-dir", "run"], cwd=tmp_path, stderr=output) as process:
        try:
            wait_until(lambda: '"ready"' in log.read_text(), 30, "ready")
            assert (tmp_path / "state" / "tokens" / "operator").exists()
            policy["limits"]["pids"] = {"default": 7, "max": 9}
            (tmp_path / "policy.json").write_text(json.dumps(policy))
            process.send_signal(signal.SIGHUP)
            wait_until(lambda: "policy.reloaded" in "".join(
                path.read_text() for path in (tmp_path / "state" / "audit").iterdir()),
                what="policy reloaded")
        finally:
            process.terminate()


def test_the_audit_log_is_a_chain_that_shows_tampering(own_broker):
    broker = own_broker()
    agent = broker.agent()
    broker.run(["true"], agent=agent)
    entries = broker.list("/v1/audit")
    for before, after in zip(entries, entries[1:]):
        assert after["previous"] == before["hash"] and after["sequence"] > before["sequence"]
    assert any(agent in json.dumps(entry) for entry in entries)
    files = sorted((broker.state / "audit").iterdir())
    assert files

    def verify():
        return subprocess.run([str(BIN / "bulkhead"), "--url", broker.url, "--token-file",
                               str(broker.state / "tokens" / "operator"), "audit", "verify",
                               "--dir", str(broker.state / "audit")],
                              capture_output=True, text=True, timeout=30, check=False)
    assert verify().returncode == 0, verify().stderr
    original = files[0].read_text()
    assert agent in original
    files[0].write_text(original.replace(agent, agent[:-1] + "0", 1))
    assert verify().returncode == 1
    lines = original.splitlines(keepends=True)
    files[0].write_text("".join(lines[:1] + lines[2:]))
    assert verify().returncode == 1
    files[0].write_text(original)
    assert verify().returncode == 0


def test_a_damaged_audit_log_is_no_fault_of_the_caller(own_broker):
    broker = own_broker()
    broker.agent()
    path = sorted((broker.state / "audit").iterdir())[-1]
    path.write_text("{\n" + path.read_text())
    answer = broker.get("/v1/audit")
    assert answer.status_code == 500 and answer.json()["errors"] == []


def test_what_is_missing_makes_the_tier_unavailable_and_heals(own_broker):
    """F04: without its seccomp program no boundary is built at all, and putting it back
    heals without a restart."""
    broker = own_broker()
    assert broker.run(["true"])["exit_code"] == 0
    programs = [path for path in (broker.run_dir / "seccomp").iterdir()]
    assert programs
    kept = {path: path.read_bytes() for path in programs}
    for path in programs:
        path.unlink()

    def refused():
        answer = broker.submit(["true"], wait=20)
        return answer.status_code == 503 or answer.json()["outcome"] == "boundary_failed"
    wait_until(refused, what="no boundary without seccomp")
    assert refused()
    for path, data in kept.items():
        path.write_bytes(data)
    wait_until(lambda: broker.submit(["true"], wait=20).json().get("outcome") == "exited",
               what="healed")


def test_what_was_swept_away_is_made_again(own_broker):
    """A removed cgroup or run directory costs a moment, not a restart."""
    broker = own_broker()
    agent = broker.agent()
    assert broker.run(["true"], agent=agent)["exit_code"] == 0

    def runs():
        return broker.submit(["true"], agent=agent, wait=20).json().get("outcome") == "exited"
    for path in pathlib.Path("/sys/fs/cgroup").glob(f"**/{broker.cgroup_parent()}"):
        path.rmdir()
    wait_until(runs, what="cgroups made again")
    shutil.rmtree(broker.run_dir)
    wait_until(runs, what="run directory made again")


def test_the_api_process_has_no_privilege(broker):
    apis = [pid for pid in broker.processes()
            if os.readlink(f"/proc/{pid}/exe").endswith("bulkhead-api")]
    assert len(apis) == 1
    with open(f"/proc/{apis[0]}/status", encoding="ascii") as status:
        fields = dict(line.rstrip("\n").split(":\t", 1) for line in status if ":\t" in line)
    assert "0" not in fields["Uid"].split() and "0" not in fields["Gid"].split()
    assert fields["Groups"].strip() == ""
    for name in ("CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb"):
        assert int(fields[name], 16) == 0, name
    assert fields["NoNewPrivs"] == "1" and fields["Seccomp"] == "2"


def test_a_start_after_a_start_is_the_same(own_broker):
    broker = own_broker()
    agent = broker.agent()
    digest = broker.get(f"/v1/agents/{agent}").json()["capability_digest"]
    token = broker.token()
    broker.terminate()
    broker.start()
    assert broker.token() == token
    assert broker.get(f"/v1/agents/{agent}").json()["capability_digest"] == digest
    assert broker.run(["true"], agent=agent)["outcome"] == "exited"


@pytest.mark.parametrize("program", ["bulkhead-api", "bulkhead-shim"])
def test_what_is_started_by_hand_says_who_starts_it(program):
    answer = subprocess.run([str(BIN / program)], stdin=subprocess.DEVNULL, capture_output=True,
                            text=True, timeout=10, check=False)
    assert (answer.returncode, answer.stdout) == (2, "")
    assert answer.stderr == f"{program} is started by bulkheadd\n"


def test_listening_needs_the_address(own_broker):
    first = own_broker()
    second = Broker(listen=[f"127.0.0.1:{first.port}"])
    answer = bulkheadd("--state-dir", str(second.state), "--run-dir", str(second.run_dir),
                       "--listen", f"127.0.0.1:{first.port}")
    assert answer.returncode in (1, 2) and "in use" in answer.stderr
