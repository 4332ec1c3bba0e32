#pragma once

// One search on one network: what `quotient optimize` does, and what it came to.

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "core/optimize/devices.h"
#include "core/optimize/optimize.h"
#include "core/timing/statistics.h"
#include "tests/support/kernel_ways.h"

namespace quotient {

struct NetworkRun {
  std::string network;
  bool of_papers = false;  // one that the papers measured, as they had it
  std::string device;
  std::string strategy;
  uint64_t seed = 0;
  bool on_model = false;  // the device is only a model: nothing is measured
  // Costs of the original and of the optimized graph, each predicted as the sum over its kernels.
  double cost_before_us = 0;
  double cost_after_us = 0;
  // Medians of whole runs; nothing where nothing was run.
  std::optional<double> measured_before_us;
  std::optional<double> measured_after_us;
  // The larger relative norm of the errors of both graphs as the device computes them.
  std::optional<double> error_norm;
  double seconds = 0;  // that the strategy took
  // Until its best cost was within 1 % of its last; nothing where the first one was already.
  std::optional<double> seconds_to_1_percent;
  int64_t simulations = 0;
  int64_t enodes = 0;  // in the end
  std::vector<report::SearchStep> best_costs;
  std::vector<std::string> notes;  // of the report: what a reader should know
  // By which ways a GPU runs the kernels of the graph that came in and of the one that went out.
  std::optional<KernelWays> ways_before;
  std::optional<KernelWays> ways_after;
};

// `options` name the device, the strategy and the seed. Errors as for Optimize; INTERNAL if the
// search failed.
absl::StatusOr<NetworkRun> RunNetwork(const std::string& network, const optimize::ModelFiles& files,
                                      const optimize::Options& options, optimize::Devices& devices);

// Runs that differ in nothing but the seed, never empty; in the order of their first ones.
using SeedRuns = std::vector<const NetworkRun*>;
std::vector<SeedRuns> BySeeds(std::span<const NetworkRun> runs);

// Over those of the runs that have a value there.
template <typename Field>
std::optional<double> MedianOver(const SeedRuns& runs, Field NetworkRun::*field) {
  std::vector<double> values;
  for (const NetworkRun* run : runs) {
    if (const std::optional<double> value = run->*field) values.push_back(*value);
  }
  if (values.empty()) return std::nullopt;
  return timing::Median(std::move(values));
}

}  // namespace quotient
