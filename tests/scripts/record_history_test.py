"""scripts/record_history in a small repository, whose scripts/run makes stand-ins for epochbench."""

import json
import os
import pathlib
import shutil
import subprocess
import tempfile
import unittest

SCRIPT = pathlib.Path(__file__).resolve().parents[2] / "scripts" / "record_history"
RUN = """#!/bin/sh
root=$(dirname "$(dirname "$(readlink -f "$0")")")
test ! -e "$root/broken" || exit 2
mkdir -p "$root/build"
cp "$root/epochbench" "$root/build/epochbench"
echo built >>"$BUILDS"
"""
# compare --interleave BASELINE NEW --suite gate --anonymous --out FILE; compare --history DIR. It ends with the code in `code`.
EPOCHBENCH = """#!/bin/sh
if [ "$2" = --history ]; then ls "$3"; exit 0; fi
printf '["%s", "%s"]' "$3" "$4" >"$9"
exit "$(cat "$(dirname "$4")/../code")"
"""


class RecordHistory(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.root = pathlib.Path(folder.name) / "repository"
        self.builds = pathlib.Path(folder.name) / "builds"
        (self.root / "scripts").mkdir(parents=True)
        (self.root / ".ci").mkdir()
        shutil.copy(SCRIPT, self.root / "scripts")
        for path, text in (("scripts/run", RUN), ("epochbench", EPOCHBENCH)):
            (self.root / path).write_text(text)
            (self.root / path).chmod(0o755)
        (self.root / ".gitignore").write_text("/build/\n")
        self.git("init", "--quiet")
        self.commits = []
        for day, code in enumerate((0, 0, 1, 2), 1):  # as it was, as fast, slower, and one that cannot take turns
            (self.root / "code").write_text(f"{code}\n")
            if day == 2:
                (self.root / ".ci" / "pinned-commit").write_text(self.commits[0] + "\n")
            self.git("add", "--all")
            date = f"2026-11-{day:02}T12:00:00+0000"
            self.git("commit", "--quiet", "--allow-empty", "-m", f"Day {day}", date=date)
            self.commits.append(self.git("rev-parse", "HEAD").strip())

    def git(self, *arguments, date="2026-11-01T12:00:00+0000"):
        who = {f"GIT_{role}_{field}": value for role in ("AUTHOR", "COMMITTER")
               for field, value in (("NAME", "T"), ("EMAIL", "t@example.org"), ("DATE", date))}
        return subprocess.run(["git", *arguments], cwd=self.root, check=True, capture_output=True, text=True,
                              env={**os.environ, **who}).stdout

    def record(self, *arguments):
        return subprocess.run([self.root / "scripts" / "record_history", *arguments], capture_output=True, text=True, cwd="/",
                              env={**os.environ, "BUILDS": str(self.builds)})

    def documents(self, folder="results/history"):
        return sorted(path.name for path in (self.root / folder).glob("*"))

    def test_each_commit_takes_turns_with_the_pinned_one_once(self):
        first, second, third = (commit[:7] for commit in self.commits[:3])
        call = self.record(second, third)
        self.assertEqual(call.returncode, 0, call.stderr)
        names = [f"2026-11-02-{second}.json", f"2026-11-03-{third}.json"]
        self.assertEqual(self.documents(), names)
        pair = json.loads((self.root / "results/history" / names[1]).read_text())
        self.assertEqual(pair, [f"build/history/{first}/build/epochbench", f"build/history/{third}/build/epochbench"])
        self.assertRegex(call.stdout, rf"\| {third} \| \d+ s \| \d+ bytes \|")
        self.assertIn("```\n" + "\n".join(names) + "\n```", call.stdout)
        builds = len(self.builds.read_text().splitlines())
        self.assertEqual(builds, 4)  # the program that conducts, the pinned commit and two others
        again = self.record(second, third)
        self.assertEqual(again.returncode, 0, again.stderr)
        self.assertNotIn("bytes", again.stdout)
        self.assertEqual(len(self.builds.read_text().splitlines()), builds + 1)

    def test_a_clean_head_is_built_in_its_own_folder_alone(self):
        self.git("checkout", "--quiet", self.commits[2])
        call = self.record("--into", "elsewhere")
        self.assertEqual(call.returncode, 0, call.stderr)
        name, = self.documents("elsewhere")
        self.assertEqual(json.loads((self.root / "elsewhere" / name).read_text())[1], "./build/epochbench")
        self.assertEqual(len(self.builds.read_text().splitlines()), 2)

    def test_refusals(self):
        self.git("checkout", "--quiet", self.commits[3])
        (self.root / "broken").write_text("")
        self.git("add", "--all")
        self.git("commit", "--quiet", "-m", "Broken")
        broken = self.git("rev-parse", "HEAD").strip()
        self.git("checkout", "--quiet", self.commits[3])
        for arguments, parts in (
            (["nowhere"], ["'nowhere' is not a commit"]),
            (["--into"], ["--into needs a folder"]),
            (["--onto", "x"], ["unknown option --onto", "--help"]),
            ([self.commits[3]], [self.commits[3][:7], "could not take turns", "exit code 2"]),
            ([broken], [broken[:7], "was not built", ".log"]),
        ):
            with self.subTest(arguments):
                call = self.record(*arguments)
                self.assertEqual(call.returncode, 2, call.stdout + call.stderr)
                for part in parts:
                    self.assertIn(part, call.stderr)
        self.assertEqual(self.documents(), [], "the next call would pass over the commit")


if __name__ == "__main__":
    unittest.main()
