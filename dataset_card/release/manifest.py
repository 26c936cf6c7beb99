"""`manifest.json`: the files of a release, the snapshots and models that they were made from, and the cost."""

from pathlib import Path
from typing import Annotated, Any, Literal, Self, cast

import yaml
from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from assets.recipe.recipe import VARIANT_PATTERN
from assets.records.base import duplicates
from assets.records.limits import MOST_MANIFEST_BYTES, TooMuch, load_yaml, read_bounded
from assets.records.paths import RelativePath, expect_file
from assets.records.problems import describe_fault
from dataset_card.release.digests import canonical_digest

MANIFEST = "manifest.json"
CARD = "README.md"
RECIPE = "recipe.yaml"
LICENSE = "LICENSE"
REPORT = "quality_report.json"
REPORT_PAGE = "quality_report.html"
VERSION_PATTERN = r"^(0|[1-9]\d*)\.(0|[1-9]\d*)\.(0|[1-9]\d*)$"
Sha256 = Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")]


class ReleaseError(ValueError):
    """A release that cannot be written or found as asked; the message is one sentence that says what to do."""


class ManifestError(ValueError):
    """A manifest that cannot be read or contradicts itself; the message is one sentence."""


class _ManifestPart(BaseModel):
    """Not a Record: `sha256` is a field here and a method there."""

    model_config = ConfigDict(frozen=True, extra="forbid")


class ManifestFile(_ManifestPart):
    """One file. `path` is relative to the release, with slashes; `logical_digest` is over the rows, not the bytes."""

    path: RelativePath
    bytes: int = Field(ge=0)
    sha256: Sha256
    rows: int | None = Field(default=None, ge=0)
    logical_digest: Sha256 | None = None


class ManifestUsage(_ManifestPart):
    """Totals over all calls that the rows needed, whether or not the reply cache answered them.

    They are part of the release's digest, so they have to be the same in every run over the same replies.
    `cost_usd` None: a price is unknown.
    """

    calls: int = Field(default=0, ge=0)
    input_tokens: int = Field(default=0, ge=0)
    output_tokens: int = Field(default=0, ge=0)
    cost_usd: float | None = Field(default=None, ge=0)

    @property
    def words(self) -> str:
        """The cost in dollars, or the number of tokens if a price is unknown."""
        if self.cost_usd is not None:
            return f"{self.cost_usd:,.2f} USD"
        return f"{(self.input_tokens + self.output_tokens) / 1000:,.0f}K tokens"


class Predecessor(_ManifestPart):
    """The release before: the card's section on changes compares with it.

    `because` says why the new version is as it is; None where nothing asked for more.
    """

    version: str = Field(pattern=VERSION_PATTERN)
    data_digest: Sha256
    because: str | None = None


class ManifestBody(_ManifestPart):
    """All that two releases share when they are the same but for their version. `previous` None: there was none before."""

    format: Literal[1] = 1
    variant: str = Field(pattern=VARIANT_PATTERN)
    generator: str
    license: str
    recipe_fingerprint: str
    prompt_fingerprints: dict[str, str]
    models: dict[str, str]
    pool_digest: str
    usage: ManifestUsage | None
    counts: dict[str, int]
    files: tuple[ManifestFile, ...]
    previous: Predecessor | None = None
    # Digests of the snapshots by work unit and stage; None for rows that come from no snapshots, such as imported ones.
    made_from: dict[str, dict[str, Sha256]] | None = None
    # What numbers of the data are counted by, such as tokens; None where nothing is measured.
    counted_by: dict[str, str] | None = None
    # By item, digests of the texts that no item of another variant has; and the variant whose items these are as well.
    own_texts: tuple[tuple[str, ...], ...] = ()
    derived_from: str = ""

    @model_validator(mode="after")
    def names_each_file_once(self) -> Self:
        repeated = duplicates([file.path for file in self.files])
        if repeated:
            raise ValueError(f"it lists {repeated[0]!r} twice")
        return self

    def release_digest(self) -> str:
        """sha256 over the canonical JSON of everything but version and the two digests, in hex."""
        body = self.model_dump(mode="json", exclude={"version", "digest", "data_digest"})
        # What a release does not have is not in its digest.
        for name in ("made_from", "counted_by"):
            if getattr(self, name) is None:
                # Otherwise a new field of the manifest would change the digest of every release.
                del body[name]
        for name in ("own_texts", "derived_from"):
            if not getattr(self, name):
                del body[name]
        if self.previous is not None:
            body["previous"] = self.previous.model_dump(mode="json", exclude_none=True)
        return canonical_digest(body)

    def rows_digest(self) -> str:
        """sha256 over path, number and logical digest of all rows, in hex: the data alone, whatever bytes store it."""
        rows: list[list[str | int | None]] = []
        for file in self.files:
            if file.logical_digest:
                rows.append([file.path, file.rows, file.logical_digest])
        return canonical_digest(rows)

    def without_card(self) -> dict[str, Any]:
        """Return the part that is equal in two releases that are the same, but for what their cards say."""
        apart = {"version", "digest", "data_digest", "previous", "files", "made_from"}
        files = [file.model_dump() for file in self.files if file.path != CARD]
        return {**self.model_dump(exclude=apart), "files": files}

    def with_card(self, card: ManifestFile, *, previous: Predecessor | None) -> "ManifestBody":
        """Return the same body with another card and the release that this one follows."""
        files = tuple(card if file.path == CARD else file for file in self.files)
        return self.model_copy(update={"files": files, "previous": previous})


class Manifest(ManifestBody):
    """The body, its digests, and the version under which it is released.

    `digest` changes with any byte of any file, the card's too; `data_digest` with the rows alone.
    """

    version: str = Field(pattern=VERSION_PATTERN)
    data_digest: Sha256
    digest: Sha256

    @model_validator(mode="after")
    def digests_are_those_of_the_body(self) -> Self:
        if self.digest != self.release_digest():
            raise ValueError("its digest is not that of its content")
        if self.data_digest != self.rows_digest():
            raise ValueError("its data_digest is not that of its files")
        return self

    @classmethod
    def of(cls, body: ManifestBody, *, version: str) -> "Manifest":
        """Return the manifest of a body under this version, with both digests."""
        return cls(**body.model_dump(), version=version, data_digest=body.rows_digest(), digest=body.release_digest())

    def to_bytes(self) -> bytes:
        """Return the file's content: JSON, indented, newline at the end."""
        return (self.model_dump_json(indent=2) + "\n").encode()


def read_manifest(folder: Path) -> Manifest:
    """Read `<folder>/manifest.json`. Raises ManifestError when it is missing, unreadable or contradicts itself."""
    try:
        return Manifest.model_validate_json(read_bounded(folder / MANIFEST, most=MOST_MANIFEST_BYTES))
    except TooMuch as problem:
        raise ManifestError(f"{MANIFEST} {problem}.") from problem
    except OSError as error:
        raise ManifestError(f"{MANIFEST} cannot be read: {error.strerror}.") from error
    except ValidationError as error:
        raise ManifestError(f"{MANIFEST} {describe_fault(error)}.") from error


def read_recipe_fields(folder: Path) -> dict[str, object]:
    """Read the fields of a release's recipe, as they stand there. Raises ManifestError when they are missing or unreadable."""
    try:
        fields = load_yaml(expect_file(folder / RECIPE).read_text(encoding="utf-8"))
    except OSError as error:
        raise ManifestError(f"{RECIPE} cannot be read: {error.strerror}.") from error
    except (TooMuch, UnicodeDecodeError, yaml.YAMLError) as error:
        raise ManifestError(f"{RECIPE} cannot be read: {' '.join(str(error).split())}.") from error
    if not isinstance(fields, dict):
        raise ManifestError(f"{RECIPE} cannot be read: it must map field names to values.")
    return cast(dict[str, object], fields)
