#!/usr/bin/env python3
# Copyright 2026 The Loss Scaler Service Authors
# SPDX-License-Identifier: Apache-2.0
"""The dashboard, as far as it can be checked without Grafana: every panel is whole, asks for what
the server exports, and promtool can read its expressions."""

import collections
import itertools
import json
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

import yaml

sys.dont_write_bytecode = True  # The sources' folder stays as it is.
from exported_metrics import Exported, SOURCE

FOLDER = SOURCE / "docker/grafana"
DASHBOARD = FOLDER / "dashboards/lossscaler.json"

# Of the units that Grafana has, those in use; a unit that it does not know is shown as text.
UNITS = {"Bps", "bytes", "cps", "none", "percentunit", "reqps", "s", "short"}
KINDS = {"bargauge", "heatmap", "row", "stat", "timeseries"}
ROWS = ("Overview", "Decisions and overflows", "Waits and latency", "Workers and leases", "Unscale",
        "Store", "Limits", "Errors", "Process", "Sessions (with --session-metrics)")
WIDTH = 24
# What Grafana puts in by itself.
BUILT_IN = {"__rate_interval": "5m"}


def unique(pairs):
    keys = [key for key, _ in pairs]
    if len(set(keys)) != len(keys):
        raise ValueError(f"a key is there twice: {keys}")
    return dict(pairs)


class DashboardTest(unittest.TestCase):
    def setUp(self):
        self.dashboard = json.loads(DASHBOARD.read_text(), object_pairs_hook=unique)
        self.variables = {variable["name"]: variable for variable in self.dashboard["templating"]["list"]}

    def all_panels(self):
        for panel in self.dashboard["panels"]:
            yield panel
            yield from panel.get("panels", ())

    def panels(self):
        """All but the rows."""
        return [panel for panel in self.all_panels() if panel["type"] != "row"]

    def expressions(self):
        for panel in self.panels():
            for target in panel["targets"]:
                yield f"{panel['title']} {target['refId']}", target["expr"]
        for annotation in self.dashboard["annotations"]["list"]:
            yield annotation["name"], annotation["expr"]

    def test_has_its_rows(self):
        self.assertEqual(tuple(panel["title"] for panel in self.dashboard["panels"] if panel["type"] == "row"), ROWS)

    def test_every_panel_has_an_id_of_its_own(self):
        counted = collections.Counter(panel["id"] for panel in self.all_panels())
        self.assertEqual([panel for panel, count in counted.items() if count > 1], [])

    def test_every_panel_says_what_it_shows_in_which_unit(self):
        for panel in self.panels():
            with self.subTest(panel["title"]):
                self.assertIn(panel["type"], KINDS)
                self.assertTrue(panel["title"].strip())
                self.assertTrue(panel["description"].strip())
                self.assertIn(panel["fieldConfig"]["defaults"]["unit"], UNITS)

    def test_every_panel_asks_for_something_and_names_the_answers(self):
        for panel in self.panels():
            with self.subTest(panel["title"]):
                self.assertTrue(panel["targets"])
                names = [target["refId"] for target in panel["targets"]]
                self.assertEqual(len(set(names)), len(names))
                for target in panel["targets"]:
                    self.assertTrue(target["expr"].strip())
                    self.assertTrue(target["legendFormat"].strip())

    def test_panels_lie_side_by_side(self):
        def boxes(panels):
            return [(panel["title"], panel["gridPos"]) for panel in panels]

        groups = [boxes(self.dashboard["panels"])]
        groups += [boxes(panel["panels"]) for panel in self.dashboard["panels"] if panel.get("panels")]
        for group in groups:
            for title, box in group:
                self.assertGreater(min(box["w"], box["h"]), 0, title)
                self.assertGreaterEqual(min(box["x"], box["y"]), 0, title)
                self.assertLessEqual(box["x"] + box["w"], WIDTH, title)
            for (one, a), (other, b) in itertools.combinations(group, 2):
                apart = (a["x"] + a["w"] <= b["x"] or b["x"] + b["w"] <= a["x"] or
                         a["y"] + a["h"] <= b["y"] or b["y"] + b["h"] <= a["y"])
                self.assertTrue(apart, f"{one} and {other} overlap")

    def test_every_source_is_the_one_that_is_chosen_above(self):
        chosen = {"type": "prometheus", "uid": "${datasource}"}
        for panel in self.panels():
            for part in (panel, *panel["targets"]):
                self.assertEqual(part["datasource"], chosen, panel["title"])
        self.assertEqual(self.variables["datasource"]["type"], "datasource")
        self.assertEqual(self.variables["datasource"]["query"], "prometheus")
        (file,) = (FOLDER / "provisioning/datasources").glob("*.yaml")
        (source,) = yaml.safe_load(file.read_text())["datasources"]
        self.assertEqual(self.variables["datasource"]["current"]["value"], source["uid"])

    def test_no_variable_grows_with_what_clients_do(self):
        self.assertEqual(set(self.variables), {"datasource", "instance"})
        self.assertEqual(self.variables["instance"]["definition"],
                         self.variables["instance"]["query"]["query"])
        match = re.fullmatch(r"label_values\((\w+), instance\)", self.variables["instance"]["definition"])
        self.assertIsNotNone(match)
        self.assertEqual(list(Exported().faults(match.group(1))), [])

    def test_shows_the_servers_that_are_chosen_above(self):
        for where, expression in self.expressions():
            with self.subTest(where):
                for name, selector in re.findall(r"\b((?:lossscaler|process)_\w+)(\{[^}]*\})?", expression):
                    self.assertIn('instance=~"$instance"', selector, name)
                used = set(re.findall(r"\$\{?(\w+)", expression))
                self.assertLessEqual(used, set(self.variables) | set(BUILT_IN))

    def test_asks_for_what_the_server_exports(self):
        exported = Exported()
        for where, expression in self.expressions():
            with self.subTest(where):
                self.assertEqual(list(exported.faults(expression)), [])

    def test_legends_name_labels_that_are_left(self):
        for panel in self.panels():
            for target in panel["targets"]:
                grouped = re.findall(r"\bby \(([^)]*)\)", target["expr"])
                if not grouped or "group_right" in target["expr"]:
                    continue
                left = {label.strip() for labels in grouped for label in labels.split(",")}
                with self.subTest(panel["title"], ref=target["refId"]):
                    self.assertLessEqual(set(re.findall(r"\{\{(\w+)\}\}", target["legendFormat"])), left)

    def test_promtool_reads_the_expressions(self):
        def as_prometheus_gets_it(expression):
            for name, value in BUILT_IN.items():
                expression = expression.replace(f"${name}", value)
            return expression.replace("$instance", ".*")

        rules = [{"record": f"panel:{number}", "expr": as_prometheus_gets_it(expression),
                  "labels": {"where": where}}
                 for number, (where, expression) in enumerate(self.expressions())]
        with tempfile.TemporaryDirectory() as folder:
            file = pathlib.Path(folder) / "rules.yml"
            file.write_text(yaml.safe_dump({"groups": [{"name": "dashboard", "rules": rules}]}))
            try:
                done = subprocess.run(["promtool", "check", "rules", str(file)], stdin=subprocess.DEVNULL,
                                      capture_output=True, text=True, check=False)
            except FileNotFoundError as error:
                raise AssertionError("promtool is missing: packages.txt, section deploy") from error
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        self.assertIn(f"{len(rules)} rules found", done.stdout)

    def test_can_be_found_again(self):
        self.assertEqual(self.dashboard["uid"], "lossscaler")
        self.assertFalse(self.dashboard["editable"])


if __name__ == "__main__":
    unittest.main()
