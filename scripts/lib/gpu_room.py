"""Chooses the files of a check that are saved if together they are too large: first the step times of suites are cut, then logs and
whole results of suites are left out, the largest first. Stamps and the record are always saved.
"""

import json
import re

KEPT_STEPS = 100  # of each series; medians, intervals and totals are of all steps
SERIES = (("timing", "step_seconds"), ("latency", "step_seconds"), ("quality", "loss"))
NEVER_LEFT_OUT = re.compile(r"stamps/.*|page\.md|(state|info|(record|peers)(-\d+)?)\.json")


def shortened(text):
    """A result whose series end after KEPT_STEPS; `KEY_left_out` beside them counts the rest, as where epochbench itself cuts them."""
    result = json.loads(text)
    for run in result["runs"]:
        for group, key in SERIES:
            values = run.get(group) or {}
            rest = len(values.get(key) or ()) - KEPT_STEPS
            if rest > 0:
                values[key] = values[key][:KEPT_STEPS]
                values[f"{key}_left_out"] = values.get(f"{key}_left_out", 0) + rest
        ranges = (run.get("gpu") or {}).get("throttled_step_ranges")
        if ranges:
            run["gpu"]["throttled_step_ranges"] = [[first, min(last, KEPT_STEPS - 1)] for first, last in ranges if first < KEPT_STEPS]
    return json.dumps(result, separators=(",", ":"))


class Files:
    """The files below a folder, fewer and shorter from one level to the next. suites: names of their result files."""

    def __init__(self, folder, suites):
        self.folder, self.suites = folder, suites
        self.cut = {}  # path -> its size and time, and its shortened text: a suite is saved again after every command

    def is_suite(self, path):
        return any(re.fullmatch(rf"{suite}(-\d+)?\.json", path.name) for suite in self.suites)

    def levels(self, paths):
        """(what is left out, the paths that stay, whether results of suites are shortened); first "", where nothing is."""
        yield "", paths, False
        left_out = [f"the steps of suites beyond the first {KEPT_STEPS} of a run"]
        yield left_out[0], paths, True
        logs = [path for path in paths if path.relative_to(self.folder).parts[0] == "logs"]
        suites = sorted(filter(self.is_suite, paths), key=lambda path: path.stat().st_size, reverse=True)
        for name, dropped in [("logs", logs)] * bool(logs) + [(suite.name, [suite]) for suite in suites]:
            left_out, paths = [*left_out, name], [path for path in paths if path not in dropped]
            yield ", ".join(left_out), paths, True
        yield ("everything but stamps, the record and the page",
               [path for path in paths if NEVER_LEFT_OUT.fullmatch(path.relative_to(self.folder).as_posix())], True)

    def read(self, path, short):
        if not short or not self.is_suite(path):
            return path.read_bytes()
        key = path.stat().st_size, path.stat().st_mtime_ns
        if self.cut.get(path, (None,))[0] != key:
            try:
                self.cut[path] = key, shortened(path.read_text()).encode()
            except (ValueError, LookupError, TypeError, AttributeError):  # a file that was cut off; its stamp says so
                self.cut[path] = key, path.read_bytes()
        return self.cut[path][1]
