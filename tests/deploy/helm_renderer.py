# Copyright 2026 The Loss Scaler Service Authors
# SPDX-License-Identifier: Apache-2.0
"""What the chart becomes: helm_render's output, as documents."""

import functools
import pathlib
import subprocess

import yaml

SOURCE = pathlib.Path(__file__).resolve().parents[2]
CHART = SOURCE / "docker/helm/lossscaler"
VALUES = pathlib.Path(__file__).resolve().parent / "helm_values"

# Set by the test's main program: the folder where build.sh has put helm_render.
folder = None


class Refused(Exception):
    """helm_render ended with 1; the text is what it said."""


class _Loader(yaml.SafeLoader):
    """YAML as Kubernetes takes it strictly: no key twice."""


def _mapping(loader, node, deep=False):
    keys = [loader.construct_object(key, deep=True) for key, _ in node.value]
    for key in keys:
        if keys.count(key) > 1:
            raise yaml.constructor.ConstructorError(None, None, f"key {key!r} twice", node.start_mark)
    return yaml.SafeLoader.construct_mapping(loader, node, deep)


_Loader.add_constructor(yaml.resolver.BaseResolver.DEFAULT_MAPPING_TAG, _mapping)


def load(text):
    return [document for document in yaml.load_all(text, _Loader) if document is not None]


def text(*arguments, chart=CHART):
    """Text that helm_render prints for a chart."""
    ended = subprocess.run([folder / "helm_render", *arguments, chart], stdin=subprocess.DEVNULL,
                           capture_output=True, text=True, check=False)
    if ended.returncode == 1:
        raise Refused(ended.stderr)
    if ended.returncode != 0:
        raise AssertionError(f"helm_render {arguments}: {ended.stderr}")
    return ended.stdout


class Release:
    """Documents by kind and name, and the parts that tests ask for most."""

    def __init__(self, *arguments):
        self.documents = load(text(*arguments))

    def all(self, kind):
        return [document for document in self.documents if document["kind"] == kind]

    def one(self, kind, suffix=""):
        found = [document for document in self.all(kind) if document["metadata"]["name"].endswith(suffix)]
        if len(found) != 1:
            raise AssertionError(f"{len(found)} of {kind} *{suffix}, not one")
        return found[0]

    def kinds(self):
        return sorted(document["kind"] for document in self.documents)

    @property
    def pod(self):
        return self.one("StatefulSet")["spec"]["template"]

    @property
    def container(self):
        containers = self.pod["spec"]["containers"]
        if len(containers) != 1:
            raise AssertionError("more than one container")
        return containers[0]

    @property
    def config(self):
        """The text of lossscalerd.toml."""
        return self.one("ConfigMap")["data"]["lossscalerd.toml"]


@functools.cache
def named(values):
    """The release of a file in helm_values/. Tests share it: it is only read."""
    return Release("-f", str(VALUES / f"{values}.yaml"))


NAMES = sorted(path.stem for path in VALUES.glob("*.yaml"))
