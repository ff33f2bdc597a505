// The real NCCL as far as it goes without a GPU: it is loaded, and makes ids.
#include <gtest/gtest.h>

#include "kernels/cuda/libraries/collectives.h"

namespace epochbench {
namespace {

TEST(Nccl, IsLoadedAndMakesIdsOfTheirOwn) {
  if (const auto obstacle = cuda::collectives_obstacle()) {
    EXPECT_NE(obstacle->find("NCCL cannot be loaded"), std::string::npos) << *obstacle;
    EXPECT_EQ(obstacle->find('\n'), std::string::npos) << *obstacle;
    EXPECT_THROW(cuda::make_collectives_id(), cuda::Error);
    GTEST_SKIP() << *obstacle;
  }
  const cuda::CollectivesId first = cuda::make_collectives_id();
  EXPECT_NE(first, cuda::CollectivesId{});
  EXPECT_NE(first, cuda::make_collectives_id());
}

}  // namespace
}  // namespace epochbench
