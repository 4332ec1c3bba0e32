#include "core/optimize/options.h"

#include <algorithm>
#include <cmath>
#include <thread>

#include "absl/algorithm/container.h"
#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "core/base/log.h"
#include "core/base/reason.h"
#include "core/base/status_macros.h"
#include "core/domain/tensor_domain.h"
#include "core/optimize/device_table.h"
#include "core/rules/rule_set.h"
#include "core/search/strategy.h"
#include "core/timing/snapshot.h"

namespace quotient::optimize {
namespace {

absl::Status Invalid(absl::string_view option, absl::string_view what) {
  return MakeError(Reason::kOptionInvalid, absl::StrCat(option, ": ", what));
}

template <typename T>
bool Contains(const std::vector<T>& items, const std::string& item) {
  return std::find(items.begin(), items.end(), item) != items.end();
}

constexpr int64_t kMostSimulations = 1'000'000'000;

constexpr char kSnapshotPrefix[] = "snapshot:";

absl::Status CheckDevice(const std::string& device) {
  if (FindDeviceKind(AllDeviceKinds(), device) != nullptr) return absl::OkStatus();
  if (const std::optional<BlobId> snapshot = SnapshotOf(device)) {
    if (snapshot->size_bytes <= timing::kMaxSnapshotBytes) return absl::OkStatus();
    return Invalid("device", absl::StrCat("a snapshot has at most ", timing::kMaxSnapshotBytes,
                                          " bytes, not ", snapshot->size_bytes));
  }
  return Invalid("device", absl::StrCat("'", device,
                                        "' is not one of: ", AcceptedDevices(DeviceFilter::kAll)));
}

absl::Status CheckShapes(absl::string_view option,
                         const std::map<std::string, std::vector<int64_t>>& shapes) {
  for (const auto& [name, dims] : shapes) {
    for (int64_t dim : dims) {
      if (dim < 0 || dim > (int64_t{1} << 40)) {
        return Invalid(option, absl::StrCat("'", name, "': dimension ", dim, " is out of range"));
      }
    }
  }
  return absl::OkStatus();
}

absl::Status CheckRules(const std::vector<std::string>& disabled) {
  if (disabled.empty()) return absl::OkStatus();
  domain::TensorDomain domain;
  return rules::BuildFamilies(&domain, rules::AllFamilies(), disabled).status();
}

std::string ShapesText(const std::map<std::string, std::vector<int64_t>>& shapes) {
  std::string text;
  for (const auto& [name, dims] : shapes) {
    // Lengths make the text unambiguous whatever bytes a name has.
    absl::StrAppend(&text, name.size(), ":", name, "=", absl::StrJoin(dims, ","), ";");
  }
  return text;
}

}  // namespace

absl::Status Options::Validate() const {
  QUOTIENT_RETURN_IF_ERROR(CheckDevice(device));
  if (!Contains(search::StrategyNames(), strategy)) {
    return Invalid("strategy", absl::StrCat("'", strategy, "' is not one of: ",
                                            absl::StrJoin(search::StrategyNames(), ", ")));
  }
  if (!(budget_seconds >= 0 && budget_seconds <= 86'400)) {
    return Invalid("budget", "must be from 0 to 86400 seconds");
  }
  if (max_nodes < 1 || max_nodes > 10'000'000) {
    return Invalid("max-nodes", "must be from 1 to 10000000");
  }
  if (max_simulations < 0 || max_simulations > kMostSimulations) {
    return Invalid("simulations", absl::StrCat("must be from 0 to ", kMostSimulations));
  }
  if (threads < 0 || threads > 256) return Invalid("threads", "must be from 0 to 256");
  if (max_opset < 0 || max_opset > 1000) return Invalid("max-opset", "must be from 0 to 1000");
  if (verify_inputs < 1 || verify_inputs > 100) {
    return Invalid("verify-inputs", "must be from 1 to 100");
  }
  QUOTIENT_RETURN_IF_ERROR(CheckShapes("shape", shapes));
  QUOTIENT_RETURN_IF_ERROR(CheckShapes("measure-shape", measure_shapes));
  return CheckRules(disabled_rules);
}

int Options::ThreadsToUse() const {
  constexpr int kMostByDefault = 16;
  if (threads > 0) return threads;
  const int cores = static_cast<int>(std::thread::hardware_concurrency());
  return std::clamp(cores, 1, kMostByDefault);
}

std::string Options::CanonicalText() const {
  std::string text = absl::StrCat("options-v1\ndevice=", device, "\nstrategy=", strategy,
                                  "\nbudget=", absl::StrFormat("%.17g", budget_seconds),
                                  "\nmax_nodes=", max_nodes, "\nmax_simulations=", max_simulations,
                                  "\nthreads=", threads, "\nseed=", seed, "\nmax_opset=", max_opset,
                                  "\nassume_finite_inputs=", assume_finite_inputs ? 1 : 0,
                                  "\nverify_inputs=", verify_inputs);
  absl::StrAppend(&text, "\nshapes=", ShapesText(shapes));
  absl::StrAppend(&text, "\nmeasure_shapes=", ShapesText(measure_shapes));
  absl::StrAppend(&text, "\nfreeze_initializers=", freeze_initializers ? 1 : 0);
  std::vector<std::string> disabled = disabled_rules;
  std::sort(disabled.begin(), disabled.end());
  absl::StrAppend(&text, "\ndisabled_rules=", absl::StrJoin(disabled, ","), "\n");
  return text;
}

std::string SnapshotDevice(absl::string_view bytes) {
  return absl::StrCat(kSnapshotPrefix, BlobId::Of(bytes).Text());
}

std::optional<BlobId> SnapshotOf(absl::string_view device) {
  if (!absl::ConsumePrefix(&device, kSnapshotPrefix)) return std::nullopt;
  return BlobId::FromText(device);
}

absl::Status ParseShapeOption(absl::string_view text,
                              std::map<std::string, std::vector<int64_t>>* shapes) {
  const auto invalid = [text](absl::string_view problem) {
    return MakeError(Reason::kOptionInvalid, absl::StrCat("'", Escaped(text), "' ", problem));
  };
  // Names may hold '=', dimensions never do.
  const size_t equals = text.rfind('=');
  if (equals == absl::string_view::npos || equals == 0) return invalid("is not NAME=DIM,DIM,...");
  std::vector<int64_t> dims;
  const absl::string_view list = text.substr(equals + 1);
  if (!list.empty()) {  // A scalar has no dimensions.
    for (absl::string_view piece : absl::StrSplit(list, ',')) {
      if (piece.empty()) return invalid("has a comma with no dimension beside it");
      int64_t dim;
      // SimpleAtoi takes blanks and signs, which no dimension has.
      if (!absl::c_all_of(piece, absl::ascii_isdigit) || !absl::SimpleAtoi(piece, &dim)) {
        return invalid(absl::StrCat("has '", Escaped(piece), "', which is not a dimension"));
      }
      dims.push_back(dim);
    }
  }
  const absl::string_view name = text.substr(0, equals);
  if (shapes->emplace(name, std::move(dims)).second) return absl::OkStatus();
  return invalid("gives the input a second shape");
}

absl::Status ParseDuration(absl::string_view text, double* seconds) {
  double unit = 1;
  absl::string_view number = text;
  if (absl::ConsumeSuffix(&number, "ms")) {
    unit = 1e-3;
  } else if (absl::ConsumeSuffix(&number, "s")) {
    unit = 1;
  } else if (absl::ConsumeSuffix(&number, "m")) {
    unit = 60;
  } else if (absl::ConsumeSuffix(&number, "h")) {
    unit = 3600;
  }
  double value;
  if (!absl::SimpleAtod(number, &value) || !std::isfinite(value) || value < 0) {
    return Invalid("duration", absl::StrCat("'", text, "' is not a time such as 30s, 2m or 500ms"));
  }
  *seconds = value * unit;
  return absl::OkStatus();
}

}  // namespace quotient::optimize
