"""Names of places, firms, devices and studies that exist nowhere."""

from collections.abc import Mapping

from assets.engine.seeded_random import SeededRandom
from assets.memory_items.world.names import PERSON, NameKind, stem

PLACE_ENDS = ("borough", "bridge", "dal", "fell", "ford", "gate", "haven", "holm", "mere", "mouth", "stead", "wold")
FIRM_ENDS = ("Works", "Instruments", "Foundry", "Optics", "Mills", "Shipping", "Ceramics", "Dynamics", "Press", "Yards")
# Before the name, so that a study has no article, as nothing else has: sentences suit all kinds alike.
STUDY_STARTS = ("Project", "Operation", "Expedition", "Mission", "Experiment", "Programme", "Study", "Campaign")


def _device(rng: SeededRandom) -> str:
    return f"{stem(rng, 2)}{rng.choice(('o', 'a', 'ix', 'on'))} {10 + rng.integer_below(90)}"


def _other_number(name: str, rng: SeededRandom) -> str:
    return f"{name.partition(' ')[0]} {10 + rng.integer_below(90)}"


def _other_place_end(name: str, rng: SeededRandom) -> str:
    end = next(end for end in PLACE_ENDS if name.endswith(end))
    return name.removesuffix(end) + rng.choice(PLACE_ENDS)


NAME_KINDS: Mapping[str, NameKind] = {
    "person": PERSON,
    "place": NameKind(lambda rng: stem(rng, 2) + rng.choice(PLACE_ENDS), _other_place_end),
    "firm": NameKind(
        lambda rng: f"{stem(rng, 2)} {rng.choice(FIRM_ENDS)}",
        lambda name, rng: f"{name.partition(' ')[0]} {rng.choice(FIRM_ENDS)}",
    ),
    "device": NameKind(_device, _other_number),
    "study": NameKind(
        lambda rng: f"{rng.choice(STUDY_STARTS)} {stem(rng, 2)}",
        lambda name, rng: f"{rng.choice(STUDY_STARTS)} {name.partition(' ')[2]}",
    ),
}
KINDS = tuple(NAME_KINDS)
