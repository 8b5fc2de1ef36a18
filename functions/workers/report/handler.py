"""Writes rows as CSV to the bucket and returns a pointer to the file."""

import asyncio
from datetime import timedelta

from functions.workers.report import bucket
from functions.workers.report.payload import Report
from functions.workers.report.table import as_csv
from taskmill.core.pointers import pointer_to, result_prefix
from taskmill.worker import Pointer, Task, serve


async def perform(report: Report, task: Task) -> Pointer:
    """Write to the same place in every attempt, so that a repetition replaces the file."""
    key = f"{result_prefix(task.type)}{task.idempotency_token}.csv"
    return await asyncio.to_thread(_write, report, key)


def _write(report: Report, key: str) -> Pointer:
    content = as_csv(report)
    return pointer_to(bucket.put(key, content), content)


lambda_handler = serve(Report, perform, timeout=timedelta(seconds=50))
