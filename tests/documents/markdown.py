# Copyright 2026 The Loss Scaler Service Authors
# SPDX-License-Identifier: Apache-2.0
"""The parts of a Markdown document that can be checked: fences, links, text."""

import dataclasses
import re

_LINK = re.compile(r"\[[^\]]*\]\(([^)\s]+)\)")
_CODE_SPAN = re.compile(r"`[^`]*`")


class DocumentError(Exception):
    """A document that does not keep its promises. The message says where."""


@dataclasses.dataclass
class Fence:
    language: str
    line: int  # Of the opening fence, from 1.
    lines: list[str]


@dataclasses.dataclass
class Document:
    fences: list[Fence]
    text: list[tuple[int, str]]  # Lines outside fences, with their numbers.

    def links(self):
        for number, line in self.text:
            for match in _LINK.finditer(_CODE_SPAN.sub("", line)):
                yield number, match.group(1)

    def headings(self):
        """Names of the anchors, as code hosts make them."""
        for _, line in self.text:
            if re.match(r"#{1,6} ", line):
                title = line.lstrip("#").strip().lower().replace("`", "")
                yield re.sub(r"[^\w\- ]", "", title).replace(" ", "-")


def parse(content):
    document = Document(fences=[], text=[])
    fence = None
    blank_before = True
    for number, line in enumerate(content.splitlines(), 1):
        if line.startswith("```"):
            if fence is None:
                fence = Fence(line[3:].strip(), number, [])
                document.fences.append(fence)
            elif line.strip() == "```":
                fence = None
            else:
                raise DocumentError(f"{number}: a fence opens inside a fence")
        elif fence is not None:
            fence.lines.append(line)
        elif re.match(r"\s*(```|~~~)", line):
            raise DocumentError(f"{number}: fences are three backticks at the start of a line")
        else:
            if blank_before and line.startswith("    "):
                raise DocumentError(
                    f"{number}: an indented code block, whose commands nobody would run; use a fence")
            document.text.append((number, line))
        blank_before = not line.strip()
    if fence is not None:
        raise DocumentError(f"{fence.line}: the fence is never closed")
    return document
