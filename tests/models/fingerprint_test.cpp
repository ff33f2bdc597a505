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
    {"mlp", {"183eb6f5387bbcfc27a14bcd4f2c24d9", "d14a6f3ac7f96f149058af57a2445892", "62fe68f2afd07da648db66de13a1bf61"}},
    {"lenet5", {"7cba53a0e92c5b8cc576929c50eed2e4", "fde100e4dd25ca8a0eacfe0f95a8b38f", "924dd942a714f60ce29aa9ae09fcd47e"}},
    {"resnet20", {"9bfc92529e9c7b0e9c0b086de396ab2f", "f096ee3cee1a435b2f91518461f3f2b8", "2c8334c4d75c052177468a8cb1d96798"}},
    {"resnet18", {"aa6c683c69dda948c757a3e2d90eeb72", "a4951d4604a01376a813729d5badd0e0", "dad64db0d018b8a25608372b4b56ba81"}},
    {"resnet34", {"04223715bfe8297f633c6bfa6b22acd7", "2de8a3a62bfb813308f1fa8ee3da646b", "b53ad21fcfa71b7e45d96f194ce512a6"}},
    {"resnet50", {"1cf9b94bc357330ff61763b815b1ef4c", "eb76aadce76542d35542c9f8a2004218", "724d5e3753a8809172d68c1cdbe5e4b1"}},
    {"resnet101", {"50c85d810c9992ce8e37ac1b398406b8", "8a8f1245280c6ad5d7efc08dde402238", "0911e8d9f09afe60d934c64aab84c323"}},
    {"resnet152", {"428f827f26564c9e147ae4ef1e33c117", "1256a3d3cc9eaab98d606794b92845b3", "c0a4464ec066bfdcc37058fd1b976923"}},
    {"bert-tiny", {"b9f54f348cad5a05f6be2365ac832ebc", "6b473764226703e75b348e8d37669034", "6ceb15a00217ee968ef245749e7991a4"}},
    {"bert-base", {"5a129676be10d2377a549c31c2cc8278", "ba9308a29150aa965e9a06c0754b0708", "5ae905ec6d1244bec4ecf7d0e248ee8a"}},
    {"bert-large",
     {"10443e6ef884bcf65c1db9488f2ed3ff", "e77b81b40d0e3851d43636a47a5f8ca9", "2cf344df13511d8c4fe4422d33739111"}},
    {"vit-b-16", {"ead6e4eec24991494f2c5546baa35258", "532c4b4e89337325e18060587d5aff45", "111a2467b243c4ff8c487870cf2d86e4"}},
    {"vit-s-16", {"af3dcbc0c5adfb055781bbfafe8ef4de", "c23ecc576cba2eed03d5ca385fd11e80", "bb4ce095f38aa711e0498125eeb68bce"}},
    {"lstm", {"b83197502cf749db272423314b6300ac", "c25215f8a9dff1017473601072de6a5a", "7ed6516894cb0b51eac119117622600e"}},
    {"lstm-lm", {"5b0158f56b855f7561f2a5362fe90e5c", "70d6be11682158e5acb11529dab70a77", "8045e4ee6c70353ebf717faad30f5eb5"}},
    {"gpt2", {"096b3d2904b2b93c137f62ac9d8f4996", "66055da76d714e7691758495c8589817", "a48a7148398f14c2c975cdb9adfa0fce"}},
    {"gpt2-medium",
     {"51daf7ab22da23c3e184baafb3c4ec4f", "e62c8948129e7547f82a15b64b5bb388", "4241da54e6b54394502851d5a2c33bd9"}},
    {"gpt2-large",
     {"243b782fdf3d686ec18bc47c62eca71a", "545c55d02e45d4cfcdc27e77b704c90e", "e9579665d303d7470cf0f01d9dd7534b"}},
    {"gpt2-xl", {"60a1aa9f7a21933173eefbe5f802f30e", "d7fafc8a31ce9ad102eb6bab3f17c38e", "7d83046b61936fce2d9a07daae6bb624"}},
    {"llama-15m", {"6e81149632f0968435a36b14b0cc8d71", "98609ffc501c721e88f29bbcbd5025a1", "f96b26473428bb7aea13846d7817742d"}},
    {"llama-110m",
     {"2aa454276e7ae1cd2dd96b758c7ca23c", "52306783bc293936bd62968b4ee259c8", "b2fdffb35f18bc27223a254218bd322c"}},
    {"llama-7b", {"6b09beefbe6dbc00840a08fe74c04485", "17ef7f3e7effb4f2c9fee3e03e79003a", "e20af99cbfa48d3bdc6d8fad3b6ac608"}},
    {"mobilenet-v2",
     {"9e4d31c54e6e28346ae09f06416d08a4", "007dedc34bb6aaea7d076449863016fb", "e5172148948cbba19a2e25f590ed9e7e"}},
    {"efficientnet-b0",
     {"be88daf055f3eed844afbcfa9e2523a7", "bd96f3cb23f1b792452a64baf4c39e42", "867dd6ce3e722b1b130ab405b4cb7fe7"}},
    {"efficientnet-b2",
     {"28997148ff764ae9758f03b2d8229276", "f167aa94454bf5472964ad36f7c49dd7", "576ddc249a8f3c26ad572b77f1e80871"}},
    {"nasnet-mobile",
     {"0486dac96c84d7af703687cdf7feb5fa", "e6630d6ad0c8b36e40c41eb99ddbacbe", "fc87eb756a0f128a03e8457a2a995534"}},
    {"nasnet-large",
     {"2b5b9a637f1a3f211448b6fd9d473eac", "264f6b5b16b2563b389faca3d84033e5", "44a014e49cc92b071a0958645d1ad576"}}};

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
