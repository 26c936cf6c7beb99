"""The matters that companies settle with their customers, as this model reads records of sessions."""

from assets.tool_dialogue.desk import AS_OF
from assets.tool_dialogue.domains import all_domains
from pipelines.embedded.memory_items.known_world import KnownWorld, all_frames
from pipelines.embedded.tool_dialogue.sentences import FRAMES

KNOWN = KnownWorld(
    [relation for domain in all_domains().values() for relation in domain.relations],
    {name: matter.clauses for domain in all_domains().values() for name, matter in domain.matters.items()},
    all_frames(FRAMES),
    AS_OF,
)
