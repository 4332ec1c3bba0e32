#pragma once

// Decides which steps of a sequence may run concurrently, and on which lanes.

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
  // Earlier steps on other lanes to wait for; at most the last one of each lane.
  std::vector<int> after;
};

// A step waits for every earlier step that writes what it touches or reads what it writes. It stays
// on the lane of the latest step that it waits for, if that step is the last one on its lane;
// otherwise it takes the lane that has been idle longest. With one lane all steps run in order.
std::vector<LaneStep> AssignLanes(std::span<const Access> steps, int lanes);

}  // namespace quotient::kernels::cuda
