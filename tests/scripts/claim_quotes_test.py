"""The quotes of bench/claims.json against the articles: the folder of these is named by EPOCHBENCH_ARTICLES."""

import hashlib
import json
import os
import pathlib
import re
import unittest

CATALOG = json.loads((pathlib.Path(__file__).resolve().parents[2] / "bench/claims.json").read_text(encoding="utf-8"))
FOLDER = os.environ.get("EPOCHBENCH_ARTICLES")
LONGEST = 200


def one_spaced(text):
    return re.sub(r"\s+", " ", text)  # \s has the space that does not break, U+00A0


@unittest.skipUnless(FOLDER, "EPOCHBENCH_ARTICLES does not name the folder of the articles")
class ClaimQuotes(unittest.TestCase):
    def test_articles_are_the_ones_that_were_read(self):
        for article in CATALOG["articles"]:
            with self.subTest(article["file"]):
                content = (pathlib.Path(FOLDER) / article["file"]).read_bytes()
                self.assertEqual(hashlib.sha256(content).hexdigest(), article["sha256"])

    def test_every_claim_has_its_sentence_word_for_word(self):
        texts = {article["file"]: one_spaced((pathlib.Path(FOLDER) / article["file"]).read_text(encoding="utf-8"))
                 for article in CATALOG["articles"]}
        for claim in CATALOG["claims"]:
            self.assertTrue(claim["quotes"], claim["id"])
            for quote in claim["quotes"]:
                with self.subTest(claim["id"], quote=quote["text"]):
                    self.assertEqual(quote["text"], one_spaced(quote["text"]))
                    self.assertLessEqual(len(quote["text"]), LONGEST)
                    self.assertIn(quote["text"], texts[quote["article"]])

    def test_what_a_file_lost_is_said(self):
        for claim in CATALOG["claims"]:
            for quote in claim["quotes"]:
                if re.search(r"\d \d+×", quote["text"]):
                    self.assertRegex(quote.get("reads", ""), r"^\d–\d+×$", claim["id"])


if __name__ == "__main__":
    unittest.main(verbosity=2)
