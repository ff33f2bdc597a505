// Prices that a user writes down: what is read, and that each wrong line is refused by its number.
#include "src/analysis/predict/price_file.h"

#include <algorithm>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "src/base/errors.h"
#include "src/session/prices.h"

namespace epochbench {
namespace {

using testing::AllOf;
using testing::HasSubstr;

const std::string kColumns = std::string(kPriceColumns) + "\n";

std::vector<CatalogPrice> parsed(const std::string& text) {
  return parse_price_file(text, "prices.csv", embedded_devices(), embedded_prices().prices, parse_day("2026-11-30").value());
}

std::string error(const std::string& text) {
  try {
    parsed(text);
  } catch (const FormatError& refused) {
    return refused.what();
  }
  return "";
}

TEST(PriceFile, HasInstancesAndGpus) {
  const auto prices = parsed("# mine\n" + kColumns +
                             "here, h100-sxm, 2.50, 2026-11-30, on-demand, eu\n"
                             "\r\n"
                             "here,2x rtx-4090,0.80,2026-01-02,spot,eu\r\n"
                             "aws,p5.48xlarge,50,2026-11-30,on-demand,us-east-1\n"
                             "there,c7i.24xlarge,4,2026-11-30,on-demand,eu\n");
  ASSERT_EQ(prices.size(), 4u);
  EXPECT_EQ(prices[0].gpu_model, "NVIDIA H100 SXM 80GB");
  EXPECT_EQ(prices[0].gpu_count, 1);
  EXPECT_DOUBLE_EQ(prices[0].usd_per_hour, 2.5);
  EXPECT_EQ(prices[1].gpu_count, 2);
  EXPECT_TRUE(prices[1].is_spot);
  EXPECT_EQ(prices[2].gpu_count, 8) << "as in the catalog";
  EXPECT_EQ(prices[3].vcpus, 96);
  EXPECT_THAT(describe(prices[1], "", true, parse_day("2026-11-30").value()),
              AllOf(HasSubstr("price file: here 2x rtx-4090"), HasSubstr(", spot"), HasSubstr("332 days old")));
}

TEST(PriceFile, MayComeFromASpreadsheet) {
  const std::string line = "here,t4,0.3,2026-11-30,on-demand,eu\r\n";
  EXPECT_EQ(parsed("\xef\xbb\xbf" + kColumns + line).size(), 1u);
  std::string semicolons = kColumns + line;
  std::ranges::replace(semicolons, ',', ';');
  EXPECT_THAT(error(semicolons), AllOf(HasSubstr("prices.csv:1: has semicolons"), HasSubstr("put commas there")));
}

TEST(PriceFile, RefusesEachWrongLineByItsNumber) {
  const std::string good = "here,t4,0.3,2026-11-30,on-demand,eu\n";
  EXPECT_THAT(error("provider,instance,eur_per_hour,date,kind,region\n" + good),
              AllOf(HasSubstr("prices.csv:1: "), HasSubstr("eur_per_hour"), HasSubstr("USD")));
  EXPECT_THAT(error(kColumns + good + "here,l4,0.5,2026-11-30,on-demand\n"),
              AllOf(HasSubstr("prices.csv:3: "), HasSubstr("5 columns")));
  EXPECT_THAT(error(kColumns + "here,t4,-0.3,2026-11-30,on-demand,eu\n"), HasSubstr("usd_per_hour"));
  EXPECT_THAT(error(kColumns + "here,t4,0.3 EUR,2026-11-30,on-demand,eu\n"), HasSubstr("usd_per_hour"));
  EXPECT_THAT(error(kColumns + "here,t4,0,2026-11-30,on-demand,eu\n"), HasSubstr("usd_per_hour"));
  EXPECT_THAT(error(kColumns + "here,t4,0.3,30.11.2026,on-demand,eu\n"), HasSubstr("must be a day"));
  EXPECT_THAT(error(kColumns + "here,t4,0.3,2026-02-30,on-demand,eu\n"), HasSubstr("must be a day"));
  EXPECT_THAT(error(kColumns + "here,t4,0.3,2026-12-01,on-demand,eu\n"), HasSubstr("later than today"));
  EXPECT_THAT(error(kColumns + "here,t4,0.3,2026-11-30,reserved,eu\n"), AllOf(HasSubstr("kind"), HasSubstr("spot")));
  EXPECT_THAT(error(kColumns + "here,t5,0.3,2026-11-30,on-demand,eu\n"), HasSubstr("instance: 't5' is not in the catalog"));
  EXPECT_THAT(error(kColumns + ",t4,0.3,2026-11-30,on-demand,eu\n"), HasSubstr("empty"));
  EXPECT_THAT(error(kColumns + good + good), AllOf(HasSubstr("prices.csv:3: "), HasSubstr("above already")));
  EXPECT_THAT(error(kColumns), HasSubstr("has no price"));
  EXPECT_THAT(error(""), HasSubstr("has no price"));
  EXPECT_EQ(error(kColumns + good), "");
}

// A price of the call stands in for every instance with that GPU, and for an instance alone.
TEST(PriceList, TakesThePricesOfTheCall) {
  const auto count = [](const std::vector<CatalogPrice>& prices, const char* id) {
    return std::ranges::count_if(prices, [&](const CatalogPrice& price) {
      const CatalogDevice* device = price.gpu_count > 0 ? device_of_price(embedded_devices(), price) : nullptr;
      return device && device->id == id;
    });
  };
  const auto all = price_list({});
  const auto given = price_list({"", "h100-sxm=2,c7i.24xlarge=3"});
  EXPECT_GT(count(all, "h100-sxm"), 1);
  EXPECT_EQ(count(given, "h100-sxm"), 1);
  EXPECT_DOUBLE_EQ(find_price(given, "h100-sxm")->usd_per_hour, 2);
  EXPECT_DOUBLE_EQ(find_price(given, "c7i.24xlarge")->usd_per_hour, 3);
  EXPECT_EQ(find_price(given, "c7i.24xlarge")->vcpus, 96);
  for (const char* wrong : {"h100-sxm", "h100-sxm=", "h100-sxm=-1", "t5=1", "=1"})
    EXPECT_THROW(price_list({"", wrong}), CallError) << wrong;
}

}  // namespace
}  // namespace epochbench
