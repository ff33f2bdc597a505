// The catalog of devices: sources, plausible figures, and the names that find an entry.
#include "src/analysis/predict/device_catalog.h"

#include <set>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "src/base/errors.h"
#include "src/session/prices.h"

namespace epochbench {
namespace {

using testing::HasSubstr;

double fact(const CatalogDevice& device, const char* key) { return device.facts.at(key).value.value_or(0); }

std::string found(const std::string& text) { return find_target(embedded_devices(), embedded_prices().prices, text).name(); }

std::string refusal(const std::string& text) {
  try {
    return "found " + found(text);
  } catch (const CallError& error) {
    return error.what();
  }
}

TEST(DeviceCatalog, EveryFigureHasASourceWithItsDateOrAReason) {
  const DeviceCatalog& catalog = embedded_devices();
  EXPECT_THAT(catalog.note, HasSubstr("dense"));
  std::set<std::string> cited, ids;
  for (const CatalogDevice& device : catalog.devices) {
    EXPECT_TRUE(ids.insert(device.id).second) << device.id;
    cited.insert(device.instances_source);
    for (const auto& [key, fact] : device.facts) {
      EXPECT_NE(fact.value.has_value(), fact.source.empty()) << device.id << " " << key;
      EXPECT_NE(fact.value.has_value(), !fact.reason.empty()) << device.id << " " << key;
      cited.insert(fact.source);
    }
  }
  for (const auto& [key, source] : catalog.sources) {
    EXPECT_TRUE(cited.contains(key)) << key << " is cited by nothing";
    EXPECT_THAT(source.url, testing::StartsWith("https://")) << key;
    EXPECT_THAT(source.date, testing::ContainsRegex("20[0-9][0-9]")) << key;
    EXPECT_FALSE(source.title.empty()) << key;
  }
}

TEST(DeviceCatalog, FiguresOfGpusArePlausible) {
  for (const CatalogDevice& gpu : embedded_devices().devices) {
    if (!gpu.is_gpu) continue;
    const double fp32 = fact(gpu, "fp32_tflops"), fp16 = fact(gpu, "fp16_tflops"),
                 bandwidth = fact(gpu, "bandwidth_gb_per_second");
    EXPECT_TRUE(fp32 >= 1 && fp32 <= 200) << gpu.id;
    EXPECT_TRUE(bandwidth >= 100 && bandwidth <= 10'000) << gpu.id;
    EXPECT_TRUE(fact(gpu, "memory_gib") >= 4 && fact(gpu, "memory_gib") <= 300) << gpu.id;
    EXPECT_TRUE(fact(gpu, "watts") >= 50 && fact(gpu, "watts") <= 1500) << gpu.id;
    EXPECT_TRUE(fact(gpu, "cache_mib") >= 1 && fact(gpu, "cache_mib") <= 200) << gpu.id;
    EXPECT_TRUE(gpu.year >= 2014 && gpu.year <= 2027) << gpu.id;
    EXPECT_TRUE(gpu.facts.at("tf32_tflops").value.has_value() == (fact(gpu, "compute_capability") >= 8)) << gpu.id;
    EXPECT_TRUE(gpu.facts.at("bf16_tflops").value.has_value() == (fact(gpu, "compute_capability") >= 8)) << gpu.id;
    if (fp16 > 0) {
      EXPECT_TRUE(fp16 >= 1.9 * fp32 && fp16 <= 30 * fp32) << gpu.id;
    }
    if (fact(gpu, "tf32_tflops") > 0) {
      EXPECT_NEAR(fp16 / fact(gpu, "tf32_tflops"), 2, 0.03) << gpu.id;  // dense against sparse would be 1 or 4
      EXPECT_EQ(fp16, fact(gpu, "bf16_tflops")) << gpu.id;
    }
    // SMs with 128 lanes in fp32 do as much in tf32 on cards for players, and twice as much on others.
    if (const double capability = fact(gpu, "compute_capability"); capability > 8 && capability != 9 && capability != 10) {
      const double of_fp32 = fact(gpu, "tf32_tflops") / fp32;
      EXPECT_NEAR(of_fp32, of_fp32 < 1.5 ? 1 : 2, 0.03) << gpu.id;
    }
    // FLOP per byte: HBM cards and small ones alike.
    EXPECT_TRUE(fp32 * 1000 / bandwidth >= 5 && fp32 * 1000 / bandwidth <= 120) << gpu.id;
  }
}

TEST(DeviceCatalog, FiguresOfCpusArePlausible) {
  std::set<std::string> names;
  for (const CatalogDevice& cpu : embedded_devices().devices) {
    if (cpu.is_gpu) continue;
    EXPECT_TRUE(fact(cpu, "clock_ghz") >= 2 && fact(cpu, "clock_ghz") <= 5) << cpu.id;
    const double fp32 = fact(cpu, "fp32_flop_per_cycle"), bf16 = fact(cpu, "bf16_flop_per_cycle");
    EXPECT_TRUE(fp32 == 32 || fp32 == 64) << cpu.id;
    EXPECT_TRUE(bf16 == 0 || bf16 == 2 * fp32 || bf16 == 1024) << cpu.id;
    EXPECT_FALSE(cpu.instances.empty()) << cpu.id;
    for (const CpuInstance& instance : cpu.instances) {
      EXPECT_TRUE(names.insert(instance.name).second) << instance.name;
      EXPECT_LE(instance.cores, instance.sockets * fact(cpu, "socket_cores")) << instance.name;
    }
  }
}

// Both files name instances; a row of the price list that the catalog does not know could not be predicted.
TEST(DeviceCatalog, KnowsEveryInstanceOfThePriceList) {
  for (const CatalogPrice& price : embedded_prices().prices) {
    const PredictionTarget target = find_target(embedded_devices(), embedded_prices().prices, price.instance);
    EXPECT_EQ(target.name(), price.instance);
    EXPECT_EQ(target.device->is_gpu, price.gpu_count > 0) << price.instance;
    if (target.instance) {
      EXPECT_TRUE(price.vcpus == target.instance->cores || price.vcpus == 2 * target.instance->cores) << price.instance;
    }
  }
}

TEST(DeviceCatalog, FindsNamesInAnyForm) {
  for (const char* text : {"T4", "t4", "NVIDIA T4", "nvidia-t4", "Tesla T4"}) EXPECT_EQ(found(text), "NVIDIA T4") << text;
  EXPECT_EQ(found("a100-80gb"), "NVIDIA A100 SXM 80GB");
  EXPECT_EQ(found("A100 80 GB PCIe"), "NVIDIA A100 PCIe 80GB");
  EXPECT_EQ(found("h100-sxm"), "NVIDIA H100 SXM 80GB");
  EXPECT_EQ(found("RTX 3060"), "NVIDIA GeForce RTX 3060 12GB");
  EXPECT_EQ(found("GeForce RTX 4060 Ti 16 GB"), "NVIDIA GeForce RTX 4060 Ti 16GB");
  EXPECT_EQ(found("4090"), "NVIDIA GeForce RTX 4090 24GB");
  EXPECT_EQ(found("NVIDIA A100-SXM4-80GB"), "NVIDIA A100 SXM 80GB");
  EXPECT_EQ(found("NVIDIA H100 80GB HBM3"), "NVIDIA H100 SXM 80GB");
  EXPECT_EQ(found("c7i.24xlarge"), "c7i.24xlarge");
  EXPECT_EQ(found("aws/g5.xlarge"), "g5.xlarge");
}

TEST(DeviceCatalog, RefusesWhatIsAmbiguousOrUnknown) {
  EXPECT_THAT(refusal("RTX 4060 Ti"), testing::AllOf(HasSubstr("rtx-4060-ti-8gb"), HasSubstr("rtx-4060-ti-16gb")));
  EXPECT_THAT(refusal("Granite Rapids"), HasSubstr("c8i.24xlarge"));
  EXPECT_THAT(refusal("h100-sxn"), HasSubstr("did you mean h100-sxm"));
  EXPECT_THAT(refusal("c7i.24xlareg"), HasSubstr("did you mean c7i.24xlarge"));
  EXPECT_THAT(refusal("nothing like it"), HasSubstr("is not in the catalog"));
  EXPECT_THAT(refusal("-"), HasSubstr("names no device"));
}

TEST(DeviceCatalog, TakesTheGpuOfMostInstancesWhereANameHasSeveral) {
  const PredictionTarget a100 = find_target(embedded_devices(), embedded_prices().prices, "A100");
  EXPECT_EQ(a100.device->id, "a100-40gb");
  EXPECT_THAT(a100.choice, testing::AllOf(HasSubstr("'A100' is taken as a100-40gb"), HasSubstr("a100-80gb"),
                                          HasSubstr("a100-pcie-40gb"), HasSubstr("a100-pcie-80gb")));
  EXPECT_EQ(find_target(embedded_devices(), embedded_prices().prices, "h100").device->id, "h100-sxm");
  EXPECT_EQ(find_target(embedded_devices(), embedded_prices().prices, "a100-80gb").choice, "") << "it is named";
}

TEST(DeviceCatalog, RefusesFiguresWithoutSource) {
  const auto failure = [](const std::string& memory) {
    std::string facts;
    for (const char* key : gpu_facts())
      facts += std::string(facts.empty() ? "" : ", ") + "\"" + key +
               "\": " + (std::string(key) == "memory_gib" ? memory : R"({"value": 1, "source": "s"})");
    try {
      parse_devices(R"({"note": "n", "sources": {"s": {"title": "t", "url": "u", "date": "d"}}, "cpus": [], "gpus": [
                      {"id": "a", "name": "A", "year": 2020, "also": [], "facts": {)" +
                        facts + "}}]}",
                    "devices");
    } catch (const FormatError& error) {
      return std::string(error.what());
    }
    return std::string();
  };
  EXPECT_EQ(failure(R"({"value": 16, "source": "s"})"), "");
  EXPECT_EQ(failure(R"({"value": null, "reason": "not published"})"), "");
  EXPECT_THAT(failure(R"({"value": 16, "source": "x"})"), HasSubstr("'x' is not under sources"));
  EXPECT_THAT(failure(R"({"value": 16})"), HasSubstr("is not under sources"));
  EXPECT_THAT(failure(R"({"value": null})"), HasSubstr("reason: missing"));
  EXPECT_THAT(failure(R"({"value": -1, "source": "s"})"), HasSubstr("above 0"));
}

}  // namespace
}  // namespace epochbench
