"""From the files of a commit to a release folder, which appears whole or not at all."""

import secrets
import shutil
from pathlib import Path

from dataset_card.hub_layout import Summary, release_paths
from dataset_card.manifest import ManifestError, read_manifest
from dataset_card.verify import verify_release


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
