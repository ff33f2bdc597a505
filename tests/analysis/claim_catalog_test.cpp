// The claims' catalog, and what people and programs read of it.
#include <algorithm>
#include <set>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "src/base/lookup.h"
#include "src/base/text.h"
#include "src/published/import.h"
#include "src/report/text/answer_text.h"
#include "src/session/claim_plans.h"
#include "tests/support/made_claims.h"

namespace epochbench {
namespace {

using testing::HasSubstr;

TEST(ClaimCatalog, EveryClaimIsThereOnceWithAReasonToBelieveItsVerdict) {
  const ClaimCatalog& catalog = embedded_claims();
  EXPECT_EQ(catalog.claims.size(), 54u);
  for (const Claim& claim : catalog.claims) {
    for (const std::string* text : {&claim.text, &claim.origin, &claim.conditions, &claim.experiment, &claim.verdict})
      EXPECT_FALSE(text->empty()) << claim.id;
    EXPECT_FALSE(claim.quotes.empty()) << claim.id;
    std::set<std::string> ids;
    for (const ClaimQuantity& quantity : claim.quantities) EXPECT_TRUE(ids.insert(quantity.id).second) << claim.id;
  }
}

// Without results only what the catalog states is judged: no claim is measured, and what has no verdict says why.
TEST(ClaimCatalog, EveryClaimHasAnAnswerWithoutResults) {
  for (const ClaimAnswer& answer : judge(embedded_claims().claims, std::vector<NamedResult>{})) {
    if (answer.verdict == Verdict::not_testable)
      EXPECT_FALSE(answer.reason.empty()) << answer.id;
    else
      EXPECT_NE(answer.evidence, EvidenceClass::measured) << answer.id;
  }
}

TEST(ClaimCatalog, EveryPartHasAName) {
  const NamedResult made = result_of({runs_of("resnet50", "cpu", "fp32", 16, 100)});
  for (const ClaimAnswer& answer : judge(embedded_claims().claims, std::vector{made}))
    for (const ClaimAnswer& part : answer.parts) EXPECT_FALSE(part.id.empty()) << answer.id;
}

// On a machine without a GPU, before any run, only what needs a run or prices, or what nobody published, is open.
TEST(ClaimCatalog, FewClaimsHaveNoVerdictWithoutAGpu) {
  ClaimFacts facts = facts_for(embedded_claims().claims);
  facts.published = embedded_published();
  std::set<std::string> open, known;
  for (const ClaimAnswer& answer : judge(embedded_claims().claims, {}, facts))
    if (answer.verdict == Verdict::not_testable) open.insert(answer.id);
  for (const char* ids : {// by a run
                          "batch-accuracy batch-throughput feed-the-beast graph-optimisation matrix-core hour-benchmark "
                          "half-precision-less-accurate mixed-precision-quality software-hardware small-models-cpu small-ops",
                          // by prices
                          "cloud-cost-effective cloud-idle local-vs-cloud",
                          // by a CPU of many cores
                          "gap-widens",
                          // by hardware
                          "ann-cpu-1.2x azure-186-804 cpu-128-cores deci-3x energy hbm-vs-cpu numerical-stability real-time"})
    for (const std::string& id : split(ids, ' ')) known.insert(id);
  EXPECT_EQ(open, known);
}

TEST(ClaimCatalog, RefusesWhatItCannotMeasure) {
  const auto refused = [](const std::string& quantity) {
    try {
      parse_claims(R"({"note": "", "conflicts": [], "claims": [{"id": "a", "text": "t", "conditions": "c", "origin": "o",
                      "experiment": "e", "verdict": "v", "quantities": [)" +
                       quantity + "]}]}",
                   "claims");
    } catch (const FormatError& error) {
      return std::string(error.what());
    }
    return std::string();
  };
  const std::string head = R"({"quantity": "q", "unit": "x", )";
  EXPECT_EQ(refused(head + R"("claimed": [1, null], "kind": "missing", "reason": "r"})"), "");
  EXPECT_THAT(refused(head + R"("claimed": [2, 1], "kind": "missing", "reason": "r"})"), HasSubstr("above the high"));
  EXPECT_THAT(refused(head + R"("claimed": [1], "kind": "missing", "reason": "r"})"), HasSubstr("[low, high]"));
  EXPECT_THAT(refused(head + R"("claimed": [1, 2], "kind": "guess"})"), HasSubstr("choose from"));
  EXPECT_THAT(refused(head + R"("claimed": [1, 2], "kind": "missing"})"), HasSubstr("reason"));
  EXPECT_THAT(
      refused(head + R"("claimed": [1, 2], "kind": "ratio", "measure": "m", "models": ["a"], "of": {"backends": ["cpu"]}})"),
      HasSubstr("to: missing"));
  EXPECT_THAT(
      refused(head + R"("claimed": [1, 2], "kind": "plan", "measure": "bytes", "models": ["a"], "of": {"mode": "train"}})"),
      HasSubstr("of.precisions: missing"));
  const auto stated = [&](const std::string& figure, const std::string& more = "") {
    return refused(head + R"("claimed": [null, 0], "kind": "stated", "figures": [{"of": "a", )" + figure +
                   R"(, "source": "s", "url": "u", "date": "2026"})" + more + "]}");
  };
  EXPECT_EQ(stated(R"("value": -1, "ci95": [-2, 1])"), "");
  EXPECT_THAT(stated(R"("value": -1)"), HasSubstr("figures[0].value: must be above 0"));
  EXPECT_THAT(stated(R"("value": -3, "ci95": [-2, 1])"), HasSubstr("figures[0].ci95: does not contain the value"));
  EXPECT_THAT(stated(R"("value": 1, "over": 2, "ci95": [-2, 1])"), HasSubstr("is of a ratio"));
  EXPECT_THAT(
      stated(R"("value": 1, "ci95": [-2, 1])", R"(, {"of": "b", "value": 1, "source": "s", "url": "u", "date": "2026"})"),
      HasSubstr("is of one figure among several"));
  EXPECT_THAT(refused(head + R"("claimed": [1, 2], "kind": "expected", "measure": "samples_per_second", "models": ["a"],
                             "entries": ["t4"], "of": {"precisions": ["fp32"]}, "to": {"precisions": ["fp32"]}})"),
              HasSubstr("against: missing"));
  EXPECT_THAT(refused(head + R"("claimed": [1, 2], "kind": "effect", "measure": "samples_per_second", "models": ["a"],
                             "of": {"backends": ["cpu"]}, "to": {"backends": ["cpu"]},
                             "than": {"of": {"backends": ["cpu"]}, "to": {"backends": []}}})"),
              HasSubstr("than.to.backends: missing"));
  EXPECT_THAT(refused(head + R"("claimed": [1, 2], "kind": "predicted", "measure": "seconds", "models": ["a"],
                             "entries": ["t4"], "of": {"precisions": ["fp32"]}, "samples": 0})"),
              HasSubstr("samples: missing"));
  EXPECT_THAT(refused(head + R"("claimed": [1, 2], "kind": "missing", "reason": "r", "pairing": "worst"})"),
              HasSubstr("pairing"));
  EXPECT_THAT(refused(head + R"("claimed": [1, 2], "kind": "missing", "reason": "r", "weak": "to be fast"})"),
              HasSubstr("weak"));
  EXPECT_THAT(refused(head + R"("claimed": [1, 2], "kind": "missing", "reason": "r", "precondition": "memory"})"),
              HasSubstr("precondition: 'memory' is not the id"));
  EXPECT_THAT(refused(head + R"("claimed": [1, 2], "kind": "feeding", "measure": "utilization", "models": ["a"],
                             "of": {"backends": ["cpu"], "precisions": ["fp32"]}})"),
              HasSubstr("measure"));
}

TEST(ClaimCatalog, RefusesAQuoteThatCannotBeFound) {
  const auto refused = [](const std::string& sha256, const std::string& article, const std::string& text) {
    try {
      parse_claims(R"({"note": "", "articles": [{"file": "a.txt", "sha256": ")" + sha256 + R"("}], "conflicts": [], "claims": [
                      {"id": "a", "text": "t", "conditions": "c", "origin": "o", "experiment": "e", "verdict": "v",
                       "quotes": [{"article": ")" +
                       article + R"(", "text": ")" + text + R"("}], "quantities": [
                       {"quantity": "q", "unit": "x", "claimed": [1, null], "kind": "missing", "reason": "r"}]}]})",
                   "claims");
    } catch (const FormatError& error) {
      return std::string(error.what());
    }
    return std::string();
  };
  const std::string hash(64, 'a');
  EXPECT_EQ(refused(hash, "a.txt", std::string(200, 'w')), "");
  EXPECT_THAT(refused(hash, "a.txt", std::string(201, 'w')), HasSubstr("quotes[0].text: a quote has 1 to 200 characters"));
  EXPECT_THAT(refused(hash, "a.txt", ""), HasSubstr("1 to 200 characters"));
  EXPECT_THAT(refused(hash, "b.txt", "w"), HasSubstr("'b.txt' is not in the list of articles"));
  EXPECT_THAT(refused("12", "a.txt", "w"), HasSubstr("64 lowercase hexadecimal digits"));
}

TEST(ClaimsText, ListsTheQuotesWithTheirArticle) {
  const std::string text = claims_list_text(embedded_claims());
  EXPECT_THAT(text, HasSubstr("which reads 4–8×"));
  EXPECT_THAT(text, HasSubstr("(gpu acceleration in ai)"));
}

TEST(ClaimsText, WrapsAndNamesWhatCannotHoldTogether) {
  const NamedResult made =
      result_of({runs_of("resnet50", "cpu", "fp32", 16, 100), runs_of("resnet50", "cuda", "fp32", 16, 500)});
  const std::string text = claims_text(embedded_claims(), judge(embedded_claims().claims, std::vector{made}));
  EXPECT_THAT(text, HasSubstr("claims that cannot hold together"));
  EXPECT_THAT(text, HasSubstr("cnn-transformer-4-8x: undecided"));
  EXPECT_THAT(text, HasSubstr("why: most takes at least 3 models; it holds for 1 of 1 that were tested"));
  EXPECT_THAT(text, HasSubstr("reproduced: 5.00 [4.98, 5.02]x, claimed 4.00 to 8.00x"));
  std::size_t longest = 0, begin = 0;
  for (std::size_t end = text.find('\n'); end != std::string::npos; begin = end + 1, end = text.find('\n', begin))
    longest = std::max(longest, end - begin);
  EXPECT_LE(longest, 100u);
}

// One row per claim within 80 columns: a word per class of evidence that has a verdict.
TEST(ClaimsText, HasATableOfAllVerdicts) {
  const NamedResult made =
      result_of({runs_of("resnet50", "cpu", "fp32", 16, 100), runs_of("resnet50", "cuda", "fp32", 16, 500)});
  ClaimFacts facts = facts_for(embedded_claims().claims);
  facts.published = embedded_published();
  const std::vector<ClaimAnswer> answers = judge(embedded_claims().claims, std::vector{made}, facts);
  const std::vector<std::string> rows = split(claims_table_text(answers), '\n');
  const auto heading = std::ranges::find_if(rows, [](const std::string& row) { return row.starts_with("claim "); });
  ASSERT_NE(heading, rows.end());
  EXPECT_THAT(*heading, testing::ContainsRegex("claimed +measured +planned +others +predicted"));
  for (std::size_t i = 0; i < answers.size(); ++i) {
    const std::string& row = *(heading + 1 + static_cast<std::ptrdiff_t>(i));
    EXPECT_TRUE(row.starts_with(answers[i].id + " ")) << row;
    EXPECT_LE(display_width(row), 80u) << row;
    EXPECT_EQ(answers[i].verdicts.empty(), row.ends_with(" -")) << row;
  }
  EXPECT_THAT(*(heading + 1), testing::ContainsRegex("^cnn-transformer-4-8x +4–8x +unclear +unclear +unclear$"));
  EXPECT_THAT(rows.front(), HasSubstr(" reproduced (holds), "));
}

// What many parts have in common stands once, below.
TEST(ClaimsText, SaysOnceWhatPartsHaveInCommon) {
  ClaimFacts facts = facts_for(embedded_claims().claims);
  const std::string text = claims_text(embedded_claims(), judge(embedded_claims().claims, {}, facts));
  const std::string common = "CPUs were measured on at most 2 cores";
  ASSERT_THAT(text, HasSubstr(common));
  EXPECT_EQ(text.find(common), text.rfind(common));
  EXPECT_THAT(text, HasSubstr("∞: the evidence gives no upper end"));
  EXPECT_THAT(text, testing::Not(HasSubstr(", open]")));
}

TEST(ClaimsText, TellsOnceWhyThereIsNoGpu) {
  auto skipped = run_of("resnet50", "cuda", "fp32", 16, 1, 0);
  skipped.status = RunStatus::skipped;
  skipped.message = "no driver is here";
  const NamedResult made = result_of({runs_of("resnet50", "cpu", "fp32", 16, 100), {skipped}});
  const std::string text = claims_text(embedded_claims(), judge(embedded_claims().claims, std::vector{made}));
  EXPECT_THAT(text, HasSubstr("resnet50: no GPU [1]\n"));
  EXPECT_THAT(text, HasSubstr("\n  [1] no driver is here\n"));
  EXPECT_EQ(text.find("no driver is here"), text.rfind("no driver is here"));
}

TEST(ClaimsJson, HasTheContractsKeys) {
  const NamedResult made =
      result_of({runs_of("resnet50", "cpu", "fp32", 16, 100), runs_of("resnet50", "cuda", "fp32", 16, 500)});
  const Json json = claims_json(embedded_claims(), judge(embedded_claims().claims, std::vector{made}));
  ASSERT_EQ(json["claims"].size(), 54u);
  for (const Json& claim : json["claims"])
    for (const char* key : {"id", "verdict", "claimed", "measured", "measured_ci95", "conditions", "reason"})
      EXPECT_TRUE(claim.contains(key)) << claim["id"] << " " << key;
  const Json& first = json["claims"][0];
  EXPECT_EQ(first["quotes"][0]["reads"], "4–8×");
  EXPECT_EQ(first["quotes"][0]["sha256"].get<std::string>().size(), 64u);
  EXPECT_EQ(first["claimed"], Json({4.0, 8.0}));
  EXPECT_NEAR(first["measured"].get<double>(), 5, 1e-9);
  EXPECT_EQ(first["parts"][0]["verdict"], "reproduced");
}

}  // namespace
}  // namespace epochbench
