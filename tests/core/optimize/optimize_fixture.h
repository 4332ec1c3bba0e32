#pragma once

// What the tests of the whole pipeline share: small models, and a fixture that optimizes them.

#include <gtest/gtest.h>
#include <onnx/onnx_pb.h>

#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "core/base/clock.h"
#include "core/optimize/devices.h"
#include "core/optimize/optimize.h"
#include "core/optimize/optimize_internal.h"
#include "core/timing/store.h"
#include "tests/support/networks/network_builder.h"

namespace quotient::optimize {

// Convolutions with normalization behind them: small enough for every flavour.
inline std::string Normalized() {
  networks::NetworkBuilder builder("normalized", 3);
  std::string x = builder.Input("input", {"N", "8", "24", "24"});
  for (int i = 0; i < 2; ++i) {
    x = builder.Relu(builder.BatchNorm(builder.Conv(x, 8, 8, 3, {.pad = 1}), 8));
  }
  x = builder.Flatten(builder.GlobalAveragePool(x));
  builder.Output(x, {"N", "8"});
  return std::move(builder).Build().SerializeAsString();
}

// Four small convolutions side by side: on a GPU each is bound by its launch, so one is cheaper.
inline std::string Branches() {
  networks::NetworkBuilder builder("branches", 4);
  const std::string x = builder.Input("input", {"N", "8", "24", "24"});
  std::vector<std::string> branches;
  for (int i = 0; i < 4; ++i) {
    branches.push_back(builder.Relu(builder.Conv(x, 8, 8, 3, {.pad = 1})));
  }
  const std::string y = builder.GlobalAveragePool(builder.Concat(branches, 1));
  builder.Output(builder.Flatten(y), {"N", "32"});
  return std::move(builder).Build().SerializeAsString();
}

// Softmax(x W + mask) with a guard against NaN, which a mask of -inf or an x of NaN makes.
inline std::string GuardedSoftmax() {
  networks::NetworkBuilder builder("guarded", 5);
  const std::string x = builder.Input("input", {"N", "16", "64"});
  const std::string scores = builder.MatMul(x, builder.Weight("w", {64, 64}, 64, 1));
  const std::string rows = builder.Softmax(scores, -1);
  const std::string zero = builder.Scalar("zero", 0);
  builder.Output("y", {"N", "16", "64"});
  ::onnx::ModelProto model = std::move(builder).Build();
  const auto add = [&](const char* op, const std::vector<std::string>& inputs, const char* output) {
    auto* node = model.mutable_graph()->add_node();
    node->set_op_type(op);
    for (const std::string& input : inputs) node->add_input(input);
    node->add_output(output);
  };
  add("IsNaN", {rows}, "is_nan");
  add("Where", {"is_nan", zero, rows}, "y");
  return model.SerializeAsString();
}

class OptimizeTest : public ::testing::Test {
 protected:
  OptimizeTest() {
    options_.device = "model:h200";
    options_.threads = 1;
    options_.budget_seconds = 60;
  }

  absl::StatusOr<Result> Run(const std::string& model) {
    ModelFiles files;
    files.name = "small.onnx";
    files.model = model;
    return OptimizeByRules(families_, files, options_, environment_, StopCondition(&token_),
                           nullptr);
  }

  std::unique_ptr<timing::TimingStore> store_ = timing::NewMemoryStore();
  timing::Lane lane_;
  Devices devices_{{.store = store_.get(), .lane = &lane_}};
  Environment environment_{.devices = &devices_, .clock = Clock::System()};
  Options options_;
  std::span<const rules::Family> families_ = rules::AllFamilies();
  CancelToken token_;
};

}  // namespace quotient::optimize
