"""The command line client against a real broker: every verb, exit statuses, streaming."""
import json
import os
import pathlib
import re
import subprocess
import time

import pytest
from broker import BIN, ROOT, fresh, wait_until

CLI = str(BIN / "bulkhead")


def environment(broker, role="operator", **more):
    return {"PATH": os.environ["PATH"], "BULKHEAD_URL": f"unix:{broker.socket}",
            "BULKHEAD_TOKEN_FILE": str(broker.state / "tokens" / role), **more}


def cli(broker, *arguments, stdin=None, role="operator", **more):
    return subprocess.run([CLI, *map(str, arguments)], env=environment(broker, role, **more),
                          input=stdin, stdin=subprocess.DEVNULL if stdin is None else None,
                          capture_output=True, timeout=120)


def answer(broker, *arguments, **more):
    ran = cli(broker, "--json", *arguments, **more)
    assert ran.returncode == 0, ran.stderr
    return json.loads(ran.stdout)


@pytest.fixture(scope="module")
def agent(broker):
    return broker.agent("command.run", "fs.workspace.read", "fs.workspace.write")


def run(broker, agent, *arguments, **more):
    return cli(broker, "run", "--agent", agent, *arguments, **more)


# -- run ------------------------------------------------------------------------------------

def test_output_and_exit_status_are_the_commands(broker, agent):
    ran = run(broker, agent, "--", "sh", "-c", r"printf 'o\377\000u'; printf err >&2; exit 7")
    assert (ran.returncode, ran.stdout, ran.stderr) == (7, b"o\xff\x00u", b"err")


def test_exit_status_137_is_told_apart_by_stderr(broker, agent):
    plain = run(broker, agent, "--", "sh", "-c", "exit 137")
    killed = run(broker, agent, "--", "sh", "-c", "kill -9 $$")
    assert (plain.returncode, plain.stderr) == (137, b"")
    assert killed.returncode == 137 and b"SIGKILL" in killed.stderr


@pytest.mark.parametrize("options, command, status, said", [
    (["--timeout", "0.3"], ["sleep", "100"], 124, b"timeout"),
    (["--cpu", "0.3"], ["sh", "-c", "while :; do :; done"], 137, b"cpu_limit"),
    (["--memory", "32M"], ["/usr/bin/python3", "-c", "x = bytearray(1 << 30)"], 137, b"oom"),
    (["--output", "10"], ["printf", "0123456789abc"], 0, b"the last 3 bytes were dropped"),
    (["--min-tier", "vm"], ["true"], 125, b"tier_unavailable"),
    (["--image", "none"], ["true"], 125, b"image"),
    (["--env", "LD_PRELOAD=x"], ["true"], 125, b"/env/LD_PRELOAD"),
    (["--pids", "999999999"], ["true"], 125, b"/limits/pids"),
    ([], ["/nonexistent"], None, b""),
])
def test_endings(broker, agent, options, command, status, said):
    ran = run(broker, agent, *options, "--", *command)
    assert ran.returncode == status or (status is None and ran.returncode in (125, 126, 127))
    assert said in ran.stderr


def test_output_streams_as_it_comes(broker, agent):
    argv = [CLI, "run", "--agent", agent, "--", "sh", "-c", "for i in 1 2 3; do echo $i; sleep 0.5; done"]
    with subprocess.Popen(argv, env=environment(broker), stdout=subprocess.PIPE) as child:
        begun, seen = time.monotonic(), []
        for line in child.stdout:
            seen.append((line, time.monotonic() - begun))
    assert [line for line, _ in seen] == [b"1\n", b"2\n", b"3\n"] and child.returncode == 0
    assert seen[2][1] - seen[0][1] > 0.5


def test_much_output_arrives_whole(broker, agent):
    script = "import sys\nfor i in range(200000): print(i)\nprint('end', file=sys.stderr)"
    ran = run(broker, agent, "--output", "8M", "--", "/usr/bin/python3", "-c", script)
    assert ran.stdout == b"".join(b"%d\n" % i for i in range(200000)) and ran.stderr == b"end\n"


def test_files_stdin_environment_and_directory(broker, agent, tmp_path):
    tool = tmp_path / "tool"
    tool.write_text("#!/bin/sh\necho \"$K\"; pwd; cat; cat d/data\n")
    tool.chmod(0o755)
    (tmp_path / "data").write_bytes(b"\x00\xff\n")
    ran = run(broker, agent, "--file", tool, "--file", f"{tmp_path}/data=d/data", "--env", "K=v=w",
              "--stdin", "--cwd", "/workspace", "--", "./tool", stdin=b"from here\n")
    assert ran.returncode == 0, ran.stderr
    assert ran.stdout == b"v=w\n/workspace\nfrom here\n\x00\xff\n"


def test_without_stdin_the_terminals_input_is_not_eaten(broker, agent):
    ran = run(broker, agent, "--", "cat", stdin=b"not for it")
    assert (ran.returncode, ran.stdout) == (0, b"")


def test_json_is_the_ended_execution(broker, agent):
    ran = run(broker, agent, "--json", "--label", "k=v", "--", "sh", "-c", "echo out; exit 3")
    execution = json.loads(ran.stdout)
    assert ran.returncode == 3 and execution["exit_code"] == 3
    assert execution["stdout"]["data"] == "out\n" and execution["labels"] == {"k": "v"}


def test_interrupt_kills_the_execution(broker, agent):
    argv = [CLI, "run", "--agent", agent, "--", "sh", "-c", "echo up; sleep 100"]
    with subprocess.Popen(argv, env=environment(broker), stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE) as child:
        assert child.stdout.readline() == b"up\n"
        child.send_signal(2)
        assert child.wait(20) == 130
        identity = re.search(rb"ex_[0-9a-z]{26}", child.stderr.read()).group(0).decode()
    assert broker.execution(identity, wait=20)["outcome"] == "killed"


def test_it_goes_on_when_the_api_process_dies(own_broker):
    broker = own_broker()
    name = broker.agent()
    argv = [CLI, "run", "--agent", name, "--", "sh", "-c",
            "for i in 1 2 3 4 5 6; do echo $i; sleep 0.5; done"]
    with subprocess.Popen(argv, env=environment(broker), stdout=subprocess.PIPE) as child:
        assert child.stdout.readline() == b"1\n"
        for pid in broker.processes():
            if os.readlink(f"/proc/{pid}/exe").endswith("/bulkhead-api"):
                os.kill(pid, 9)
        rest = child.stdout.read()
        assert child.wait(60) == 0
    assert rest == b"2\n3\n4\n5\n6\n"


def test_it_goes_on_when_the_broker_is_stopped_and_when_it_crashes(own_broker):
    broker = own_broker()
    name = broker.agent()
    argv = [CLI, "run", "--agent", name, "--", "sh", "-c",
            "for i in 1 2 3 4 5 6 7 8 9 10 11 12; do echo $i; sleep 0.5; done; exit 9"]
    with subprocess.Popen(argv, env=environment(broker), stdout=subprocess.PIPE) as child:
        assert child.stdout.readline() == b"1\n"
        broker.kill()
        broker.start()
        assert child.stdout.readline() == b"2\n"
        broker.terminate()
        broker.start()
        rest = child.stdout.read()
        assert child.wait(60) == 9
    assert rest == b"".join(b"%d\n" % i for i in range(3, 13))


# -- the other verbs --------------------------------------------------------------------------

def test_detached_listed_followed_shown_and_killed(broker, agent):
    label = fresh("label")
    ran = run(broker, agent, "--detach", "--label", f"t={label}", "--", "sh", "-c",
              "echo out; echo err >&2; sleep 100")
    identity = ran.stdout.decode().strip()
    assert re.fullmatch(r"ex_[0-9a-z]{26}", identity)
    wait_until(lambda: cli(broker, "executions", "logs", identity).stdout == b"out\n")
    assert cli(broker, "executions", "logs", "--stderr", identity).stdout == b"err\n"
    listed = cli(broker, "executions", "list", "--label", f"t={label}", "--state", "running")
    assert identity.encode() in listed.stdout and b"running" in listed.stdout
    with subprocess.Popen([CLI, "executions", "logs", "-f", identity], env=environment(broker),
                          stdout=subprocess.PIPE) as child:
        assert child.stdout.readline() == b"out\n"
        assert cli(broker, "executions", "kill", identity).returncode == 0
        assert child.wait(20) == 0
    shown = cli(broker, "executions", "show", identity).stdout.decode()
    assert re.search(r"outcome +killed", shown)
    assert cli(broker, "executions", "kill", identity).returncode == 0
    assert answer(broker, "executions", "logs", identity)["data"] == "out\n"


def test_agents(broker, tmp_path):
    name = fresh("agent")
    body = {"agent": name, "owner": "me@example.test", "capabilities": ["command.run"]}
    path = tmp_path / "agent.json"
    path.write_text(json.dumps(body))
    assert b"generation 1, needs tier subprocess (created)" in \
        cli(broker, "agents", "apply", path).stdout
    body["capabilities"].append("secrets.use")
    assert b"generation 2, needs tier vm (replaced)" in \
        cli(broker, "agents", "apply", "-", stdin=json.dumps(body).encode()).stdout
    assert b"generation 2, needs tier vm (unchanged)" in \
        cli(broker, "agents", "apply", "-", stdin=json.dumps(body).encode()).stdout
    assert name.encode() in cli(broker, "agents", "list", "--limit", "1000").stdout
    shown = cli(broker, "agents", "show", name).stdout.decode()
    assert re.search(r"reviewed +never", shown) and "secrets-on-this-host" in shown
    assert cli(broker, "agents", "review", name, "--note", "looked at it").returncode == 0
    assert b"looked at it" in cli(broker, "agents", "reviews", name).stdout
    assert answer(broker, "agents", "show", name)["currency"]["stale"] is False
    stale = cli(broker, "agents", "apply", path, "--if-match", '"other"')
    assert stale.returncode == 1 and b"412" in stale.stderr
    assert cli(broker, "agents", "rm", name).returncode == 0
    gone = cli(broker, "agents", "show", name)
    assert gone.returncode == 1 and b"404" in gone.stderr and b"request req_" in gone.stderr


def test_agents_that_are_wrong(broker, tmp_path):
    def apply(text, *options):
        return cli(broker, "agents", "apply", "-", *options, stdin=text)
    refused = apply(b'{"agent": "x", "owner": "o", "capabilities": ["net.egres"]}')
    assert refused.returncode == 1 and b"/capabilities/0" in refused.stderr
    assert apply(b'{"owner": "o"}').returncode == 2
    assert apply(b'{"agent": "x", "agent": "y"}').returncode == 2
    assert apply(b'{"agent": "x"}', "--name", "y").returncode == 2
    assert apply(b"[]").returncode == 2
    assert apply(b"").returncode == 2
    assert cli(broker, "agents", "apply", tmp_path / "none").returncode == 2


def test_rm_needs_force_while_something_runs(broker):
    name = broker.agent()
    identity = broker.begin(["sleep", "100"], agent=name)
    assert cli(broker, "agents", "rm", name).returncode == 1
    assert cli(broker, "agents", "rm", name, "--force").returncode == 0
    assert broker.execution(identity, wait=20)["outcome"] == "killed"


def test_decide(broker, agent):
    yes = cli(broker, "decide", "--agent", agent, "--", "ls")
    assert yes.returncode == 0 and re.search(rb"would run +yes", yes.stdout)
    no = cli(broker, "decide", "--agent", broker.agent("secrets.use"), "--", "ls")
    assert no.returncode == 1 and b"secrets-on-this-host" in no.stdout
    assert b"What stands in its way" in no.stdout
    assert answer(broker, "decide", "--agent", agent, "--", "ls")["plan"]["argv"] == ["ls"]


def test_workspaces(broker, agent):
    name = fresh("workspace")
    assert b"16 MiB (created)" in cli(broker, "workspaces", "create", name, "--size", "16M").stdout
    assert run(broker, agent, "--workspace", name, "--", "sh", "-c", "echo kept > f").returncode == 0
    assert run(broker, agent, "--workspace", name, "--", "cat", "f").stdout == b"kept\n"
    assert name.encode() in cli(broker, "workspaces", "list", "--limit", "1000").stdout
    assert answer(broker, "workspaces", "show", name)["disk_bytes"] == 16 << 20
    assert cli(broker, "workspaces", "rm", name).returncode == 0
    assert cli(broker, "workspaces", "show", name).returncode == 1


def test_policy(broker, tmp_path):
    shown = cli(broker, "policy", "show").stdout.decode()
    assert "egress-with-code" in shown and "memory_bytes" in shown and "sha256:" in shown
    nowhere = {"BULKHEAD_URL": "unix:/nonexistent"}
    assert cli(broker, "policy", "check", ROOT / "deploy/policy.json", **nowhere).returncode == 0
    rule = {"when": {}, "tier": "vm", "text": "a test"}
    for count, text in ((1, b"good, 1 rule, "), (2, b"good, 2 rules, ")):
        good = tmp_path / f"{count}.json"
        good.write_text(json.dumps({"rules": [dict(rule, name=f"r{i}") for i in range(count)]}))
        assert text in cli(broker, "policy", "check", good, **nowhere).stdout
    bad = tmp_path / "bad.json"
    bad.write_text('{"limits": {"pids": {"default": 5, "max": "x"}}}')
    refused = cli(broker, "policy", "check", bad, **nowhere)
    assert refused.returncode == 2
    assert str(bad) in refused.stderr.decode() and b"/limits/pids/max" in refused.stderr


def test_audit(broker):
    name = broker.agent()
    assert name.encode() in cli(broker, "audit", "list", "--limit", "20").stdout
    assert name.encode() in cli(broker, "audit").stdout
    verified = answer(broker, "audit", "verify")
    on_disk = answer(broker, "audit", "verify", "--dir", broker.state / "audit",
                     BULKHEAD_URL="unix:/nonexistent")
    assert verified["intact"] and on_disk["intact"] and verified["entries"] <= on_disk["entries"]
    with subprocess.Popen([CLI, "audit", "-f", "--json"], env=environment(broker),
                          stdout=subprocess.PIPE) as child:
        child.stdout.readline()
        later = broker.agent()
        for line in child.stdout:
            if json.loads(line)["subject"].get("agent") == later:
                break
        child.terminate()


@pytest.mark.parametrize("damage", ["change", "remove", "cut", "swap"])
def test_audit_verify_sees_damage(broker, tmp_path, damage):
    copy = tmp_path / "audit"
    copy.mkdir()
    for file in (broker.state / "audit").glob("*.jsonl"):
        (copy / file.name).write_bytes(file.read_bytes())
    last = sorted(copy.iterdir())[-1]
    lines = last.read_text().splitlines(keepends=True)
    assert len(lines) > 3
    if damage == "change":
        lines[1] = lines[1].replace('"actor":"', '"actor":"x', 1)
    elif damage == "remove":
        del lines[1]
    elif damage == "swap":
        lines[1], lines[2] = lines[2], lines[1]
    else:
        lines[-1] = lines[-1][:-5]
    last.write_text("".join(lines))
    for arguments in (["--dir", copy], [last]):
        ran = cli(broker, "audit", "verify", *arguments)
        assert ran.returncode == 1 and last.name.encode() in ran.stderr
        assert b"tampered with or damaged" in ran.stderr


def test_audit_verify_checks_one_file(broker, tmp_path):
    broker.agent()
    broker.agent()
    nowhere = {"BULKHEAD_URL": "unix:/nonexistent"}
    first = sorted((broker.state / "audit").iterdir())[0]
    whole = answer(broker, "audit", "verify", first, **nowhere)
    later = tmp_path / "later.jsonl"
    later.write_text("".join(first.read_text().splitlines(keepends=True)[2:]))
    rest = answer(broker, "audit", "verify", later, **nowhere)
    assert whole["intact"] and rest["intact"] and rest["entries"] >= whole["entries"] - 2
    later.write_text(later.read_text().replace('"actor":"', '"actor":"x', 1))
    assert cli(broker, "audit", "verify", later, **nowhere).returncode == 1
    assert cli(broker, "audit", "verify", tmp_path / "none", **nowhere).returncode != 0


def test_doctor(broker, tmp_path):
    good = cli(broker, "doctor")
    assert good.returncode == 0, good.stdout
    assert re.search(rb"ok +tier subprocess", good.stdout)
    assert re.search(rb"note +tier vm +\S", good.stdout)
    assert answer(broker, "doctor")["healthy"] is True
    away = cli(broker, "doctor", BULKHEAD_URL="unix:/nonexistent/api.sock")
    assert away.returncode == 1 and b"fix: start it with bulkheadd" in away.stdout
    wrong = tmp_path / "token"
    wrong.write_text("bht_wrong")
    refused = cli(broker, "doctor", BULKHEAD_TOKEN_FILE=str(wrong))
    assert refused.returncode == 1 and b"--token-file" in refused.stdout and b"401" in refused.stdout


def test_roles_and_tokens(broker):
    assert cli(broker, "agents", "list", role="auditor").returncode == 0
    forbidden = cli(broker, "workspaces", "create", "x", "--size", "1M", role="auditor")
    assert forbidden.returncode == 1 and b"403" in forbidden.stderr and b"role" in forbidden.stderr
    nobody = cli(broker, "agents", "list", BULKHEAD_TOKEN_FILE="/nonexistent")
    assert nobody.returncode == 1 and b"/nonexistent" in nobody.stderr
    token = broker.token()
    by_value = cli(broker, "agents", "list", BULKHEAD_TOKEN_FILE="", BULKHEAD_TOKEN=token)
    assert by_value.returncode == 0


def test_over_tcp_too(broker, agent):
    ran = run(broker, agent, "--", "echo", "hi", BULKHEAD_URL=broker.url)
    assert (ran.returncode, ran.stdout) == (0, b"hi\n")


# -- without a broker -------------------------------------------------------------------------

def bare(*arguments, **environ):
    return subprocess.run([CLI, *arguments], capture_output=True, timeout=20,
                          env={"PATH": os.environ["PATH"], "BULKHEAD_URL": "unix:/nonexistent",
                               **environ})


@pytest.mark.parametrize("arguments", [
    [], ["nonsense"], ["agents"], ["run"], ["run", "--agent", "a"], ["--nonsense"], ["posture"],
    ["run", "--agent", "a", "--timeout", "0", "--", "x"], ["--url", "ftp://x", "agents", "list"],
    ["--url", "http://192.0.2.1", "agents", "list"], ["--url", "unix:relative", "agents", "list"],
    ["help", "nonsense"],
])
def test_wrong_usage(arguments):
    ran = bare(*arguments)
    assert ran.returncode == 2 and b"bulkhead" in ran.stderr and ran.stdout == b""


def test_help_and_version():
    assert b"bulkhead run" in bare("help").stdout and bare("--help").returncode == 0
    assert re.fullmatch(rb"bulkhead [0-9.]+\n", bare("--version").stdout)
    overview = bare("help").stdout.decode()
    verbs = re.findall(r"^  bulkhead ([a-z]+(?: [a-z]+)?)", overview, re.M)
    assert len(verbs) > 15
    for verb in verbs:
        ran = bare(*verb.split(), "--help")
        assert ran.returncode == 0 and b"Example:" in ran.stdout
        assert bare("help", *verb.split()).stdout == ran.stdout


def test_no_broker():
    ran = bare("agents", "list")
    assert ran.returncode == 1 and b"cannot reach the broker" in ran.stderr
    assert bare("run", "--agent", "a", "--", "x").returncode == 125


def test_colour_only_on_a_terminal(broker):
    import pty

    def on_terminal(**more):
        leader, follower = pty.openpty()
        with subprocess.Popen([CLI, "doctor"], env=environment(broker, TERM="xterm", **more),
                              stdout=follower, stderr=follower) as child:
            os.close(follower)
            text = b""
            try:
                while piece := os.read(leader, 4096):
                    text += piece
            except OSError:  # EIO: the other end is closed
                pass
            child.wait(20)
        os.close(leader)
        return text
    assert b"\033[" in on_terminal()
    assert b"\033[" not in on_terminal(NO_COLOR="1")
    assert b"\033[" not in cli(broker, "doctor", TERM="xterm").stdout


def test_a_closed_stdout_is_an_error():
    full = pathlib.Path("/dev/full").open("wb")
    ran = subprocess.run([CLI, "help"], stdout=full, stderr=subprocess.PIPE, timeout=20)
    assert ran.returncode == 1 and b"cannot write" in ran.stderr
