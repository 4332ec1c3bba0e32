#pragma once

// Translates a DnnGraph to a graph of cudnn_frontend, of which cudnn.cc finds, builds and runs
// plans. Every file that includes cudnn_frontend takes half a minute to compile, so only cudnn.cc
// includes this header.
//
// Fails with UNIMPLEMENTED if cuDNN does not support what it is asked for, with RESOURCE_EXHAUSTED
// for a lack of memory, and with INTERNAL for other errors of a device or library. Everything here
// may throw, because cudnn_frontend does.

#include <cudnn_frontend.h>

#include <cstdint>
#include <map>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "core/kernels/cuda/interface/dnn_graph.h"
#include "core/kernels/cuda/plugin/cudnn.h"

namespace quotient::kernels::cuda {

// Version of Translate's output. It must change when tensor ids change, because kept plans use
// them.
inline constexpr int kTranslation = 2;

// Converts an error of cudnn_frontend to a status. `what` was being done.
absl::Status DnnStatus(const cudnn_frontend::error_t& error, absl::string_view what);

// Gives access to members that cudnn_frontend hides: notes and workspaces of plans that are not
// built. Thread-compatible.
class FrontendGraph : public cudnn_frontend::graph::Graph {
 public:
  // Whether cuDNN attaches the note to the plan of that index.
  bool HasNote(int64_t plan, cudnn_frontend::NumericalNote_t note) const;
  bool HasNote(int64_t plan, cudnn_frontend::BehaviorNote_t note) const;

  // The configurations of all plans, in the order of the plans.
  cudnn_frontend::EngineConfigList Configurations();

  // Like create_execution_plan, but with cuDNN's own numbers for knobs, because cudnn_frontend has
  // none for some of those that its heuristics return.
  absl::Status AddConfiguration(int64_t engine_number, const std::map<int64_t, int64_t>& knobs);

  // A built plan as text, including the code that cuDNN compiled for it.
  std::string PlanText() const;

  // Loads a plan from the PlanText of an equal graph. After an error the graph is unchanged.
  absl::Status LoadPlan(const std::string& text, const CudnnTarget& target);
};

// Returns a graph that has no plans yet. The id of a tensor is its index in `graph.tensors` plus
// one, so buffers are in the order of ids. Also fails with INVALID_ARGUMENT if the graph makes no
// sense.
absl::StatusOr<std::unique_ptr<FrontendGraph>> Translate(const DnnGraph& graph,
                                                         const CudnnTarget& target);

}  // namespace quotient::kernels::cuda
