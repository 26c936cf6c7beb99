"""Card and release as they lie now, held against what was materialized."""

import shutil
from pathlib import Path
from typing import Any

import dagster as dg
import pytest

from assets.amemgym.pipeline import AMEMGYM
from dataset_card.hub.asset import card_problems, release_checks
from dataset_card.release_store.asset import card_metadata, release_metadata
from dataset_card.release_store.folder import FolderReleaseWriter, Release, write_release
from tests.support.releases import content

# Those of card and release; the third asks a Hub.
CHECKS = release_checks(AMEMGYM)[:2]


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> Release:
    """A release on disk, which no test changes."""
    return write_release(content(), root=tmp_path_factory.mktemp("releases"), version="0.1.0")


@pytest.fixture
def root(written: Release, tmp_path: Path) -> Path:
    """A copy of its release store."""
    shutil.copytree(written.folder.parent.parent, tmp_path / "releases")
    return tmp_path / "releases"


def checked(root: Path, written: Release) -> dict[str, dg.AssetCheckEvaluation]:
    """Both checks, after the release was materialized."""

    @dg.multi_asset(
        outs={name: dg.AssetOut("amemgym", dagster_type=dg.Nothing) for name in ("dataset_card", "release")},
        partitions_def=AMEMGYM.partitions.by_variant,
    )
    def release_folder() -> Any:
        released = release_metadata(written, str(written.folder), AMEMGYM)
        yield dg.MaterializeResult(asset_key=["amemgym", "dataset_card"], metadata=card_metadata(written))
        yield dg.MaterializeResult(asset_key=["amemgym", "release"], metadata=released)

    result = dg.materialize(
        [release_folder, *CHECKS],  # pyright: ignore[reportArgumentType]
        partition_key="demo",
        resources={"releases": FolderReleaseWriter(root)},
        instance=dg.DagsterInstance.ephemeral(),  # pyright: ignore[reportUnknownMemberType]
        raise_on_error=False,
    )
    return {check.check_name: check for check in result.get_asset_check_evaluations()}


def test_a_whole_release_passes_both(root: Path, written: Release) -> None:
    found = checked(root, written)
    assert {name: check.passed for name, check in found.items()} == {
        "files_match_manifest": True,
        "links_and_configurations_resolve": True,
    }


def test_a_changed_file_is_named_and_blocks(root: Path, written: Release) -> None:
    folder = root / "demo" / "0.1.0"
    (folder / "LICENSE").write_text("Mine.", encoding="utf-8")
    check = checked(root, written)["files_match_manifest"]
    assert (check.passed, check.severity) == (False, dg.AssetCheckSeverity.ERROR)
    assert "LICENSE has 5 bytes" in str(check.description)
    assert str(check.description).endswith(f", or move {folder} away and make it again with: amemgym release demo.")


def test_a_check_without_a_partition_says_what_to_do(root: Path) -> None:
    with pytest.raises(dg.Failure, match=r"has no partition\. Materialize release for"):
        dg.materialize(
            CHECKS[1:],  # pyright: ignore[reportArgumentType]
            selection=dg.AssetSelection.all_asset_checks(),
            resources={"releases": FolderReleaseWriter(root)},
            instance=dg.DagsterInstance.ephemeral(),  # pyright: ignore[reportUnknownMemberType]
        )


def test_a_link_and_a_configuration_that_lead_nowhere_are_named(root: Path) -> None:
    folder = root / "demo" / "0.1.0"
    card = folder / "README.md"
    text = card.read_text(encoding="utf-8").replace("tables/demo/users", "tables/demo/nobody")
    card.write_text(f"{text}\n[gone](figures/gone.png) [there](LICENSE) [away](https://example.org)", encoding="utf-8")
    told = list(card_problems(folder))
    assert any("nobody" in problem for problem in told)
    assert "README.md links to figures/gone.png, which is not in the release." in told
    assert not any("LICENSE" in problem or "example" in problem for problem in told)


def test_a_folder_without_a_manifest_is_told_in_one_sentence(tmp_path: Path) -> None:
    assert len(list(card_problems(tmp_path))) == 1


def test_the_materialization_counts_rows_and_links_no_report_that_is_not_there(written: Release) -> None:
    told = release_metadata(written, str(written.folder), AMEMGYM)
    assert told["dagster/row_count"] == told["users"] == 2
    assert told["folder"].value == str(written.folder)
    assert "report" not in told
    assert "address" not in told["details"].md_str
    assert card_metadata(written)["words"] > 100
