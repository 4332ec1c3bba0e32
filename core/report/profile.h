#pragma once

// The profile of a model on a device: what its kernels were predicted to take, and what they took
// inside of a run. It shows where predictions do not come true.

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/cost/cost_model.h"
#include "core/model/graph.h"

namespace quotient::report {

// A group of equal kernels. Times are sums over all of them.
struct ProfiledKernel {
  std::string op;        // The main operator and what is fused behind it: "Conv+Relu".
  std::string operands;  // Their shapes, constants in brackets: "1x128x768 [768x3072] [3072]".
  std::string node;      // The main node of the first of them. Empty for changes of layout.
  int times = 1;
  double predicted_us = 0;
  std::optional<double> measured_us;  // Unset if the device does not tell kernels apart.
  bool estimated = false;             // Whether the prediction does not rest on a measurement.

  // The difference between prediction and measurement; the prediction if nothing was measured.
  double gap_us() const;
};

// Kernels by their main operator. Times are sums.
struct ProfiledOperator {
  std::string op;
  int kernels = 0;
  double predicted_us = 0;
  std::optional<double> measured_us;
};

struct Profile {
  std::string model_name;
  std::string device;  // As in options.
  std::string fingerprint;
  int threads = 1;
  std::vector<ProfiledKernel> kernels;      // The widest gap first.
  std::vector<ProfiledOperator> operators;  // The widest gap first.
  double predicted_us = 0;                  // The sum over `kernels`.
  double measured_us = 0;                   // The time of a plain run of the whole.
  // The sum of the measured times of `kernels`, which is about the time of an undisturbed run.
  std::optional<double> kernels_us;
  int runs = 0;
  std::vector<std::string> notes;  // Sentences.
};

// Shapes of what a kernel reads, constants in brackets: ProfiledKernel::operands.
std::string OperandsText(const kernels::KernelSpec& spec);

// Fills in kernels, operators and the sums. `kernel_us` has the time of each kernel that is not
// free, in the order of `cost.groups`, as far as the device tells it.
void DescribeKernels(const model::Graph& graph, const cost::GraphCost& cost,
                     std::span<const std::optional<double>> kernel_us, Profile* profile);

// A table for a terminal.
std::string ToTable(const Profile& profile);
// Canonical JSON for programs, with every kernel.
std::string ToJson(const Profile& profile);
// One self-contained page with a picture.
std::string ToHtml(const Profile& profile);

}  // namespace quotient::report
