"""One fake Hub: its repositories, who may do what, and what requests and answers are made of."""

import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.support.hub_server.faults import Faults
from tests.support.hub_server.git_store import GitRepo

WRITER = "hf_WriterWriterWriterWriter1234"
READER = "hf_ReaderReaderReaderReader5678"
USERS = {WRITER: ("lab", True), READER: ("stranger", False)}


@dataclass(frozen=True)
class Call:
    """A request, taken apart."""

    route: str
    method: str
    names: dict[str, str]
    query: dict[str, str]
    headers: dict[str, str]
    body: bytes

    @property
    def token(self) -> str | None:
        return self.headers.get("authorization", "").removeprefix("Bearer ") or None

    def json(self) -> Any:
        return json.loads(self.body)


@dataclass(frozen=True)
class Reply:
    """A response."""

    status: int
    body: bytes = b""
    headers: dict[str, str] = field(default_factory=dict[str, str])


class Refusal(Exception):
    """An answer with an error status."""

    def __init__(self, status: int, words: str, code: str | None = None, **more: str) -> None:
        headers = {"content-type": "application/json", **({"x-error-code": code, "x-error-message": words} if code else {})}
        self.reply = Reply(status, json.dumps({"error": words, **more}).encode(), headers)
        super().__init__(words)


@dataclass
class Repository:
    """A repository with its settings."""

    git: GitRepo
    private: bool
    gated: str | bool = False


class FakeHub:
    """The state of one Hub. `asked`: the routes in the order of their requests. `under_way`: requests begun and not ended."""

    def __init__(self, folder: Path, *, port: int) -> None:
        self.folder, self.port = folder, port
        self.faults = Faults()
        self.repos: dict[str, Repository] = {}
        self.asked: list[str] = []
        self.under_way = 0
        self.bodies: list[bytes] = []
        (folder / "store").mkdir(parents=True)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def make(self, repo: str, *, private: bool = True) -> Repository:
        """A new repository."""
        self.repos[repo] = Repository(GitRepo.made(self.folder / "git" / repo), private)
        return self.repos[repo]

    def stored(self, oid: str) -> Path:
        return self.folder / "store" / oid

    def user_of(self, call: Call) -> tuple[str, bool] | None:
        if call.token is None:
            return None
        if call.token not in USERS:
            raise Refusal(401, "Invalid user token.")
        return USERS[call.token]

    def repo_of(self, call: Call, *, write: bool = False) -> Repository:
        user, repo = self.user_of(call), self.repos.get(call.names["repo"])
        owns = user is not None and user[0] == call.names["repo"].split("/")[0]
        if repo is None or (repo.private and not owns):
            raise Refusal(401 if user is None else 404, "Repository not found", "RepoNotFound")
        if write and (user is None or not owns or not user[1]):
            raise Refusal(403, "You have read access but not the required permissions for this operation")
        return repo

    def commit_of(self, call: Call, repo: Repository) -> str:
        sha = repo.git.resolve(call.names.get("revision", "main"))
        if sha is None:
            raise Refusal(404, f"Invalid rev id: {call.names.get('revision')}", "RevisionNotFound")
        return sha


def answered(value: object, headers: dict[str, str] | None = None) -> Reply:
    """A success with JSON."""
    return Reply(200, json.dumps(value).encode(), {"content-type": "application/json", **(headers or {})})
