#include "core/timing/lane.h"

namespace quotient::timing {

absl::Mutex& Lane() {
  static auto& lane = *new absl::Mutex;
  return lane;
}

}  // namespace quotient::timing
