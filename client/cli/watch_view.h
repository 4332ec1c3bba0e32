#pragma once

// Shows what the watch of a job on a server tells: its states and its progress.

#include <cstdint>

#include "client/cli/progress_view.h"
#include "quotient/v1/optimizer.pb.h"

namespace quotient::cli {

// Each change of the job's state is shown once, in the order of their sequence numbers, however
// often the stream is lost and begins anew. One thread.
class WatchView {
 public:
  // Borrows the view.
  explicit WatchView(ProgressView* view) : view_(*view) {}

  void Show(const v1::WatchJobResponse& event);

 private:
  ProgressView& view_;
  int64_t shown_ = 0;  // The number of the last change of state that was shown.
};

}  // namespace quotient::cli
