"""What the Hub does for those who write."""

import base64
import hashlib
import json
from typing import Any, cast

import yaml

from tests.support.hub_server.git_store import LARGE, Moved
from tests.support.hub_server.state import Call, FakeHub, Refusal, Reply, Repository, answered


def create(hub: FakeHub, call: Call) -> Reply:
    user, asked = hub.user_of(call), call.json()
    if user is None:
        raise Refusal(401, "Invalid username or password.")
    repo = f"{asked.get('organization') or user[0]}/{asked['name']}"
    url = f"{hub.url}/datasets/{repo}"
    if repo in hub.repos:
        raise Refusal(409, "You already created this dataset repo", url=url)
    if repo.split("/")[0] != user[0] or not user[1]:
        raise Refusal(403, "You don't have the rights to create a dataset under this namespace")
    hub.make(repo, private=asked.get("visibility") == "private")
    return answered({"url": url, "name": repo, "id": repo})


def settings(hub: FakeHub, call: Call) -> Reply:
    repo, asked = hub.repo_of(call, write=True), call.json()
    repo.private = asked.get("visibility", "private" if repo.private else "public") == "private"
    repo.gated = asked.get("gated", repo.gated)
    return answered({})


def tag(hub: FakeHub, call: Call) -> Reply:
    repo, asked = hub.repo_of(call, write=True), call.json()
    try:
        repo.git.tag(asked["tag"], sha=hub.commit_of(call, repo), message=asked.get("message", ""))
    except Moved as error:
        raise Refusal(409, f"Reference refs/tags/{asked['tag']} already exists") from error
    return answered({})


def validate_yaml(hub: FakeHub, call: Call) -> Reply:
    _, header, _ = call.json()["content"].split("---\n", 2)
    fields: object = yaml.safe_load(header)
    if not isinstance(fields, dict) or not all("config_name" in one for one in cast(dict[str, Any], fields).get("configs", [])):
        return Reply(
            400, b'{"errors": [{"message": "\\"configs\\" is wrong"}], "warnings": []}', {"content-type": "application/json"}
        )
    return answered({"errors": [], "warnings": []})


def preupload(hub: FakeHub, call: Call) -> Reply:
    repo = hub.repo_of(call, write="create_pr" not in call.query)
    files = repo.git.files(hub.commit_of(call, repo))
    answers: list[dict[str, Any]] = []
    for one in call.json()["files"]:
        large = one["path"].endswith(".parquet") or one["size"] >= LARGE
        there = files.get(one["path"])
        oid = {"oid": there.sha256 or there.blob} if there else {}
        answers.append({"path": one["path"], "uploadMode": "lfs" if large else "regular", "shouldIgnore": False, **oid})
    return answered({"files": answers})


def batch(hub: FakeHub, call: Call) -> Reply:
    hub.repo_of(call)
    objects: list[dict[str, Any]] = []
    for one in call.json()["objects"]:
        actions: dict[str, dict[str, Any]] = {
            "upload": {"href": f"http://localhost:{hub.port}/store/{one['oid']}?signature=x", "header": {}},
            "verify": {"href": f"{hub.url}/lfs/verify/{call.names['repo']}"},
        }
        objects.append({**one, **({} if hub.stored(one["oid"]).exists() else {"actions": actions})})
    return answered({"transfer": "basic", "objects": objects})


def put(hub: FakeHub, call: Call) -> Reply:
    if call.token is not None:
        raise Refusal(400, "only one auth mechanism allowed")
    if hashlib.sha256(call.body).hexdigest() != call.names["oid"]:
        raise Refusal(400, "checksum mismatch")
    hub.stored(call.names["oid"]).write_bytes(call.body)
    return Reply(200)


def verify(hub: FakeHub, call: Call) -> Reply:
    hub.repo_of(call)
    asked = call.json()
    there = hub.stored(asked["oid"])
    return answered({}) if there.exists() and there.stat().st_size == asked["size"] else Reply(404)


def commit(hub: FakeHub, call: Call) -> Reply:
    repo = hub.repo_of(call, write=True)
    lines = [json.loads(line) for line in call.body.splitlines()]
    header = lines[0]["value"]
    head = repo.git.resolve("refs/heads/main") or ""
    base = header.get("parentCommit") or head
    if base != head:
        raise Refusal(412, "A commit has happened since. Please refresh and try again.")
    adds, deletes = _operations(hub, repo, lines[1:], base)
    message = f"{header['summary']}\n\n{header.get('description', '')}".strip()
    try:
        sha = repo.git.commit("refs/heads/main", base=base, adds=adds, deletes=deletes, message=message)
    except Moved as error:
        raise Refusal(412, "A commit has happened since. Please refresh and try again.") from error
    url = f"{hub.url}/datasets/{call.names['repo']}"
    return answered({"success": True, "commitOid": sha, "commitUrl": f"{url}/commit/{sha}", "hookOutput": ""})


def _operations(hub: FakeHub, repo: Repository, lines: list[dict[str, Any]], base: str) -> tuple[dict[str, bytes], list[str]]:
    adds: dict[str, bytes] = {}
    deletes: list[str] = []
    there = repo.git.files(base)
    for line in lines:
        value = line["value"]
        if line["key"] == "file":
            adds[value["path"]] = base64.b64decode(value["content"])
        elif line["key"] == "lfsFile":
            if not hub.stored(value["oid"]).exists():
                raise Refusal(400, f"LFS object {value['oid']} is not stored")
            adds[value["path"]] = repo.git.pointer(sha256=value["oid"], size=value["size"])
        elif value["path"] in there:
            deletes.append(value["path"])
        else:
            raise Refusal(404, "A file with this name doesn't exist", "EntryNotFound")
    return adds, deletes
