"""Writes a table as CSV: RFC 4180, UTF-8, and by default safe to open in a spreadsheet."""

import csv
import io
from typing import Final

from functions.workers.report.payload import Cell, Report

_BEGINS_A_FORMULA: Final = ("=", "+", "-", "@", "\t", "\r", "\n")
"""As OWASP lists them under "CSV injection"."""


def as_csv(report: Report) -> bytes:
    file = io.StringIO(newline="")
    writer = csv.writer(file)
    text = _text if report.formulas == "keep" else _harmless
    writer.writerow([text(column) for column in report.columns])
    writer.writerows([text(cell) for cell in row] for row in report.rows)
    return file.getvalue().encode()


def _harmless(cell: Cell) -> str:
    """Prefix a text that a spreadsheet would execute with an apostrophe."""
    is_formula = isinstance(cell, str) and cell.startswith(_BEGINS_A_FORMULA)
    return f"'{cell}" if is_formula else _text(cell)


def _text(cell: Cell) -> str:
    if cell is None:
        return ""
    if isinstance(cell, bool):
        return "true" if cell else "false"
    return str(cell)
