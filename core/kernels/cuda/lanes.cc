#include "core/kernels/cuda/lanes.h"

#include <algorithm>

namespace quotient::kernels::cuda {
namespace {

bool Overlap(const std::vector<Interval>& a, const std::vector<Interval>& b) {
  return std::any_of(a.begin(), a.end(), [&](const Interval& x) {
    return std::any_of(b.begin(), b.end(),
                       [&](const Interval& y) { return x.begin < y.end && y.begin < x.end; });
  });
}

bool Conflict(const Access& earlier, const Access& later) {
  return Overlap(earlier.writes, later.reads) || Overlap(earlier.writes, later.writes) ||
         Overlap(earlier.reads, later.writes);
}

class Assigner {
 public:
  Assigner(std::span<const Access> steps, int lanes) : steps_(steps), last_(lanes, -1) {}

  std::vector<LaneStep> Run() {
    for (int i = 0; i < static_cast<int>(steps_.size()); ++i) Place(i);
    return std::move(placed_);
  }

 private:
  void Place(int step) {
    // By lane, the last step that must be finished.
    std::vector<int> wanted(last_.size(), -1);
    int latest = -1;
    for (int earlier = 0; earlier < step; ++earlier) {
      if (!Conflict(steps_[earlier], steps_[step])) continue;
      wanted[placed_[earlier].lane] = earlier;
      latest = earlier;
    }
    LaneStep result;
    result.lane = ChooseLane(latest);
    for (size_t lane = 0; lane < wanted.size(); ++lane) {
      if (wanted[lane] >= 0 && static_cast<int>(lane) != result.lane) {
        result.after.push_back(wanted[lane]);
      }
    }
    last_[result.lane] = step;
    placed_.push_back(std::move(result));
  }

  int ChooseLane(int latest) const {
    if (latest >= 0 && last_[placed_[latest].lane] == latest) return placed_[latest].lane;
    return static_cast<int>(std::min_element(last_.begin(), last_.end()) - last_.begin());
  }

  const std::span<const Access> steps_;
  std::vector<LaneStep> placed_;
  std::vector<int> last_;  // Step by lane; -1: none.
};

}  // namespace

std::vector<LaneStep> AssignLanes(std::span<const Access> steps, int lanes) {
  return Assigner(steps, lanes).Run();
}

}  // namespace quotient::kernels::cuda
