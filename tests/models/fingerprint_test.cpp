// Every model has the graph under whose fingerprint earlier results were stored.
#include <map>

#include <gtest/gtest.h>

#include "src/workload/workload.h"
#include "support/made_workload.h"

namespace epochbench {
namespace {

// Supports every op and composite, so the graphs do not depend on this machine.
class PlanningBackend final : public Backend {
 public:
  DeviceInfo device() const override { return {}; }
  std::optional<std::string> unsupported(const Graph&, const Node&) const override { return std::nullopt; }
  std::size_t workspace_bytes(const Graph&, const Node&) const override { return 0; }
  std::unique_ptr<Executable> compile(const Program&) const override { return nullptr; }
};

struct Fingerprints {
  std::string model;       // in results: must not change, or older results no longer match
  std::string fp32, fp16;  // of the training graph after all passes: change with a pass only
};

const std::map<std::string, Fingerprints> kStored{
    {"mlp", {"183eb6f5387bbcfc27a14bcd4f2c24d9", "d14a6f3ac7f96f149058af57a2445892", "b35c42612c6617c8d30268d061fdcb12"}},
    {"lenet5", {"7cba53a0e92c5b8cc576929c50eed2e4", "fde100e4dd25ca8a0eacfe0f95a8b38f", "491584b357d604c7e03d714a2cc51514"}},
    {"resnet20", {"9bfc92529e9c7b0e9c0b086de396ab2f", "784b86cd4fbff6213d6f489f67748201", "56446003e4ca80de0806b6929a9cff28"}},
    {"resnet18", {"aa6c683c69dda948c757a3e2d90eeb72", "1ff043a2943f8c8c140341166ad141a6", "ddf82769857c48f065215f22d9506648"}},
    {"resnet34", {"04223715bfe8297f633c6bfa6b22acd7", "74be8573a0bd172d23b429333ea18cf1", "58721aa0674eeba5cc966d9638c0888e"}},
    {"resnet50", {"1cf9b94bc357330ff61763b815b1ef4c", "1af99da759a75b0436f06591d9b41381", "10b9849d4b6f75c347d55aa1c231b5c9"}},
    {"resnet101", {"50c85d810c9992ce8e37ac1b398406b8", "2d18b301b2aba52d1d1cb61b47f14e59", "580919e80ae8ad6cc1d02cd1c8869cc2"}},
    {"resnet152", {"428f827f26564c9e147ae4ef1e33c117", "ee28dc81d6ca7c2d4809e70a2e0e72ef", "d6b60e447fdc30b34861048c22e6e1f1"}},
    {"bert-tiny", {"b9f54f348cad5a05f6be2365ac832ebc", "b741b98b1f9d311ef99c41618c955fb2", "98f0308e41aa8540d5c06e07787464a6"}},
    {"bert-base", {"5a129676be10d2377a549c31c2cc8278", "d7077c023f669547f3f71812d7402c22", "38b53d61d2c1f6c48fea41f9832fdd6f"}},
    {"bert-large",
     {"10443e6ef884bcf65c1db9488f2ed3ff", "cabf6ab9f5b954004d8edbed2c698fa4", "0ab27a1d249ca7ec86a87d7b5c9a3980"}}};

std::string training_graph(const WorkloadSpec& workload, Precision precision) {
  const Program program = make_program(workload, PlanningBackend(), {Entry::train}, precision);
  return fingerprint(program.entry(Entry::train)->graph, "");
}

TEST(Fingerprint, EveryModelHasItsStoredValue) {
  for (const ModelFamily& family : model_registry()) {
    ASSERT_TRUE(kStored.contains(family.name)) << family.name << " has no stored fingerprints; add them";
    const Fingerprints& stored = kStored.at(family.name);
    const WorkloadSpec workload = test::made_workload(family.name, family.default_batch);
    EXPECT_EQ(count(workload).fingerprint, stored.model) << family.name;
    EXPECT_EQ(training_graph(workload, Precision::fp32), stored.fp32) << family.name;
    EXPECT_EQ(training_graph(workload, Precision::fp16), stored.fp16) << family.name;
  }
}

}  // namespace
}  // namespace epochbench
