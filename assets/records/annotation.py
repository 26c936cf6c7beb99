"""Results of people who checked a release's items by hand (section 3.4, App. D)."""

from typing import Literal

from assets.records.base import Record
from assets.records.estimate import Estimate

StudyKind = Literal["exposure", "integrity", "truth"]


class AnnotatorLine(Record):
    """One annotator of a study. `agrees`: the share of items, controls apart, that got the label that the release expects.

    Of `controls`, items with a label known to be wrong, `caught` are those that were not given the best label.
    """

    name: str
    answered: int
    agrees: Estimate
    controls: int
    caught: int


class StudyResult(Record):
    """Agreement of a study's annotators with each other and with the release, with intervals over users.

    `items` are those that two or more rated; controls count in no figure but the annotators' own. `score` is the mean of
    the ratings on a scale from 0 to 1, or the share of right options. On `disputed` items the annotators are not of one
    mind.
    """

    study: str
    kind: StudyKind
    dataset: str
    dataset_digest: str
    run: str
    items: int
    users: int
    annotators: tuple[AnnotatorLine, ...]
    raw: Estimate
    ac1: Estimate
    score: Estimate
    disputed: int
    sizing: tuple[str, ...]
