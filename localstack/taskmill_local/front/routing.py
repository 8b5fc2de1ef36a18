"""Finds a request's route as an HTTP API does: exact before {param} before {proxy+}."""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from urllib.parse import unquote

from taskmill_local.plan import RoutePlan

_ANY = "ANY"
_DEFAULT = "$default"
_PARAMETER = re.compile(r"\{([^{}+]+)(\+?)\}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Match:
    route: RoutePlan
    parameters: Mapping[str, str]

    @property
    def route_key(self) -> str:
        if self.route.path == _DEFAULT:
            return _DEFAULT
        return f"{self.route.method} {self.route.path}"


@dataclass(frozen=True, slots=True, kw_only=True)
class _Pattern:
    route: RoutePlan
    regex: re.Pattern[str]
    names: tuple[str, ...]
    rank: tuple[object, ...]


class Router:
    def __init__(self, routes: Iterable[RoutePlan]) -> None:
        self._patterns = sorted(map(_pattern, routes), key=lambda pattern: pattern.rank)

    def match(self, method: str, path: str) -> Match | None:
        """Match a path as sent: a %2F within a parameter is data, not a separator."""
        for pattern in self._patterns:
            if pattern.route.method not in {method, _ANY}:
                continue
            match = pattern.regex.fullmatch(path)
            if match:
                values = map(unquote, match.groups())
                return Match(
                    route=pattern.route,
                    parameters=dict(zip(pattern.names, values, strict=True)),
                )
        return None


def _pattern(route: RoutePlan) -> _Pattern:
    if route.path == _DEFAULT:
        return _Pattern(route=route, regex=re.compile(r".*"), names=(), rank=(True,))
    names: list[str] = []
    segments = []
    kinds = []
    for segment in route.path.split("/"):
        parameter = _PARAMETER.fullmatch(segment)
        if parameter is None:
            segments.append(re.escape(segment))
            kinds.append(0)
            continue
        is_greedy = bool(parameter[2])
        names.append(parameter[1])
        segments.append("(.+)" if is_greedy else "([^/]+)")
        kinds.append(2 if is_greedy else 1)
    return _Pattern(
        route=route,
        regex=re.compile("/".join(segments)),
        names=tuple(names),
        # Compared segment by segment: literal, then parameter, then greedy.
        rank=(False, kinds, route.method == _ANY),
    )
