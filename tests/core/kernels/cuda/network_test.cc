// Our GPU kernels on what real graphs ask for: the partition's specs of the kernel graphs and of
// two generated networks.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <set>

#include "absl/container/flat_hash_set.h"
#include "core/kernels/cuda/source/programs.h"
#include "core/kernels/fusion.h"
#include "core/kernels/partition.h"
#include "core/onnx/reader.h"
#include "core/ops/infer_graph.h"
#include "tests/core/kernels/cuda/source_checks.h"
#include "tests/core/kernels/graph_cases.h"
#include "tests/support/networks/networks.h"
#include "tests/support/status_matchers.h"

namespace quotient::kernels::cuda {
namespace {

// Adds the kernels that are executed and are no contractions, each once.
class SpecCollector {
 public:
  void Add(const model::Graph& graph) {
    ASSERT_OK_AND_ASSIGN(const auto groups, PartitionGraph(graph, {}));
    for (const KernelGroup& group : groups) {
      if (group.spec.free || IsContraction(group.spec.op)) continue;
      if (seen_.insert(KernelKey(group.spec)).second) specs_.push_back(group.spec);
    }
  }
  const std::vector<KernelSpec>& specs() const { return specs_; }

 private:
  absl::flat_hash_set<std::string> seen_;
  std::vector<KernelSpec> specs_;
};

model::Graph NetworkGraph(const std::string& name, const networks::NetworkOptions& options) {
  auto bytes = std::make_shared<std::string>();
  EXPECT_TRUE(networks::MakeNetwork(name, options)->SerializeToString(bytes.get()));
  auto model = onnx::Read(*bytes, {}, onnx::Limits(), bytes);
  EXPECT_OK(model.status());
  EXPECT_OK(ops::InferTypes(model->graph));
  return std::move(model->graph);
}

int64_t ElementsOf(const KernelSpec& spec) {
  int64_t elements = 0;
  for (const Operand& operand : AllOperands(spec)) {
    if (operand.type.dtype != model::DType::kUndefined) elements += operand.type.elements();
  }
  return elements + spec.outputs[0].type.elements();
}

TEST(NetworkTest, KernelGraphsRunOnOurKernels) {
  SpecCollector collector;
  for (const GraphCase& graph : AllGraphCases()) collector.Add(GraphOf(graph));
  std::vector<KernelSpec> specs;
  std::set<std::string> left;
  for (const KernelSpec& spec : collector.specs()) {
    if (MakeSourceProgram(spec)) {
      specs.push_back(spec);
    } else {
      left.insert(spec.op);
    }
  }
  EXPECT_GT(specs.size(), 50u);
  // What needs the reference on the host.
  EXPECT_THAT(left, ::testing::ElementsAre("Range"));
  ExpectSourceKernelsAgree(specs, "");
}

TEST(NetworkTest, NetworksRunOnOurKernels) {
  SpecCollector collector;
  collector.Add(NetworkGraph("mobilenet_v2", {}));
  collector.Add(NetworkGraph("bert", {}));
  // The emulator takes its time; large kernels are not different ones.
  constexpr int64_t kMostElements = 150000;
  std::vector<KernelSpec> small;
  for (const KernelSpec& spec : collector.specs()) {
    EXPECT_TRUE(MakeSourceProgram(spec).has_value()) << KernelKey(spec);
    if (ElementsOf(spec) <= kMostElements) small.push_back(spec);
  }
  EXPECT_GT(small.size(), 5u);
  ExpectSourceKernelsAgree(small, "");
}

}  // namespace
}  // namespace quotient::kernels::cuda
