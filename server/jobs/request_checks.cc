#include "server/jobs/request_checks.h"

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "core/base/reason.h"
#include "core/base/status_macros.h"
#include "core/os/file_name.h"

namespace quotient::jobs {
namespace {

constexpr size_t kMaxNameBytes = 4096;

// The name becomes part of a model that clients write to disk.
absl::Status CheckExternalLocation(absl::string_view name) {
  QUOTIENT_RETURN_IF_ERROR(CheckName("external_location", name));
  if (os::IsPlainFileName(name)) return absl::OkStatus();
  return MakeError(Reason::kOptionInvalid, "external_location: not a plain file name");
}

}  // namespace

absl::Status CheckName(absl::string_view what, absl::string_view name) {
  if (name.size() <= kMaxNameBytes && !absl::StrContains(name, '\0')) return absl::OkStatus();
  return MakeError(Reason::kOptionInvalid, absl::StrCat(what, ": too long, or holds a NUL byte"));
}

absl::Status CheckSpec(const JobSpec& spec, const AdmissionLimits& limits) {
  QUOTIENT_RETURN_IF_ERROR(CheckName("model_name", spec.model_name));
  QUOTIENT_RETURN_IF_ERROR(CheckExternalLocation(spec.external_location));
  if (spec.model.external_files.size() > static_cast<size_t>(limits.max_external_files)) {
    return MakeError(
        Reason::kLimitNodes,
        absl::StrCat("the model has more than ", limits.max_external_files, " external files"));
  }
  for (const auto& [location, blob] : spec.model.external_files) {
    QUOTIENT_RETURN_IF_ERROR(CheckName("external_files.location", location));
  }
  if (spec.model.TotalBytes() > limits.max_model_bytes) {
    return MakeError(Reason::kLimitBytes,
                     absl::StrCat("the model has more than ", limits.max_model_bytes, " bytes"));
  }
  return spec.options.Validate();
}

}  // namespace quotient::jobs
