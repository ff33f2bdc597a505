// The learning rate of each step: a rise over the first steps, then constant, or down to 0 along half a cosine (Loshchilov and
// Hutter 2017), or in steps as He et al. (2015) trained ResNets. Steps that loss scaling skips count as well.
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
  // " lr_schedule=cosine lr_warmup=100", as it follows the optimizer's text; empty where nothing changes the rate.
  std::string to_string() const;

  // What the optimizer's rate is multiplied by in step `step`, from 0, of `steps`; after them that of the last one. `steps` is
  // not looked at if the schedule is constant. Let w be warmup_steps:
  //   step < w:  (step + 1) / w, so the first step trains, and step w - 1 has the whole rate
  //   cosine:    (1 + cos(pi (step - w) / (steps - w))) / 2
  //   step:      1, from steps / 3 on 0.1, from 2 steps / 3 on 0.01
  double factor(std::int64_t step, std::int64_t steps) const;
};

// The steps that the schedule of a case covers: the timed ones. 0: there is none that needs to know.
// Errors: CallError where the warm-up leaves none of them.
std::int64_t scheduled_steps(const CaseSpec& spec, std::int64_t steps_per_epoch);

}  // namespace epochbench
