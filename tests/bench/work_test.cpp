// Problem lines, and the work that they ask for.
#include "bench/work.h"

#include <filesystem>
#include <fstream>
#include <stdexcept>

#include <gmock/gmock.h>
#include <unistd.h>

#include "bench/peer.h"

namespace epochbench::bench {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::SizeIs;
using ::testing::ThrowsMessage;

std::vector<Problem> read(const std::string& text) {
  const std::string path = testing::TempDir() + "work_test_" + std::to_string(getpid()) + ".txt";
  std::ofstream(path) << text;
  struct Removed {
    const std::string& path;
    ~Removed() { std::filesystem::remove(path); }
  } removed{path};
  return read_problems(path);
}

TEST(Problem, IsALineOfSizes) {
  const std::vector<Problem> problems = read("# a comment\n\n  gemm m=2 n=3 k=4 # behind\nrelu n=5\n");
  ASSERT_THAT(problems, SizeIs(2));
  EXPECT_EQ(problems[0].text, "gemm m=2 n=3 k=4");
  EXPECT_THAT(problems[0].where, HasSubstr(".txt:3"));
  EXPECT_EQ(size_of(problems[1], "n"), 5);
  EXPECT_EQ(size_of(problems[1], "m", 1, 7), 7);
}

TEST(Problem, TellsWhatIsWrong) {
  const auto message = [](const std::string& part) { return ThrowsMessage<std::runtime_error>(HasSubstr(part)); };
  EXPECT_THAT([] { read("gemm m=2 m=3"); }, message("'m' is given twice"));
  EXPECT_THAT([] { read("gemm m=x"); }, message("'m=x' is not a size"));
  EXPECT_THAT([] { read("gemm m=100000000 n=100000000 k=1"); }, message("too large"));
  EXPECT_THAT([] { read("# nothing\n"); }, message("contains no problems"));
  EXPECT_THAT([] { works_of(read("gemm m=2 n=3").front()); }, message("needs k=N"));
  EXPECT_THAT([] { works_of(read("gemm m=2 n=3 k=4 h=5").front()); }, message("no size 'h'"));
  EXPECT_THAT([] { works_of(read("conv2d n=1 h=2 w=2 c=1 k=1 r=3 s=3").front()); }, message("larger than the padded image"));
}

TEST(Work, OfAProduct) {
  const std::vector<Work> works = works_of(read("gemm m=2 n=3 k=4 transpose_b=1 count=12").front());
  ASSERT_THAT(works, SizeIs(1));
  ASSERT_TRUE(works[0].gemm);
  EXPECT_TRUE(works[0].gemm->transpose_b);
  EXPECT_FALSE(works[0].gemm->transpose_a);
  EXPECT_THAT(works[0].elements, ElementsAre(6, 8, 12));
  EXPECT_EQ(works[0].result, 0u);
  EXPECT_EQ(works[0].count, 12);
  EXPECT_EQ(works[0].flops, 48);
}

TEST(Work, OfAConvolutionIsThreePasses) {
  const std::vector<Work> works = works_of(read("conv2d n=2 h=7 w=9 c=3 k=5 r=3 s=3 stride=2 pad=1 count=4").front());
  ASSERT_THAT(works, SizeIs(3));
  for (std::size_t i = 0; i < 3; ++i) {
    EXPECT_EQ(works[i].pass, static_cast<Pass>(i));
    EXPECT_EQ(works[i].result, i);
    EXPECT_EQ(works[i].count, 4);
    EXPECT_THAT(works[i].elements, ElementsAre(2 * 4 * 5 * 5, 2 * 7 * 9 * 3, 5 * 9 * 3));
    EXPECT_EQ(works[i].flops, 2.0 * (2 * 4 * 5 * 5) * (9 * 3));
  }
  EXPECT_THAT(works[1].name, HasSubstr(" grad_input"));
}

TEST(Work, IsNoneOfOtherOperations) { EXPECT_THAT(works_of(read("relu n=5").front()), SizeIs(0)); }

TEST(LoadPeer, SaysWhichThereAreAndHowToGetThem) {
  EXPECT_THAT([] { load_peer("atlas", 1); },
              ThrowsMessage<std::runtime_error>(HasSubstr("onednn, onednn-plain, openblas, mkl")));
  EXPECT_THAT([] { load_peer("onednn-plain", 1); },
              ThrowsMessage<std::runtime_error>(HasSubstr("run scripts/peers/libraries")));
}

}  // namespace
}  // namespace epochbench::bench
