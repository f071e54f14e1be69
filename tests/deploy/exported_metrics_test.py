#!/usr/bin/env python3
# Copyright 2026 The Loss Scaler Service Authors
# SPDX-License-Identifier: Apache-2.0
"""Expressions over a made-up table: what is not exported is found, what is is not."""

import pathlib
import sys
import tempfile
import unittest

sys.dont_write_bytecode = True  # The sources' folder stays as it is.
from exported_metrics import Exported

README = """# lossscalerd
## Metrics
| name | type | labels | meaning |
|---|---|---|---|
| `lossscaler_starts` | gauge | | Starts. |
| `lossscaler_rpc_errors_total` | counter | method, reason | Errors. |
| `lossscaler_decisions_total` | counter | outcome, reason | Decisions. |
| `lossscaler_rpc_duration_seconds` | histogram | method | Durations. |
| `lossscaler_workers` | gauge | state | Workers. |

Here `lossscaler_prose` is no row.
## Log
| `lossscaler_elsewhere` | gauge | | Another section. |
"""

FINE = (
    "lossscaler_starts",
    'up{job="lossscaler"} == 0',
    'sum by (instance, method) (rate(lossscaler_rpc_errors_total{reason=~"DRAINING|OTHER"}[5m]))',
    'lossscaler_decisions_total{instance=~"$instance", outcome!="APPLY", reason="OVERFLOW"}',
    "histogram_quantile(0.9, sum by (le) (rate(lossscaler_rpc_duration_seconds_bucket[5m])))",
    "rate(lossscaler_rpc_duration_seconds_sum[5m]) / rate(lossscaler_rpc_duration_seconds_count[5m])",
    'lossscaler_workers{state="active"} > 0',
)
FAULTY = {
    "lossscaler_start": "the server exports no lossscaler_start",
    "lossscaler_elsewhere": "the server exports no lossscaler_elsewhere",
    "lossscaler_prose": "the server exports no lossscaler_prose",
    "process_threads": "the server exports no process_threads",
    "lossscaler_rpc_duration_seconds": "the server exports no lossscaler_rpc_duration_seconds",
    "lossscaler_starts_bucket": "the server exports no lossscaler_starts_bucket",
    'lossscaler_starts{session="a"}': "lossscaler_starts has no label session",
    'lossscaler_rpc_errors_total{reason=~"DRAINING|DRIANING"}':
        'lossscaler_rpc_errors_total never has reason="DRIANING"',
    # Reasons of errors are not those of decisions.
    'lossscaler_rpc_errors_total{reason="OVERFLOW"}':
        'lossscaler_rpc_errors_total never has reason="OVERFLOW"',
    'lossscaler_rpc_errors_total{method!="Updat"}': 'lossscaler_rpc_errors_total never has method="Updat"',
    'lossscaler_decisions_total{outcome="SKIPPED"}': 'lossscaler_decisions_total never has outcome="SKIPPED"',
    'lossscaler_workers{state="lost"}': 'lossscaler_workers never has state="lost"',
    "sum by (session) (lossscaler_workers)": "none of the metrics has the label session",
    "sum by (le) (lossscaler_rpc_duration_seconds_sum)": "none of the metrics has the label le",
    "vector(1)": "no metric is asked for in: vector(1)",
}


class ExportedMetricsTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.readme = pathlib.Path(folder.name) / "README.md"
        self.readme.write_text(README)

    def test_what_is_exported_is_no_fault(self):
        exported = Exported(self.readme)
        for expression in FINE:
            with self.subTest(expression):
                self.assertEqual(list(exported.faults(expression)), [])

    def test_what_is_not_exported_is_named(self):
        exported = Exported(self.readme)
        for expression, fault in FAULTY.items():
            with self.subTest(expression):
                self.assertEqual(list(exported.faults(expression)), [fault])

    def test_a_document_without_the_table_is_refused(self):
        for text in ("# lossscalerd\n", "## Metrics\nThere are some.\n"):
            self.readme.write_text(text)
            with self.subTest(text), self.assertRaises(ValueError):
                Exported(self.readme)


if __name__ == "__main__":
    unittest.main()
