#!/usr/bin/env python3
# Copyright 2026 The Loss Scaler Service Authors
# SPDX-License-Identifier: Apache-2.0
"""Which sources stand for which changed files, in made-up checkouts."""

import json
import os
import subprocess
import sys
import tempfile
import unittest

sys.dont_write_bytecode = True  # The sources' folder stays as it is.
import tidy_sources


class TidySources(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.checkout = os.path.join(folder.name, 'checkout')
        os.mkdir(self.checkout)

    def write(self, path, *includes):
        path = os.path.join(self.checkout, path)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, 'w', encoding='utf-8') as file:
            file.writelines(f'#include "{include}"\n' for include in includes)

    def compile(self, *paths):
        self.write('build/clang/compile_commands.json')
        with open(os.path.join(self.checkout, 'build/clang/compile_commands.json'), 'w',
                  encoding='utf-8') as file:
            json.dump([{'directory': os.path.join(self.checkout, 'build/clang'),
                        'file': os.path.join(self.checkout, path)} for path in paths], file)

    def run_in(self, folder, *arguments, changed=''):
        return subprocess.run(
            [sys.executable, tidy_sources.__file__, 'build/clang/compile_commands.json', *arguments],
            cwd=folder, input=changed, text=True, capture_output=True, check=False)

    def assert_chosen(self, changed, *sources):
        result = self.run_in(self.checkout, '--changed', changed='\n'.join(changed))
        self.assertEqual((result.stdout.split(), result.stderr, result.returncode),
                         (list(sources), '', 0))

    def test_a_source_stands_for_itself_and_the_header_beside_it(self):
        self.write('lib/core/a.h')
        self.write('lib/core/a.cc', 'core/a.h')
        self.write('lib/core/b.cc', 'core/a.h')
        self.compile('lib/core/b.cc', 'lib/core/a.cc')
        self.assert_chosen(['lib/core/a.h'], 'lib/core/a.cc')
        self.assert_chosen(['lib/core/b.cc', 'README.md'], 'lib/core/b.cc')

    def test_a_header_is_found_through_other_headers(self):
        self.write('client/api/deep.h')
        self.write('client/api/middle.h', 'api/deep.h')
        self.write('client/api/top.h', 'middle.h')
        self.write('tests/unit/top_test.cc', 'api/top.h')
        self.compile('tests/unit/top_test.cc')
        self.assert_chosen(['client/api/deep.h'], 'tests/unit/top_test.cc')

    def test_headers_that_include_each_other_end(self):
        self.write('lib/core/a.h', 'core/b.h')
        self.write('lib/core/b.h', 'core/a.h')
        self.write('lib/core/c.cc', 'core/a.h')
        self.compile('lib/core/c.cc')
        self.assert_chosen(['lib/core/b.h'], 'lib/core/c.cc')

    def test_a_file_that_nothing_stands_for_is_named(self):
        self.write('lib/core/alone.h')
        self.write('lib/core/forgotten.cc')
        self.write('lib/core/a.cc')
        self.compile('lib/core/a.cc')
        for path in 'lib/core/alone.h', 'lib/core/forgotten.cc':
            result = self.run_in(self.checkout, '--changed', changed=path)
            self.assertEqual(result.returncode, 1)
            self.assertIn(path, result.stderr)

    def test_a_checkout_is_the_same_through_a_link(self):
        self.write('lib/core/a.cc')
        self.write('build/clang/generated.pb.cc')
        link = os.path.join(os.path.dirname(self.checkout), 'link')
        os.symlink(self.checkout, link)
        self.compile('lib/core/a.cc', 'build/clang/generated.pb.cc')
        for folder in self.checkout, link:
            self.assertEqual(self.run_in(folder).stdout, 'lib/core/a.cc\n')

    def test_a_database_of_another_checkout_is_not_clean_but_wrong(self):
        self.compile('../elsewhere/a.cc', 'build/clang/generated.pb.cc')
        for arguments in (), ('--changed',):
            result = self.run_in(self.checkout, *arguments)
            self.assertEqual(result.returncode, 1)
            self.assertIn('compiles no source of', result.stderr)


if __name__ == '__main__':
    unittest.main()
