"""Marking a published version as one that should not be used any more, and taking the mark back."""

from dataclasses import dataclass

from dataset_card.hub.port import MAIN, CommitMessage, Hub, HubMissing, HubStale, HubUncertain, PublishRefused
from dataset_card.hub.repo_tree import RepositoryTree
from dataset_card.hub.versions_file import PublishedVersion, Versions, with_tags

ROUNDS = 5


@dataclass(frozen=True)
class Deprecation:
    """What to say of a tag: another one is better, or why it is withdrawn; neither takes an earlier word back."""

    repo: str
    tag: str
    superseded_by: str = ""
    withdrawn_because: str = ""


def deprecate(hub: Hub, asked: Deprecation) -> PublishedVersion:
    """One commit onto main that says it in the card and in the list of versions; tags and rows stay. Raises HubError.

    Asking again for what is there already does nothing. A lost reply or another writer only means another look.
    """
    failure: HubStale | HubUncertain = HubUncertain("nothing was tried")
    for _ in range(ROUNDS):
        state = hub.repo_state(asked.repo, revision=MAIN)
        if state is None:
            raise HubMissing(f"There is no repository {asked.repo}, or it is hidden from this token.")
        hub.check_access(asked.repo, write=True)
        tree = RepositoryTree(hub, repo=asked.repo, sha=state.sha)
        tags = hub.refs(asked.repo).tags
        versions = with_tags(tree.versions(), tags)
        for tag in (asked.tag, asked.superseded_by):
            if tag and tag not in {one.tag for one in versions}:
                raise PublishRefused(
                    f"{asked.repo} has no release tagged {tag}; there are {', '.join(sorted(tags)) or 'none'}."
                )
        if asked.superseded_by == asked.tag:
            raise PublishRefused(f"{asked.tag} cannot be superseded by itself; name the tag to use instead.")
        change = tree.change(tree.cards(), versions=_marked(versions, asked), tags=tags)
        if not change:
            return next(one for one in tree.versions() if one.tag == asked.tag)
        title = f"{asked.tag} is {_marked_version(versions, asked).status or 'in use again'}"
        try:
            hub.commit(asked.repo, change=change, message=CommitMessage(title, ""), parent=state.sha)
        except (HubStale, HubUncertain) as error:
            failure = error
    raise failure


def _marked(versions: Versions, asked: Deprecation) -> Versions:
    return tuple(_marked_version(versions, asked) if one.tag == asked.tag else one for one in versions)


def _marked_version(versions: Versions, asked: Deprecation) -> PublishedVersion:
    found = next(one for one in versions if one.tag == asked.tag)
    said = {"superseded_by": asked.superseded_by, "withdrawn_because": asked.withdrawn_because.strip().rstrip(".")}
    return found.model_copy(update=said)
