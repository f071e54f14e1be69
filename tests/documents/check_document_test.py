# Copyright 2026 The Loss Scaler Service Authors
# SPDX-License-Identifier: Apache-2.0
"""check_document.py on made-up documents. usage: check_document_test.py --bin FILE..."""

import pathlib
import shutil
import sys
import tempfile
import unittest
from unittest import mock

import check_document
import console
import not_executed
from markdown import DocumentError

PROGRAMS = []


def runs(pid):
    try:
        state = pathlib.Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except FileNotFoundError:
        return False
    return state not in "ZX"  # Ended, but nobody has taken note yet.


class MadeUpProject(unittest.TestCase):
    def setUp(self):
        self.source = pathlib.Path(tempfile.mkdtemp(prefix="documents-test-")).resolve()
        self.addCleanup(shutil.rmtree, self.source)
        for folder in ("client", "server", "proto", "build"):
            (self.source / folder).mkdir()
        (self.source / "run").write_text("echo '       ./run help'\n")

    def check(self, content, name="README.md"):
        (self.source / name).write_text(content)
        check_document.check(self.source / name, self.source, PROGRAMS)

    def assert_fails(self, content, why, name="README.md"):
        with self.assertRaisesRegex(DocumentError, why):
            self.check(content, name)


class Commands(MadeUpProject):
    def test_that_print_what_is_shown_pass(self):
        self.check("```console\n$ echo one; echo two >&2\none\ntwo\n$ true\n```\n")

    def test_that_print_something_else_fail(self):
        self.assert_fails("```console\n$ echo one\ntwo\n```\n", "-two")

    def test_that_print_more_than_is_shown_fail(self):
        self.assert_fails("```console\n$ echo one; echo two\none\n```\n", r"\+two")

    def test_that_print_nothing_where_something_is_shown_fail(self):
        self.assert_fails("```console\n$ true\none\n```\n", "-one")

    def test_are_checked_in_every_fence(self):
        self.assert_fails("```console\n$ true\n```\n\n```console\n$ echo 1\n2\n```\n", "^6: ")

    def test_that_fail_fail(self):
        self.assert_fails("```console\n$ false\n$ true\n```\n", "ended with 1")
        self.assert_fails("```console\n$ no-such-command\n...\n```\n", "ended with 127")

    def test_may_fail_if_the_code_is_shown(self):
        self.check("```console\n$ (exit 3)\n$ echo $?\n3\n```\n")
        self.assert_fails("```console\n$ (exit 3)\n$ echo $?\n4\n```\n", "-4")

    def test_share_one_shell_and_one_empty_folder(self):
        self.check("```console\n$ a=7; echo x >file\n```\n\n```console\n$ echo $a; cat file\n7\nx\n```\n")
        self.assertFalse((self.source / "file").exists())

    def test_go_on_over_several_lines(self):
        self.check("```console\n$ cat <<END\n> one\n> END\none\n```\n")

    def test_name_the_address_for_operators_as_a_reader_does(self):
        self.check("```console\n$ echo $LOSSSCALERD_ADMIN_LISTEN\n127.0.0.1:9551\n"
                   "$ [ $LOSSSCALERD_ADMIN_LISTEN = 127.0.0.1:9551 ]\n```\n")

    def test_that_hang_fail(self):
        with mock.patch.object(console, "COMMAND_SECONDS", 0.2):
            self.assert_fails("```console\n$ sleep 60\n```\n", "not done after")

    def test_in_the_table_are_not_executed(self):
        with mock.patch.dict(not_executed.NOT_EXECUTED, {"touch .*": "a test"}, clear=True):
            self.check(f"```console\n$ touch {self.source}/touched\n```\n")
            self.assertFalse((self.source / "touched").exists())
            self.assert_fails("```console\n$ touch x\noutput\n```\n", "nobody checks this output")

    def test_need_a_prompt(self):
        self.assert_fails("```console\necho one\n```\n", "begins with a command")


class Wildcards(unittest.TestCase):
    def test_stand_for_text_in_a_line_and_for_lines(self):
        self.assertTrue(console.matches(["uid ... ok"], ["uid 5f2c ok"]))
        self.assertTrue(console.matches(["a", "...", "z"], ["a", "b", "c", "z"]))
        self.assertTrue(console.matches(["a", "...", "z"], ["a", "z"]))

    def test_stand_for_nothing_else(self):
        self.assertFalse(console.matches(["uid ... ok"], ["uid 5f2c", "ok"]))
        self.assertFalse(console.matches(["a", "...", "z"], ["a", "b"]))
        self.assertFalse(console.matches(["a.c"], ["abc"]))
        self.assertFalse(console.matches([], ["a"]))


class Servers(MadeUpProject):
    def test_run_where_a_document_starts_none(self):
        self.check("```console\n$ lossscalerctl create a/b --none >created\n$ lossscalerctl delete a/b >deleted\n```\n")

    def test_are_the_documents_own_where_it_starts_one(self):
        self.check("```console\n$ lossscalerd 2>log &\n$ lossscalerctl create a/b --none >created\n"
                   "$ kill $!; wait $!; echo $?\n0\n```\n")

    def test_end_with_the_document(self):
        pid = self.source / "pid"
        self.check(f"```console\n$ lossscalerd 2>log & echo $! >{pid}\n$ lossscalerctl list >listed\n```\n")
        self.assertFalse(runs(int(pid.read_text())))


class Fences(MadeUpProject):
    def test_of_an_unknown_language_fail(self):
        self.assert_fails("```bash\nls\n```\n", "'bash'")
        self.assert_fails("```\nls\n```\n", "''")

    def test_that_are_no_fences_fail(self):
        self.assert_fails("Text:\n\n    ls\n", "indented code block")
        self.assert_fails("~~~console\n$ true\n~~~\n", "three backticks")
        self.assert_fails("```text\nx\n", "never closed")

    def test_of_code_are_found_in_a_compiled_file(self):
        (self.source / "client/main.cc").write_text("void F() {\n  if (a) {\n    b();\n  }\n}\n")
        self.check("```cpp\nif (a) {\n  b();\n}\n```\n")
        self.assert_fails("```cpp\nif (a) {\n  c();\n}\n```\n", "no cpp file")
        self.assert_fails("```cpp\nif (a) {\nb();\n}\n```\n", "no cpp file")
        self.assert_fails("```cpp\n```\n", "no cpp file")

    def test_of_data_are_read(self):
        self.check('```json\n"None"\n{"Static":{"scale":1.0}}\n```\n\n```toml\na = 1\n```\n')
        self.assert_fails("```json\n{'a': 1}\n```\n", "not JSON")
        self.assert_fails("```toml\na = \n```\n", "not TOML")

    def test_of_settings_are_read_by_the_server(self):
        self.check('```toml\nlog_level = "debug"\n```\n', "server/README.md")
        self.assert_fails('```toml\nno_such_key = 1\n```\n', "no_such_key", "server/README.md")


class Text(MadeUpProject):
    def test_links_to_what_is_there(self):
        self.check("# A title: `x`\n\n[here](README.md), [there](#a-title-x), [web](https://example.com/x)\n")
        self.assert_fails("[gone](client/README.md)\n", "there is no client/README.md")
        self.assert_fails("# Title\n\n[gone](#other)\n", "no heading #other")
        self.assert_fails("[out](../)\n", "outside of the project")

    def test_names_words_that_run_knows(self):
        self.check("Say `./run help`.\n")
        self.assert_fails("Say `./run away`.\n", "does not know 'away'")


class All(MadeUpProject):
    def test_documents_have_a_test(self):
        (self.source / "README.md").write_text("x\n")
        (self.source / "build/README.md").write_text("x\n")
        with mock.patch.dict(not_executed.NOT_EXECUTED, clear=True):
            check_document.check_all(["README.md"], self.source)
            (self.source / "client/README.md").write_text("x\n")
            with self.assertRaisesRegex(DocumentError, "no test checks client/README.md"):
                check_document.check_all(["README.md"], self.source)

    def test_exceptions_have_a_use(self):
        (self.source / "README.md").write_text("```console\n$ touch x\n```\n")
        with mock.patch.dict(not_executed.NOT_EXECUTED, {"touch .": "a"}, clear=True):
            check_document.check_all(["README.md"], self.source)
        with mock.patch.dict(not_executed.NOT_EXECUTED, {"touch .": "a", "rm .": "b"}, clear=True):
            with self.assertRaisesRegex(DocumentError, "no document uses rm ."):
                check_document.check_all(["README.md"], self.source)


if __name__ == "__main__":
    PROGRAMS = [pathlib.Path(word) for word in sys.argv[1:] if word != "--bin"]
    unittest.main(argv=sys.argv[:1])
