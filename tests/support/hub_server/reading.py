"""What the Hub answers to those who read."""

from typing import Any
from urllib.parse import parse_qs

from tests.support.hub_server.git_store import Entry, git_sha1
from tests.support.hub_server.state import Call, FakeHub, Refusal, Reply, answered

PAGE = 12  # small, so that every listing takes several pages


def auth_check(hub: FakeHub, call: Call) -> Reply:
    hub.repo_of(call, write="write" in call.names)
    return answered({})


def info(hub: FakeHub, call: Call) -> Reply:
    repo = hub.repo_of(call)
    sha = hub.commit_of(call, repo)
    facts = {"id": call.names["repo"], "sha": sha, "private": repo.private, "gated": repo.gated, "disabled": False}
    return answered({**facts, "tags": [], "downloads": 0, "likes": 0, "siblings": []})


def tree(hub: FakeHub, call: Call) -> Reply:
    repo = hub.repo_of(call)
    below = f"{call.names['path']}/" if "path" in call.names else ""
    entries = [_entry(one) for path, one in repo.git.files(hub.commit_of(call, repo)).items() if path.startswith(below)]
    if not entries and below:
        raise Refusal(404, f"{below} does not exist", "EntryNotFound")
    if call.query.get("recursive", "false").lower() != "true":
        folders = {below + one["path"][len(below) :].split("/")[0] for one in entries if "/" in one["path"][len(below) :]}
        entries = [one for one in entries if "/" not in one["path"][len(below) :]]
        entries += [{"type": "directory", "oid": "0" * 40, "size": 0, "path": path} for path in sorted(folders)]
    start = int(call.query.get("cursor", 0))
    headers: dict[str, str] = {}
    if start + PAGE < len(entries):
        path = f"/{call.names['path']}" if below else ""
        page = f"{hub.url}/api/datasets/{call.names['repo']}/tree/{call.names['revision']}{path}"
        query = f"recursive={call.query.get('recursive', 'false')}&cursor={start + PAGE}"
        headers["link"] = f'<{page}?{query}>; rel="next"'
    return answered(entries[start : start + PAGE], headers)


def paths_info(hub: FakeHub, call: Call) -> Reply:
    repo = hub.repo_of(call)
    files = repo.git.files(hub.commit_of(call, repo))
    return answered([_entry(files[path]) for path in parse_qs(call.body.decode()).get("paths", []) if path in files])


def refs(hub: FakeHub, call: Call) -> Reply:
    found: dict[str, list[dict[str, str]]] = {"heads": [], "tags": [], "pr": []}
    for ref, sha in hub.repo_of(call).git.refs().items():
        kind, _, name = ref.removeprefix("refs/").partition("/")
        found[kind].append({"name": name, "ref": ref, "targetCommit": sha})
    return answered({"branches": found["heads"], "converts": [], "tags": found["tags"], "pullRequests": found["pr"]})


def resolve(hub: FakeHub, call: Call) -> Reply:
    repo = hub.repo_of(call)
    sha = hub.commit_of(call, repo)
    entry = repo.git.files(sha).get(call.names["path"])
    if entry is None:
        reply = Refusal(404, "Entry not found", "EntryNotFound").reply
        return Reply(reply.status, reply.body, {**reply.headers, "x-repo-commit": sha})
    common = {"x-repo-commit": sha, "accept-ranges": "bytes"}
    if entry.sha256:
        linked = {"x-linked-etag": f'"{entry.sha256}"', "x-linked-size": str(entry.size)}
        location = f"http://localhost:{hub.port}/store/{entry.sha256}"
        return Reply(302, b"", {**common, **linked, "location": location})
    content = repo.git.blob(entry.blob)
    return Reply(200, content, {**common, "etag": f'"{git_sha1(content)}"'})


def blob(hub: FakeHub, call: Call) -> Reply:
    if call.token is not None:
        raise Refusal(400, "only one auth mechanism allowed")
    content = hub.stored(call.names["oid"]).read_bytes()
    asked = call.headers.get("range", "")
    if asked.startswith("bytes="):
        start = int(asked.removeprefix("bytes=").split("-")[0])
        span = f"bytes {start}-{len(content) - 1}/{len(content)}"
        return Reply(206, content[start:], {"content-range": span}) if start < len(content) else Reply(416)
    return Reply(200, content, {"etag": f'"{call.names["oid"]}"', "accept-ranges": "bytes"})


def _entry(one: Entry) -> dict[str, Any]:
    lfs = {"lfs": {"oid": one.sha256, "size": one.size, "pointerSize": 130}} if one.sha256 else {}
    return {"type": "file", "oid": one.blob, "size": one.size, "path": one.path, **lfs}
