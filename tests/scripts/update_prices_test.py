"""Tests scripts/update_prices on small price lists in the providers' forms."""

import json
import pathlib
import subprocess
import sys
import unittest

from in_folder import FolderTest

ROOT = pathlib.Path(__file__).resolve().parents[2]
SCRIPT = ROOT / "scripts" / "update_prices"


def product(instance, **other):
    return {"productFamily": "Compute Instance",
            "attributes": {"instanceType": instance, "regionCode": "us-east-1", "operatingSystem": "Linux", "tenancy": "Shared",
                           "preInstalledSw": "NA", "capacitystatus": "Used"} | other}


def term(usd):
    return {"X.JRTCKXETXF": {"priceDimensions": {"X.JRTCKXETXF.6YS6EN2CT7": {"unit": "Hrs", "pricePerUnit": {"USD": usd}}}}}


def aws(day="2026-12-24T00:00:00Z"):
    return {"offerCode": "AmazonEC2", "publicationDate": day,
            "products": {"A": product("g5.xlarge"), "B": product("g5.xlarge", operatingSystem="Windows"),
                         "C": product("g5.xlarge", capacitystatus="UnusedCapacityReservation"), "D": product("c7i.2xlarge")},
            "terms": {"OnDemand": {"A": term("1.1000000000"), "B": term("9"), "C": term("9"), "D": term("0.0000000000")}}}


def azure_item(usd, **other):
    return {"armSkuName": "Standard_NC40ads_H100_v5", "armRegionName": "eastus", "currencyCode": "USD", "type": "Consumption",
            "unitOfMeasure": "1 Hour", "productName": "Virtual Machines NCadsH100v5 Series", "skuName": "NC40adsH100v5",
            "retailPrice": usd} | other


AZURE = {"Items": [azure_item(7.5), azure_item(2, skuName="NC40adsH100v5 Spot"),
                   azure_item(9, productName="Virtual Machines NCadsH100v5 Series Windows"),
                   azure_item(5, type="Reservation"), azure_item(6, armRegionName="westus")]}


class UpdatePrices(FolderTest):
    def setUp(self):
        super().setUp()
        self.prices = self.folder / "prices.json"
        self.prices.write_text((ROOT / "bench/prices.json").read_text())

    def call(self, documents, *arguments):
        files = []
        for number, document in enumerate(documents):
            files.append(self.folder / f"list{number}.json")
            files[-1].write_text(document if isinstance(document, str) else json.dumps(document))
        return subprocess.run([sys.executable, SCRIPT, *files, "--prices", self.prices, *arguments], capture_output=True, text=True)

    def rows(self):
        return {row["instance"]: row for row in json.loads(self.prices.read_text())["prices"]}

    def test_changes_the_rows_that_the_lists_have(self):
        before = self.rows()
        call = self.call([aws(), AZURE], "--as-of", "2026-12-25")
        self.assertEqual((call.returncode, call.stderr), (0, ""))
        rows = self.rows()
        self.assertEqual((rows["g5.xlarge"]["usd_per_hour"], rows["g5.xlarge"]["as_of"]), (1.1, "2026-12-25"))
        self.assertEqual(rows["Standard_NC40ads_H100_v5"]["usd_per_hour"], 7.5)
        self.assertIn("Azure Retail Prices", rows["Standard_NC40ads_H100_v5"]["source"])
        for name in set(rows) - {"g5.xlarge", "Standard_NC40ads_H100_v5"}:
            self.assertEqual(rows[name], before[name])
        self.assertIn("g5.xlarge us-east-1: 1.006 as of 2026-01-19 -> 1.1 as of 2026-12-25", call.stdout)
        self.assertIn("c7i.2xlarge us-east-1: in none of the files", call.stdout)

    def test_takes_the_day_of_aws_and_keeps_what_is_newer(self):
        self.assertEqual(self.call([aws()]).returncode, 0)
        self.assertEqual(self.rows()["g5.xlarge"]["as_of"], "2026-12-24")
        old = self.call([aws("2026-02-01T00:00:00Z")])
        self.assertIn("g5.xlarge us-east-1: the file of 2026-02-01 is older", old.stdout)
        self.assertEqual(self.rows()["g5.xlarge"]["as_of"], "2026-12-24")

    def test_leaves_every_other_byte(self):
        before = self.prices.read_text().splitlines()
        self.call([aws()])
        after = self.prices.read_text().splitlines()
        changed = [pair for pair in zip(before, after) if pair[0] != pair[1]]
        self.assertEqual((len(before), len(changed)), (len(after), 1))

    def test_refuses_what_is_no_price_list(self):
        before = self.prices.read_text()
        for document, arguments, part in [("{", [], "cannot be read as JSON"), ([], [], "neither an AWS Price List"),
                                          ({"Items": []}, [], "--as-of"), ({"Items": [1]}, ["--as-of", "2026-12-25"], "whole"),
                                          ({"offerCode": "AmazonEC2"}, [], "not a whole price list"),
                                          (aws(), ["--as-of", "today"], "not a day")]:
            with self.subTest(part):
                call = self.call([document], *arguments)
                self.assertEqual(call.returncode, 2, call.stdout)
                self.assertEqual(len(call.stderr.splitlines()), 1, call.stderr)
                self.assertIn(part, call.stderr)
        self.assertEqual(self.prices.read_text(), before)


if __name__ == "__main__":
    unittest.main()
