// cuDNN on a GPU against plain loops: one graph of every kind, all its plans.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>
#include <set>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "tests/core/kernels/cuda/dnn_cases.h"
#include "tests/core/kernels/cuda/gpu/gpu_under_test.h"
#include "tests/support/cuda/host_library.h"
#include "tests/support/status_matchers.h"

namespace quotient::kernels::cuda {

namespace {

// Those that cuDNN compiles at run time take up to a second each.
constexpr int kMaxCompiled = 2;

int64_t Elements(const DnnTensor& tensor) {
  int64_t last = 0;
  for (size_t i = 0; i < tensor.dims.size(); ++i) last += (tensor.dims[i] - 1) * tensor.strides[i];
  return last + 1;
}

// In the order of the graph's buffers; results are NaN.
struct Operands {
  std::vector<HostArray> arrays;
  size_t result = 0;
};

Operands OperandsOf(const DnnGraph& graph) {
  Operands operands;
  for (size_t i = 0; i < graph.tensors.size(); ++i) {
    const DnnTensor& tensor = graph.tensors[i];
    if (tensor.is_virtual || tensor.value.has_value()) continue;
    const bool is_result = static_cast<int>(i) == graph.nodes.back().output;
    if (is_result) operands.result = operands.arrays.size();
    operands.arrays.push_back(is_result ? HostArray::Nans(tensor.type, Elements(tensor))
                                        : HostArray::Random(tensor.type, Elements(tensor), i));
  }
  return operands;
}

std::set<std::string> EnginesOf(const std::vector<LibraryPlan>& plans) {
  std::set<std::string> engines;
  for (const LibraryPlan& plan : plans) engines.insert(plan.name.substr(0, plan.name.find(',')));
  return engines;
}

// Wrong in cuDNN 9.14 on an H200. ThoseThatAgree (agreement.h) drops it, because a pool also has
// another plan and a kernel of Quotient's own.
bool IsKnownWrong(const std::string& name) {
  return absl::StrContains(name, "pool") && absl::StrContains(name, " bf16 by engine=3");
}

class GpuDnnTest : public GpuTest {
 protected:
  static HostArray Expected(const DnnGraph& graph) {
    Operands operands = OperandsOf(graph);
    std::vector<void*> host;
    for (HostArray& array : operands.arrays) host.push_back(array.data());
    EXPECT_OK(ComputeOnHost(graph, host, /*rounded=*/false));
    return operands.arrays[operands.result];
  }

  static double Error(const DnnGraph& graph, const Launcher& launcher, const HostArray& expected,
                      const std::string& name) {
    const Operands operands = OperandsOf(graph);
    std::vector<std::unique_ptr<Buffer>> buffers;
    std::vector<DeviceAddress> addresses;
    for (const HostArray& array : operands.arrays) {
      buffers.push_back(Upload(gpu(), array));
      addresses.push_back(buffers.back()->address());
    }
    EXPECT_OK(Run(launcher, addresses)) << name;
    HostArray result = operands.arrays[operands.result];
    Download(gpu(), *buffers[operands.result], &result);
    return RelativeError(result, expected);
  }

  // The plan that was just built, from the cache.
  static void CheckKept(const DnnGraph& graph, const std::string& plan, const HostArray& expected,
                        const std::string& name) {
    const int added = cache().added();
    const auto launcher = gpu().Prepare(graph, plan);
    ASSERT_OK(launcher) << name;
    EXPECT_EQ(cache().added(), added) << name << " was compiled again";
    const model::DType type = graph.tensors[0].type;
    EXPECT_LT(Error(graph, **launcher, expected, name), Tolerance(type, graph.policy)) << name;
  }

  // Prints a line at once, for the case that the next plan ends the process.
  static void Tell(const std::string& line, std::string* table) {
    std::fputs(line.c_str(), stdout);
    std::fflush(stdout);
    *table += line;
  }

  // Prints a line of the table of what works for each graph.
  void CheckAll(model::DType type, MathPolicy policy, const std::string& label) {
    std::string table;
    for (const DnnCase& c : DnnCases(type, policy)) {
      const auto plans = gpu().Plans(c.graph);
      ASSERT_OK(plans) << c.name;
      const HostArray expected = Expected(c.graph);
      int compiled = 0;
      int built = 0;
      double worst = 0;
      for (const LibraryPlan& plan : *plans) {
        if (plan.compiled_at_run_time && ++compiled > kMaxCompiled) continue;
        const std::string name = absl::StrCat(c.name, " ", label, " by ", plan.name);
        const auto launcher = gpu().Prepare(c.graph, plan.name);
        if (!launcher.ok()) {
          EXPECT_TRUE(absl::IsUnimplemented(launcher.status()))
              << name << ": " << launcher.status();
          Tell(absl::StrCat("# ", name, ": ", launcher.status().message(), "\n"), &table);
          continue;
        }
        ++built;
        Tell(absl::StrCat("# trying ", name, "\n"), &table);
        const double error = Error(c.graph, **launcher, expected, name);
        if (IsKnownWrong(name)) {
          Tell(absl::StrCat("# ", name, ": error ", error, "\n"), &table);
          continue;
        }
        EXPECT_LT(error, Tolerance(type, policy)) << name;
        worst = std::max(worst, error);
        if (plan.compiled_at_run_time) CheckKept(c.graph, plan.name, expected, name);
      }
      Tell(absl::StrCat(label, " ", c.name, ": ", plans->size(), " plans, ", compiled,
                        " compiled at run time, ", built, " built, error ", worst, "\n"),
           &table);
      EXPECT_TRUE(plans->empty() || built > 0) << c.name << " " << label;
    }
    WriteOut("dnn_" + label + ".txt", table);
  }
};

TEST_F(GpuDnnTest, Tf32) { CheckAll(model::DType::kFloat32, MathPolicy::kTf32, "tf32"); }
TEST_F(GpuDnnTest, Strict32) {
  CheckAll(model::DType::kFloat32, MathPolicy::kStrict32, "strict32");
}
TEST_F(GpuDnnTest, Float16) { CheckAll(model::DType::kFloat16, MathPolicy::kTf32, "f16"); }
TEST_F(GpuDnnTest, Bfloat16) { CheckAll(model::DType::kBfloat16, MathPolicy::kTf32, "bf16"); }

// Asked with the properties of the device and without the device: the answers should have the same
// engines. Their knobs differ where cuDNN compiles at run time.
TEST_F(GpuDnnTest, TheCheckerKnowsThisDevicesEngines) {
  ASSERT_OK_AND_ASSIGN(Plugin* const plugin, LoadPlugin(""));
  ASSERT_OK_AND_ASSIGN(const auto checker, plugin->NewDnnChecker(gpu().facts().properties_json,
                                                                 gpu().facts().compute_capability,
                                                                 /*cache=*/nullptr));
  for (const model::DType type : {model::DType::kFloat32, model::DType::kFloat16}) {
    for (const DnnCase& c : DnnCases(type, MathPolicy::kTf32)) {
      ASSERT_OK_AND_ASSIGN(const std::vector<LibraryPlan> with, gpu().Plans(c.graph));
      ASSERT_OK_AND_ASSIGN(const std::vector<LibraryPlan> without, checker->Plans(c.graph));
      EXPECT_EQ(EnginesOf(with), EnginesOf(without)) << c.name;
    }
  }
}

}  // namespace

}  // namespace quotient::kernels::cuda
