#pragma once

// Which steps of a sequence may run beside each other, and on which lanes.

#include <cstdint>
#include <span>
#include <vector>

namespace quotient::kernels::cuda {

// Memory that a step touches: [begin, end).
struct Interval {
  uint64_t begin = 0;
  uint64_t end = 0;
};

struct Access {
  std::vector<Interval> reads;
  std::vector<Interval> writes;
};

struct LaneStep {
  int lane = 0;
  // Earlier steps on other lanes to wait for, each lane's last one only.
  std::vector<int> after;
};

// A step waits for every earlier one that writes what it touches, or reads what it writes. It stays
// on the lane of the step that it waits for last, if that lane's end is that step; else it takes
// the lane that has been idle for longest. One lane: all run in order.
std::vector<LaneStep> AssignLanes(std::span<const Access> steps, int lanes);

}  // namespace quotient::kernels::cuda
