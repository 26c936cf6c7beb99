"""The Hub port, implemented with the huggingface_hub client. Only `open_hub` imports it, after setting the environment."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any, Literal

from huggingface_hub import CommitOperationAdd, CommitOperationDelete, HfApi, RepoFile, get_session, hf_hub_url
from huggingface_hub.hf_api import CommitInfo, DatasetInfo
from huggingface_hub.utils import build_hf_headers, hf_raise_for_status  # pyright: ignore[reportUnknownVariableType]

from dataset_card.errors import HubDenied, HubMissing, HubStale
from dataset_card.hub.port import MAIN, CommitMessage, Refs, RemoteFile, RepoState, TreeChange, Visibility
from pipelines.resources.hub.retry import RetryingCalls, login_advice
from pipelines.resources.hub.settings import HubSettings

DATASET = "dataset"


class HubClient:
    """One Hub. huggingface_hub reads the token itself (HF_TOKEN, or `hf auth login`); this code never handles it."""

    def __init__(self, settings: HubSettings, *, endpoint: str) -> None:
        self.endpoint = endpoint
        self._calls = RetryingCalls(settings, endpoint=endpoint)
        self._api = HfApi(endpoint=endpoint, library_name="amemgym-synth")

    def repo_state(self, repo: str, *, revision: str = MAIN) -> RepoState | None:
        """Return the commit and visibility at a revision; None if the repository or the revision is missing."""
        try:
            info = self._calls.read(f"looking at {repo}", lambda: self._api.dataset_info(repo, revision=revision))
        except HubMissing:
            return None
        return RepoState(info.sha or "", _visibility(info))

    def check_access(self, repo: str, *, write: bool) -> None:
        """Raise HubDenied if the token may not do this. Creating an existing repository does not test the right to write."""
        try:
            self._calls.read(
                f"access to {repo}",
                lambda: self._api.auth_check(repo, repo_type=DATASET, write=write),
            )
        except HubMissing as error:
            verb = "write to" if write else "read"
            raise HubDenied(f"This token may not {verb} {repo}; {login_advice()}.") from error

    def refs(self, repo: str) -> Refs:
        """Return the names of branches and tags."""
        listing = self._calls.read(f"the branches of {repo}", lambda: self._api.list_repo_refs(repo, repo_type=DATASET))
        branches = frozenset(ref.name for ref in listing.branches)
        tags = frozenset(ref.name for ref in listing.tags)
        return Refs(branches, tags)

    def files(self, repo: str, *, sha: str) -> dict[str, RemoteFile]:
        """Return a commit's files by path, with size in bytes and digest: SHA-256 of large files, git blob id of others."""

        def list_files() -> list[RepoFile]:
            tree = self._api.list_repo_tree(repo, recursive=True, revision=sha, repo_type=DATASET)
            return [entry for entry in tree if isinstance(entry, RepoFile)]

        files: dict[str, RemoteFile] = {}
        for file in self._calls.read(f"the files of {repo}", list_files):
            digest = file.lfs.sha256 if file.lfs else file.blob_id
            files[file.path] = RemoteFile(file.path, file.size, digest)
        return files

    def read(self, repo: str, *, sha: str, path: str) -> bytes:
        """Return the bytes of a file. They are always read from the Hub, never from a cache."""
        url = hf_hub_url(repo, path, repo_type=DATASET, revision=sha, endpoint=self.endpoint)

        def content() -> bytes:
            response = get_session().get(url, headers=build_hf_headers())
            hf_raise_for_status(response)
            return response.content

        return self._calls.read(f"reading {path} of {repo}", content)

    def download(self, repo: str, *, sha: str, patterns: Sequence[str], force: bool) -> Path:
        """Return the folder of the client's snapshot of a commit. Cached files are fetched again only with `force`."""

        # `Any`, because type checkers know its annotations only partly.
        client: Any = self._api
        options = {"allow_patterns": list(patterns), "force_download": force}
        snapshot = self._calls.read(
            f"downloading {repo}", lambda: client.snapshot_download(repo, repo_type=DATASET, revision=sha, **options)
        )
        return Path(snapshot)

    def create(self, repo: str) -> None:
        """Create a private repository. `exist_ok` is not used: it would hide that the repository is somebody else's."""
        try:
            self._calls.write(f"making {repo}", lambda: self._api.create_repo(repo, repo_type=DATASET, private=True))
        except HubStale:
            if self.repo_state(repo) is None:
                raise HubDenied(f"{repo} exists, but this token has no access to it; {login_advice()}.") from None

    def commit(self, repo: str, *, change: TreeChange, message: CommitMessage, parent: str) -> str:
        """Make one commit on main, and return its id."""
        # Not upload_folder: it splits large releases into several commits, and sends a commit again when the reply is lost.
        operations: list[CommitOperationAdd | CommitOperationDelete] = []
        for file in change.adds:
            operations.append(CommitOperationAdd(file.path, file.content))
        for path in change.deletes:
            operations.append(CommitOperationDelete(path, is_folder=False))
        commit: CommitInfo = self._calls.write(
            f"the commit to {repo}",
            lambda: self._api.create_commit(
                repo,
                operations,
                commit_message=message.title,
                commit_description=message.description,
                repo_type=DATASET,
                parent_commit=parent,
            ),
        )
        return commit.oid

    def tag(self, repo: str, *, tag: str, sha: str, message: str) -> None:
        """Create a tag. `exist_ok` is not used: it would hide that the tag already points to another commit."""
        self._calls.write(
            f"the tag {tag} of {repo}",
            lambda: self._api.create_tag(repo, tag=tag, tag_message=message, revision=sha, repo_type=DATASET),
        )

    def set_visibility(self, repo: str, *, visibility: Visibility) -> None:
        """Set who may read the repository. "gated" approves each access request automatically."""
        # None keeps the current gate, which does not matter in a private repository.
        gates: dict[Visibility, Literal["auto", False] | None] = {"gated": "auto", "public": False, "private": None}
        self._calls.write(
            f"the settings of {repo}",
            lambda: self._api.update_repo_settings(
                repo, private=visibility == "private", gated=gates[visibility], repo_type=DATASET
            ),
        )


def _visibility(info: DatasetInfo) -> Visibility:
    if info.private:
        return "private"
    return "gated" if info.gated else "public"
