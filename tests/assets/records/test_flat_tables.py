"""Flat tables derived from records: which places get a row, and what its columns are."""

from collections.abc import Iterator
from typing import Annotated, Literal

import pytest
from pydantic import Field, StringConstraints

from assets.records.base import Record
from assets.records.flat_tables import Table, TableColumn, flat_row, number, rows_of_tables


class Stop(Record):
    name: Annotated[str, StringConstraints(min_length=1)] = Field(description="the stop's name")
    kind: Literal["halt", "station"] = Field(description="what it is")


class Line(Record):
    label: str = Field(description="the line's label")
    stops: tuple[Stop, ...]
    fares: dict[str, int]


class Network(Record):
    city: str = Field(description="the city")
    lines: tuple[Line, ...]

    @property
    def stations(self) -> Iterator[Stop]:
        """The stations of all lines, each once."""
        found = {stop.name: stop for line in self.lines for stop in line.stops if stop.kind == "station"}
        yield from found.values()


CENTRE = Stop(name="Centre", kind="station")
NETWORK = Network(
    city="Oslo",
    lines=(
        Line(label="1", stops=(CENTRE, Stop(name="Mill", kind="halt")), fares={"adult": 3}),
        Line(label="2", stops=(CENTRE,), fares={"adult": 4, "child": 2}),
    ),
)


def test_a_row_stands_for_each_record_at_the_end_of_the_path_and_numbers_count_from_where_they_are_told() -> None:
    row = flat_row(
        Network,
        "lines.stops",
        "One stop of a line.",
        "city line=label",
        number("line_number", "which line, from 1", of=1, first=1),
        number("position", "its place on the line, from 0"),
        "name kind",
    )
    found = [tuple(one.model_dump().values()) for one in row.rows_of(NETWORK)]
    assert found == [
        ("Oslo", "1", 1, 0, "Centre", "station"),
        ("Oslo", "1", 1, 1, "Mill", "halt"),
        ("Oslo", "2", 2, 0, "Centre", "station"),
    ]


def test_a_column_has_the_type_and_the_description_of_its_field_without_constraints() -> None:
    row = flat_row(Network, "lines.stops", "One stop of a line.", "label name kind")
    fields = {name: (field.annotation, field.description) for name, field in row.model_fields.items()}
    assert fields == {
        "label": (str, "the line's label"),
        "name": (str, "the stop's name"),
        "kind": (Literal["halt", "station"], "what it is"),
    }
    assert row.__doc__ == "One stop of a line."


def test_a_path_leads_through_a_property_and_through_a_dictionary() -> None:
    fare = TableColumn("fare", int, "what it costs", lambda place: place.record.value)
    tables = {
        "stations": Table(flat_row(Network, "stations", "One station.", "name"), ("name",)),
        "fares": Table(flat_row(Network, "lines.fares", "One fare.", "label", fare), ("label", "fare")),
        "notes": Table(Stop, ("name",)),  # its rows do not follow from items
    }
    rows = {
        name: [tuple(row.model_dump().values()) for row in found] for name, found in rows_of_tables(tables, NETWORK).items()
    }
    assert rows == {"stations": [("Centre",)], "fares": [("1", 3), ("2", 4), ("2", 2)]}


def test_a_column_that_is_a_field_of_no_record_on_the_path_is_refused() -> None:
    with pytest.raises(ValueError, match="No record on the path has the field 'colour'"):
        flat_row(Network, "lines", "One line.", "label colour")
