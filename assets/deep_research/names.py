"""Names of the fictional world: of a plain sort, and of nobody and nothing that is known."""

from collections.abc import Mapping

from assets.engine.seeded_random import SeededRandom
from assets.memory_items.world.relations import NameKind, name_stem

GIVEN = """
Agnes Albert Alma Anton Arthur Beata Bruno Carla Clara Conrad Cora Dora Edgar Edith Elsa Emil Erna Ernst Esther Frieda Georg
Gerda Gustav Hanna Harald Hedwig Helena Henrik Hilda Hugo Ida Irma Isak Jakob Johan Judith Karin Klara Konrad Laura Leo
Linus Lydia Magda Margit Marta Matthias Moritz Nora Oskar Otto Paula Paul Rosa Rudolf Sara Sigrid Theo Thekla Ulrich Ursula
Viktor Wilma
""".split()  # noqa: SIM905
STEMS = """
Ack Al Alder Ander Ash Bar Beck Bel Ber Bors Bran Brack Brom Cal Car Carl Clay Col Cor Cran Dal Dan Eck Eder El Elm Fal Fan
Fen Ger Gar Glen Grim Hal Ham Har Hasel Hed Hel Hol Horn Ing Iver Jan Kal Kel Kir Lam Lan Lin Lund Mal Mar Mel Mor Nor Od Os
Pal Pel Pen Rad Ran Ross Row San Sel Sig Sor Stal Stor Sun Sven Tal Tam Thor Tor Ul Val Var Vest Wal War Wel Wes Win Yar Zel
""".split()  # noqa: SIM905
FAMILY_ENDS = """
berg dahl den holt ing ley lund man mark mer nell nes quist rick rup sby sen son strand ter vik well wood
""".split()  # noqa: SIM905
MIDDLES = ("", "en", "er", "ham", "ing", "le", "ley", "ster", "sing", "wick")
PLACE_ENDS = ("borough", "bridge", "dal", "fell", "ford", "gate", "haven", "holm", "mere", "mouth", "stead", "wold")
FIRM_ENDS = ("Works", "Instruments", "Foundry", "Optics", "Mills", "Shipping", "Ceramics", "Dynamics", "Press", "Yards")
# Before the name, so that a study has no article, as nothing else has: sentences suit all kinds alike.
STUDY_STARTS = ("Project", "Operation", "Expedition", "Mission", "Experiment", "Programme", "Study", "Campaign")


def _family(rng: SeededRandom) -> str:
    return rng.choice(STEMS) + rng.choice(FAMILY_ENDS)


def _place(rng: SeededRandom) -> str:
    return rng.choice(STEMS) + rng.choice(MIDDLES) + rng.choice(PLACE_ENDS)


def _device(rng: SeededRandom) -> str:
    return f"{name_stem(rng, 1)}{rng.choice(('o', 'a', 'ix', 'on'))} {10 + rng.integer_below(90)}"


def _other_number(name: str, rng: SeededRandom) -> str:
    return f"{name.partition(' ')[0]} {10 + rng.integer_below(90)}"


def _other_place_end(name: str, rng: SeededRandom) -> str:
    end = next(end for end in PLACE_ENDS if name.endswith(end))
    return name.removesuffix(end) + rng.choice(PLACE_ENDS)


NAME_KINDS: Mapping[str, NameKind] = {
    "person": NameKind(
        lambda rng: f"{rng.choice(GIVEN)} {_family(rng)}",
        lambda name, rng: f"{rng.choice(GIVEN)} {name.partition(' ')[2]}",
    ),
    "place": NameKind(_place, _other_place_end),
    "firm": NameKind(
        lambda rng: f"{_family(rng)} {rng.choice(FIRM_ENDS)}",
        lambda name, rng: f"{name.partition(' ')[0]} {rng.choice(FIRM_ENDS)}",
    ),
    "device": NameKind(_device, _other_number),
    "study": NameKind(
        lambda rng: f"{rng.choice(STUDY_STARTS)} {name_stem(rng, 2)}",
        lambda name, rng: f"{rng.choice(STUDY_STARTS)} {name.partition(' ')[2]}",
    ),
}
KINDS = tuple(NAME_KINDS)
