"""scripts/check_words on small files that keep or break one rule."""

import pathlib
import shutil
import subprocess
import unittest

from in_folder import FolderTest

ROOT = pathlib.Path(__file__).resolve().parents[2]
SCRIPT = ROOT / "scripts/check_words"


class CheckWords(FolderTest):
    def check(self, name, text):
        file = self.folder / name
        file.write_text(text)
        done = subprocess.run([SCRIPT, file], capture_output=True, text=True, timeout=60)
        file.unlink()
        return done

    def assert_refused(self, name, text, line, word):
        done = self.check(name, text)
        self.assertEqual(done.returncode, 1, f"{text!r} {done.stdout} {done.stderr}")
        self.assertEqual(len(done.stdout.splitlines()), 1, done.stdout)
        self.assertIn(f"{name}:{line}: {word}: ", done.stdout)

    def assert_accepted(self, name, text):
        done = self.check(name, text)
        self.assertEqual((done.returncode, done.stdout), (0, ""), text)

    def test_prose_is_comments_literals_and_documents(self):
        self.assert_refused("a.cpp", "int x;  // the colour\n", 1, "colour")
        self.assert_refused("a.cpp", 'int x;\nfail("how to mend it");\n', 2, "mend")
        self.assert_refused("a.h", "/* One.\n   a neighbour */\n", 2, "neighbour")
        self.assert_refused("a.py", '"""Head.\n\nWhoever calls."""\n', 3, "Whoever")
        self.assert_refused("a.py", "x = 1  # grey\n", 1, "grey")
        self.assert_refused("a.js", "const x = `the catalogue`;\n", 1, "catalogue")
        self.assert_refused("a.md", "A licence.\n", 1, "licence")
        self.assert_refused("a.json", '{"description": "optimised by hand"}\n', 1, "optimised")
        self.assert_refused("a.html", "<p>The behaviour</p>\n", 1, "behaviour")
        self.assert_refused("run", "#!/bin/sh\nsay 'was told'\n", 2, "told")

    def test_a_phrase_goes_on_in_the_next_line(self):
        self.assert_refused("a.cpp", "// what is\n// not known is\n", 1, "what is not known is")
        self.assert_refused("a.cpp", 'f("three samples a "\n  "second");\n', 1, "samples a second")
        self.assert_refused("a.md", "A copy is\nno repetition.\n", 1, "is no")

    def test_good_english_is_accepted(self):
        self.assert_accepted("a.md", "There is no GPU. It is no longer measured. Samples per second, gray, a sample.\n")
        self.assert_accepted("a.cpp", "// samples per second; the normalized color of a neighbor\n")

    def test_identifiers_are_parts_of_names(self):
        self.assert_refused("a.cpp", "int x;\nint batches_ahead;\n", 2, "batches_ahead")
        self.assert_refused("a.cpp", "struct HeldBack {};\n", 1, "HeldBack")
        self.assert_refused("a.py", "lone_thread = 1\n", 1, "lone_thread")
        self.assert_refused("a.cpp", "float words = 0;\n", 1, "words")
        self.assert_refused("a.cpp", "int kColourOf;\n", 1, "kColourOf")
        self.assert_refused("thinned.cpp", "int x;\n", 1, "file name thinned")
        self.assert_accepted("a.cpp", "int key_words, aheadless, toolbar;\n")

    def test_comments_are_sentences(self):
        self.assert_refused("a.cpp", "int x;\n// Of the CPU.\nint y;\n", 2, "Of")
        self.assert_refused("a.cpp", "int x;  // Of the CPU.\n", 1, "Of")
        self.assert_refused("a.py", "# Of the CPU.\n", 1, "Of")
        self.assert_accepted("a.cpp", "int x;  // of the CPU\n// Often. The name of the CPU.\n")

    def test_limits_and_functions_have_one_kind_of_name(self):
        self.assert_refused("a.cpp", "constexpr int kMostPairs = 3;\n", 1, "kMostPairs")
        self.assert_refused("a.cpp", "constexpr int kUsual = 3;\n", 1, "kUsual")
        self.assert_refused("a.cpp", "int hue_of(int x);\n", 1, "hue_of")
        self.assert_refused("a.cpp", "const auto hue_of = [](int x) { return x; };\n", 1, "hue_of")
        self.assert_accepted("a.cpp", "constexpr int kUsedMost = 3;\nint x = runs_of(page.hue_of);\n")

    def test_quotations_ids_and_result_keys_are_exempt(self):
        self.assert_accepted("a.md", "Text.\n\n```\nit was told\n```\n\nThe key `colour` of [a page](neighbour.md).\n")
        self.assert_accepted("a.cpp", 'x["held_back"] = "utilization";\n')
        self.assert_accepted("a.cpp", 'option("--utilisation");\n')
        self.assert_accepted("a.cpp", '#include "src/report/colour.h"\n')
        self.assert_accepted("a.json", '{"colour": 1}\n')

    def test_comments_in_a_shell_block_are_prose(self):
        self.assert_refused("a.md", "```sh\nrun told  # grey\n```\n", 2, "grey")

    def test_a_path_that_does_not_exist_is_an_error(self):
        done = subprocess.run([SCRIPT, self.folder / "no"], capture_output=True, text=True, timeout=60)
        self.assertEqual(done.returncode, 2)
        self.assertEqual(len(done.stderr.splitlines()), 1)


class Subjects(FolderTest):
    def setUp(self):
        super().setUp()
        for name in ("scripts/check_words", "scripts/words.txt", *(f"results/{kind}schema.json" for kind in ("", "turns.", "published."))):
            (self.folder / name).parent.mkdir(exist_ok=True)
            shutil.copy(ROOT / name, self.folder / name)

    def git(self, *arguments):
        subprocess.run(["git", "-C", self.folder, "-c", "user.name=T", "-c", "user.email=t@example.org", *arguments], check=True)

    def commit(self, subject):
        self.git("commit", "--quiet", "--allow-empty", "-m", subject)

    def check(self, root=None):
        done = subprocess.run([(root or self.folder) / "scripts/check_words"], capture_output=True, text=True, timeout=60)
        return done.returncode, done.stdout, done.stderr

    def test_long_subjects_since_the_last_tag_are_refused(self):
        self.git("init", "--quiet")
        self.git("add", ".")
        self.commit("x" * 73)
        self.assertEqual(self.check()[0], 0)
        self.assertIn("neither a tag nor", self.check()[2])
        self.git("tag", "v1")
        self.commit("x" * 72)
        self.assertEqual(self.check(), (0, "", ""))
        self.commit("é" * 73 + "\n\n" + "x" * 99)
        code, out, _ = self.check()
        self.assertEqual(code, 1)
        self.assertRegex(out, r"\Acommit [0-9a-f]+: a subject of 73 characters: at most 72\n\Z")
        shallow = self.folder / "shallow"
        self.git("clone", "--quiet", "--depth", "1", f"file://{self.folder}", shallow)
        code, out, err = self.check(shallow)
        self.assertEqual((code, out), (0, ""))
        self.assertIn("shallow", err)

    def test_outside_git_none_is_checked(self):
        code, out, err = self.check()
        self.assertEqual((code, out), (0, ""))
        self.assertIn("not a git repository", err)


if __name__ == "__main__":
    unittest.main()
