# Copyright 2026 The Loss Scaler Service Authors
# SPDX-License-Identifier: Apache-2.0
"""Does what a document says, as a reader would, and compares what happens.

usage: check_document.py --source DIR [--bin FILE]... DOCUMENT   check one document
       check_document.py --source DIR --all NAME...              check the list of documents

tests/README.md describes how documents are written. Exit codes: 0 it holds, 1
it does not (every reason is printed), 2 wrong usage.
"""

import argparse
import difflib
import os
import pathlib
import re
import shutil
import socket
import subprocess
import sys
import tempfile
import time

import code_blocks
import console
import markdown
import not_executed
from markdown import DocumentError

# What a reader gets who gives no address.
DEFAULT_ADDRESS = "127.0.0.1:50551"
DEFAULT_ADMIN_ADDRESS = "127.0.0.1:9551"


def check_links(document, path, source):
    for number, target in document.links():
        if re.match(r"[a-z]+:", target):
            continue
        name, _, anchor = target.partition("#")
        linked = (path.parent / name).resolve() if name else path
        if not linked.exists():
            raise DocumentError(f"{number}: there is no {target}")
        if not linked.is_relative_to(source.resolve()):
            raise DocumentError(f"{number}: {target} is outside of the project")
        if anchor and anchor not in markdown.parse(linked.read_text()).headings():
            raise DocumentError(f"{number}: {linked.name} has no heading #{anchor}")


def check_words_of_run(document, source):
    """`./run WORD` anywhere, executed or not, is a word that it knows."""
    lines = list(document.text)
    for fence in document.fences:
        lines += enumerate(fence.lines, fence.line + 1)
    used = [(number, word) for number, line in lines
            for word in re.findall(r"\./run ([a-z]+)", line)]
    if not used:
        return
    shown = subprocess.run(["bash", source / "run", "help"], stdin=subprocess.DEVNULL,
                           capture_output=True, text=True, check=False).stdout
    known = re.findall(r"\./run ([a-z]+)", shown)
    for number, word in used:
        if word not in known:
            raise DocumentError(f"{number}: ./run does not know '{word}'; it knows {', '.join(known)}")


def console_commands(document):
    return [command for fence in document.fences if fence.language == "console"
            for command in console.commands(fence)]


def starts_server(command):
    return re.match(r"lossscalerd\b.*&$", command.text) is not None


def wait_until_listening(path):
    """What a reader's next command takes to type."""
    deadline = time.monotonic() + 10
    while time.monotonic() < deadline:
        with socket.socket(socket.AF_UNIX) as connection:
            if connection.connect_ex(path) == 0:
                return
        time.sleep(0.01)


def admin_address():
    """An address of this machine that no other document has: all of 127/8 is loopback."""
    pid = os.getpid()
    return f"127.{1 + pid % 250}.{pid // 250 % 250}.{1 + pid // 62500 % 250}:9551"


def environment(folder, programs):
    """As on a machine of the reader, except that nothing leaves the folder."""
    links = folder / ".bin"
    links.mkdir()
    for program in programs:
        (links / program.name).symlink_to(program.resolve())
    address = f"unix:{folder}/.socket"
    return {
        "PATH": f"{links}:/usr/local/bin:/usr/bin:/bin",
        "HOME": str(folder),
        "TMPDIR": str(folder),
        "LC_ALL": "C.UTF-8",
        "COLUMNS": "100",
        "STATE_DIRECTORY": f"{folder}/.state",
        "LOSSSCALERD_LISTEN": address,
        "LOSSSCALER_ADDRESS": address,
        "LOSSSCALERD_ADMIN_LISTEN": admin_address(),
        "PYTHONDONTWRITEBYTECODE": "1",
    }


def run_commands(commands, source, programs):
    folder = pathlib.Path(tempfile.mkdtemp(prefix="documents-"))
    # The top of the project, as the folder in which a reader stands.
    for entry in source.iterdir():
        if entry.name not in (".git", "build"):
            (folder / entry.name).symlink_to(entry.resolve())
    shell = None
    try:
        variables = environment(folder, programs)
        shell = console.Shell(folder, variables)
        listens_at = variables["LOSSSCALER_ADDRESS"].removeprefix("unix:")
        if not any(map(starts_server, commands)):
            shell.run("lossscalerd 2>.server.log &")
            wait_until_listening(listens_at)
        for command, following in zip(commands, commands[1:] + [None]):
            output, code = shell.run(command.text.replace(DEFAULT_ADMIN_ADDRESS, admin_address()))
            if starts_server(command) and "--listen" not in command.text:
                wait_until_listening(listens_at)
            output = [line.replace(variables["LOSSSCALER_ADDRESS"], DEFAULT_ADDRESS)
                      .replace(admin_address(), DEFAULT_ADMIN_ADDRESS) for line in output]
            while command.output and not command.output[-1].strip():
                command.output.pop()
            if not console.matches(command.output, output):
                difference = "\n".join(difflib.unified_diff(
                    command.output, output, "the document", "what happened", lineterm="", n=99))
                raise DocumentError(f"{command.line}: $ {command.text}\n{difference}")
            shown = following is not None and following.text.startswith("echo $?")
            if code != 0 and not shown:
                raise DocumentError(
                    f"{command.line}: $ {command.text}\nended with {code}; "
                    "if it should, show it by `$ echo $?` right after")
    finally:
        if shell is not None:
            shell.close()
        shutil.rmtree(folder, ignore_errors=True)


def check_toml_of_server(fence, path, source, programs):
    if path.parent != source / "server":
        return
    with tempfile.TemporaryDirectory() as folder:
        file = pathlib.Path(folder) / "lossscalerd.toml"
        file.write_text("\n".join(fence.lines) + "\n")
        output, code = "", 0
        shell = console.Shell(folder, environment(pathlib.Path(folder), programs))
        try:
            output, code = shell.run(f"unset LOSSSCALERD_LISTEN LOSSSCALERD_ADMIN_LISTEN; lossscalerd --check-config --config '{file}'")
        finally:
            shell.close()
        if code != 0:
            raise DocumentError(f"{fence.line}: lossscalerd refuses this file\n" + "\n".join(output))


def check(path, source, programs):
    document = markdown.parse(path.read_text())
    check_links(document, path, source)
    check_words_of_run(document, source)
    for fence in document.fences:
        if fence.language in ("cpp", "proto", "cmake"):
            code_blocks.check_quotation(fence, source)
        elif fence.language == "json":
            code_blocks.check_json(fence)
        elif fence.language == "toml":
            code_blocks.check_toml(fence)
            check_toml_of_server(fence, path, source, programs)
        elif fence.language not in ("console", "text"):
            raise DocumentError(f"{fence.line}: nothing checks a fence of '{fence.language}'; use "
                                "console, cpp, proto, cmake, json or toml, or text for what is none of them")
    executed = []
    for command in console_commands(document):
        if not_executed.find(command.text) is None:
            executed.append(command)
        elif any(line.strip() for line in command.output):
            raise DocumentError(f"{command.line}: nobody checks this output: {command.text} "
                                "is not executed (not_executed.py)")
    if executed:
        run_commands(executed, source, programs)


def documents_of(source):
    return sorted(str(path.relative_to(source)) for path in source.rglob("*.md")
                  if not {".git", "build", "node_modules"} & set(path.relative_to(source).parts))


def check_all(names, source):
    """Every document has a test, and every exception a use."""
    unlisted = set(documents_of(source)) - set(names)
    if unlisted:
        raise DocumentError(f"run cmake again: no test checks {', '.join(sorted(unlisted))}; "
                            "if that does not help, name the folder in tests/documents/CMakeLists.txt")
    used = set()
    for name in names:
        for command in console_commands(markdown.parse((source / name).read_text())):
            used.add(not_executed.find(command.text))
    unused = set(not_executed.NOT_EXECUTED) - used
    if unused:
        raise DocumentError(f"not_executed.py: no document uses {', '.join(sorted(unused))}")


def main(arguments):
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--source", required=True, type=pathlib.Path)
    parser.add_argument("--bin", action="append", default=[], type=pathlib.Path)
    parser.add_argument("--all", action="store_true")
    parser.add_argument("documents", nargs="+")
    options = parser.parse_args(arguments)
    source = options.source.resolve()
    try:
        if options.all:
            check_all(options.documents, source)
        else:
            for name in options.documents:
                check(source / name, source, options.bin)
    except DocumentError as error:
        print(f"{' '.join(options.documents)}:{error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
