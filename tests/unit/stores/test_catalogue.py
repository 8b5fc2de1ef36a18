"""The catalogue reports what is wrong with a payload and where, but never its values."""

import pytest

from taskmill.stores.catalogue import AssembledCatalogue
from taskmill.submission.catalogue import PayloadMisfit

CATALOGUE = AssembledCatalogue()
TOLD = "a-secret-by-mistake"
HOOK = {"url": "https://hooks.example.com/in", "secret": "run_context"}


@pytest.mark.parametrize(
    ("name", "payload", "pointer", "detail"),
    [
        (
            "echo",
            {"sleep_seconds": TOLD},
            "/sleep_seconds",
            'it is not of type "number"',
        ),
        ("echo", TOLD, "", 'it is not of type "object"'),
        ("echo", {"retry": TOLD * 100}, "/retry", "it is not valid under any of the schemas"),
        ("webhook", HOOK | {"method": TOLD}, "/method", "it is not one of"),
        ("webhook", HOOK | {"secret": f"{TOLD} "}, "/secret", "it does not match"),
        ("webhook", HOOK | {"url": f"https://{TOLD}@a.example/"}, "/url", "not contain a user"),
        ("webhook", HOOK | {"url": f"https://{TOLD}:ü@a.example/"}, "/url", "in ASCII"),
        ("webhook", HOOK | {"headers": {"X": f"{TOLD}\n"}}, "/headers/X", "printable ASCII"),
        ("email", {"to": [f"{TOLD}\n"], "subject": "a", "text": "b"}, "/to/0", "it does not"),
    ],
)
def test_a_complaint_does_not_repeat_what_it_complains_of(name, payload, pointer, detail):
    misfit = CATALOGUE.misfit(name, payload)
    assert isinstance(misfit, PayloadMisfit)
    assert misfit.pointer == pointer
    assert detail in misfit.why
    assert TOLD not in misfit.why


def test_the_catalogue_of_an_older_project_can_be_read():
    """The local platform also runs a project of another version, next to a newer one."""
    older = (
        b'[{"name": "echo", "title": "Echoes.", "schema": {}, "defaults": {},'
        b' "function_timeout_seconds": 60}]'
    )
    entry = AssembledCatalogue(older).entry("echo")
    assert entry is not None
    assert (entry.longest_timeout_seconds, entry.partitions) == (800, 6)
