"""What tests of records try to build, in vain."""

from collections.abc import Callable

from assets.records.base import Record

Defect = Callable[[], Record]
