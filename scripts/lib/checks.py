"""Shared by scripts/check_gpu and scripts/check_cpu besides the runner of commands: the choice of commands, the exit code, and
the parts of a page that say what passed, what failed and what was not run."""

import hashlib
import re
import shlex
import subprocess

from commands import UNFINISHED


class WrongCall(Exception):
    """One line: what is wrong, and how to fix it."""


def digest_of(root, parts):
    """The digest of the sources: the files and folders `parts` under root."""
    digest = hashlib.sha256()
    for part in parts:
        path = root / part
        for file in [path] if path.is_file() else sorted(path.rglob("*")):
            if file.is_file() and "__pycache__" not in file.parts:
                digest.update(f"{file.relative_to(root)}\0".encode() + file.read_bytes())
    return digest.hexdigest()


def commit(root):
    """The commit of the sources, which a copy without a repository cannot state; None if there are changes."""
    git = ["git", "-C", str(root)]
    try:
        changes = subprocess.run([*git, "status", "--porcelain", "--untracked-files=no"], capture_output=True, text=True)
        head = subprocess.run([*git, "rev-parse", "HEAD"], capture_output=True, text=True)
    except OSError:
        return None
    return head.stdout.strip() if head.returncode == changes.returncode == 0 and not changes.stdout else None


def chosen(commands, only):
    """only: names separated by commas, or None for all that measure."""
    if not only:
        return [command for command in commands if not command.here]
    wanted = only.split(",")
    unknown = [name for name in wanted if not name or not any(command.name.startswith(name) for command in commands)]
    if unknown:
        raise WrongCall(f"--only: no command begins with {', '.join(unknown) or 'an empty name'}; --dry-run lists them")
    return [command for command in commands if any(command.name.startswith(name) for name in wanted)]


def dry_run(commands):
    for command in commands:
        print(f"# {command.name}: {'core, ' if command.core else ''}about {command.expected} s, at most {command.limit} s"
              f"{', not here: ' + command.absent if command.absent else ''}")
        print(shlex.join(command.arguments(command.limit)) + (f" > {command.out}" if command.out else ""))
    return 0


def exit_code(runner, picked, say, optional=()):
    """optional: commands that may fail, so that those that need them are left out and not left for another call."""
    did_not_pass = {f"needs {name}, which did not pass" for name in optional}
    status = {command.name: runner.stamps.status(command.name) for command in picked
              if not command.absent and runner.left_out.get(command.name) not in did_not_pass}
    failed = [name for name, value in status.items() if value == "failed"]
    left = [name for name, value in status.items() if value is None or (value in UNFINISHED and value != "failed")]
    if failed:
        say(f"failed: {', '.join(failed)}")
    if left:
        say(f"left for another call: {listed(left)}")
    return 1 if failed else 4 if left else 0


def answer(commands, stamps, left_out):
    """Lines: what passed, what failed and why, and what was not run and why."""
    lines = []
    passed = [command.name for command in commands if is_passed(stamps[command.name])]
    if passed:
        lines.append(f"- proven by {listed(passed)}")
    not_run = {}
    for command in commands:
        stamp = stamps[command.name]
        if stamp and stamp["status"] != "passed":
            what = {"failed": "FAILED", "partial": "in part", "stopped": "stopped", "begun": "interrupted"}[stamp["status"]]
            times = f", {stamp['attempts']} attempts" if stamp["attempts"] > 1 else ""
            lines += [f"- {what}: {command.name}{times}: {complaint}" for complaint in stamp["complaints"] or ["the call ended"]]
        elif not stamp and not command.here:
            reason = command.absent or left_out.get(command.name, "left for another call")
            not_run.setdefault(re.sub(r"needs about .*", "no time was left", reason), []).append(command.name)
    return lines + [f"- not run: {listed(names)}: {reason}" for reason, names in not_run.items()]


def is_passed(stamp):
    return stamp is not None and stamp["status"] == "passed"


def listed(names, most=4):
    """Names in their order; more than a few of one kind are counted."""
    kinds = {}
    for name in names:
        kinds.setdefault(name.split("-")[0], []).append(name)
    return ", ".join(", ".join(group) if len(group) <= most else f"{kind}-* ({len(group)} commands)" for kind, group in kinds.items())


def table(cells):
    """A Markdown table with aligned columns. cells: texts by line, the line of names first."""
    widths = [max(len(line[column]) for line in cells) for column in range(len(cells[0]))]
    lines = ["| " + " | ".join(text.rjust(width) for text, width in zip(line, widths)) + " |" for line in cells]
    return [lines[0], "|" + "|".join("-" * (width + 1) + ":" for width in widths) + "|", *lines[1:]]
