#!/usr/bin/env python3
# Copyright 2026 The Loss Scaler Service Authors
# SPDX-License-Identifier: Apache-2.0
"""check_cases.py finds what is missing."""

import os
import unittest

import check_cases

README = os.path.join(os.path.dirname(os.path.abspath(__file__)), 'README.md')


class CheckCasesTest(unittest.TestCase):
    def setUp(self):
        with open(README, encoding='utf-8') as file:
            self.text = file.read()
        self.known = set(check_cases.TEST.findall(self.text))

    def problems(self, old='', new=''):
        self.assertIn(old, self.text)
        return check_cases.problems(self.text.replace(old, new, 1), self.known)

    def test_nothing_is_missing(self):
        self.assertEqual(self.problems(), [])

    def test_a_test_does_not_exist(self):
        self.known.remove('ConcludeTest.ALossEndsTheStepByItsPolicy')
        self.assertEqual(self.problems(),
                         ['there is no test ConcludeTest.ALossEndsTheStepByItsPolicy: H15'])

    def test_a_row_names_no_test(self):
        self.assertEqual(self.problems('`ConcludeTest.ALossEndsTheStepByItsPolicy`', ''),
                         ['no test: H15'])

    def test_a_case_is_gone(self):
        self.assertEqual(self.problems('| clock jumps |', 'clock jumps'),
                         ['27 cases instead of 28'])

    def test_a_trace_is_gone(self):
        self.assertEqual(self.problems('| N1c |', 'N1c'),
                         ["the traces are not those that are known: ['N1c']"])

    def test_parameters_are_no_part_of_a_name(self):
        for name in ('S.T', 'All/S.T', 'All/S.T/0', 'S/0.T', 'All/S.T/a long one'):
            self.assertEqual(check_cases.REGISTERED.fullmatch(name).groups(), ('S', 'T'), name)


if __name__ == '__main__':
    unittest.main()
