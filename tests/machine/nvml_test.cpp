// NVIDIA's management library, made up: which functions it has, what they answer, and all that can be missing.
#include "src/machine/nvml.h"

#include <gmock/gmock.h>

#include "tests/support/fake_nvml_handle.h"

namespace epochbench {
namespace {

using test::FakeCard;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

constexpr const char* kFirst = "0000:65:00.0";
constexpr const char* kSecond = "0000:b1:00.0";

FakeCard busy_card(const char* bus_id) {
  FakeCard card;
  card.bus_id = bus_id;
  card.energy_millijoules = 5'000'000'000;
  card.power_milliwatts = 350'500;
  card.utilization_percent = 93;
  card.clock_megahertz = 1755;
  card.temperature_celsius = 61;
  card.clock_reasons = clock_reason::kPowerCap;
  card.memory_used_bytes = 3ull << 30;
  return card;
}

class Nvml : public testing::Test {
 protected:
  explicit Nvml(const char* file = FAKE_NVML) : file(file), fake(file) {
    fake->card_count = 2;
    fake->cards[0] = busy_card(kFirst);
    fake->cards[1] = busy_card(kSecond);
    fake->cards[1].power_milliwatts = 70'000;
  }
  NvmlCard card(const char* bus_id = kFirst) const { return NvmlCard(std::make_shared<NvmlLibrary>(file), bus_id); }
  std::string failure(const std::function<void()>& action) const {
    try {
      action();
    } catch (const MeterError& error) {
      return error.what();
    }
    return "";
  }
  const char* file;
  test::FakeNvmlHandle fake;
};

class OldNvml : public Nvml {
 protected:
  OldNvml() : Nvml(FAKE_NVML_BEFORE_VOLTA) {}
};

TEST_F(Nvml, FindsTheRightOneOfTwoCards) {
  EXPECT_DOUBLE_EQ(card(kFirst).watts(), 350.5);
  EXPECT_DOUBLE_EQ(card(kSecond).watts(), 70);
}

TEST_F(Nvml, ReadsAllInBasicUnits) {
  const NvmlCard card = this->card();
  EXPECT_THAT(card.obstacles(), IsEmpty());
  EXPECT_EQ(card.energy_source(), NvmlCard::EnergySource::counter);
  EXPECT_DOUBLE_EQ(card.energy_joules(), 5e6);
  const GpuSample sample = card.sample(12.5);
  EXPECT_EQ(sample.seconds, 12.5);
  EXPECT_DOUBLE_EQ(*sample.utilization, 0.93);
  EXPECT_DOUBLE_EQ(*sample.sm_clock_hertz, 1.755e9);
  EXPECT_DOUBLE_EQ(*sample.temperature_celsius, 61);
  EXPECT_EQ(sample.memory_used_bytes, std::int64_t{3} << 30);
  EXPECT_EQ(sample.clock_reasons, clock_reason::kPowerCap);
  EXPECT_FALSE(card.is_divided());
}

TEST_F(Nvml, KnowsAPowerLimitThatSomebodyLowered) {
  EXPECT_TRUE(card().has_default_power_limit());
  fake->cards[0].power_limit_milliwatts = 699'000;
  EXPECT_FALSE(card().has_default_power_limit());
  fake->cards[0].power_limit_milliwatts = 750'000;
  EXPECT_TRUE(card().has_default_power_limit());
  fake->cards[0].power_limit_code = test::kNotSupported;
  EXPECT_FALSE(card().has_default_power_limit()) << "not known";
  EXPECT_THAT(card().obstacles(), ElementsAre("power limit: Not Supported"));
}

TEST_F(Nvml, IsStartedOnceAndStopped) {
  card();
  EXPECT_EQ(fake->started, 1);
  EXPECT_EQ(fake->stopped, 1);
}

TEST_F(Nvml, WhatACardDoesNotTellIsEmptyWithTheDriversWords) {
  fake->cards[0].temperature_code = test::kNotSupported;
  fake->cards[0].reasons_code = test::kNoPermission;
  const NvmlCard card = this->card();
  EXPECT_THAT(card.obstacles(), ElementsAre("temperature: Not Supported", "throttling: Insufficient Permissions"));
  EXPECT_FALSE(card.sample(0).temperature_celsius);
  EXPECT_FALSE(card.sample(0).clock_reasons);
  EXPECT_TRUE(card.sample(0).utilization);
}

TEST_F(Nvml, ACardThatIsNotThereIsAReason) {
  EXPECT_THAT(failure([&] { card("0000:01:00.0"); }), HasSubstr("does not know the card: Not Found"));
}

TEST_F(Nvml, ALibraryThatDoesNotStartIsAReason) {
  fake->init_code = 9;
  EXPECT_THAT(failure([&] { card(); }), HasSubstr("does not start: Unknown Error"));
  EXPECT_EQ(fake->stopped, 0);
}

TEST_F(Nvml, IntegratesPowerWhereThereIsNoCounter) {
  fake->cards[0].energy_code = test::kNotSupported;
  const auto card = std::make_shared<const NvmlCard>(this->card());
  EXPECT_EQ(card->energy_source(), NvmlCard::EnergySource::power);
  const auto meter = make_gpu_meter(card);
  fake->cards[0].power_milliwatts = 100'000;
  meter->begin(0);
  fake->cards[0].power_milliwatts = 300'000;
  meter->advance(0.5);
  EXPECT_DOUBLE_EQ(meter->drawn().joules, 100);
}

TEST_F(Nvml, CountsJoulesWhereThereIsACounter) {
  const auto meter = make_gpu_meter(std::make_shared<const NvmlCard>(card()));
  meter->begin(0);
  fake->cards[0].energy_millijoules += 35'250;
  meter->advance(0.1);
  fake->cards[0].energy_millijoules += 40'000;
  meter->advance(0.2);
  EXPECT_FALSE(meter->drawn().obstacle);
  EXPECT_NEAR(meter->drawn().joules, 75.25, 1e-6);
}

TEST_F(Nvml, ADriverLoadedAnewIsAnObstacle) {
  const auto meter = make_gpu_meter(std::make_shared<const NvmlCard>(card()));
  meter->begin(0);
  fake->cards[0].energy_millijoules = 10;
  meter->advance(0.1);
  EXPECT_THAT(meter->drawn().obstacle.value_or(""), HasSubstr("was reset"));
}

TEST_F(Nvml, ACardLostMeanwhileIsAnObstacle) {
  const auto meter = make_gpu_meter(std::make_shared<const NvmlCard>(card()));
  meter->begin(0);
  fake->cards[0].energy_code = test::kLost;
  meter->advance(0.1);
  EXPECT_EQ(meter->drawn().obstacle, "GPU is lost");
}

TEST_F(Nvml, ACardWithNeitherHasNoEnergy) {
  fake->cards[0].energy_code = fake->cards[0].power_code = test::kNotSupported;
  const NvmlCard card = this->card();
  EXPECT_EQ(card.energy_source(), NvmlCard::EnergySource::none);
  EXPECT_THAT(card.obstacles(), ElementsAre("energy: Not Supported"));
}

TEST_F(Nvml, TellsADividedCard) {
  fake->cards[0].divided = true;
  EXPECT_TRUE(card(kFirst).is_divided());
  EXPECT_FALSE(card(kSecond).is_divided());
}

TEST_F(OldNvml, UsesWhatAnOlderDriverHas) {
  const NvmlCard card = this->card();
  EXPECT_EQ(card.energy_source(), NvmlCard::EnergySource::power);
  EXPECT_THAT(card.obstacles(), IsEmpty());
  EXPECT_EQ(card.sample(0).clock_reasons, clock_reason::kPowerCap);
  EXPECT_FALSE(card.is_divided());
}

TEST_F(OldNvml, WithoutWordsACodeIsNamed) {
  EXPECT_THAT(failure([&] { card("0000:01:00.0"); }), HasSubstr("does not know the card: error 6"));
  EXPECT_EQ(failure([&] { card().energy_joules(); }), "this driver's library has no function for it");
}

TEST(NvmlLibrary, ThatIsMissingOrAnotherIsAReason) {
  const auto failure = [](const char* file) -> std::string {
    try {
      NvmlLibrary library(file);
    } catch (const MeterError& error) {
      return error.what();
    }
    return "";
  };
  EXPECT_THAT(failure("libnvidia-ml-nowhere.so.1"), HasSubstr("libnvidia-ml-nowhere.so.1 cannot be loaded"));
  EXPECT_THAT(failure(FAKE_NVML_EMPTY), HasSubstr("it is not NVIDIA's library"));
}

}  // namespace
}  // namespace epochbench
