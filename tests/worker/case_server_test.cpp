// The child's side of a case alone, over two pipes in this process, and what travels over them.
#include "src/worker/case_server.h"

#include <limits>
#include <new>
#include <stdexcept>
#include <string>
#include <thread>

#include <gmock/gmock.h>
#include <unistd.h>

#include "src/worker/protocol.h"

namespace epochbench {
namespace {

using testing::HasSubstr;

class ServerTest : public testing::Test {
 protected:
  ServerTest() {
    if (pipe(to_) != 0 || pipe(from_) != 0) throw std::runtime_error("no pipes");
    server_ = std::thread([this] {
      code_ = serve_case(to_[0], from_[1], {[](const CaseSpec&) -> PreparedCase { throw std::bad_alloc(); }, nullptr});
    });
  }
  ~ServerTest() override {
    end();
    close(to_[0]);
    close(from_[0]);
    close(from_[1]);
  }
  std::string answer(const std::string& command) {
    EXPECT_EQ(write(to_[1], command.data(), command.size()), static_cast<ssize_t>(command.size()));
    std::string line;
    for (char c = 0; c != '\n' && read(from_[0], &c, 1) == 1;) line += c;
    return line;
  }
  int end() {
    if (server_.joinable()) {
      close(to_[1]);
      server_.join();
    }
    return code_;
  }

 private:
  int to_[2], from_[2], code_ = -1;
  std::thread server_;
};

TEST_F(ServerTest, EndsWithItsInput) { EXPECT_EQ(end(), 1); }

TEST_F(ServerTest, RefusesAnotherVersion) {
  EXPECT_THAT(answer("{\"command\": \"prepare\", \"protocol\": 2, \"case\": {}}\n"), HasSubstr("version 2 of the protocol"));
  EXPECT_EQ(end(), 1);
}

TEST_F(ServerTest, TellsWhoItIsWhateverVersionAsks) {
  const Json hello = Json::parse(answer("{\"command\": \"hello\", \"protocol\": 99}\n"));
  EXPECT_EQ(hello.at("event"), "hello");
  EXPECT_EQ(hello.at("protocol"), kProtocolVersion);
  EXPECT_FALSE(from_message<BuildInfo>(hello).version.empty());
  EXPECT_FALSE(from_message<BuildInfo>(hello).build_type.empty());
  EXPECT_TRUE(hello.at("suite").is_null());
}

TEST_F(ServerTest, TellsItsOwnSuite) {
  const Json hello = Json::parse(answer("{\"command\": \"hello\", \"protocol\": 1, \"suite\": \"gate\"}\n"));
  EXPECT_TRUE(hello.at("suite").at("cases").is_array());
}

TEST_F(ServerTest, RefusesWhatIsNoCommand) { EXPECT_THAT(answer("run, please\n"), HasSubstr("not a message")); }
TEST_F(ServerTest, RefusesDeepNesting) { EXPECT_THAT(answer(std::string(100000, '[') + "\n"), HasSubstr("not a message")); }
TEST_F(ServerTest, RefusesStepsBeforePrepare) {
  EXPECT_THAT(answer("{\"command\": \"step\", \"steps\": 1}\n"), HasSubstr("before prepare"));
}
TEST_F(ServerTest, RefusesACaseWithoutItsFields) {
  EXPECT_THAT(answer("{\"command\": \"prepare\", \"protocol\": 1, \"case\": {\"name\": 3}}\n"), HasSubstr("wrong name"));
}

TEST_F(ServerTest, BurstsNeedNoCaseAndTheProcessGoesOn) {
  for (int burst = 0; burst < 2; ++burst) {
    const auto peak = Json::parse(
        answer("{\"command\": \"burst\", \"protocol\": 1, \"precision\": \"fp32\", \"threads\": 1, \"seconds\": 0.001}\n"));
    EXPECT_EQ(peak["event"], "burst");
    EXPECT_GT(peak["flops_per_second"].get<double>(), 1e6);
  }
  EXPECT_THAT(answer("{\"command\": \"burst\", \"protocol\": 1, \"precision\": \"fp8\", \"threads\": 1, \"seconds\": 0}\n"),
              HasSubstr("message.precision: must be one of fp32, tf32, bf16, fp16, int8, not 'fp8'"));
}

TEST(Protocol, CaseSurvivesTheJourney) {
  CaseSpec spec;
  spec.name = "mlp:width=4096/cpu/fp32/b64";
  spec.model = find_model("mlp:width=4096");
  spec.batch = 64;
  spec.threads = 2;
  spec.seed = std::numeric_limits<std::uint64_t>::max();
  spec.learning_rate = 0.1;
  spec.epoch_samples = 17;
  spec.loader_threads = 0;
  spec.decode_cost_seconds = 0.002;
  spec.cache = Cache::decoded;
  spec.profile = true;
  spec.without = {.fusion = true, .winograd = true};
  spec.kernels = Kernels::portable;
  spec.stop.min_time_seconds = 0.3;
  spec.stop.until = Until{EvalMetric::loss, 1e-3};
  const CaseSpec there = case_from_json(Json::parse(case_to_json(spec).dump()));
  EXPECT_EQ(case_to_json(there), case_to_json(spec));
  EXPECT_EQ(there.seed, spec.seed);
  EXPECT_TRUE(there.profile);
  EXPECT_FALSE(there.dropout);
  EXPECT_EQ(there.without, spec.without);
  EXPECT_EQ(there.kernels, Kernels::portable);
  EXPECT_EQ(there.stop.until->value, 1e-3);
  EXPECT_EQ(there.loader_threads, 0);
  EXPECT_EQ(there.decode_cost_seconds, 0.002);
  EXPECT_EQ(there.cache, Cache::decoded);
  EXPECT_EQ(there.model.options.at("width"), 4096);
}

TEST(Protocol, AModelThatThisBuildDoesNotKnowHasOnlyItsName) {
  CaseSpec spec;
  spec.model.name = "later:size=3";
  const CaseSpec there = case_from_json(Json::parse(case_to_json(spec).dump()));
  EXPECT_EQ(there.model.name, "later:size=3");
  EXPECT_EQ(there.model.family, nullptr);
}

TEST(Protocol, LinesAreCutFromAnyPieces) {
  LineBuffer lines;
  lines.append("{\"a\": 1", 7);
  EXPECT_FALSE(lines.pop());
  lines.append("}\n\nlast\nre", 10);
  EXPECT_EQ(lines.pop(), "{\"a\": 1}");
  EXPECT_EQ(lines.pop(), "");
  EXPECT_EQ(lines.pop(), "last");
  EXPECT_FALSE(lines.pop());
}

}  // namespace
}  // namespace epochbench
