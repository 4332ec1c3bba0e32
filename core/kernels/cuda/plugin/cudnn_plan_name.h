#pragma once

// Names of cuDNN's plans: "engine=12,knob2=3,knob27=1".

#include <cstdint>
#include <map>
#include <string>

#include "absl/status/statusor.h"

namespace quotient::kernels::cuda {

// What identifies a plan to cuDNN.
struct EngineChoice {
  int64_t engine = 0;
  // Values by cuDNN's numbers of knobs, which never change.
  std::map<int64_t, int64_t> knobs;
};

std::string PlanName(const EngineChoice& choice);
// Fails with INVALID_ARGUMENT.
absl::StatusOr<EngineChoice> ParsePlanName(const std::string& name);

}  // namespace quotient::kernels::cuda
