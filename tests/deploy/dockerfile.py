# Copyright 2026 The Loss Scaler Service Authors
# SPDX-License-Identifier: Apache-2.0
"""What docker/Dockerfile must be, so that it builds anywhere from packages.txt and its image can be trusted.

Its builder may be the one inside Debian's dockerd, without a network but for packages: that has no
frontend to fetch, and only debian:bookworm and debian:bookworm-slim.
"""

import json
import pathlib
import re
from typing import NamedTuple

BASES = ("debian:bookworm", "debian:bookworm-slim")
UID = "10001:10001"
LABELS = ("title", "description", "licenses", "version", "source", "revision")
# The one way to name packages: by a section of packages.txt.
INSTALL = "xargs apt-get install --yes --no-install-recommends"
# The filter of the function section() in `run`.
FILTER = re.compile(r"awk -v want=\S+ ('[^']+')")


class Instruction(NamedTuple):
    line: int
    name: str
    flags: tuple
    rest: str


def instructions(text):
    """Yields what is neither comment nor empty, with continued lines as one."""
    whole, began = "", 0
    for number, line in enumerate(text.splitlines(), 1):
        if not line.strip() or line.lstrip().startswith("#"):
            continue
        began = began if whole else number
        whole += line.strip()
        if whole.endswith("\\"):
            whole = whole[:-1]
            continue
        name, _, rest = whole.partition(" ")
        flags = re.match(r"(--\S+ +)*", rest.strip()).group()
        yield Instruction(began, name.upper(), tuple(flags.split()), rest.strip()[len(flags):].strip())
        whole = ""


def is_exec_form(words):
    try:
        command = json.loads(words)
    except ValueError:
        return False
    return isinstance(command, list) and bool(command)


def admitted(ignore_file, source):
    """Whether .dockerignore, a list of what is let in, lets in a file or folder of the top."""
    lines = [line for line in ignore_file.splitlines() if line and not line.startswith("#")]
    return "*" in lines and "!" + source.split("/")[0] in lines


def check_words(instruction):
    """What an instruction must not say, whatever else it does."""
    name, flags, rest = instruction.name, instruction.flags, instruction.rest
    if "<<" in rest:
        yield "a heredoc: Debian's builder has none"
    if name == "ADD":
        yield "ADD fetches and unpacks: use COPY"
    for flag in flags:
        if flag.partition("=")[0] in ("--link", "--mount", "--chmod", "--parents", "--network", "--security", "--platform"):
            yield f"{flag}: not every builder knows it"
    if name in ("ENTRYPOINT", "CMD") and not is_exec_form(rest):
        yield f"{name} is not in exec form: a shell would stand between it and signals"
    if name == "RUN" and re.search(r"\b(curl|wget|pip3?|npm|git clone)\b", rest):
        yield "fetches what is not a package"


def check_packages(instruction, section, filters):
    rest = instruction.rest
    # A whole command ends where the next begins.
    for command in re.split(r"&&|\||;", rest):
        if re.search(r"\bapt(-get)? .*install\b", command) and not command.strip().removeprefix("DEBIAN_FRONTEND=noninteractive ") == INSTALL:
            yield f"packages are not taken from packages.txt by '{INSTALL}'"
    if INSTALL not in rest:
        return
    if f"want='[{section}]'" not in rest:
        yield f"this stage takes its packages from section {section} of packages.txt"
    if FILTER.findall(rest) != filters:
        yield "packages.txt is not read as by section() in run"


def check_copy(instruction, stages, root, ignore_file):
    *sources, _ = instruction.rest.split()
    origin = [flag.partition("=")[2] for flag in instruction.flags if flag.startswith("--from=")]
    if origin:
        if origin[0] not in stages:
            yield f"--from={origin[0]} is no stage before this"
        return
    for source in sources:
        if not (root / source).exists():
            yield f"there is no '{source}' to copy"
        elif not admitted(ignore_file, source):
            yield f".dockerignore keeps '{source}' out"


def check_last_stage(last, version):
    """last: the instructions of the stage that becomes the image."""

    def only(name):
        found = [each for each in last if each.name == name]
        return found[0] if len(found) == 1 else None

    if last[0].rest != BASES[1]:
        yield last[0].line, f"the image is made from {BASES[1]}"
    for name, value in (("USER", UID), ("STOPSIGNAL", "SIGTERM"), ("VOLUME", "/var/lib/lossscaler"), ("ENTRYPOINT", '["lossscalerd"]')):
        if not (only(name) and only(name).rest == value):
            yield last[0].line, f"the image needs exactly one {name} {value}"
    health = only("HEALTHCHECK")
    if not (health and health.rest.startswith("CMD ") and is_exec_form(health.rest[4:])):
        yield last[0].line, "the image needs one HEALTHCHECK in exec form"
    labels = " ".join(each.rest for each in last if each.name == "LABEL")
    for label in LABELS:
        if f'org.opencontainers.image.{label}="' not in labels:
            yield last[0].line, f"the label org.opencontainers.image.{label} is missing"
    if f"VERSION={version}" not in [each.rest for each in last if each.name == "ARG"]:
        yield last[0].line, f"the argument VERSION is not {version}, as in CMakeLists.txt"


def findings(text, root):
    """Returns what is wrong with a Dockerfile, each as 'LINE: what'; root is the project's top."""
    root = pathlib.Path(root)
    ignore_file = (root / ".dockerignore").read_text()
    version = re.search(r"^ *VERSION ([\d.]+)$", (root / "CMakeLists.txt").read_text(), re.M).group(1)
    filters = FILTER.findall((root / "run").read_text())
    found = []
    for number, line in enumerate(text.splitlines(), 1):
        if re.match(r"#\s*\w+\s*=", line):
            found.append((number, "a directive for the builder: it would fetch a frontend, or read the file otherwise"))
        if not line.startswith("#"):
            break
    everything = list(instructions(text))
    last_from = max((i for i, each in enumerate(everything) if each.name == "FROM"), default=None)
    if last_from is None:
        return ["1: there is no FROM"]
    stages = []
    for index, each in enumerate(everything):
        said = list(check_words(each))
        if each.name == "FROM":
            base, *as_name = each.rest.split()
            if base not in BASES:
                said.append(f"FROM {base}: it must be one of {', '.join(BASES)}")
            stages += as_name[1:]
        elif each.name == "RUN":
            said += check_packages(each, "runtime" if index > last_from else "build", filters)
        elif each.name == "COPY":
            said += check_copy(each, stages, root, ignore_file)
        found += [(each.line, what) for what in said]
    found += check_last_stage(everything[last_from:], version)
    return [f"{line}: {what}" for line, what in sorted(found)]
