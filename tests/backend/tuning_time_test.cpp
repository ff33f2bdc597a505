// How the time for timing is divided among layers.
#include "src/backend/cuda/tuning_time.h"

#include <gtest/gtest.h>

namespace epochbench {
namespace {

TEST(TuningTime, IsDividedByCost) {
  const TuningTime time(20, {{"expensive", 75}, {"cheap", 25}});
  EXPECT_DOUBLE_EQ(time.share("expensive"), 15);
  EXPECT_DOUBLE_EQ(time.share("cheap"), 5);
  EXPECT_EQ(time.share("another program's"), 0);
  EXPECT_EQ(TuningTime().share("expensive"), 0);
}

TEST(TuningTime, WhatALayerLeavesGoesToTheOthersAndWhatItTakesTooMuchIsTheirs) {
  TuningTime time(20, {{"first", 50}, {"second", 30}, {"third", 20}});
  EXPECT_DOUBLE_EQ(time.share("first"), 10);
  time.decided("first", 5);
  EXPECT_DOUBLE_EQ(time.share("second"), 9);
  time.decided("second", 12);
  EXPECT_DOUBLE_EQ(time.share("third"), 3);
  time.decided("third", 4);
  EXPECT_EQ(time.share("third"), 0);
}

// As for another alignment of the same operands.
TEST(TuningTime, ALayerThatIsDecidedOnceMoreHasItsPartOfTheRest) {
  TuningTime time(20, {{"first", 60}, {"second", 20}});
  time.decided("first", 4);
  EXPECT_DOUBLE_EQ(time.share("first"), 12);
  EXPECT_DOUBLE_EQ(time.share("second"), 16);
}

}  // namespace
}  // namespace epochbench
