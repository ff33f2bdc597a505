"""results/schema.json and what is held to it: the results that we stand behind, the documents' examples, and a result in which
everything is known. What the other tests write is checked where they write it (support.py)."""
import json
import os
import pathlib
import re
import subprocess
import unittest

import jsonschema

from support import SCHEMA, VALIDATOR, CliTest, load, load_turns, measured_claims, reject_constant

ROOT = pathlib.Path(__file__).resolve().parents[2]
COMPLETE = os.environ["EPOCHBENCH_COMPLETE_RESULT"]
DOCUMENTS = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", ROOT / "results" / "README.md", *sorted((ROOT / "docs").glob("*.md"))]


def json_of(document):
    """Every JSON object that a Markdown text shows, in a block or between backticks."""
    blocks = re.findall(r"^```json\n(.*?)^```", document, re.DOTALL | re.MULTILINE)
    spans = [re.sub(r"\s+", " ", span) for span in re.findall(r"(?<!`)`(\{\s*\"[^`]*\})`(?!`)", document)]
    return [json.loads(text, parse_constant=reject_constant) for text in blocks + spans]


def referred(schema):
    """The part of the schema that a $ref names."""
    return SCHEMA["definitions"][schema["$ref"].rsplit("/", 1)[1]] if "$ref" in schema else schema


def oldest(document, schema):
    """The document without the keys that version 1 does not ask for, which came later or may be left out."""
    schema = referred(schema)
    if isinstance(document, list):
        return [oldest(each, schema.get("items", {})) for each in document]
    if not isinstance(document, dict) or "required" not in schema:
        return document
    return {key: oldest(each, schema["properties"].get(key, {})) for key, each in document.items() if key in schema["required"]}


def load_ours(text):
    """A result in results/. Those of scripts/check_cpu have a further key, which no command reads."""
    document = json.loads(text)
    document.pop("check", None)
    return load(json.dumps(document))


class Schema(CliTest):
    def complete(self):
        return load(subprocess.run([COMPLETE], check=True, capture_output=True, text=True).stdout)

    def test_is_a_schema(self):
        jsonschema.Draft7Validator.check_schema(SCHEMA)

    def test_results_that_we_stand_behind(self):
        for folder, loader in (("results", load_ours), ("results/history", load_turns)):  # test_import.py has results/published
            documents = [path for path in sorted((ROOT / folder).glob("*.json")) if not path.name.endswith("schema.json")]
            self.assertTrue(documents, folder)
            for path in documents:
                with self.subTest(f"{folder}/{path.name}"):
                    loader(path.read_text())

    def test_examples_of_the_documents(self):
        results = suites = 0
        for path in DOCUMENTS:
            for example in json_of(path.read_text()):
                with self.subTest(path.name, example=str(example)[:60]):
                    if "schema_version" in example:
                        VALIDATOR.validate(example)
                        results += 1
                    elif "cases" in example:
                        suite = self.write("suite.json", example)
                        # The suite is read first; then the call is refused for another reason, so nothing runs.
                        self.assert_refused(self.call("run", "--suite", suite, "--repetitions", "0"), 2, "--repetitions")
                        suites += 1
        self.assertGreaterEqual(suites, 1)

    def test_names_every_key_of_a_complete_result(self):
        self.complete()

    def test_refuses_what_a_result_may_not_say(self):
        for change in ({"status": "splendid"}, {"timing": None}, {"repetition": -1}, {"precision": "fp8"}):
            document = self.complete()
            document["runs"][0].update(change)
            with self.subTest(str(change)), self.assertRaises(jsonschema.ValidationError):
                VALIDATOR.validate(document)

    def test_the_least_that_version_1_asks_for_is_read(self):
        document = oldest(self.complete(), SCHEMA)
        VALIDATOR.validate(document)
        self.assertNotIn("profile", document["runs"][0])
        path = self.write("old.json", document)
        for command in (["speedup"], ["claims", "--catalog", measured_claims(self.folder)], ["answers"]):
            with self.subTest(command[0]):
                call = self.call(*command, path)
                self.assertIn(call.returncode, (0, 2), call.stderr)
                self.assertNotIn("schema", call.stderr)


if __name__ == "__main__":
    unittest.main()
