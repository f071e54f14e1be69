# Copyright 2026 The Loss Scaler Service Authors
# SPDX-License-Identifier: Apache-2.0
"""Console fences: commands, what they print, and a shell to run them in."""

import dataclasses
import os
import pathlib
import re
import select
import signal
import subprocess
import time
import uuid

from markdown import DocumentError

COMMAND_SECONDS = 60


@dataclasses.dataclass
class Command:
    line: int
    text: str
    output: list[str]


def commands(fence):
    """`$ ` begins a command, `> ` right below continues it, the rest is output."""
    found = []
    for number, line in enumerate(fence.lines, fence.line + 1):
        if line.startswith("$ "):
            found.append(Command(number, line[2:], []))
        elif not found:
            raise DocumentError(f"{number}: a console fence begins with a command: $ ...")
        elif line.startswith("> ") and not found[-1].output:
            found[-1].text += "\n" + line[2:]
        else:
            found[-1].output.append(line)
    if not found:
        raise DocumentError(f"{fence.line}: a console fence without a command")
    return found


def matches(expected, actual):
    """Line by line; `...` stands for any text, alone on a line for any lines."""
    pattern = ""
    for line in expected:
        if line.strip() == "...":
            pattern += r"(?:.*\n)*?"
        else:
            pattern += ".*".join(re.escape(part) for part in line.split("...")) + r"\n"
    text = "".join(line.rstrip() + "\n" for line in actual)
    return re.fullmatch(pattern, text) is not None


class Shell:
    """One bash for all commands of a document. Ends with everything it started."""

    def __init__(self, folder, environment):
        self._folder = pathlib.Path(folder)
        self._mark = f"done-{uuid.uuid4().hex}"
        self._scripts = 0
        self._buffer = b""
        self._bash = subprocess.Popen(
            ["bash", "--noprofile", "--norc"], cwd=folder, env=environment,
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
            start_new_session=True)

    def run(self, text):
        """What the command printed, line by line, and its exit code."""
        self._scripts += 1
        script = self._folder / f".command-{self._scripts}"
        script.write_text(text + "\n")
        self._bash.stdin.write(
            f'(exit "${{code:-0}}"); source "{script}" </dev/null; code=$?; '
            f"printf '\\n{self._mark} %s\\n' \"$code\"\n".encode())
        self._bash.stdin.flush()
        output, code = self._read_to_mark(text)
        return output.splitlines(), code

    def _read_to_mark(self, text):
        mark = re.compile(rb"\n" + self._mark.encode() + rb" (\d+)\n")
        deadline = time.monotonic() + COMMAND_SECONDS
        while not (match := mark.search(self._buffer)):
            ready, _, _ = select.select([self._bash.stdout], [], [], max(0, deadline - time.monotonic()))
            if not ready:
                raise DocumentError(f"not done after {COMMAND_SECONDS} seconds: {text}")
            piece = os.read(self._bash.stdout.fileno(), 65536)
            if not piece:
                raise DocumentError(f"the shell ended: {text}\n{self._buffer.decode(errors='replace')}")
            self._buffer += piece
        output = self._buffer[:match.start()].decode(errors="replace")
        self._buffer = self._buffer[match.end():]
        return output, int(match.group(1))

    def close(self):
        # Its session is a process group of its own; servers in it drain on SIGTERM.
        self._signal(signal.SIGTERM)
        try:
            self._bash.communicate(timeout=30)
        except subprocess.TimeoutExpired:
            pass
        self._signal(signal.SIGKILL)
        self._bash.communicate()

    def _signal(self, number):
        try:
            os.killpg(self._bash.pid, number)
        except ProcessLookupError:
            pass
