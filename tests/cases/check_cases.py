#!/usr/bin/env python3
# Copyright 2026 The Loss Scaler Service Authors
# SPDX-License-Identifier: Apache-2.0
"""Checks that every case has a test: see README.md beside this.

    check_cases.py README CTEST BUILD

Prints one line when all is well, and otherwise everything that is missing.
"""

import json
import re
import subprocess
import sys

TRACES = ('H1 H2 H3 H4 H5 H6 H7 H8 H9 H11 H13 H15 H16 H17 H18 M1 M2 M3 M5 M6 '
          'A1 A2 A3 A4 A5 A6 A7 A8 A9 N1 N1c N2 N3 N4 N5 N6 N7 N8 N9 N11 N12').split()
CASES = 28
# Prefix and suffix are those of a test with parameters.
REGISTERED = re.compile(r'(?:[A-Za-z]\w*/)?([A-Za-z]\w*)(?:/\d+)?\.(\w+)(?:/.*)?')
TEST = re.compile(r'`(\w+\.\w+)`')


def registered(ctest, build):
    """The names of all tests of a build, without their parameters."""
    listing = subprocess.run([ctest, '--test-dir', build, '--show-only=json-v1'],
                             check=True, stdout=subprocess.PIPE, text=True)
    names = (test['name'] for test in json.loads(listing.stdout)['tests'])
    return {'.'.join(match.groups()) for match in map(REGISTERED.fullmatch, names) if match}


def rows(text):
    """First and last cell of each row, table after table, without their heads."""
    tables = []
    for line in text.splitlines():
        cells = [cell.strip() for cell in line.strip().strip('|').split('|')]
        if not line.startswith('|'):
            continue
        if set(line) <= set('|-'):
            tables.append([])
        elif tables and not (cells[-1] == 'tests'):
            tables[-1].append((cells[0], cells[-1]))
    return tables


def problems(text, known):
    cases, traces = rows(text)
    found = []
    if len(cases) != CASES:
        found.append(f'{len(cases)} cases instead of {CASES}')
    listed = [name for name, _ in traces]
    if listed != TRACES:
        odd = sorted(set(listed) ^ set(TRACES)) or 'their order'
        found.append(f'the traces are not those that are known: {odd}')
    for case, tests in cases + traces:
        names = TEST.findall(tests)
        if not names:
            found.append(f'no test: {case}')
        found += [f'there is no test {name}: {case}' for name in names if name not in known]
    return found


def main():
    if len(sys.argv) != 4:
        sys.exit('usage: check_cases.py README CTEST BUILD')
    with open(sys.argv[1], encoding='utf-8') as file:
        found = problems(file.read(), registered(*sys.argv[2:]))
    if found:
        sys.exit('\n'.join(found))
    print(f'cases: {CASES} cases and {len(TRACES)} traces have their tests')


if __name__ == '__main__':
    main()
