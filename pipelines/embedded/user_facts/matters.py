"""The matters that this model knows: it drafts a user's list from them, and reads of pairs how they hang together."""

from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

import yaml

from assets.engine.seeded_random import SeededRandom
from assets.user_facts.matters import links_of, root_of
from assets.user_facts.records import FactMatter
from pipelines.embedded.task import PromptTask

PATH = Path(__file__).with_suffix(".yaml")


@cache
def known_matters() -> Mapping[str, FactMatter]:
    """Return the matters by label."""
    content = yaml.load(PATH.read_text(encoding="utf-8"), Loader=yaml.CSafeLoader)
    matters = [FactMatter.model_validate(fields) for fields in content]
    return {matter.label: matter for matter in matters}


def draft_list(task: PromptTask) -> dict[str, Any]:
    """Draft as many matters as are wanted, of each part."""
    wanted: dict[str, int] = task.data("wanted")
    rng = task.rng("matters")
    known = known_matters()
    drafted = _following_matters(rng, wanted)
    for matter in rng.sample([matter for matter in known.values() if matter.like], wanted["like"]):
        drafted += [known[matter.like], matter]
    taken = {matter.label for matter in drafted}
    # Bus stops and the like are left for lists in which something decides them.
    free = rng.shuffled(
        [matter for matter in known.values() if matter.label not in taken and not matter.follows and not matter.like]
    )
    coarse = [matter for matter in free if matter.coarse][: wanted["coarse"]]
    others = [matter.model_copy(update={"coarse": ""}) for matter in free if matter not in coarse]
    drafted += [*coarse, *others[: wanted["matters"] - len(drafted) - len(coarse)]]
    return {"matters": [matter.model_dump(exclude_defaults=True) for matter in drafted]}


def _following_matters(rng: SeededRandom, wanted: Mapping[str, int]) -> list[FactMatter]:
    """Return the matters that decide others, each before those that follow from it."""
    known = known_matters()
    roots: dict[str, list[FactMatter]] = {}
    for matter in known.values():
        if matter.follows:
            roots.setdefault(root_of(matter.label, known), []).append(matter)
    found: list[FactMatter] = []
    left = wanted["follows"]
    for root in rng.shuffled(list(roots))[: wanted["decide"]]:
        following = roots[root][:left]
        left -= len(following)
        found += [known[root], *following]
    return found


def read_pairs(task: PromptTask) -> dict[str, str]:
    """Say of each pair which of the two decides the other."""
    links = links_of(list(known_matters().values()))
    found: dict[str, str] = {}
    for number, (first, second) in task.data("pairs").items():
        link = links.get(" / ".join(sorted((first, second))), "none")
        relations = {f"{first} decides": "first", f"{second} decides": "second", "none": "none"}
        found[number] = relations.get(link, "same")
    return found
