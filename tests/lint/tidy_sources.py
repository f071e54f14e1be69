#!/usr/bin/env python3
# Copyright 2026 The Loss Scaler Service Authors
# SPDX-License-Identifier: Apache-2.0
"""Which sources clang-tidy has to read.

    tidy_sources.py COMPILE_COMMANDS            every source of the checkout
    tidy_sources.py COMPILE_COMMANDS --changed  those that stand for the files on standard input

Run in the checkout's top. A changed header is checked through the source beside it, or
else through the nearest one that includes it, directly or through other headers: its own
findings are the same in each. A changed file that no compiled source stands for is an error,
for nothing would check it; so is a compile database without a source of the checkout.
"""

import collections
import json
import os
import re
import sys

# What an include is relative to, beside the folder of the file that includes.
ROOTS = ('lib', 'client', 'server', 'tests', 'client/examples')
INCLUDE = re.compile(r'^\s*#\s*include\s*"([^"]+)"', re.MULTILINE)


def compiled_in(database, top):
    """The sources of the checkout that the database compiles, relative to its top."""
    with open(database, encoding='utf-8') as file:
        entries = json.load(file)
    top = os.path.realpath(top)
    build = os.path.join(top, 'build', '')
    paths = {os.path.realpath(os.path.join(entry['directory'], entry['file'])) for entry in entries}
    return sorted(os.path.relpath(path, top) for path in paths
                  if path.startswith(os.path.join(top, '')) and not path.startswith(build))


def included_by(path, top):
    """The files of the checkout that a file includes itself."""
    with open(os.path.join(top, path), encoding='utf-8') as file:
        spelled = INCLUDE.findall(file.read())
    for include in spelled:
        for root in (os.path.dirname(path), *ROOTS):
            found = os.path.normpath(os.path.join(root, include))
            if os.path.isfile(os.path.join(top, found)):
                yield found
                break


def stand_ins(sources, top):
    """For every header that sources reach, the source that is the fewest includes away."""
    found = {}
    seen = set(sources)
    waiting = collections.deque((source, source) for source in sources)
    while waiting:
        path, source = waiting.popleft()
        for include in included_by(path, top):
            if include not in seen:
                seen.add(include)
                found[include] = source
                waiting.append((include, source))
    return found


def chosen(changed, sources, top):
    """The sources for the changed files, and the files that none stands for."""
    compiled = set(sources)
    nearest = stand_ins(sources, top)
    wanted, alone = set(), []
    for path in changed:
        if not path.endswith(('.h', '.cc')):
            continue
        beside = os.path.splitext(path)[0] + '.cc'
        source = beside if beside in compiled else nearest.get(path)
        if source is None:
            alone.append(path)
        else:
            wanted.add(source)
    return sorted(wanted), alone


def main():
    if len(sys.argv) < 2 or sys.argv[2:] not in ([], ['--changed']):
        sys.exit('usage: tidy_sources.py COMPILE_COMMANDS [--changed]')
    sources = compiled_in(sys.argv[1], '.')
    if not sources:
        sys.exit(f'tidy: {sys.argv[1]} compiles no source of {os.path.realpath(".")}')
    if len(sys.argv) == 3:
        sources, alone = chosen(sys.stdin.read().splitlines(), sources, '.')
        if alone:
            sys.exit('tidy: nothing compiles these changed files, nor a source that includes them, '
                     'so that they cannot be checked: ' + ' '.join(alone))
    for source in sources:
        print(source)


if __name__ == '__main__':
    main()
