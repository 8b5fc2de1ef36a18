"""The payload of `report`: column names and rows of cells."""

from typing import Annotated, Literal, TypeAlias

from msgspec import Meta, Struct

Cell: TypeAlias = str | int | float | bool | None
Column: TypeAlias = Annotated[str, Meta(min_length=1, max_length=200)]


class Report(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A table; send large ones as a payload_ref."""

    columns: Annotated[list[Column], Meta(min_length=1, max_length=1_000)]
    rows: list[list[Cell]]
    formulas: Annotated[
        Literal["quote", "keep"],
        Meta(
            description="Spreadsheets execute texts that begin with `=`, `+`, `-`, `@`, a tab or"
            " a line break: `quote` puts an apostrophe before them, `keep` writes them as they"
            " are, for programs. Numbers stay numbers."
        ),
    ] = "quote"

    def __post_init__(self) -> None:
        for number, row in enumerate(self.rows, start=1):
            if len(row) != len(self.columns):
                raise ValueError(
                    f"row {number} has {len(row)} cells but there are {len(self.columns)} columns"
                )
