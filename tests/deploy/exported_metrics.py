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

# What has no other list, as the text below the table has it.
_VALUES = {
    ("lossscaler_sessions", "kind"): {"solo", "group"},
    ("lossscaler_workers", "state"): {"pending", "active"},
    ("lossscaler_non_finite_values_total", "kind"): {"nan", "inf"},
    ("lossscaler_reload_failures_total", "what"): {"tls", "tokens"},
    ("lossscaler_limit", "name"): {
        "sessions", "unscale_streams", "bytes_in_flight", "open_calls", "watch_streams"},
}


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
    """The table of the section "Metrics" of server/README.md, which a test of the server compares
    with what it exports: a row for each family, with its name, its type and its labels."""

    def __init__(self, readme=SOURCE / "server/README.md"):
        text = readme.read_text()
        section = re.search(r"^## Metrics\n(.*?)(?=^## |\Z)", text, re.MULTILINE | re.DOTALL)
        rows = re.findall(r"^\| `(\w+)` \| (\w+) \|([\w, ]*)\|", section.group(1) if section else "",
                          re.MULTILINE)
        if not rows:
            raise ValueError(f"{readme} has no section Metrics with a table")
        self._labels = dict(_OF_PROMETHEUS)
        for name, kind, labels in rows:
            known = set(re.findall(r"\w+", labels))
            if kind == "histogram":
                self._labels[f"{name}_bucket"] = known | {"le"}
                self._labels[f"{name}_sum"] = self._labels[f"{name}_count"] = known
            else:
                self._labels[name] = known

    @staticmethod
    def _closed(name, label):
        """The values a label may have, or None where any will do."""
        proto = SOURCE / "proto"
        decisions = (proto / "lossscaler/v1/decision.proto").read_text()
        if (name, label) in _VALUES:
            return _VALUES[name, label]
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
