"""From a commit, or from its files, to a release folder, which appears whole or not at all."""

import secrets
import shutil
from dataclasses import dataclass
from pathlib import Path

from dataset_card.hub.layout import Summary, folders, release_paths
from dataset_card.hub.port import Hub
from dataset_card.release.manifest import ManifestError, read_manifest
from dataset_card.release.verify import verify_release


@dataclass(frozen=True)
class Place:
    """A variant at one commit of a repository."""

    repo: str
    commit: str
    variant: str


def fetch_release(hub: Hub, place: Place, *, target: Path, anew: bool = False) -> list[str]:
    """Bring the release to `target`; problems as `assemble` tells them.

    What arrives damaged is downloaded once more. `anew`: nothing that the client keeps from earlier is believed.
    """
    patterns = [f"{folder}*" for folder in folders(place.variant)]
    problems: list[str] = []
    for again in (anew, True):
        snapshot = hub.download(place.repo, sha=place.commit, patterns=patterns, again=again)
        problems = assemble(snapshot, variant=place.variant, target=target)
        if not problems:
            break
    return problems


def assemble(snapshot: Path, *, variant: str, target: Path) -> list[str]:
    """Give the files the places they have in a release folder; problems as verify_release tells them, none when done."""
    draft = target.with_name(f".writing-{secrets.token_hex(8)}")
    try:
        manifest = read_manifest(snapshot / variant)
        for here, there in release_paths(Summary.model_validate(manifest.model_dump())).items():
            if (snapshot / there).is_file():
                (draft / here).parent.mkdir(parents=True, exist_ok=True)
                shutil.copyfile(snapshot / there, draft / here)
        problems = verify_release(draft) if manifest.variant == variant else [f"its manifest is that of {manifest.variant!r}."]
        if not problems:
            draft.rename(target)
    except ManifestError as error:
        return [str(error)]
    except OSError:
        # Another process may have been first.
        if not target.is_dir() or verify_release(target):
            raise
        return []
    finally:
        shutil.rmtree(draft, ignore_errors=True)
    return problems
