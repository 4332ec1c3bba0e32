#include "server/jobs/action_key.h"

#include "absl/strings/str_cat.h"
#include "core/base/digest.h"

namespace quotient::jobs {
namespace {

// The result of a model below this size stays below 2 GB, the size of a protobuf message above
// which weights must be in an external file.
constexpr int64_t kSurelyOneFileBytes = int64_t{256} << 20;

bool MayHaveExternalResult(const Manifest& model) {
  return !model.external_files.empty() || model.TotalBytes() >= kSurelyOneFileBytes;
}

void AppendField(absl::string_view name, absl::string_view value, std::string* text) {
  absl::StrAppend(text, name, " ", value.size(), "\n", value, "\n");
}

}  // namespace

std::string ActionKey(const JobSpec& spec, const ResultContext& context) {
  std::string text = "quotient action 1\n";
  AppendField("engine", context.engine_version, &text);
  AppendField("model", spec.model.CanonicalText(), &text);
  AppendField("options", spec.options.CanonicalText(), &text);
  if (!context.device_fingerprint.empty()) {
    AppendField("device", context.device_fingerprint, &text);
  }
  if (MayHaveExternalResult(spec.model)) {
    AppendField("location", spec.external_location, &text);
  }
  return Digest::Of(text).Hex();
}

}  // namespace quotient::jobs
