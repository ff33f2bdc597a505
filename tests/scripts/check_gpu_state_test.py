"""The state of scripts/check_gpu: what is saved comes back, whenever a call ends, and there is room for it."""

import io
import json
import pathlib
import random
import shutil
import sys
import tarfile
import tempfile
import time
import unittest

from in_folder import FolderTest

REPOSITORY = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(REPOSITORY / "scripts" / "lib"))

import gpu_state  # noqa: E402
from killed import Killed, killed_at, parts_of  # noqa: E402


class StateFiles(FolderTest):
    """With parts of 64 KiB, since compression takes its time."""

    def setUp(self):
        super().setUp()
        parts_of(self, gpu_state, 2 ** 16)
        self.source, self.program, self.archive = (self.folder / name for name in ("source", "program", "state"))
        (self.source / "logs").mkdir(parents=True)
        (self.source / "record.json").write_text("{}")
        (self.source / "logs" / "a.log").write_text("text")
        self.said = []

    def state(self, others=0):
        return gpu_state.State(self.archive, others, self.said.append, ("hour", "claims"))

    def loaded(self):
        into = self.folder / "into"
        return self.state().load(into, self.folder / "loaded"), into

    def test_records_and_program_come_back_and_one_generation_is_kept(self):
        data = random.Random(0).randbytes(80 * 2 ** 10)  # does not compress: two parts
        self.program.write_bytes(data)
        state = self.state()
        for _ in range(3):
            state.save(self.source, self.program)
        sizes = [path.stat().st_size for path in self.archive.iterdir()]
        self.assertEqual(len(sizes), 3)
        self.assertLess(max(sizes), 2 ** 16)
        found, into = self.loaded()
        self.assertTrue(found)
        self.assertEqual(((into / "record.json").read_text(), (into / "logs" / "a.log").read_text()), ("{}", "text"))
        self.assertTrue((self.folder / "loaded").read_bytes() == data)

    def test_parts_of_a_program_are_joined_in_their_order(self):
        for seed in range(6):  # digests in the names sort them in any order
            program = random.Random(seed).randbytes(80 * 2 ** 10)
            self.save("record", program)
            self.assertEqual(self.contents(), ("record", gpu_state.digest(program)))

    def test_a_program_without_room_stays_behind_and_that_is_said(self):
        self.program.write_bytes(random.Random(0).randbytes(80 * 2 ** 10))
        self.state(others=30 * 2 ** 12).save(self.source, self.program)
        self.assertEqual(len(list(self.archive.iterdir())), 1)
        self.assertIn("is left out of the state", self.said[0])

    def write_logs(self, count):
        for number in range(count):
            (self.source / "logs" / f"{number}.log").write_bytes(random.Random(number).randbytes(2 ** 11))

    def write_result(self, name, steps, runs=1):
        """Whose numbers do not compress."""
        draw = random.Random(name)
        series = [{"timing": {"step_seconds": [draw.random() for _ in range(steps)], "step_seconds_median": 0.5},
                   "quality": {"loss": [draw.random() for _ in range(steps)], "loss_left_out": 7},
                   "gpu": {"throttled_step_ranges": [[3, 5], [90, 120], [steps - 1, steps - 1]]}} for _ in range(runs)]
        (self.source / name).write_text(json.dumps({"runs": [*series, {"timing": None, "quality": None}]}))

    def saved(self):
        """What came back of a save; the state is within its limit, and there is at most one line about it."""
        (self.source / "stamps").mkdir(exist_ok=True)
        (self.source / "stamps" / "info.json").write_text("stamp")
        state = self.state()
        for _ in range(2):
            state.save(self.source, self.program)
        self.assertLess(max(path.stat().st_size for path in self.archive.iterdir()), 2 ** 16)
        self.assertLessEqual(len(self.said), 1)
        into = self.loaded()[1]
        self.assertEqual((into / "stamps" / "info.json").read_text(), "stamp")
        return {path.relative_to(into).as_posix() for path in into.rglob("*") if path.is_file()}, into

    def test_the_steps_of_suites_are_cut_first(self):
        self.write_result("claims.json", 5000)
        self.write_result("record.json", 500)
        self.write_logs(10)
        names, into = self.saved()
        self.assertTrue({"claims.json", "record.json", "logs/3.log"} <= names)
        self.assertEqual(self.said, ["left out of the state, which would have more than 16 MiB: the steps of suites beyond the first 100 "
                                     f"of a run; see {self.source}"])
        self.assertEqual((into / "record.json").read_text(), (self.source / "record.json").read_text())
        cut, whole = (json.loads((folder / "claims.json").read_text())["runs"] for folder in (into, self.source))
        self.assertEqual(cut[1], whole[1])
        self.assertEqual(cut[0]["timing"], {"step_seconds": whole[0]["timing"]["step_seconds"][:100], "step_seconds_median": 0.5,
                                            "step_seconds_left_out": 4900})
        self.assertEqual(cut[0]["quality"], {"loss": whole[0]["quality"]["loss"][:100], "loss_left_out": 4907})
        self.assertEqual(cut[0]["gpu"]["throttled_step_ranges"], [[3, 5], [90, 99]])

    def test_then_logs_stay_behind(self):
        self.write_logs(80)
        self.write_result("hour-2.json", 200)
        names, _ = self.saved()
        self.assertEqual(names, {"record.json", "hour-2.json", "stamps/info.json"})
        self.assertIn("of a run, logs; see", self.said[0])

    def test_then_results_of_suites_the_largest_first(self):
        self.write_result("claims.json", 100, runs=60)
        self.write_result("hour.json", 100, runs=10)
        names, _ = self.saved()
        self.assertEqual(names, {"record.json", "hour.json", "stamps/info.json"})
        self.assertIn("of a run, logs, claims.json; see", self.said[0])

    def test_stamps_and_the_record_are_saved_whatever_else_there_is(self):
        (self.source / "parity-0.json").write_bytes(random.Random(0).randbytes(2 ** 17))
        (self.source / "claims.json").write_text("{")  # cut off
        self.assertEqual(self.saved()[0], {"record.json", "stamps/info.json"})
        self.assertIn(": everything but stamps, the record and the page; see", self.said[0])

    def test_records_without_room_are_said(self):
        (self.source / "record.json").write_bytes(random.Random(0).randbytes(2 ** 17))
        self.state().save(self.source, self.program)
        self.assertEqual(self.said, ["the stamps and the record have more than 16 MiB: the state is not saved"])

    def test_sources_pack_and_state_have_a_limit(self):
        with self.assertRaisesRegex(gpu_state.StateError, "more than"):
            self.state(others=61 * 2 ** 12)

    def contents(self):
        """(records, digest of the program), as a bare machine finds them; None for what is missing."""
        with tempfile.TemporaryDirectory() as bare:
            into, program = pathlib.Path(bare) / "into", pathlib.Path(bare) / "program"
            found = self.state().load(into, program)
            return ((into / "record.json").read_text() if found else None,
                    gpu_state.digest(program.read_bytes()) if program.exists() else None)

    def test_a_save_that_is_killed_leaves_a_state_that_loads_and_the_next_one_is_whole(self):
        programs = {name: random.Random(name).randbytes(80 * 2 ** 10) for name in ("old", "new")}
        old, new = map(gpu_state.digest, programs.values())
        self.save("old", programs["old"])
        with killed_at(None) as calls:
            self.save("new", programs["new"])
        seen = set()
        for number in range(len(calls)):
            with self.subTest(number=number):
                shutil.rmtree(self.archive)
                self.save("old", programs["old"])
                time.sleep(0.01)  # of two programs the later one is known by its time
                with self.assertRaises(Killed), killed_at(number):
                    self.save("new", programs["new"])
                seen.add(self.contents())
                self.save("new", programs["new"])
                self.assertEqual(self.contents(), ("new", new))
                self.assertEqual(len(list(self.archive.iterdir())), 3)
        self.assertEqual(seen, {("old", old), ("old", new), ("new", new)})
        self.assertEqual(self.said, [])

    def save(self, record, program):
        (self.source / "record.json").write_text(record)
        self.program.write_bytes(program)
        self.state().save(self.source, self.program)

    def test_a_program_without_one_of_its_parts_is_left_out_in_one_line_and_saved_again(self):
        for part in (0, 1):
            self.save("old", random.Random(0).randbytes(80 * 2 ** 10))
            sorted(self.archive.glob("program-*"))[part].unlink()
            self.assertEqual(self.contents(), ("old", None))
            self.assertEqual(self.said.pop(), f"the program in {self.archive} lacks a part: it is left out, and built again")
            self.assertEqual(self.said, [])

    def test_choices_of_algorithms_are_taken_from_a_state_of_any_sources(self):
        choices = self.source / "cache" / "epochbench" / "choices-3.json"
        choices.parent.mkdir(parents=True)
        choices.write_text("old")
        self.state().save(self.source, self.program)
        into = self.folder / "next"
        gpu_state.take_choices(self.archive, into)
        self.assertEqual([path.relative_to(into).as_posix() for path in into.rglob("*") if path.is_file()],
                         ["cache/epochbench/choices-3.json"])
        own = into / "cache" / "epochbench" / "choices-3.json"
        self.assertEqual(own.read_text(), "old")
        own.write_text("own")  # a later call of the same check
        gpu_state.take_choices(self.archive, into)
        self.assertEqual(own.read_text(), "own")

    def test_a_folder_without_choices_is_one_line(self):
        self.state().save(self.source, self.program)
        for folder, reason in ((self.archive, "contains no choices of algorithms"), (self.folder / "none", "cannot be read as --choices")):
            with self.assertRaisesRegex(gpu_state.StateError, f"^{folder} {reason}.*: name the folder of a --state"):
                gpu_state.take_choices(folder, self.folder / "next")

    def test_every_kind_of_damage_is_found(self):
        self.program.write_bytes(random.Random(0).randbytes(80 * 2 ** 10))
        for damage in ("cut", "changed", "no archive", "outside"):
            with self.subTest(damage):
                for old in self.archive.glob("*"):
                    old.unlink()
                self.state().save(self.source, self.program)
                records, parts = next(self.archive.glob("records-*")), sorted(self.archive.glob("program-*"))
                data = records.read_bytes()
                if damage == "cut":
                    records.write_bytes(data[:-100])
                elif damage == "changed":
                    parts[0].write_bytes(b"x" + parts[0].read_bytes()[1:])
                else:
                    out = io.BytesIO()
                    with tarfile.open(fileobj=out, mode="w:gz") as archive:
                        archive.addfile(tarfile.TarInfo("../outside"))
                    other = b"not an archive" if damage == "no archive" else out.getvalue()
                    records.unlink()
                    (self.archive / f"records-000009-{gpu_state.digest(other)}.tar.gz").write_bytes(other)
                with self.assertRaises(gpu_state.StateError) as caught:
                    self.loaded()
                self.assertEqual(len(str(caught.exception).splitlines()), 1)
                self.assertFalse((self.folder / "outside").exists())


if __name__ == "__main__":
    unittest.main()
