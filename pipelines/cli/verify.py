"""`amemgym verify`: whether a release still is what it was when it was released."""

from pathlib import Path
from typing import Annotated

import typer

from pipelines.cli.problems import Problem
from pipelines.cli.publish import EndpointOption, hub_problems, release_folder, tell


def verify(
    source: Annotated[str, typer.Argument(metavar="FOLDER|VARIANT|URL|OWNER/NAME", help="A release, or a repository.")],
    tag: Annotated[str, typer.Option(help="Tag or commit of the repository, as in demo-v0.1.0.")] = "",
    variant: Annotated[str, typer.Option(help="Which one, where a commit holds several.")] = "",
    version: Annotated[str, typer.Option(help="Version of the variant's release; the newest if not given.")] = "",
    endpoint: EndpointOption = "",
) -> None:
    """Check every digest, every table, every configuration; one sentence for each problem, and exit status 1."""
    repo, at, revision = source.partition("@")
    with hub_problems():
        if tag or (at and "/" in repo and not Path(source).exists()):
            problems = _repository_problems(repo, tag=tag or revision, variant=variant, endpoint=endpoint)
        else:
            problems = _folder_problems(source, version=version)
    for problem in problems:
        print(problem)
    if problems:
        raise Problem(f"{source} is not as it was released: {len(problems)} {'problem' if len(problems) == 1 else 'problems'}.")


def _folder_problems(source: str, *, version: str) -> list[str]:
    from dataset_card.release.manifest import read_manifest
    from dataset_card.release.verify import examine_release

    # A folder whose manifest is lost is told as a problem, not as a wrong word.
    folder = Path(source) if Path(source).is_dir() else release_folder(source, version=version, fresh=True)
    problems = examine_release(folder)
    if not problems:
        manifest = read_manifest(folder)
        tell(f"{manifest.variant} {manifest.version}, digest {manifest.digest}: every file is as released.")
    return problems


def _repository_problems(repo: str, *, tag: str, variant: str, endpoint: str) -> list[str]:
    from dataset_card.hub.layout import checked_repo
    from dataset_card.hub.verify import ExpectedTag, repository_problems
    from pipelines.resources.hub.open_hub import open_hub, tag_registry
    from pipelines.resources.hub.settings import HubSettings

    hub = open_hub(HubSettings(endpoint=endpoint or None, notice=tell))
    known = tag_registry().find(hub.endpoint, repo=checked_repo(repo), tag=tag)
    problems = repository_problems(hub, ExpectedTag(repo, tag, known, variant or None))
    if not problems:
        tell(f"{repo}@{tag}: every file is as released{' and where it was' if known else ''}.")
    return problems
