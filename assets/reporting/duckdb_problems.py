"""What is wrong with a user's file or SQL, in words of our own for each kind of error that DuckDB raises."""

import re

import duckdb

SQL_PROBLEMS: dict[type[duckdb.Error], str] = {
    duckdb.ParserException: "it is no SQL",
    duckdb.CatalogException: "it names a table or function that there is not",
    duckdb.BinderException: "it names a column that there is not, or mixes values of two types",
}
PROBLEMS: dict[type[duckdb.Error], str] = {
    duckdb.ConversionException: "a value is not of the type that its place asks for",
    duckdb.OutOfRangeException: "a number is too large for its type",
    duckdb.OutOfMemoryException: "it takes more memory than it may have",
    duckdb.PermissionException: "it asks for a file that it may not read",
    duckdb.IOException: "a file cannot be opened or ends too early",
}
OTHERWISE = "it is damaged, or of another kind than its name says"
# The first name in DuckDB's message: the column, table or word that it stumbled over.
NAME = re.compile(r'"([^"]+)"|name (\w+) does not exist')


def say_problem(error: duckdb.Error) -> str:
    """Return a part of a sentence whose subject is the file or the SQL."""
    for kind, words in SQL_PROBLEMS.items():
        if isinstance(error, kind):
            name = NAME.search(str(error))
            return f'{words}: "{name[1] or name[2]}"' if name else words
    for kind, words in PROBLEMS.items():
        if isinstance(error, kind):
            return words
    return OTHERWISE
