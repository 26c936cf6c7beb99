"""Notes of what a page or a release was last made from: a rerun that comes to the same makes neither again."""

from functools import cache
from hashlib import sha256
from importlib.metadata import version
from pathlib import Path

from pydantic_core import to_json

PACKAGES = ("assets", "validation", "dataset_card")
LIBRARIES = ("jinja2", "matplotlib", "mlcroissant", "pyarrow", "pyyaml")


@cache
def code_digest() -> str:
    """Differs when the code or the templates that make pages and releases do, or a library that they write with."""
    root, digest = Path(__file__).parents[2], sha256()
    for path in sorted(path for name in PACKAGES for path in (root / name).rglob("*") if path.suffix != ".pyc"):
        if path.is_file():
            digest.update(f"{path.relative_to(root)}\n".encode() + path.read_bytes())
    digest.update(to_json({name: version(name) for name in LIBRARIES}))
    return digest.hexdigest()


class LastMade:
    """A note in a file: a digest of what something was made from, which is all that decides its bytes, and what it came to."""

    def __init__(self, path: Path, *made_from: object) -> None:
        self._path = path
        self._digest = sha256(to_json([code_digest(), *made_from])).hexdigest()

    def find(self) -> str | None:
        """What it came to, if it was made from the very same."""
        try:
            digest, _, outcome = self._path.read_text(encoding="utf-8").partition("\n")
        except (OSError, ValueError):
            return None
        return outcome if digest == self._digest else None

    def note(self, outcome: str) -> None:
        """Write what it came to. Raises OSError from the disk."""
        self._path.write_text(f"{self._digest}\n{outcome}", encoding="utf-8")
