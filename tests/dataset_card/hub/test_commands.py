"""The commands, the asset, and that no token gets anywhere."""

import json
import logging
import shutil
from pathlib import Path

import dagster as dg
import pytest
from typer.testing import CliRunner, Result

from dataset_card.amemgym import AMEMGYM_RELEASE
from dataset_card.hub.asset import HubReleaseConfig, Openness, hub_release_asset
from dataset_card.hub.port import HubError
from dataset_card.release.store import FolderReleaseStore
from pipelines.cli.errors import Problem
from pipelines.cli.main import app
from pipelines.definitions import defs
from pipelines.resources.dagster_resources import PublisherResource
from pipelines.resources.hub.open_hub import open_hub
from pipelines.resources.hub.settings import HubSettings, checked_endpoint
from tests.support.hub_server.faults import Fault
from tests.support.hub_server.releases import a_release, assert_holds, commits, tags
from tests.support.hub_server.state import READER, WRITER, FakeHub


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, fake: FakeHub) -> Path:
    """An installation with two versions of the demo."""
    place = tmp_path / "home"
    for version, users in (("0.1.0", 2), ("0.2.0", 1)):
        shutil.copytree(a_release(version=version, users=users).folder, place / "releases" / "demo" / version)
    monkeypatch.setenv("AMEMGYM_HOME", str(place))
    return place


def run(*arguments: str) -> Result:
    return CliRunner().invoke(app, list(arguments))


def refused(*arguments: str) -> str:
    """The sentence of a command that ends with one."""
    result = run(*arguments)
    assert isinstance(result.exception, Problem), result.output
    return str(result.exception)


def test_a_variant_is_published_and_fetched(fake: FakeHub, home: Path, repo: str) -> None:
    dry = run("publish", "demo", "--repo", repo, "--dry-run").stdout
    assert f"{repo} would get one commit and the tag demo-v0.2.0." in dry
    assert f"{repo} would be made, private in the end.\nNothing was changed." in dry
    assert not fake.repos
    done = run("publish", "demo", "--repo", repo).stdout
    commit = tags(fake, repo)["demo-v0.2.0"]
    assert f"Published {repo}@demo-v0.2.0, commit {commit}" in done
    assert "Already published" in run("publish", str(home / "releases/demo/0.2.0"), "--repo", repo, "--public").stdout
    fetched = run("fetch", f"{repo}@demo-v0.2.0")
    assert Path(fetched.stdout.strip()) == home / "fetched" / repo / commit / "demo"
    assert f"demo 0.2.0 at commit {commit}, digest {a_release(version='0.2.0', users=1).digest}" in fetched.stderr


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["publish", "nothing", "--repo", "lab/x"], "'nothing' is neither a release folder nor a variant with a release"),
        (["publish", "demo", "--repo", "lab/x", "--version", "3.0.0"], "demo has no version 3.0.0; there are 0.1.0, 0.2.0."),
        (["publish", "demo", "--repo", "lab/x", "--public", "--private"], "give one"),
        (["publish", "demo", "--repo", "lab/x", "--public", "--pull-request"], "changes no settings"),
        (["publish", "demo", "--repo", "lab/x", "--pull-request"], "There is no repository lab/x"),
        (["publish", "demo", "--repo", "x"], "give OWNER/NAME"),
        (["publish", "demo", "--repo", "lab/x", "--endpoint", "https://me:secret@hub"], "put a token into HF_TOKEN"),
        (["publish", "demo", "--repo", "lab/x", "--endpoint", "https://elsewhere"], "already bound to"),
        (["fetch", "lab/none@demo-v0.2.0"], "check the name"),
        (["diff", "demo@0.1.0", "demo@3.0.0"], "demo has no version 3.0.0; there are 0.1.0, 0.2.0."),
        (["diff", "demo", "lab/none@demo-v0.2.0"], "check the name"),
        (["verify", "nothing"], "'nothing' is neither a release folder nor a variant with a release"),
        (["verify", "x", "--tag", "demo-v0.1.0"], "give OWNER/NAME"),
        (["release", "base"], "Nothing of 'base' is made yet; make it with: amemgym generate base"),
    ],
)
def test_what_cannot_be_done_is_told_in_one_sentence(home: Path, arguments: list[str], sentence: str) -> None:
    told = refused(*arguments)
    assert sentence in told
    assert "secret" not in told
    assert "\n" not in told


def test_a_release_on_the_hub_is_compared_with_one_on_the_disk(fake: FakeHub, home: Path, repo: str, tmp_path: Path) -> None:
    run("publish", "demo", "--version", "0.1.0", "--repo", repo)
    page = tmp_path / "page.html"
    told = run("diff", f"{repo}@demo-v0.1.0", "demo", "--page", str(page)).stdout
    assert "From demo 0.1.0 to demo 0.2.0: a new major number, because 1 row of users is" in told
    assert page.read_text(encoding="utf-8").startswith("<!doctype html>")
    assert json.loads(run("diff", "demo@0.1.0", "demo@0.2.0", "--json").stdout)["users_removed"] == ["5f0c-user-001"]
    assert run("diff", "demo@0.1.0", "demo@0.2.0", "--markdown").stdout.startswith("## Changes since 0.1.0\n")
    assert "are the same release" in run("diff", "demo@0.1.0", str(home / "releases/demo/0.1.0")).stdout


def test_a_version_too_low_for_what_was_published_is_refused(fake: FakeHub, home: Path, repo: str) -> None:
    run("publish", "demo", "--version", "0.1.0", "--repo", repo)
    assert refused("publish", "demo", "--repo", repo) == (
        f"{repo}: 0.2.0 is too low for demo: since 0.1.0, 1 row of users is gone, so it has to be at least 1.0.0."
    )
    assert set(tags(fake, repo)) == {"demo-v0.1.0"}


def test_the_asset_tells_commit_tag_and_digest(fake: FakeHub, home: Path, repo: str) -> None:
    config = {"hub_release": {"config": {"repo": repo, "version": "0.1.0", "openness": "PUBLIC"}}}
    result = defs.resolve_job_def("publish").execute_in_process(partition_key="demo", run_config={"ops": config})
    told = {name: value.value for name, value in result.asset_materializations_for_node("hub_release")[0].metadata.items()}
    assert_holds(fake, repo, a_release())
    assert not fake.repos[repo].private
    assert {check.check_name: check.passed for check in result.get_asset_check_evaluations()} == {"tag_reads_back": True}
    commit = tags(fake, repo)["demo-v0.1.0"]
    assert told["page"] == f"{fake.url}/datasets/{repo}/tree/demo-v0.1.0"
    assert (told["repo"], told["tag"], told["commit"], told["digest"], told["new"]) == (
        repo,
        "demo-v0.1.0",
        commit,
        a_release().digest,
        True,
    )


def test_the_asset_fails_with_one_sentence(fake: FakeHub, home: Path, repo: str) -> None:
    with pytest.raises(dg.Failure, match="There is no release of base in"):
        dg.materialize(
            [hub_release_asset(AMEMGYM_RELEASE)],
            partition_key="base",
            resources={"publisher": PublisherResource(), "releases": FolderReleaseStore(home / "releases")},
            run_config=dg.RunConfig({"hub_release": HubReleaseConfig(repo=repo, openness=Openness.UNCHANGED)}),
        )
    assert not fake.repos


def test_publishing_is_no_part_of_making_a_release() -> None:
    whole = defs.resolve_job_def("generate_and_release")
    assert "hub_release" not in {key.to_user_string() for key in whole.asset_layer.executable_asset_keys}


@pytest.mark.parametrize("token", [WRITER, READER])
def test_a_token_is_in_no_file_request_log_or_error(
    fake: FakeHub, home: Path, repo: str, token: str, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    fake.make(repo, private=False)
    monkeypatch.setenv("HF_TOKEN", token)
    fake.faults.add(Fault("refs", body=f'{{"error": "token {token} is tired"}}'))
    fake.faults.add(Fault("auth-check", status=403, body=f'{{"error": "{token} may not"}}', skip=1))
    results = [run("publish", "demo", "--repo", repo), run("publish", "demo", "--repo", repo)]
    texts = [result.output + str(result.exception) + repr(result.exception) for result in results]
    texts.append(caplog.text)
    written = [path.read_bytes() for path in home.rglob("*") if path.is_file()]
    assert not [text for text in texts if token in text]
    assert not [content for content in (*written, *fake.bodies) if token.encode() in content]
    assert commits(fake, repo) <= 1


@pytest.mark.parametrize("endpoint", ["huggingface.co", "ftp://hub", "https://", "https://token@hub"])
def test_an_address_that_cannot_be_used_is_refused(endpoint: str) -> None:
    with pytest.raises(HubError, match="address") as caught:
        checked_endpoint(endpoint)
    assert "token@" not in str(caught.value)


def test_the_second_upload_protocol_is_off_unless_asked_for() -> None:
    open_hub(HubSettings())
    from huggingface_hub import constants

    assert constants.HF_HUB_DISABLE_XET
