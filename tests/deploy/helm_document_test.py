# Copyright 2026 The Loss Scaler Service Authors
# SPDX-License-Identifier: Apache-2.0
"""Commands for Helm and kubectl in docker/README.md, as far as they can be checked without a cluster.

usage: helm_document_test.py --renderer FOLDER [unittest arguments]
"""

import argparse
import pathlib
import re
import shlex
import subprocess
import sys
import tempfile
import unittest

import helm_renderer
from helm_renderer import SOURCE, Release

sys.path.insert(0, str(SOURCE / "tests/documents"))
import console  # noqa: E402
import markdown  # noqa: E402


def commands_of_the_section():
    lines = (SOURCE / "docker/README.md").read_text().splitlines()
    start = lines.index("## Kubernetes")
    end = next((number for number in range(start + 1, len(lines)) if lines[number].startswith("## ")), len(lines))
    fences = markdown.parse("\n".join(lines[start:end])).fences
    return [command.text for fence in fences if fence.language == "console" for command in console.commands(fence)]


class Installation:
    """Values pile up over the upgrades of a reader: helm ... --reuse-values."""

    def __init__(self, folder):
        self.folder = folder
        self.values = []

    def run(self, command):
        words = [word for word in shlex.split(command.replace("\\\n", " ")) if word]
        assert words[2:4] == ["lossscaler", "docker/helm/lossscaler"], command
        parser = argparse.ArgumentParser()
        parser.add_argument("-n", required=True)
        parser.add_argument("--reuse-values", action="store_true")
        parser.add_argument("--set", action="append", default=[])
        parser.add_argument("-f", action="append", default=[])
        options = parser.parse_args(words[4:])
        if not options.reuse_values:
            self.values = []
        for file in options.f:
            self.values += ["-f", self.folder / file]
        self.values += [f"--set={text}" for text in options.set]
        return Release("--namespace", options.n, *self.values)


class Document(unittest.TestCase):
    def setUp(self):
        self.folder = pathlib.Path(self.enterContext(tempfile.TemporaryDirectory()))
        self.commands = commands_of_the_section()

    def releases(self):
        """What each helm command of the section would install."""
        installation = Installation(self.folder)
        found = []
        for command in self.commands:
            if command.startswith("cat >"):
                subprocess.run(["bash", "-c", command], cwd=self.folder, check=True)
            elif re.match(r"helm (install|upgrade) ", command):
                found.append(installation.run(command))
        return found

    def test_installs_what_the_chart_renders(self):
        releases = self.releases()
        self.assertEqual(len(releases), sum(command.startswith(("helm install", "helm upgrade"))
                                            for command in self.commands))
        self.assertGreaterEqual(len(releases), 4)
        self.assertIn("max_sessions = 20000", releases[-1].config)

    def test_makes_every_secret_that_is_mounted(self):
        made = set(re.findall(r"create secret (?:tls|generic) (\S+)", "\n".join(self.commands)))
        pods = [pod for release in self.releases() for pod in
                [release.pod["spec"], *(test["spec"] for test in release.all("Pod"))]]
        pods.append(self.manifest()["StatefulSet"]["spec"]["template"]["spec"])
        mounted = {volume["secret"]["secretName"] for pod in pods for volume in pod.get("volumes", [])
                   if "secret" in volume}
        self.assertEqual(made, mounted)

    def manifest(self):
        documents = helm_renderer.load((SOURCE / "docker/kubernetes/lossscaler.yaml").read_text())
        return {document["kind"]: document for document in documents}

    def test_names_objects_that_there_are(self):
        release = self.releases()[0]
        name = release.one("StatefulSet")["metadata"]["name"]
        claim = release.one("StatefulSet")["spec"]["volumeClaimTemplates"][0]["metadata"]["name"]
        known = {"statefulset": name, "pod": f"{name}-0", "pvc": f"{claim}-{name}-0"}
        text = "\n".join(self.commands)
        found = re.findall(r"\b(statefulset|pod|pvc)[ /](\S+)", text)
        self.assertEqual({kind for kind, _ in found}, set(known))
        for kind, named in found:
            self.assertEqual(named, known[kind])
        self.assertEqual(set(re.findall(r"exec (\S+)", text)), {known["pod"]})
        for file in re.findall(r"apply -f (\S+)", text):
            self.assertTrue((SOURCE / file).is_file(), file)

    def test_says_what_the_probes_are(self):
        text = (SOURCE / "docker/README.md").read_text()
        container = self.releases()[0].container
        startup = container["startupProbe"]
        self.assertIn(f"for {startup['periodSeconds'] * startup['failureThreshold'] // 60} minutes while", text)
        liveness = container["livenessProbe"]
        self.assertEqual(liveness["periodSeconds"] * liveness["failureThreshold"], 60)
        self.assertIn(f"{liveness['failureThreshold']} times in a minute", text)
        self.assertEqual(container["readinessProbe"]["failureThreshold"], 2)
        self.assertIn("| twice:", text)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--renderer", required=True, type=pathlib.Path)
    options, rest = parser.parse_known_args()
    helm_renderer.folder = options.renderer.resolve()
    unittest.main(argv=[sys.argv[0], *rest])


if __name__ == "__main__":
    main()
