# Copyright 2026 The Loss Scaler Service Authors
# SPDX-License-Identifier: Apache-2.0
"""helm_render on made-up charts; what is wanted is what Helm documents.

usage: helm_render_test.py --renderer FOLDER [unittest arguments]
"""

import argparse
import json
import pathlib
import sys
import tempfile
import unittest

import helm_renderer
from helm_renderer import Refused


class MadeUpChart(unittest.TestCase):
    def setUp(self):
        self.chart = pathlib.Path(self.enterContext(tempfile.TemporaryDirectory()))
        self.write("Chart.yaml", "apiVersion: v2\nname: made-up\nversion: 1.2.3\n")
        self.write("values.yaml", "number: 20000000\ntable: {kept: 1, changed: 2}\nlist: [a, b]\ntext: null\n")
        self.write("values.schema.json", "{}")

    def write(self, name, text):
        file = self.chart / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
        return file

    def render(self, template, *arguments):
        """The data of a ConfigMap that is made of lines `key: VALUE`."""
        self.write("templates/map.yaml", "kind: ConfigMap\nmetadata:\n  name: m\ndata:\n" + template)
        return helm_renderer.load(helm_renderer.text(*arguments, chart=self.chart))[0]["data"]

    def assert_refused(self, why, template, *arguments):
        with self.assertRaisesRegex(Refused, why):
            self.render(template, *arguments)

    def test_gives_templates_what_helm_gives_them(self):
        self.assertEqual(
            self.render("  a: {{ .Release.Name }}.{{ .Release.Namespace }}.{{ .Release.Service }}\n"
                        "  b: {{ .Chart.Name }}-{{ .Chart.Version }}\n  c: {{ .Template.Name }}\n"
                        "  d: {{ .Template.BasePath }}\n  e: {{ .Files.Get \"extra.txt\" | quote }}\n"
                        "  f: {{ .Capabilities.APIVersions.Has \"apps/v1\" }}\n",
                        "--release", "r", "--namespace", "n"),
            {"a": "r.n.Helm", "b": "made-up-1.2.3", "c": "made-up/templates/map.yaml", "d": "made-up/templates",
             "e": "", "f": True})

    def test_reads_files_of_the_chart_behind_links(self):
        self.write("elsewhere/extra.txt", "content")
        (self.chart / "extra.txt").symlink_to("elsewhere/extra.txt")
        self.assertEqual(self.render('  a: {{ .Files.Get "extra.txt" }}\n'), {"a": "content"})

    def test_includes_definitions_and_renders_texts(self):
        self.write("templates/_definitions.tpl", '{{ define "twice" }}{{ . }}{{ . }}{{ end }}')
        self.assertEqual(self.render('  a: {{ include "twice" "ab" | upper }}\n'
                                     '  b: {{ tpl "{{ include \\"twice\\" .Chart.Name }}" . }}\n'),
                         {"a": "ABAB", "b": "made-upmade-up"})

    def test_writes_yaml_and_json(self):
        self.assertEqual(self.render("  a:\n{{ toYaml .Values.table | indent 4 }}\n  b: {{ toJson .Values.list }}\n"
                                     "  c: {{ (fromYaml \"x: [1]\").x | toJson }}\n"),
                         {"a": {"kept": 1, "changed": 2}, "b": ["a", "b"], "c": [1]})

    def test_has_numbers_as_floating_point_unless_told(self):
        # The trap of Helm that the chart must not step into.
        self.assertEqual(self.render('  a: "{{ .Values.number }}"\n'), {"a": "2e+07"})
        self.assertEqual(self.render('  a: "{{ .Values.number }}"\n', "-exact-numbers"), {"a": "20000000"})

    def test_merges_tables_replaces_lists_and_lets_null_take_away(self):
        file = self.write("more.yaml", "table: {changed: 3, added: 4}\nlist: [c]\nnumber: null\n")
        self.assertEqual(self.render("  a: {{ toJson .Values }}\n", "-f", file, "--set", "table.added=5",
                                     "--set", "x.y\\.z=true"),
                         {"a": {"table": {"kept": 1, "changed": 3, "added": 5}, "list": ["c"], "text": None,
                                "x": {"y.z": True}}})

    def test_refuses_what_helm_refuses(self):
        self.assert_refused("told so", '  a: {{ fail "told so" }}\n')
        self.assert_refused("want it", '  a: {{ required "want it" .Values.text }}\n')
        self.assert_refused("unclosed action", "  a: {{ .Values.number\n")
        self.assert_refused('function "nothing" not defined', "  a: {{ nothing }}\n")
        self.assert_refused('function "env" not defined', '  a: {{ env "HOME" }}\n')
        self.assert_refused("nil pointer", "  a: {{ .Values.no.such.value }}\n")
        self.assert_refused("did not find expected", "  a: {{ .Values.number }}\n b: 1\n")

    def test_refuses_values_that_the_schema_refuses(self):
        self.write("values.schema.json", json.dumps({"properties": {"number": {"maximum": 5}}}))
        self.assert_refused("number: Must be less than or equal to 5", "  a: 1\n")
        self.assertEqual(self.render("  a: 1\n", "--set", "number=5"), {"a": 1})

    def test_refuses_what_it_renders_in_another_way_than_helm(self):
        self.assert_refused("does not know Helm's function lookup", '  a: {{ lookup "v1" "Pod" "" "" }}\n')
        self.assert_refused("a value that does not exist was printed", "  a: {{ .Values.misspelled }}\n")
        self.assert_refused("lists and escapes", "  a: 1\n", "--set", "list={a}")

    def test_leaves_out_hooks_and_notes_unless_asked(self):
        self.write("templates/NOTES.txt", "Hello {{ .Release.Name }}")
        self.write("templates/hook.yaml", "kind: Pod\nmetadata:\n  name: p\n  annotations:\n    helm.sh/hook: test\n")
        self.render("  a: 1\n")

        def kinds(*arguments):
            return [document["kind"] for document in helm_renderer.load(
                helm_renderer.text(*arguments, chart=self.chart))]
        self.assertEqual(kinds(), ["ConfigMap", "Pod"])
        self.assertEqual(kinds("-no-hooks"), ["ConfigMap"])
        self.assertEqual(helm_renderer.text("-notes", "--release", "r", chart=self.chart), "Hello r")


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--renderer", required=True, type=pathlib.Path)
    options, rest = parser.parse_known_args()
    helm_renderer.folder = options.renderer.resolve()
    unittest.main(argv=[sys.argv[0], *rest])


if __name__ == "__main__":
    main()
