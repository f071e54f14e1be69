# Copyright 2026 The Loss Scaler Service Authors
# SPDX-License-Identifier: Apache-2.0
"""What the server exports, by its documentation, and what expressions ask for."""

import dataclasses
import pathlib
import re

SOURCE = pathlib.Path(__file__).resolve().parents[2]

# What Prometheus itself knows of a target.
_OF_PROMETHEUS = {"up": set(), "ALERTS": {"alertname", "alertstate", "severity"}}
# Every series has them, and a bucket of a histogram has the last.
_OF_EVERY_SERIES = {"job", "instance"}

_CODES = {
    "OK", "CANCELLED", "UNKNOWN", "INVALID_ARGUMENT", "DEADLINE_EXCEEDED", "NOT_FOUND",
    "ALREADY_EXISTS", "PERMISSION_DENIED", "RESOURCE_EXHAUSTED", "FAILED_PRECONDITION",
    "ABORTED", "OUT_OF_RANGE", "UNIMPLEMENTED", "INTERNAL", "UNAVAILABLE", "DATA_LOSS",
    "UNAUTHENTICATED"}


@dataclasses.dataclass(frozen=True)
class Selector:
    """One `name{label="value"}` of an expression."""
    name: str
    matchers: tuple[tuple[str, str, str], ...]  # Label, operator, value.


_STRING = re.compile(r'"(?:[^"\\]|\\.)*"')
_SELECTOR = re.compile(r'\b((?:lossscaler|process)_\w+|up|ALERTS)\b(?:\{([^{}]*)\})?')
_MATCHER = re.compile(r'(\w+)\s*(=~|!~|!=|=)\s*"((?:[^"\\]|\\.)*)"')
_GROUPING = re.compile(r"\b(?:by|on|without|ignoring|group_left|group_right)\s*\(([^()]*)\)")


def selectors(expression):
    for match in _SELECTOR.finditer(expression):
        # A name within a string is a value.
        if any(s.start() < match.start() < s.end() for s in _STRING.finditer(expression)):
            continue
        yield Selector(match.group(1), tuple(_MATCHER.findall(match.group(2) or "")))


def grouping_labels(expression):
    for match in _GROUPING.finditer(expression):
        yield from (label.strip() for label in match.group(1).split(",") if label.strip())


def _enumerators(proto, prefix):
    return set(re.findall(rf"^\s*{prefix}_(\w+) = [1-9]", proto, re.MULTILINE))


class Exported:
    """The table of the section "Metrics" of server/README.md: a row for each family, whose
    first cell is its name with its labels in braces and whose second is its type."""

    def __init__(self, readme=SOURCE / "server/README.md"):
        text = readme.read_text()
        section = re.search(r"^## Metrics\n(.*?)(?=^## |\Z)", text, re.MULTILINE | re.DOTALL)
        if section is None:
            raise ValueError(f"{readme} has no section Metrics")
        self._labels = dict(_OF_PROMETHEUS)
        self._values = {}
        for line in section.group(1).splitlines():
            cells = [cell.strip() for cell in re.split(r"(?<!\\)\|", line)[1:-1]]
            row = re.fullmatch(r"`(\w+)(?:\{([^}]*)\})?`", cells[0]) if len(cells) > 1 else None
            if row is not None:
                self._add(row.group(1), row.group(2) or "", cells[1])
        if len(self._labels) == len(_OF_PROMETHEUS):
            raise ValueError(f"{readme}: no row of the section Metrics names a metric")

    def _add(self, name, labels, kind):
        names = [name]
        known = {label.split("=")[0].strip() for label in labels.split(",") if label.strip()}
        if "histogram" in kind:
            names = [f"{name}_bucket", f"{name}_sum", f"{name}_count"]
        for each in names:
            self._labels[each] = known | ({"le"} if each.endswith("_bucket") else set())
        # kind="solo"|"group"
        for label in labels.split(","):
            if "=" in label:
                self._values[(name, label.split("=")[0].strip())] = set(
                    re.findall(r'"([^"]*)"', label))

    def names(self):
        return set(self._labels) - set(_OF_PROMETHEUS)

    def _closed(self, name, label):
        """The values a label may have, or None where any will do."""
        proto = SOURCE / "proto"
        decisions = (proto / "lossscaler/v1/decision.proto").read_text()
        if (name, label) in self._values:
            return self._values[(name, label)]
        if label == "method":
            service = (proto / "lossscaler/v1/loss_scaler_service.proto").read_text()
            return set(re.findall(r"^\s*rpc (\w+)", service, re.MULTILINE))
        if label == "code":
            return _CODES
        if label == "outcome":
            return _enumerators(decisions, "OUTCOME")
        if label == "reason" and name == "lossscaler_decisions_total":
            return _enumerators(decisions, "DECISION_REASON")
        if label == "reason":
            table = (proto / "README.md").read_text()
            return set(re.findall(r"^\| `([A-Z_]+)` \| [A-Z_]+ \|", table, re.MULTILINE)) | {"OTHER"}
        return None

    def faults(self, expression):
        """What of an expression the server does not export; a sentence each."""
        asked = list(selectors(expression))
        known_labels = set(_OF_EVERY_SERIES)
        for selector in asked:
            if selector.name not in self._labels:
                yield f"the server exports no {selector.name}"
                continue
            labels = self._labels[selector.name] | _OF_EVERY_SERIES
            known_labels |= labels
            for label, operator, value in selector.matchers:
                if label not in labels:
                    yield f"{selector.name} has no label {label}"
                    continue
                closed = self._closed(selector.name, label)
                if closed is None or value.startswith("$"):
                    continue
                values = value.split("|") if operator.endswith("~") else [value]
                for unknown in sorted(set(values) - closed):
                    yield f'{selector.name} never has {label}="{unknown}"'
        if not asked:
            yield f"no metric is asked for in: {expression}"
        for label in sorted(set(grouping_labels(expression)) - known_labels):
            yield f"none of the metrics has the label {label}"
