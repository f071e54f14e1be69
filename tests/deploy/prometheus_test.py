#!/usr/bin/env python3
# Copyright 2026 The Loss Scaler Service Authors
# SPDX-License-Identifier: Apache-2.0
"""The configuration of Prometheus and the alerts: promtool accepts them, each alert fires when
it should, asks for what the server exports, and says what to do."""

import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

import yaml

sys.dont_write_bytecode = True  # The sources' folder stays as it is.
from exported_metrics import Exported, SOURCE, selectors

sys.path.insert(0, str(SOURCE / "tests/documents"))
import markdown

FOLDER = SOURCE / "docker/prometheus"
RUNBOOK = "docker/README.md"


def promtool(*arguments):
    try:
        return subprocess.run(["promtool", *map(str, arguments)], stdin=subprocess.DEVNULL,
                              capture_output=True, text=True, check=False)
    except FileNotFoundError as error:
        raise AssertionError("promtool is missing: packages.txt, section deploy") from error


def alerts():
    groups = yaml.safe_load((FOLDER / "alerts.yml").read_text())["groups"]
    return [rule for group in groups for rule in group["rules"]]


def tested_to_fire(case):
    """The names of the alerts that a case of alerts_test.yml says fire."""
    for test in case.get("alert_rule_test", ()):
        if test.get("exp_alerts"):
            yield test["alertname"]
    for test in case.get("promql_expr_test", ()):
        for sample in test.get("exp_samples", ()):
            yield from re.findall(r'alertname="(\w+)"', sample["labels"])


class PromtoolTest(unittest.TestCase):
    def accepts(self, *arguments):
        done = promtool(*arguments)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)

    def test_accepts_the_configuration(self):
        self.accepts("check", "config", "--lint-fatal", FOLDER / "prometheus.yml")

    def test_accepts_the_alerts(self):
        self.accepts("check", "rules", "--lint-fatal", FOLDER / "alerts.yml")

    def test_sees_each_alert_fire_when_it_should(self):
        self.accepts("test", "rules", FOLDER / "alerts_test.yml")


class AlertTest(unittest.TestCase):
    def test_fires_in_a_case_of_its_own_and_is_quiet_in_another(self):
        cases = yaml.safe_load((FOLDER / "alerts_test.yml").read_text())["tests"]
        fired = {name for case in cases for name in tested_to_fire(case)}
        self.assertEqual(fired, {rule["alert"] for rule in alerts()})
        quiet = [case for case in cases if not list(tested_to_fire(case))]
        (healthy,) = quiet
        shown = {selector.name for series in healthy["input_series"]
                 for selector in selectors(series["series"])}
        for rule in alerts():
            with self.subTest(rule["alert"]):
                asked = {selector.name for selector in selectors(rule["expr"])}
                self.assertLessEqual(asked, shown, "the server that is well lacks series")

    def test_is_seen_to_fail_where_it_never_fires(self):
        """The cases of alerts_test.yml can fail, each alert's."""
        silent = [rule | {"expr": "vector(0) > 1"} for rule in alerts()]
        with tempfile.TemporaryDirectory() as name:
            folder = pathlib.Path(name)
            (folder / "alerts.yml").write_text(yaml.safe_dump({"groups": [{"name": "silent", "rules": silent}]}))
            (folder / "alerts_test.yml").write_text((FOLDER / "alerts_test.yml").read_text())
            done = promtool("test", "rules", folder / "alerts_test.yml")
        self.assertEqual(done.returncode, 1)
        missed = set(re.findall(r'alertname="(\w+)"', done.stdout + done.stderr))
        self.assertEqual(missed, {rule["alert"] for rule in alerts()})

    def test_asks_for_what_the_server_exports(self):
        exported = Exported()
        for rule in alerts():
            with self.subTest(rule["alert"]):
                self.assertEqual(list(exported.faults(rule["expr"])), [])

    def test_is_tested_with_what_the_server_exports(self):
        exported = Exported()
        cases = yaml.safe_load((FOLDER / "alerts_test.yml").read_text())["tests"]
        for series in {series["series"] for case in cases for series in case["input_series"]}:
            with self.subTest(series):
                self.assertEqual(list(exported.faults(series)), [])

    def test_says_how_bad_it_is_and_what_to_do(self):
        headings = list(markdown.parse((SOURCE / RUNBOOK).read_text()).headings())
        for rule in alerts():
            with self.subTest(rule["alert"]):
                self.assertIn(rule["labels"]["severity"], ("critical", "warning"))
                self.assertEqual(sorted(rule["annotations"]), ["description", "runbook", "summary"])
                anchor = rule["alert"].lower()
                self.assertEqual(rule["annotations"]["runbook"], f"{RUNBOOK}#{anchor}")
                self.assertIn(anchor, headings)

    def test_is_all_that_the_runbook_speaks_of(self):
        headings = markdown.parse((SOURCE / RUNBOOK).read_text()).headings()
        self.assertEqual({heading for heading in headings if heading.startswith("lossscaler")},
                         {rule["alert"].lower() for rule in alerts()})


if __name__ == "__main__":
    unittest.main()
