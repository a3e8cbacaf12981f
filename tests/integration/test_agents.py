"""Agents, their capability sets, decisions, reviews, re-tiering (API §3, §4; field cases A09,
B08, B10, F03, F05)."""
import pytest
from broker import fresh, wait_until

SPEC = {"owner": "data@example.test", "capabilities": ["command.run"]}


def problem(answer, status, code=None, pointer=None):
    assert answer.status_code == status, answer.text
    assert answer.headers["Content-Type"].startswith("application/problem+json")
    body = answer.json()
    assert body["status"] == status and body["code"] and body["request_id"].startswith("req_")
    assert body["type"] and body["title"] and "detail" in body
    if code:
        assert body["code"] == code
    if pointer is not None:
        assert body["errors"][0]["pointer"] == pointer, body
    return body


def test_create_read_replace_delete(broker):
    name = fresh("agent")
    created = broker.put(f"/v1/agents/{name}", SPEC)
    assert created.status_code == 201
    agent = created.json()
    assert agent["agent"] == name and agent["generation"] == 1 and agent["tenant"] == "default"
    assert agent["required_tier"] == "subprocess" and agent["reasons"]
    assert agent["capability_digest"].startswith("sha256:")
    assert agent["currency"]["stale"] is True and agent["currency"]["reviewed_at"] is None
    assert broker.get(f"/v1/agents/{name}").json()["capability_digest"] == \
        agent["capability_digest"]

    same = broker.put(f"/v1/agents/{name}", SPEC)
    assert same.status_code == 200 and same.json()["generation"] == 1
    grown = broker.put(f"/v1/agents/{name}", dict(SPEC, capabilities=["code.execute"]))
    assert grown.json()["generation"] == 2 and grown.json()["required_tier"] == "container"
    assert any(item["agent"] == name for item in broker.list("/v1/agents"))
    assert broker.delete(f"/v1/agents/{name}").status_code in (200, 204)
    problem(broker.get(f"/v1/agents/{name}"), 404)


def test_if_match_refuses_a_lost_update(broker):
    name = fresh("agent")
    tag = broker.put(f"/v1/agents/{name}", SPEC).headers["ETag"]
    changed = dict(SPEC, capabilities=["command.run", "fs.workspace.read"])
    assert broker.put(f"/v1/agents/{name}", changed, headers={"If-Match": tag}).status_code == 200
    problem(broker.put(f"/v1/agents/{name}", SPEC, headers={"If-Match": tag}), 412)
    now = broker.get(f"/v1/agents/{name}").headers["ETag"]
    for several in (f'"other", {now}', f'{now},"other"', "*"):
        assert broker.put(f"/v1/agents/{name}", changed,
                          headers={"If-Match": several}).status_code == 200, several
    for none in (f"W/{now}", now.strip('"'), f'"other", {tag}'):
        problem(broker.put(f"/v1/agents/{name}", SPEC, headers={"If-Match": none}), 412)


@pytest.mark.parametrize("capabilities, tier", [
    (["command.run"], "subprocess"),
    (["net.egress"], "subprocess"),
    (["code.execute"], "container"),
    (["package.install"], "container"),
    (["fs.mount.write"], "container"),
    (["net.egress", "code.execute"], "userkernel"),
    (["secrets.use"], "vm"),
    (["input.untrusted", "net.egress"], "vm"),
    (["root.inside"], "vm"),
    (["process.debug"], "vm"),
])
def test_the_default_policy_asks_for_the_tier_of_the_table(broker, capabilities, tier):
    name = broker.agent(*capabilities)
    agent = broker.get(f"/v1/agents/{name}").json()
    assert agent["required_tier"] == tier
    assert any(reason["tier"] == tier and reason["text"] for reason in agent["reasons"])


@pytest.mark.parametrize("change, status, code, pointer", [
    ({"capabilities": ["net.egres"]}, 400, None, "/capabilities/0"),
    ({"capabilities": "command.run"}, 400, None, "/capabilities"),
    ({"capabilities": None}, 400, None, "/capabilities"),
    ({"egres": []}, 400, None, "/egres"),
    ({"egress": None}, 400, None, "/egress"),
    ({"egress": [""]}, 400, None, "/egress/0"),
    ({"egress": "allowed.test"}, 400, None, "/egress"),
    ({"egress": [{"host": "a.test", "ports": [443]}]}, 422, "capability_scope_mismatch", None),
    ({"secrets": [{"name": "k", "hosts": ["a.test"], "as": {"header": "A", "format": "{}"}}]},
     422, "capability_scope_mismatch", None),
    ({"mounts": [{"source": "/srv/x", "target": "/data", "mode": "ro"}]},
     422, "capability_scope_mismatch", None),
])
def test_wrong_specs_name_the_member(broker, change, status, code, pointer):
    name = fresh("agent")
    problem(broker.put(f"/v1/agents/{name}", {**SPEC, **change}), status, code, pointer)
    problem(broker.get(f"/v1/agents/{name}"), 404)


@pytest.mark.parametrize("host", ["*", "*.com", "exa*mple.test", "https://x", "x/y", "", "a..b",
                                  "127.1", "0x7f.1", "2130706433", "localhost", "-a.test"])
def test_host_rules_that_are_refused(broker, host):
    body = {"owner": "o", "capabilities": ["net.egress"],
            "egress": [{"host": host, "ports": [443]}]}
    problem(broker.put(f"/v1/agents/{fresh('agent')}", body), 400, pointer="/egress/0/host")


@pytest.mark.parametrize("address", [
    "127.0.0.1/32", "169.254.169.254/32", "::1/128", "fe80::/64", "100.100.100.200/32",
    "168.63.129.16/32", "fd00:ec2::254/128", "::ffff:169.254.169.254/128",
    "64:ff9b::a9fe:a9fe/128", "0.0.0.0/0", "224.0.0.1/32"])
def test_addresses_that_can_never_be_listed(broker, address):
    body = {"owner": "o", "capabilities": ["net.egress"],
            "egress": [{"host": "db.internal", "ports": [5432], "addresses": [address]}]}
    problem(broker.put(f"/v1/agents/{fresh('agent')}", body), 400)


@pytest.mark.parametrize("source", ["/var/run/docker.sock", "/", "/etc", "/proc", "/root"])
def test_no_allowed_root_means_no_mount(broker, source):
    body = {"owner": "o", "capabilities": ["fs.mount.read"],
            "mounts": [{"source": source, "target": "/data", "mode": "ro"}]}
    problem(broker.put(f"/v1/agents/{fresh('agent')}", body), 422, "mount_not_allowed")


def test_mount_sources_pass_no_link_and_are_no_socket(own_broker, tmp_path):
    import socket
    root = tmp_path / "allowed"
    (root / "real").mkdir(parents=True)
    (root / "link").symlink_to("/etc")
    listener = socket.socket(socket.AF_UNIX)
    listener.bind(str(root / "sock"))
    broker = own_broker(policy={"mounts": {"allowed_roots": [str(root)]}})

    def put(source):
        return broker.put(f"/v1/agents/{fresh('agent')}", {
            "owner": "o", "capabilities": ["fs.mount.read"],
            "mounts": [{"source": str(source), "target": "/data", "mode": "ro"}]})
    assert put(root / "real").status_code == 201
    for source in (root / "link", root / "sock", root / "link" / "ssl", f"{root}-hack",
                   tmp_path, root / "missing"):
        problem(put(source), 422, "mount_not_allowed")
    listener.close()


@pytest.mark.parametrize("agent", ["A", "a b", ".a", "-rf", "a" * 64, "%2e%2e", "a%2fb", "a%00b",
                                   "..%2f..%2fcanary", "a%22;drop", "]]>", "a%0ab"])
def test_names_that_are_no_names(broker, agent):
    assert broker.put(f"/v1/agents/{agent}", SPEC).status_code in (400, 404)


def test_a_decision_starts_nothing_and_gives_reasons(broker):
    agent = broker.default_agent()
    before = len(broker.list("/v1/executions"))
    answer = broker.post("/v1/decisions", {"agent": agent, "argv": ["true"]})
    assert answer.status_code == 200
    decision = answer.json()
    assert decision["tier"] == "subprocess" and decision["driver"] == "subprocess"
    assert decision["available"] is True and decision["problems"] == []
    assert decision["plan"]["argv"] == ["true"] and decision["technology"]
    assert len(broker.list("/v1/executions")) == before

    needs_vm = broker.agent("secrets.use")
    decision = broker.post("/v1/decisions", {"agent": needs_vm, "argv": ["true"]}).json()
    assert decision["tier"] == "vm" and decision["available"] is False and decision["problems"]


def test_a_tier_the_host_cannot_give_is_refused_not_lowered(broker):
    agent = broker.agent("root.inside")
    body = problem(broker.submit(["true"], agent=agent), 503, "tier_unavailable")
    assert "vm" in body["detail"]
    problem(broker.submit(["true"], min_tier="vm"), 503, "tier_unavailable")
    assert broker.list("/v1/executions", agent=agent) == []


def test_egress_that_is_not_built_yet_is_said(broker):
    agent = broker.agent("net.egress", egress=[{"host": "a.example.test", "ports": [443]}])
    problem(broker.submit(["true"], agent=agent), 503, "tier_unavailable")
    deny_all = broker.agent("net.egress")
    assert broker.run(["true"], agent=deny_all)["exit_code"] == 0


@pytest.mark.parametrize("members, pointer", [
    ({"timeout_secs": 2}, "/timeout_secs"),
    ({"isolaton": "vm"}, "/isolaton"),
    ({"min_tier": "VM "}, "/min_tier"),
    ({"cwd": "/proc/self/fd/7"}, "/cwd"),
    ({"cwd": "relative"}, "/cwd"),
    ({"env": {"LD_PRELOAD": "x"}}, "/env/LD_PRELOAD"),
    ({"env": {"https_proxy": "x"}}, "/env/https_proxy"),
    ({"env": {"BULKHEAD_X": "x"}}, "/env/BULKHEAD_X"),
    ({"env": {"": "x"}}, "/env/"),
    ({"files": [{"path": "../x", "data": ""}]}, "/files/0/path"),
    ({"files": [{"path": "/x", "data": ""}]}, "/files/0/path"),
    ({"files": [{"path": "x", "data": "", "mode": "4755"}]}, "/files/0/mode"),
    ({"files": [{"path": "x", "data": "!!", "encoding": "base64"}]}, "/files/0/data"),
    ({"stdin": {"data": "x", "encoding": "latin-1"}}, "/stdin/encoding"),
    ({"argv": []}, "/argv"),
    ({"argv": ["a", 1]}, "/argv/1"),
    ({"labels": {"k": 1}}, "/labels/k"),
    ({"workspace": "../x"}, "/workspace"),
])
def test_execution_requests_are_strict(broker, members, pointer):
    body = {"agent": broker.default_agent(), "argv": ["true"], **members}
    problem(broker.post("/v1/executions", body), 400, pointer=pointer)


def test_unknown_agent_workspace_and_image(broker):
    assert broker.submit(["true"], agent="nobody-here").status_code in (404, 422)
    assert broker.submit(["true"], workspace="nothing").status_code in (404, 422)
    assert broker.submit(["true"], image="nothing").status_code in (404, 422)


def test_raising_the_set_kills_what_runs_below_it(broker):
    agent = broker.agent()
    identity = broker.begin(["sleep", "100"], agent=agent)
    answer = broker.put(f"/v1/agents/{agent}/capabilities", {"capabilities": ["code.execute"]})
    assert answer.status_code == 200
    change = answer.json()
    assert change["previous_tier"] == "subprocess" and change["required_tier"] == "container"
    assert "code.execute" in change["added"] and "command.run" in change["removed"]
    assert [(a["execution"], a["action"]) for a in change["affected"]] == [(identity, "killed")]
    execution = broker.execution(identity)
    assert (execution["state"], execution["outcome"]) == ("ended", "retiered")


def test_draining_lets_it_end_in_time(own_broker):
    broker = own_broker(policy={"retier": {"on_raise": "drain", "drain_ms": 1500}})
    agent = broker.agent()
    quick = broker.begin(["sleep", "0.5"], agent=agent)
    slow = broker.begin(["sleep", "100"], agent=agent)
    change = broker.put(f"/v1/agents/{agent}/capabilities",
                        {"capabilities": ["code.execute"]}).json()
    assert {a["action"] for a in change["affected"]} == {"drained"}
    assert broker.execution(quick, wait=10)["outcome"] == "exited"
    assert broker.execution(slow, wait=10)["outcome"] == "retiered"


def test_lowering_the_set_moves_nothing(broker):
    agent = broker.agent("command.run", "fs.workspace.write")
    identity = broker.begin(["sleep", "100"], agent=agent)
    change = broker.put(f"/v1/agents/{agent}/capabilities",
                        {"capabilities": ["command.run"]}).json()
    assert change["added"] == [] and change["removed"] == ["fs.workspace.write"]
    assert broker.execution(identity)["state"] == "running"
    broker.delete(f"/v1/executions/{identity}")


def test_deleting_a_busy_agent_needs_force(broker):
    agent = broker.agent()
    identity = broker.begin(["sleep", "100"], agent=agent)
    problem(broker.delete(f"/v1/agents/{agent}"), 409)
    assert broker.delete(f"/v1/agents/{agent}?force=true").status_code in (200, 204)
    assert broker.execution(identity)["state"] == "ended"


def test_a_review_makes_it_current_until_it_grows(broker):
    agent = broker.agent("command.run")
    answer = broker.post(f"/v1/agents/{agent}/reviews", {"note": "looked", "expires_in_days": 30})
    assert answer.status_code == 201, answer.text
    currency = broker.get(f"/v1/agents/{agent}").json()["currency"]
    assert currency["stale"] is False and currency["reviewed_by"]
    assert [r["note"] for r in broker.list(f"/v1/agents/{agent}/reviews")] == ["looked"]
    broker.put(f"/v1/agents/{agent}/capabilities",
               {"capabilities": ["command.run", "fs.workspace.write"]})
    currency = broker.get(f"/v1/agents/{agent}").json()["currency"]
    assert currency["stale"] is True and currency["grown_since_review"] == ["fs.workspace.write"]


def test_policy_reload_keeps_the_old_one_when_the_new_is_bad(own_broker):
    import json
    import signal
    broker = own_broker(policy={"limits": {"wall_ms": {"default": 1000, "max": 2000}}})
    digest = broker.get("/v1/policy").json()["digest"]
    broker.policy_path().write_text(json.dumps({"limits": {"wall": {}}}))
    broker.process.send_signal(signal.SIGHUP)
    wait_until(lambda: any("reload" in entry["action"] for entry in broker.list("/v1/audit")),
               what="the refusal is in the audit log")
    assert broker.get("/v1/policy").json()["digest"] == digest
    broker.policy_path().write_text(json.dumps({"limits": {"wall_ms": {"default": 5, "max": 7}}}))
    broker.process.send_signal(signal.SIGHUP)
    wait_until(lambda: broker.get("/v1/policy").json()["digest"] != digest, what="reloaded")
    problem(broker.submit(["true"], limits={"wall_ms": 8}), 400, pointer="/limits/wall_ms")


def test_an_agent_without_an_owner_says_so(broker):
    name = fresh("agent")
    answer = broker.put(f"/v1/agents/{name}", {"capabilities": ["command.run"]})
    assert answer.status_code == 201 and answer.json()["owner"] is None
