// The learning rate of each step: a warm-up over the first steps, then constant, or falling to 0 along half a cosine
// (Loshchilov and Hutter 2017), or in steps as He et al. (2015) trained ResNets. Steps that loss scaling skips also count.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "src/case/case_spec.h"

namespace epochbench {

struct LearningRateSchedule {
  Schedule kind = Schedule::constant;
  std::int64_t warmup_steps = 0;

  bool changes() const { return kind != Schedule::constant || warmup_steps > 0; }
  // " lr_schedule=cosine lr_warmup=100", to append to the optimizer's text; empty if nothing changes the rate.
  std::string to_string() const;

  // What the optimizer's rate is multiplied by in step `step`, from 0, of `steps`; later steps are like the last one. `steps`
  // is ignored if the schedule is constant. Let w be warmup_steps:
  //   step < w:  (step + 1) / w, so the first step trains, and step w - 1 has the full rate
  //   cosine:    (1 + cos(pi (step - w) / (steps - w))) / 2
  //   step:      1, then 0.1 from steps / 3, and 0.01 from 2 steps / 3
  double factor(std::int64_t step, std::int64_t steps) const;
};

// The steps that the schedule of a case covers: the timed ones. 0: the schedule is constant.
// Errors: CallError if the warm-up leaves none of them.
std::int64_t scheduled_steps(const CaseSpec& spec, std::int64_t steps_per_epoch);

}  // namespace epochbench
