"""Writes a table as CSV: RFC 4180, in UTF-8."""

import csv
import io

from functions.workers.report.payload import Cell, Report


def as_csv(report: Report) -> bytes:
    written = io.StringIO(newline="")
    writer = csv.writer(written)
    writer.writerow(report.columns)
    writer.writerows([_text(cell) for cell in row] for row in report.rows)
    return written.getvalue().encode()


def _text(cell: Cell) -> str:
    if cell is None:
        return ""
    if isinstance(cell, bool):
        return "true" if cell else "false"
    return str(cell)
