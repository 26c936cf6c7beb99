"""The commands, the asset, and that no token gets anywhere."""

import json
import logging
import shutil
from pathlib import Path

import dagster as dg
import pytest
from typer.testing import CliRunner, Result

from dataset_card.amemgym.release import AMEMGYM_RELEASE
from dataset_card.errors import HubError
from dataset_card.hub.asset import HubReleaseConfig, Openness, hub_release_asset
from dataset_card.hub.layout import VERSIONS
from dataset_card.release_store.folder import FolderReleaseWriter, write_release
from pipelines.cli.main import app
from pipelines.definitions import defs
from pipelines.errors import Problem
from pipelines.opening.dagster_resources import PublisherResource, configured_resources
from pipelines.opening.hub import open_hub
from pipelines.resources.hub.settings import HubSettings, checked_endpoint
from tests.support import scenario
from tests.support.hub_server.faults import Fault
from tests.support.hub_server.releases import a_release, assert_holds, commit_by_hand, commits, held_files, tags
from tests.support.hub_server.state import READER, WRITER, FakeHub
from tests.support.releases import content


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
    assert f"{repo} would be created, and be private at the end.\nNothing was changed." in dry
    assert not fake.repos
    done = run("publish", "demo", "--repo", repo).stdout
    commit = tags(fake, repo)["demo-v0.2.0"]
    assert f"Published {repo}@demo-v0.2.0, commit {commit}" in done
    assert "Already published" in run("publish", str(home / "releases/demo/0.2.0"), "--repo", repo, "--public").stdout
    fetched = run("fetch", f"{repo}@demo-v0.2.0")
    assert Path(fetched.stdout.strip()) == home / "fetched" / repo / commit / "demo"
    assert f"demo 0.2.0 at commit {commit}, digest {a_release(version='0.2.0', users=1).digest}" in fetched.stderr


@pytest.mark.usefixtures("home", "hub")
def test_publishing_quietly_tells_the_end_alone(fake: FakeHub, repo: str) -> None:
    fake.faults.add(Fault("commit", "drop"))
    quiet = run("publish", "demo", "--repo", repo, "--quiet")
    assert f"Published {repo}@demo-v0.2.0" in quiet.stdout
    assert not quiet.stderr


@pytest.mark.usefixtures("home", "hub")
def test_a_dry_run_without_the_hub_tells_all_that_is_known_here(fake: FakeHub, repo: str) -> None:
    fake.faults.add(Fault("info", "drop", times=99))
    result = run("publish", "demo", "--repo", repo, "--dry-run")
    told = result.stdout.splitlines()
    assert result.exit_code == 1
    assert any(line.startswith("file  demo/data.json  (") for line in told)
    assert told[-4].startswith("demo-v0.2.0 has ")
    assert told[-3].startswith("Its card: ")
    assert told[-2].startswith(f"The present content of {repo} could not be checked: ")
    assert told[-1] == "Nothing was changed."
    as_json = json.loads(run("publish", "demo", "--repo", repo, "--dry-run", "--json").stdout)
    assert (as_json["tag"], as_json["hub"]) == ("demo-v0.2.0", told[-2])
    assert "demo/data.json" in as_json["files"]


@pytest.mark.usefixtures("home")
def test_a_dry_run_needs_no_repository_and_publishing_does(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("AMEMGYM_HUB_REPO", raising=False)
    dry = run("publish", "demo", "--dry-run")
    assert dry.exit_code == 0
    assert "demo-v0.2.0 has " in dry.stdout
    assert dry.stdout.splitlines()[-2].startswith("No repository is named (--repo OWNER/NAME)")
    assert json.loads(run("publish", "demo", "--dry-run", "--json").stdout)["repo"] == ""
    refused = run("publish", "demo").exception
    assert isinstance(refused, Problem)
    assert str(refused) == "Name a dataset repository with --repo OWNER/NAME, or in AMEMGYM_HUB_REPO."


@pytest.fixture
def embedded(home: Path) -> Path:
    """A release of the demo whose rows the embedded model wrote."""
    models = scenario.recipe(num_users=2).models
    writer = models.writer.model_copy(update={"model": "amemgym-embedded-1"})
    recipe = scenario.recipe(num_users=2, models=models.model_copy(update={"writer": writer}))
    return write_release(content(recipe=recipe), root=home / "releases", version="2.0.0").folder


@pytest.mark.parametrize("openness", ["--public", "--gated"])
def test_rows_of_the_embedded_model_are_opened_to_others_only_where_somebody_allows_it(
    fake: FakeHub, embedded: Path, repo: str, openness: str
) -> None:
    said = refused("publish", "demo", "--repo", repo, openness)
    assert "demo-v2.0.0: For trying only. No language model wrote these texts: amemgym-embedded-1 did" in said
    assert f"{repo} is open to others or would be" in said
    assert not fake.repos
    for words in ((), ("--repo", repo)):
        assert (
            run("publish", "demo", "--dry-run", *words).stdout.splitlines()[-2].startswith("For trying only. No language model")
        )
    run("publish", "demo", "--repo", repo)
    assert refused("publish", "demo", "--repo", repo, openness) == said
    assert fake.repos[repo].private
    assert "Already published" in run("publish", "demo", "--repo", repo, openness, "--embedded").stdout
    header = held_files(fake, repo)["README.md"].decode().split("---\n")[1]
    assert "- embedded-model" in header


@pytest.mark.usefixtures("embedded")
def test_the_asset_opens_rows_of_the_embedded_model_only_where_config_allows_it(fake: FakeHub, repo: str) -> None:
    config = {"repo": repo, "openness": "PUBLIC"}
    with pytest.raises(dg.Failure, match=r"--embedded, in Dagster `embedded: true`"):
        published(ops={"amemgym__hub_release": {"config": config}})
    assert not fake.repos
    assert published(ops={"amemgym__hub_release": {"config": {**config, "embedded": True}}}).success


def test_a_version_is_deprecated_and_in_use_again(fake: FakeHub, home: Path, repo: str) -> None:
    run("publish", "demo", "--repo", repo, "--version", "0.1.0")
    done = run("deprecate", repo, "demo-v0.1.0", "--because", "its key is wrong")
    assert done.stdout == f"{repo}@demo-v0.1.0 is withdrawn because its key is wrong.\n"
    fetched = run("fetch", f"{repo}@demo-v0.1.0")
    assert f"{repo}@demo-v0.1.0 should not be used any more: withdrawn because its key is wrong." in fetched.stderr
    assert run("deprecate", repo, "demo-v0.1.0", "--restore").stdout == f"{repo}@demo-v0.1.0 is in use again.\n"
    assert "should not be used" not in run("fetch", f"{repo}@demo-v0.1.0").stderr
    assert "Give one of --superseded-by" in refused("deprecate", repo, "demo-v0.1.0")


@pytest.mark.usefixtures("home")
def test_fetch_says_where_it_could_not_look_up_whether_a_version_is_deprecated(fake: FakeHub, repo: str) -> None:
    run("publish", "demo", "--repo", repo, "--version", "0.1.0")
    commit_by_hand(fake, repo, {VERSIONS: b"{"})
    fetched = run("fetch", f"{repo}@demo-v0.1.0")
    assert fetched.exit_code == 0
    told = f"Whether {repo}@demo-v0.1.0 should still be used could not be looked up. {VERSIONS} of {repo} cannot be read"
    assert told in fetched.stderr


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["publish", "nothing", "--repo", "lab/x"], "'nothing' is neither a release folder nor a variant with a release"),
        (["publish", "nothing", "--repo", "lab/x"], "/releases are those of demo."),
        (["publish", "demo", "--repo", "lab/x", "--version", "3.0.0"], "demo has no version 3.0.0; there are 0.1.0, 0.2.0."),
        (["publish", "demo", "--repo", "lab/x", "--public", "--private"], "give only one"),
        (["publish", "demo", "--repo", "x"], "give OWNER/NAME"),
        (["publish", "demo", "--repo", "lab/x", "--endpoint", "https://me:secret@hub"], "put a token into HF_TOKEN"),
        (["publish", "demo", "--repo", "lab/x", "--endpoint", "https://elsewhere"], "already bound to"),
        (["fetch", "lab/none@demo-v0.2.0"], "check the name"),
        (["diff", "demo@0.1.0", "demo@0.2.0", "--page", "/dev/full"], "The disk of /dev/full is full; free some space"),
        (["diff", "demo@0.1.0", "demo@3.0.0"], "demo has no version 3.0.0; there are 0.1.0, 0.2.0."),
        (["diff", "demo", "lab/none@demo-v0.2.0"], "check the name"),
        (["verify", "nothing"], "'nothing' is neither a release folder nor a variant with a release"),
        (["verify", "./nothing"], "'./nothing' does not exist: it is neither a release folder nor a variant with a release"),
        (["verify", "x", "--tag", "demo-v0.1.0"], "give OWNER/NAME"),
        (["release", "base"], "Nothing of 'base' is made yet; make it with: amemgym generate base"),
    ],
)
def test_what_cannot_be_done_is_told_in_one_sentence(home: Path, arguments: list[str], sentence: str) -> None:
    told = refused(*arguments)
    assert sentence in told
    assert "secret" not in told
    assert "\n" not in told


def test_a_folder_of_several_releases_is_answered_with_them(home: Path) -> None:
    folder = home / "releases" / "demo"
    told = refused("diff", str(folder), "demo@0.1.0")
    assert f"is a folder of releases, not a release; name one of {folder / '0.1.0'}, {folder / '0.2.0'}." in told


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


def published(**config: object) -> dg.ExecuteInProcessResult:
    """The job `publish`, with resources as the environment has them now."""
    resources = {**(defs.resources or {}), **configured_resources()}
    return defs.resolve_job_def("publish").execute_in_process(config, partition_key="demo", resources=resources)


def test_the_asset_tells_commit_tag_and_digest(fake: FakeHub, home: Path, repo: str) -> None:
    config = {"amemgym__hub_release": {"config": {"repo": repo, "version": "0.1.0", "openness": "PUBLIC"}}}
    result = published(ops=config)
    told = {
        name: value.value for name, value in result.asset_materializations_for_node("amemgym__hub_release")[0].metadata.items()
    }
    assert_holds(fake, repo, a_release())
    assert not fake.repos[repo].private
    assert {check.check_name: check.passed for check in result.get_asset_check_evaluations()} == {"tag_reads_back": True}
    commit = tags(fake, repo)["demo-v0.1.0"]
    assert told["page"] == f"{fake.url}/datasets/{repo}/tree/demo-v0.1.0"
    assert told["repo"] == repo
    assert told["tag"] == "demo-v0.1.0"
    assert told["commit"] == commit
    assert told["digest"] == a_release().digest
    assert told["new"] is True


def test_the_asset_fails_with_one_sentence(fake: FakeHub, home: Path, repo: str) -> None:
    with pytest.raises(dg.Failure, match="There is no release of base in"):
        dg.materialize(
            [hub_release_asset(AMEMGYM_RELEASE)],
            partition_key="base",
            resources={"publisher": PublisherResource(), "releases": FolderReleaseWriter(home / "releases")},
            run_config=dg.RunConfig({"amemgym__hub_release": HubReleaseConfig(repo=repo, openness=Openness.UNCHANGED)}),
        )
    assert not fake.repos


@pytest.mark.usefixtures("home")
def test_a_run_that_names_no_repository_publishes_nothing_and_does_not_fail(
    fake: FakeHub, repo: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AMEMGYM_HUB_REPO", repo)
    result = published()
    assert result.success
    assert result.asset_materializations_for_node("amemgym__hub_release") == []
    assert result.get_asset_check_evaluations() == []
    assert not fake.repos


def test_publishing_is_no_part_of_making_a_release() -> None:
    whole = defs.resolve_job_def("generate_and_release")
    assert "hub_release" not in {key.path[-1] for key in whole.asset_layer.executable_asset_keys}


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


@pytest.mark.parametrize(
    "endpoint",
    ["huggingface.co", "ftp://hub", "https://", "https://token@hub", "https://hub?key=token@", "https://u:token@/x@hub"],
)
def test_an_address_that_cannot_be_used_is_refused(endpoint: str) -> None:
    with pytest.raises(HubError, match="address") as caught:
        checked_endpoint(endpoint)
    assert "token@" not in str(caught.value)


def test_the_second_upload_protocol_is_off_unless_asked_for() -> None:
    open_hub(HubSettings())
    from huggingface_hub import constants

    assert constants.HF_HUB_DISABLE_XET
