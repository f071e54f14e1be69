# Copyright 2026 The Loss Scaler Service Authors
# SPDX-License-Identifier: Apache-2.0
"""Fences that quote a file: they must be found in one that is compiled."""

import json
import tomllib

from markdown import DocumentError

# Where a quotation may come from.
_SOURCES = {
    "cpp": ["client/**/*.cc", "client/**/*.h", "lib/**/*.cc", "lib/**/*.h", "server/**/*.cc",
            "server/**/*.h", "tests/**/*.cc", "tests/**/*.h"],
    "proto": ["proto/**/*.proto", "server/**/*.proto"],
    "cmake": ["client/**/CMakeLists.txt", "lib/**/CMakeLists.txt", "server/**/CMakeLists.txt",
              "tests/**/CMakeLists.txt", "cmake/*.cmake"],
}


def dedent(lines):
    width = min((len(line) - len(line.lstrip()) for line in lines if line.strip()), default=0)
    return [line[width:].rstrip() for line in lines]


def quotes(block, lines):
    """Whether `lines` contain the block, indented by any one amount."""
    block = dedent(block)
    while block and not block[0]:
        block = block[1:]
    if not block:
        return False
    for start in range(len(lines) - len(block) + 1):
        margin = lines[start][:len(lines[start]) - len(lines[start].lstrip())]
        if all(line.rstrip() == (margin + wanted if wanted else "")
               for line, wanted in zip(lines[start:], block)):
            return True
    return False


def check_quotation(fence, source):
    for pattern in _SOURCES[fence.language]:
        for path in sorted(source.glob(pattern)):
            if quotes(fence.lines, path.read_text().splitlines()):
                return
    raise DocumentError(
        f"{fence.line}: no {fence.language} file of the project contains this block")


def check_json(fence):
    """One document, or one on each line."""
    try:
        json.loads("\n".join(fence.lines))
        return
    except json.JSONDecodeError:
        pass
    for number, line in enumerate(fence.lines, fence.line + 1):
        try:
            json.loads(line)
        except json.JSONDecodeError as error:
            raise DocumentError(f"{number}: not JSON: {error}") from error


def check_toml(fence):
    try:
        tomllib.loads("\n".join(fence.lines))
    except tomllib.TOMLDecodeError as error:
        raise DocumentError(f"{fence.line}: not TOML: {error}") from error
