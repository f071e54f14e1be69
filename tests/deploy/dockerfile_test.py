#!/usr/bin/env python3
# Copyright 2026 The Loss Scaler Service Authors
# SPDX-License-Identifier: Apache-2.0
"""docker/Dockerfile is as it must be, and with one change for the worse it is not."""

import pathlib
import sys
import unittest

sys.dont_write_bytecode = True  # The sources' folder stays as it is.
import dockerfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
TEXT = (ROOT / "docker" / "Dockerfile").read_text()

# What is replaced, by what, and a word of the finding.
WORSE = (
    ("FROM debian:bookworm AS build", "FROM debian:bookworm@sha256:0123 AS build", "FROM"),
    ("FROM debian:bookworm AS build", "FROM debian:trixie AS build", "FROM"),
    ("FROM debian:bookworm-slim", "FROM debian:bookworm", "made from"),
    ("# Copyright", "# syntax=docker/dockerfile:1\n# Copyright", "directive"),
    ("# Copyright", "# escape=`\n# Copyright", "directive"),
    ("WORKDIR /src", "WORKDIR /src\nRUN <<END\ntrue\nEND", "heredoc"),
    ("WORKDIR /src", "WORKDIR /src\nCOPY <<END /a\nEND", "heredoc"),
    ("WORKDIR /src", "WORKDIR /src\nADD LICENSE /", "ADD"),
    ("WORKDIR /src", "WORKDIR /src\nRUN curl -O https://example.com/a", "fetches"),
    ("COPY proto proto", "COPY --link proto proto", "--link"),
    ("COPY proto proto", "COPY protos proto", "no 'protos'"),
    ("COPY proto proto", "COPY tests tests", "keeps 'tests' out"),
    ("COPY --from=build", "COPY --from=builder", "no stage"),
    ("RUN cmake", "RUN --mount=type=cache,target=/root/.cache cmake", "--mount"),
    ("--no-install-recommends \\", "--no-install-recommends curl \\", "packages.txt"),
    ("WORKDIR /src", "WORKDIR /src\nRUN apt-get install --yes g++", "packages.txt"),
    ("want='[runtime]'", "want='[build]'", "section runtime"),
    ("want='[build]'", "want='[lint]'", "section build"),
    ("inside && NF && !/^#/' packages", "inside && NF' packages", "section()"),
    ("USER 10001:10001", "USER lossscaler", "USER"),
    ("USER 10001:10001", "USER 0:0", "USER"),
    ("USER 10001:10001\n", "", "USER"),
    ('CMD ["lossscalerctl", "health"', 'CMD lossscalerctl health # ["', "HEALTHCHECK"),
    ("HEALTHCHECK", "# HEALTHCHECK", "HEALTHCHECK"),
    ('ENTRYPOINT ["lossscalerd"]', "ENTRYPOINT lossscalerd", "exec form"),
    ("STOPSIGNAL SIGTERM", "STOPSIGNAL SIGKILL", "STOPSIGNAL"),
    ("VOLUME /var/lib/lossscaler", "VOLUME /var/lib/lossscaler /tmp", "VOLUME"),
    ("image.licenses=", "image.license=", "licenses"),
    ("image.revision=", "image.commit=", "revision"),
    ("ARG VERSION=", "ARG VERSION=9", "CMakeLists.txt"),
)


class DockerfileTest(unittest.TestCase):
    def test_is_as_it_must_be(self):
        self.assertEqual(dockerfile.findings(TEXT, ROOT), [])

    def test_every_change_for_the_worse_is_found(self):
        for old, new, word in WORSE:
            with self.subTest(new=new):
                self.assertIn(old, TEXT)
                found = dockerfile.findings(TEXT.replace(old, new, 1), ROOT)
                self.assertTrue(any(word in each for each in found), found)


if __name__ == "__main__":
    unittest.main()
