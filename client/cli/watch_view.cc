#include "client/cli/watch_view.h"

#include "absl/strings/str_cat.h"
#include "client/cpp/job_client.h"
#include "google/protobuf/util/time_util.h"

namespace quotient::cli {
namespace {

Progress FromProto(const v1::Progress& message) {
  using google::protobuf::util::TimeUtil;
  return {.phase = message.phase(),
          .elapsed_seconds =
              static_cast<double>(TimeUtil::DurationToMilliseconds(message.elapsed())) / 1000,
          .fraction = message.fraction(),
          .original_cost_us = message.original_cost_us(),
          .best_share = message.best_share(),
          .enodes = message.enodes(),
          .detail = message.detail()};
}

}  // namespace

// A stream begins with a snapshot of the job as it is now, and the changes that led to it follow.
// They also say why the state changed, so the snapshot is not shown.
void WatchView::Show(const v1::WatchJobResponse& event) {
  if (event.has_progress()) view_.Report(FromProto(event.progress()));
  if (event.has_transition() && event.transition().sequence() > shown_) {
    const v1::Transition& transition = event.transition();
    shown_ = transition.sequence();
    view_.Note(absl::StrCat(client::StateName(transition.to()), " (", transition.reason(), ")"));
  }
}

}  // namespace quotient::cli
