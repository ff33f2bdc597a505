// A model with its defaults, as tests of the graph and its passes train it.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "src/case/case_spec.h"
#include "src/workload/workload.h"

namespace epochbench::test {

inline const std::vector<Entry> kAllEntries{Entry::train, Entry::evaluate, Entry::forward};

inline WorkloadSpec made_workload(const std::string& model, std::int64_t batch) {
  CaseSpec spec;
  spec.model = model;
  spec.batch = batch;
  return workload_spec(spec);
}

}  // namespace epochbench::test
