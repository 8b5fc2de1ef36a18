"""Parses Prometheus's text format strictly, as documented."""

import re

_NAME = r"[a-zA-Z_:][a-zA-Z0-9_:]*"
_LABEL = re.compile(r'([a-zA-Z_][a-zA-Z0-9_]*)="((?:[^"\\\n]|\\["\\n])*)"')
_SAMPLE = re.compile(rf"({_NAME})(?:\{{(.*)\}})? (\S+)")
_ESCAPES = {'\\"': '"', "\\\\": "\\", "\\n": "\n"}
_SUFFIXES = {"histogram": ("_bucket", "_sum", "_count"), "counter": ("",), "gauge": ("",)}


def parse(text: str) -> tuple[dict[str, str], dict[tuple[str, frozenset], float]]:
    """Return each family's kind, and each sample's value."""
    kinds: dict[str, str] = {}
    samples: dict[tuple[str, frozenset], float] = {}
    assert text.endswith("\n")
    for line in text[:-1].split("\n"):
        if line.startswith("# HELP "):
            continue
        if line.startswith("# TYPE "):
            _, _, name, kind = line.split(" ")
            assert name not in kinds
            kinds[family := name] = kind
            continue
        match = _SAMPLE.fullmatch(line)
        assert match, line
        name, labels, value = match.groups()
        assert name in {family + suffix for suffix in _SUFFIXES[kinds[family]]}, line
        sample = (name, _labels(labels or ""))
        assert sample not in samples, line
        samples[sample] = float(value)
    return kinds, samples


def _labels(text: str) -> frozenset[tuple[str, str]]:
    assert re.fullmatch(rf"(?:{_LABEL.pattern},?)*", text), text
    return frozenset(
        (name, re.sub(r'\\["\\n]', lambda escape: _ESCAPES[escape[0]], value))
        for name, value in _LABEL.findall(text)
    )
