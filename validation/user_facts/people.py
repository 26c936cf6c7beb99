"""Rules about users before anything is told."""

from validation.rules import OneRowPerItem, SetRule

RULES = (SetRule("one_row_per_user", "Every user is drawn once.", OneRowPerItem),)
