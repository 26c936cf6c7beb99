"""`manifest.json`: what a release consists of, what it was made from, by which models, at which cost."""

from pathlib import Path, PurePosixPath
from typing import Annotated, Literal, Self

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, ValidationError, model_validator

from assets.records.base import duplicates
from dataset_card.digests import canonical_digest

MANIFEST = "manifest.json"
VERSION_PATTERN = r"^(0|[1-9]\d*)\.(0|[1-9]\d*)\.(0|[1-9]\d*)$"
Sha256 = Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")]


def _inside(path: str) -> str:
    parts = PurePosixPath(path).parts
    if not parts or path.startswith("/") or ".." in parts or "\\" in path:
        raise ValueError(f"{path!r} does not lie inside the release")
    return path


class ManifestError(ValueError):
    """A manifest that cannot be read or contradicts itself; the message is one sentence."""


class _Part(BaseModel):
    """Not a Record: `sha256` is a field here and a method there."""

    model_config = ConfigDict(frozen=True, extra="forbid")


class ManifestFile(_Part):
    """One file. `path` is relative to the release, with slashes; `logical_digest` is over the rows, not the bytes."""

    path: Annotated[str, AfterValidator(_inside)]
    bytes: int = Field(ge=0)
    sha256: Sha256
    rows: int | None = Field(default=None, ge=0)
    logical_digest: Sha256 | None = None


class Usage(_Part):
    """Totals over all calls that the rows needed, whether or not the call cache answered them.

    They are part of the release's digest, so they have to be the same in every run over the same replies.
    `cost_usd` None: a price is unknown.
    """

    calls: int = Field(default=0, ge=0)
    input_tokens: int = Field(default=0, ge=0)
    output_tokens: int = Field(default=0, ge=0)
    cost_usd: float | None = Field(default=None, ge=0)


class ManifestBody(_Part):
    """All that two releases share when they are the same but for their version."""

    format: Literal[1] = 1
    variant: str
    generator: str
    license: str
    recipe_fingerprint: str
    prompt_fingerprints: dict[str, str]
    models: dict[str, str]
    pool_digest: str
    usage: Usage | None
    counts: dict[str, int]
    files: tuple[ManifestFile, ...]

    @model_validator(mode="after")
    def names_each_file_once(self) -> Self:
        repeated = duplicates([file.path for file in self.files])
        if repeated:
            raise ValueError(f"it lists {repeated[0]!r} twice")
        return self

    def release_digest(self) -> str:
        """sha256 over the canonical JSON of everything but version and digest, in hex."""
        return canonical_digest(self.model_dump(mode="json", exclude={"version", "digest"}))


class Manifest(ManifestBody):
    """The body, its digest, and the version under which it is released."""

    version: str = Field(pattern=VERSION_PATTERN)
    digest: Sha256

    @model_validator(mode="after")
    def digest_is_that_of_the_body(self) -> Self:
        if self.digest != self.release_digest():
            raise ValueError("its digest is not that of its content")
        return self

    @classmethod
    def of(cls, body: ManifestBody, *, version: str) -> "Manifest":
        """Give a body its version."""
        return cls(**body.model_dump(), version=version, digest=body.release_digest())

    def to_bytes(self) -> bytes:
        """The file's content: JSON, indented, newline at the end."""
        return (self.model_dump_json(indent=2) + "\n").encode()


def read_manifest(folder: Path) -> Manifest:
    """Read `<folder>/manifest.json`. Raises ManifestError when it is missing, unreadable or contradicts itself."""
    try:
        return Manifest.model_validate_json((folder / MANIFEST).read_bytes())
    except OSError as error:
        raise ManifestError(f"{MANIFEST} cannot be read: {error.strerror}.") from error
    except ValidationError as error:
        problem = error.errors()[0]
        place = ".".join(str(part) for part in problem["loc"]) or "the whole"
        raise ManifestError(f"{MANIFEST} is wrong at {place}: {problem['msg'].removeprefix('Value error, ')}.") from error
