#include "server/runner/answers.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <string>

#include "absl/strings/str_cat.h"
#include "core/base/reason.h"
#include "core/os/file_name.h"
#include "proto/wire/digest.h"
#include "proto/wire/progress.h"
#include "proto/wire/status.h"
#include "server/jobs/convert.h"

namespace quotient::runner {
namespace {

double Finite(double value) { return std::isfinite(value) ? value : 0; }
double Amount(double value) { return std::max(0.0, Finite(value)); }
int64_t Amount(int64_t value) { return std::max<int64_t>(0, value); }

// A cut through the middle of a character leaves no half of it.
std::string Cut(const std::string& text, size_t most) {
  return text.size() <= most ? text : wire::Utf8(absl::string_view(text).substr(0, most));
}

absl::Status NoResult(absl::string_view problem) {
  return MakeError(Reason::kPoisoned,
                   absl::StrCat("the job's process sent what is no result: ", problem));
}

}  // namespace

Progress ProgressOf(const quotient::v1::Progress& message) {
  Progress progress = wire::FromProto(message);
  progress.phase = Cut(progress.phase, kMostProgressText);
  progress.detail = Cut(progress.detail, kMostProgressText);
  progress.fraction = std::clamp(Finite(progress.fraction), 0.0, 1.0);
  progress.original_cost_us = Amount(progress.original_cost_us);
  progress.best_share = Amount(progress.best_share);
  progress.enodes = Amount(progress.enodes);
  return progress;
}

absl::Status FailureOf(const v1::Ended& ended) {
  google::rpc::Status message = ended.status();
  message.set_message(Cut(message.message(), kMostErrorBytes));
  const absl::Status failure = wire::FromProto(message);
  // That is for the server to find. It would end itself as often as a process says so.
  if (GetReason(failure) == Reason::kProgramReplaced) return NoResult("a reason of the server's");
  return failure;
}

absl::StatusOr<jobs::JobResult> ResultOf(const v1::Ended& ended) {
  if (ended.result().ByteSizeLong() > kMostResultBytes) return NoResult("it is too large");
  absl::StatusOr<jobs::JobResult> result = jobs::FromProto(ended.result());
  if (!result.ok()) return NoResult(result.status().message());
  if (result->external_data.has_value() && !os::IsPlainFileName(result->external_location)) {
    return NoResult("the name of its data is no file name");
  }
  return result;
}

v1::Figures FiguresOf(const v1::Ended& ended) {
  v1::Figures figures = ended.figures();
  figures.set_simulations(Amount(figures.simulations()));
  figures.set_enodes(Amount(figures.enodes()));
  figures.set_kernels_measured(Amount(figures.kernels_measured()));
  figures.set_kernels_noisy(Amount(figures.kernels_noisy()));
  figures.set_kernels_unsupported(Amount(figures.kernels_unsupported()));
  figures.set_kernels_known(Amount(figures.kernels_known()));
  figures.set_lane_wait_seconds(Amount(figures.lane_wait_seconds()));
  // Every model takes some time, so no ratio of two times is 0 or less.
  if (!(Finite(figures.gain_ratio()) > 0)) figures.clear_gain_ratio();
  return figures;
}

absl::Status CheckSize(const v1::Ended& ended) {
  const size_t bytes = ended.ByteSizeLong();
  if (bytes <= kMostAnswerBytes) return absl::OkStatus();
  return MakeError(Reason::kLimitBytes,
                   absl::StrCat("an answer of ", bytes, " bytes, the limit is ", kMostAnswerBytes));
}

absl::StatusOr<worker::Replay> ReplayOf(const v1::Ended& ended) {
  const absl::StatusOr<BlobId> model = wire::FromProto(ended.replay().model());
  if (!model.ok()) return NoResult(model.status().message());
  return worker::Replay{
      .model = *model,
      .is_result = ended.replay().is_result(),
      .rewrites = Amount(ended.replay().rewrites()),
      .conditions = {ended.replay().conditions().begin(), ended.replay().conditions().end()}};
}

}  // namespace quotient::runner
