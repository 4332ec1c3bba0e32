#pragma once

// By which ways the kernels of a graph run on a GPU.

#include <map>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "core/kernels/backend.h"
#include "core/model/graph.h"
#include "core/timing/service.h"

namespace quotient {

struct KernelWays {
  double predicted_us = 0;            // The sum of the times of the fastest ways.
  std::map<std::string, int> counts;  // How many kernels run by each program.
  int without_time = 0;               // Kernels that are not timed.
  // The operators of contractions for which no library has anything, so that the host computes
  // them in the middle of the graph. On a GPU that is an error.
  std::vector<std::string> contractions_on_host;

  // "12 cudnn_conv, 3 chain, 1 without a time; on the host: MatMul".
  std::string Text() const;
};

// The fastest ways that `timings` knows for the kernels of a static graph. Measures nothing.
absl::StatusOr<KernelWays> WaysOf(const model::Graph& graph, const kernels::Backend& backend,
                                  const timing::TimingService& timings);

// The name of the program in a plan's name: "cudnn_conv" for "cudnn_conv:engine=3".
std::string ProgramOf(absl::string_view plan);

}  // namespace quotient
