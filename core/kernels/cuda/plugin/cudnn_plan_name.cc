#include "core/kernels/cuda/plugin/cudnn_plan_name.h"

#include <utility>

#include "absl/status/status.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"

namespace quotient::kernels::cuda {

std::string PlanName(const EngineChoice& choice) {
  std::string name = absl::StrCat("engine=", choice.engine);
  for (const auto& [type, value] : choice.knobs) {
    absl::StrAppend(&name, ",knob", type, "=", value);
  }
  return name;
}

absl::StatusOr<EngineChoice> ParsePlanName(const std::string& name) {
  const absl::Status bad =
      absl::InvalidArgumentError(absl::StrCat("'", name, "' is no cuDNN plan"));
  EngineChoice choice;
  bool first = true;
  for (const absl::string_view part : absl::StrSplit(name, ',')) {
    const std::pair<absl::string_view, absl::string_view> field =
        absl::StrSplit(part, absl::MaxSplits('=', 1));
    const absl::string_view prefix = first ? "engine" : "knob";
    int64_t value = 0;
    int64_t type = 0;
    if (field.first.substr(0, prefix.size()) != prefix || !absl::SimpleAtoi(field.second, &value)) {
      return bad;
    }
    if (first) {
      choice.engine = value;
    } else if (absl::SimpleAtoi(field.first.substr(prefix.size()), &type)) {
      choice.knobs[type] = value;
    } else {
      return bad;
    }
    first = false;
  }
  return choice;
}

}  // namespace quotient::kernels::cuda
