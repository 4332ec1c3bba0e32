#include "client/cli/watch_view.h"

#include "absl/strings/str_cat.h"
#include "client/cpp/job_client.h"
#include "proto/wire/progress.h"

namespace quotient::cli {

// A stream begins with a snapshot of the job as it is now, and the changes that led to it follow.
// They also say why the state changed, so the snapshot is not shown.
void WatchView::Show(const v1::WatchJobResponse& event) {
  if (event.has_progress()) view_.Report(wire::FromProto(event.progress()));
  if (event.has_transition() && event.transition().sequence() > shown_) {
    const v1::Transition& transition = event.transition();
    shown_ = transition.sequence();
    view_.Note(absl::StrCat(client::StateName(transition.to()), " (", transition.reason(), ")"));
  }
}

}  // namespace quotient::cli
