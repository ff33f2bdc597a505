"""README, CONTRIBUTING and docs/: links lead somewhere, calls parse, tests that are named exist, cli.md is current."""

import os
import pathlib
import re
import shlex
import subprocess
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
DOCUMENTS = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", ROOT / "CHANGELOG.md", *sorted((ROOT / "docs").glob("*.md"))]
FENCE = re.compile(r"^```(\w*)\n(.*?)^```", re.DOTALL | re.MULTILINE)
MAX_LINES = {"README.md": 150, "CONTRIBUTING.md": 150}


def prose(path):
    """The text without what is quoted."""
    return FENCE.sub("", path.read_text(encoding="utf-8"))


def anchors(path):
    """Those that GitHub gives the headings of a document."""
    found, seen = set(), {}
    for heading in re.findall(r"^#+ (.*)$", prose(path), re.MULTILINE):
        text = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading)
        slug = re.sub(r"[^\w\- ]", "", text.lower()).strip().replace(" ", "-")
        count = seen[slug] = seen.get(slug, -1) + 1
        found.add(f"{slug}-{count}" if count else slug)
    return found


def links(path):
    return re.findall(r"\]\(([^)\s]+)\)", re.sub(r"`[^`\n]*`", "", prose(path)))


def calls(path):
    """The arguments of every call of epochbench in a fenced block."""
    for language, body in FENCE.findall(path.read_text(encoding="utf-8")):
        for line in body.replace("\\\n", " ").splitlines():
            call = re.match(r"\$ (?:build/)?epochbench (.*)", line)
            if call is None and language == "sh":
                call = re.match(r"(?:build/)?epochbench (.*)", line)
            if call is not None:
                lexer = shlex.shlex(call[1], posix=True, punctuation_chars="|>&;")
                lexer.whitespace_split, lexer.commenters = True, "#"
                arguments = []
                for token in lexer:
                    if not set(token) - set("|>&;"):  # a quoted text may contain them
                        break
                    arguments.append(token)
                yield call[0], arguments


def tests_in_the_sources():
    """Every Suite.Test of GoogleTest, Class.test of unittest, and test that CMake names."""
    found = {name for path in (ROOT / "tests").rglob("*.cmake")
             for name in re.findall(r"add_test\(NAME (\w+\.\w+)", path.read_text(encoding="utf-8"))}
    for path in (ROOT / "tests").rglob("*_test.cpp"):
        for suite, test in re.findall(r"^(?:TYPED_)?TEST(?:_[FP])?\((\w+), (\w+)\)", path.read_text(encoding="utf-8"), re.MULTILINE):
            found.add(f"{suite}.{test}")
    for path in (ROOT / "tests").rglob("test_*.py"):
        suite = None
        for kind, name in re.findall(r"^(class|    def) (\w+)", path.read_text(encoding="utf-8"), re.MULTILINE):
            if kind == "class":
                suite = name
            else:
                found.add(f"{suite}.{name}")
    return found


class Docs(unittest.TestCase):
    def test_links_lead_to_a_file_and_a_heading(self):
        count = 0
        for path in DOCUMENTS:
            for link in links(path):
                if re.match(r"[a-z]+:", link):
                    continue
                with self.subTest(path.name, link=link):
                    file, _, anchor = link.partition("#")
                    target = (path.parent / file).resolve() if file else path
                    self.assertTrue(target.exists(), f"{path.name}: {link} leads to no file")
                    if anchor:
                        self.assertIn(anchor, anchors(target), f"{path.name}: {link} leads to no heading")
                    count += 1
        self.assertGreater(count, 50)

    def test_every_page_is_reached_from_the_readme(self):
        linked = {(ROOT / link.partition("#")[0]).resolve() for link in links(ROOT / "README.md")}
        self.assertEqual([path.name for path in DOCUMENTS if path not in linked and path.name != "README.md"], [])

    def test_calls_are_parsed(self):
        count = 0
        for path in DOCUMENTS:
            for text, arguments in calls(path):
                with self.subTest(path.name, call=text):
                    done = subprocess.run([os.environ["EPOCHBENCH_PARSE_CALL"], *arguments], cwd=ROOT, capture_output=True,
                                          text=True, timeout=60)
                    self.assertEqual(done.returncode, 0, f"{path.name}: {text}\n{done.stderr}")
                    count += 1
        self.assertGreater(count, 50)

    def test_a_wrong_call_is_refused(self):
        done = subprocess.run([os.environ["EPOCHBENCH_PARSE_CALL"], "run", "--frobnicate"], capture_output=True, timeout=60)
        self.assertEqual(done.returncode, 2)

    def test_tests_that_are_named_exist(self):
        known = tests_in_the_sources()
        for name in ("statistics.md", "validation.md"):
            named = re.findall(r"`([A-Z]\w+\.\w+)`", prose(ROOT / "docs" / name))
            self.assertGreater(len(named), 10)
            self.assertEqual([test for test in named if test not in known], [], name)

    def test_paths_that_are_named_exist(self):
        count = 0
        for path in DOCUMENTS:
            for named in re.findall(r"`((?:src|tests|scripts|bench|kernels|models|include|results|cmake)/[\w./-]*)[^`]*`", prose(path)):
                with self.subTest(path.name, path=named):
                    self.assertTrue((ROOT / named).exists(), f"{path.name}: there is no {named}")
                    count += 1
        self.assertGreater(count, 30)

    def test_files_of_checklists_exist(self):
        checklists = prose(ROOT / "CONTRIBUTING.md").split("## Adding something", 1)[1].split("\n## ", 1)[0]
        files = re.findall(r"`([\w.*-]+(?:/[\w.*-]*)+)`", checklists)
        self.assertGreater(len(files), 40)
        self.assertEqual([file for file in files if not any(any(root.glob(file)) for root in (ROOT, ROOT / "src"))], [])

    def test_lengths(self):
        for name, most in MAX_LINES.items():
            self.assertLessEqual(len((ROOT / name).read_text(encoding="utf-8").splitlines()), most, name)

    def test_help_is_what_the_program_says(self):
        done = subprocess.run([ROOT / "scripts/make_cli_doc", "--check", os.environ["EPOCHBENCH_BINARY"]], capture_output=True,
                              text=True, timeout=60)
        self.assertEqual(done.returncode, 0, done.stderr)


if __name__ == "__main__":
    unittest.main()
