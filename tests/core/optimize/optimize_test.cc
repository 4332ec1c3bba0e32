#include "core/optimize/optimize.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <onnx/onnx_pb.h>

#include <atomic>
#include <vector>

#include "absl/strings/str_cat.h"
#include "core/base/clock.h"
#include "core/base/reason.h"
#include "core/onnx/reader.h"
#include "core/optimize/devices.h"
#include "core/optimize/optimize_internal.h"
#include "core/search/strategy.h"
#include "core/timing/store.h"
#include "tests/support/fake_backend.h"
#include "tests/support/fake_device_kind.h"
#include "tests/support/networks/network_builder.h"
#include "tests/support/networks/networks.h"

namespace quotient::optimize {
namespace {

using ::quotient::testing::FakeDeviceKind;
using ::testing::Contains;
using ::testing::HasSubstr;

// Convolutions with normalization behind them: small enough for every flavour.
std::string Normalized() {
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
std::string Branches() {
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
std::string GuardedSoftmax() {
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

TEST_F(OptimizeTest, MergesBranchesByTheModelAlone) {
  const auto result = Run(Branches());
  ASSERT_TRUE(result.ok()) << result.status();
  const report::Report& report = result->report;
  EXPECT_EQ(report.outcome, report::Outcome::kImproved);
  EXPECT_FALSE(report.measured);
  EXPECT_TRUE(report.verification.passed);
  ASSERT_FALSE(report.verification.bindings.empty());
  EXPECT_EQ(report.verification.bindings[0].shapes.at("input")[0], 4);
  EXPECT_GE(report.verification.inputs, options_.verify_inputs);
  EXPECT_LT(report.optimized.nodes, report.original.nodes);
  EXPECT_LT(report.optimized.predicted_us, report.original.predicted_us);
  EXPECT_EQ(report.optimized.measured.runs, 0);
  EXPECT_TRUE(report.phase_seconds.contains("verify"));
  EXPECT_TRUE(report.phase_seconds.contains("report"));
  EXPECT_FALSE(report.phase_seconds.contains("measure"));
  EXPECT_FALSE(report.journal.empty());
  EXPECT_THAT(report.notes, Contains(HasSubstr("'N'")));
  const auto written = onnx::Read(result->files.model, {}, onnx::Limits(), nullptr);
  ASSERT_TRUE(written.ok()) << written.status();
  EXPECT_EQ(written->op_counts.at("Conv"), 1);
  EXPECT_EQ(model::ToString(written->graph.value(written->graph.inputs[0]).type),
            "float32[N,8,24,24]");
}

TEST_F(OptimizeTest, WhateverTheStrategy) {
  for (const std::string& strategy : search::StrategyNames()) {
    SCOPED_TRACE(strategy);
    options_.strategy = strategy;
    options_.max_nodes = 200;
    const auto result = Run(Branches());
    ASSERT_TRUE(result.ok()) << result.status();
    EXPECT_EQ(result->report.outcome, report::Outcome::kImproved);
    EXPECT_EQ(result->report.search.strategy, strategy);
  }
}

TEST_F(OptimizeTest, SameInputSameBytes) {
  const std::string model = Branches();
  const auto first = Run(model), second = Run(model);
  ASSERT_TRUE(first.ok() && second.ok());
  EXPECT_EQ(first->files.model, second->files.model);
}

TEST_F(OptimizeTest, ADeviceThatIsLostIsAnErrorAndNotAnAnswer) {
  kernels::fake::FakeClock clock;
  std::atomic<int> runs = 0;
  const auto lost = [&] { return runs > 100; };
  const kernels::fake::FakeOptions fake{
      .run_us = [&](const kernels::KernelSpec& spec, int) -> absl::StatusOr<double> {
        ++runs;
        if (lost()) return absl::InternalError("no answer");
        return kernels::fake::FakeCostUs(spec);
      },
      .health = [&] { return lost() ? MakeError(Reason::kDeviceLost, "gone") : absl::OkStatus(); }};
  const std::vector<DeviceKind> kinds = {
      FakeDeviceKind({"cpu"}, [&](absl::string_view) { return NewFakeBackend(&clock, fake); })};
  Devices devices({.store = store_.get(), .lane = &lane_}, kinds);
  environment_.devices = &devices;
  options_.device = "cpu";
  const auto result = Run(Normalized());
  EXPECT_EQ(GetReason(result.status()), Reason::kDeviceLost) << result.status();
}

TEST_F(OptimizeTest, NothingToGainGivesTheInputBack) {
  networks::NetworkBuilder builder("relu", 1);
  builder.Output(builder.Relu(builder.Input("x", {"4"})), {"4"});
  const std::string model = std::move(builder).Build().SerializeAsString();
  const auto result = Run(model);
  ASSERT_TRUE(result.ok()) << result.status();
  EXPECT_EQ(result->report.outcome, report::Outcome::kNoImprovement);
  EXPECT_EQ(result->files.model, model);
  EXPECT_EQ(result->report.speedup_percent, 0);
  EXPECT_EQ(result->report.verification.inputs, 0);
  EXPECT_FALSE(result->report.verification.passed) << "nothing was compared";
}

// No rule makes anything new here, yet a kernel less runs.
TEST_F(OptimizeTest, ANodeThatVanishesIsAnImprovement) {
  networks::NetworkBuilder builder("joined alone", 1);
  const std::string x = builder.Relu(builder.Input("x", {"1", "8", "24", "24"}));
  builder.Output(builder.GlobalAveragePool(builder.Concat({x}, 1)), {"1", "8", "1", "1"});
  const auto result = Run(std::move(builder).Build().SerializeAsString());
  ASSERT_TRUE(result.ok()) << result.status();
  EXPECT_EQ(result->report.outcome, report::Outcome::kImproved);
  EXPECT_EQ(result->report.optimized.nodes, 2);
  ASSERT_EQ(result->report.journal.size(), 1);
  EXPECT_EQ(result->report.journal[0].rule, "concat-single");
}

// An index that is computed and out of range whatever is drawn: a good model all the same.
TEST_F(OptimizeTest, AModelThatTakesNoRandomInputsComesBack) {
  networks::NetworkBuilder builder("far", 1);
  const std::string rows = builder.Concat({builder.Relu(builder.Input("x", {"4", "3"}))}, 0);
  builder.Output("picked", {"2", "3"});
  ::onnx::ModelProto proto = std::move(builder).Build();
  ::onnx::GraphProto& graph = *proto.mutable_graph();
  ::onnx::ValueInfoProto& index = *graph.add_input();
  index.set_name("index");
  index.mutable_type()->mutable_tensor_type()->set_elem_type(::onnx::TensorProto::INT64);
  index.mutable_type()->mutable_tensor_type()->mutable_shape()->add_dim()->set_dim_value(2);
  ::onnx::TensorProto& hundred = *graph.add_initializer();
  hundred.set_name("hundred");
  hundred.set_data_type(::onnx::TensorProto::INT64);
  hundred.add_int64_data(100);
  const auto add_node = [&](const char* op, std::vector<std::string> inputs, const char* output) {
    ::onnx::NodeProto& node = *graph.add_node();
    node.set_op_type(op);
    for (const std::string& input : inputs) node.add_input(input);
    node.add_output(output);
  };
  add_node("Add", {"index", "hundred"}, "far");
  add_node("Gather", {rows, "far"}, "picked");
  const std::string model = proto.SerializeAsString();
  for (const char* device : {"model:h200", "cpu"}) {
    options_.device = device;
    const auto result = Run(model);
    ASSERT_TRUE(result.ok()) << device << ": " << result.status();
    EXPECT_EQ(result->report.outcome, report::Outcome::kNoImprovement);
    EXPECT_EQ(result->files.model, model);
    EXPECT_THAT(result->report.notes, Contains(HasSubstr("random inputs")));
  }
}

TEST_F(OptimizeTest, ADisabledRuleIsNotUsed) {
  const std::string model = Branches();
  const auto before = Run(model);
  ASSERT_TRUE(before.ok()) << before.status();
  for (const report::JournalEntry& entry : before->report.journal) {
    options_.disabled_rules.push_back(entry.rule);
  }
  const auto after = Run(model);
  ASSERT_TRUE(after.ok()) << after.status();
  for (const report::JournalEntry& entry : after->report.journal) {
    EXPECT_THAT(options_.disabled_rules, ::testing::Not(Contains(entry.rule)));
  }
  options_.disabled_rules = {"no-such-rule"};
  EXPECT_EQ(GetReason(Run(model).status()), Reason::kOptionInvalid);
}

// The table's rules, and wrong ones.
std::vector<rules::Family> FamiliesWith(const char* wrong) {
  const std::span<const rules::Family> table = rules::AllFamilies();
  std::vector<rules::Family> families(table.begin(), table.end());
  families.push_back({"wrong", wrong, nullptr, nullptr});
  return families;
}

TEST_F(OptimizeTest, AWrongRuleIsNamedAndWhatTheOthersGainIsDelivered) {
  const std::string model = Branches();
  const auto right = Run(model);
  ASSERT_TRUE(right.ok()) << right.status();
  ASSERT_EQ(right->report.outcome, report::Outcome::kImproved);
  const std::vector<rules::Family> families = FamiliesWith(R"(
# Relu(x) = x, which only holds for x that are not negative
relu-is-nothing: Relu(?x) => ?x
)");
  families_ = families;
  const auto result = Run(model);
  ASSERT_TRUE(result.ok()) << result.status();
  EXPECT_THAT(result->report.notes, Contains(HasSubstr("did not agree with the original")));
  EXPECT_THAT(result->report.notes, Contains(HasSubstr("'relu-is-nothing' was left out")));
  EXPECT_EQ(result->report.outcome, report::Outcome::kImproved);
  EXPECT_TRUE(result->report.verification.passed);
  EXPECT_TRUE(result->files.model == right->files.model);
}

// On inputs in [-1, 1] this is right, at any size.
TEST_F(OptimizeTest, ARuleThatHoldsForSmallValuesAloneIsFound) {
  networks::NetworkBuilder builder("clipped", 5);
  std::string x = builder.Input("input", {"N", "8", "24", "24"});
  x = builder.Relu(builder.Conv(builder.Clip(x, -5, 5), 8, 8, 3, {.pad = 1}));
  builder.Output(x, {"N", "8", "24", "24"});
  const std::vector<rules::Family> families = FamiliesWith(R"(
# Clip(x) = x, which only holds for x within the bounds
clip-is-nothing: Clip[?c](?x) => ?x
)");
  families_ = families;
  const auto result = Run(std::move(builder).Build().SerializeAsString());
  ASSERT_TRUE(result.ok()) << result.status();
  EXPECT_THAT(result->report.notes, Contains(HasSubstr("values up to 1000")));
  EXPECT_THAT(result->report.notes, Contains(HasSubstr("'clip-is-nothing' was left out")));
}

TEST_F(OptimizeTest, DimsThatAreBoundForGoodAreNotBoundOtherwise) {
  options_.shapes["input"] = {3, 8, 24, 24};
  const auto result = Run(Branches());
  ASSERT_TRUE(result.ok()) << result.status();
  EXPECT_EQ(result->report.outcome, report::Outcome::kImproved);
  EXPECT_TRUE(result->report.verification.bindings.empty());
  EXPECT_THAT(result->report.verification.bindings_note, HasSubstr("is a number in the model"));
}

TEST_F(OptimizeTest, OfTwoWrongRulesBothAreNamed) {
  const std::vector<rules::Family> families = FamiliesWith(R"(
# Relu(x) = x, which only holds for x that are not negative
relu-is-nothing: Relu(?x) => ?x
# Conv(x) = x, which only holds for one kernel of all
conv-is-nothing: ?y = Conv[?c](?x, ?w, ?b) => ?x if same(?y, ?x)
)");
  families_ = families;
  const auto result = Run(Branches());
  ASSERT_TRUE(result.ok()) << result.status();
  EXPECT_THAT(result->report.notes, Contains(HasSubstr("'relu-is-nothing' was left out")));
  EXPECT_THAT(result->report.notes, Contains(HasSubstr("'conv-is-nothing' was left out")));
  EXPECT_EQ(result->report.outcome, report::Outcome::kImproved);
  EXPECT_TRUE(result->report.verification.passed);
}

TEST_F(OptimizeTest, AMaxOpsetBelowTheModelsOwnIsNoted) {
  const std::string model = Branches();
  const auto original = onnx::Read(model, {}, onnx::Limits(), nullptr);
  ASSERT_TRUE(original.ok()) << original.status();
  const std::string note = absl::StrCat("the model itself needs opset ", original->opset);
  options_.max_opset = original->opset - 1;
  const auto below = Run(model);
  ASSERT_TRUE(below.ok()) << below.status();
  EXPECT_THAT(below->report.notes, Contains(HasSubstr(note)));
  const auto written = onnx::Read(below->files.model, {}, onnx::Limits(), nullptr);
  ASSERT_TRUE(written.ok()) << written.status();
  EXPECT_EQ(written->opset, original->opset);
  options_.max_opset = original->opset;
  const auto equal = Run(model);
  ASSERT_TRUE(equal.ok()) << equal.status();
  EXPECT_THAT(equal->report.notes, ::testing::Not(Contains(HasSubstr(note))));
}

TEST_F(OptimizeTest, FloatInputsAreFiniteOnlyIfTheUserSaysSo) {
  const std::string model = GuardedSoftmax();
  for (const bool assume : {false, true}) {
    options_.assume_finite_inputs = assume;
    const auto result = Run(model);
    ASSERT_TRUE(result.ok()) << result.status();
    const auto written = onnx::Read(result->files.model, {}, onnx::Limits(), nullptr);
    ASSERT_TRUE(written.ok()) << written.status();
    EXPECT_EQ(written->op_counts.contains("IsNaN"), !assume);
    const auto told = Contains(HasSubstr("float inputs were taken to hold no NaN"));
    if (assume) {
      EXPECT_THAT(result->report.notes, told);
    } else {
      EXPECT_THAT(result->report.notes, ::testing::Not(told));
    }
  }
}

TEST_F(OptimizeTest, ShapesBoundForGoodAreInTheResult) {
  options_.shapes["input"] = {2, 8, 24, 24};
  const auto result = Run(Branches());
  ASSERT_TRUE(result.ok()) << result.status();
  const auto written = onnx::Read(result->files.model, {}, onnx::Limits(), nullptr);
  ASSERT_TRUE(written.ok()) << written.status();
  EXPECT_EQ(model::ToString(written->graph.value(written->graph.inputs[0]).type),
            "float32[2,8,24,24]");
}

TEST_F(OptimizeTest, MeasuresEndToEndOnTheCpu) {
  options_.device = "cpu";
  options_.budget_seconds = 20;
  const auto result = Run(Normalized());
  ASSERT_TRUE(result.ok()) << result.status();
  const report::Report& report = result->report;
  EXPECT_TRUE(report.measured);
  EXPECT_TRUE(report.phase_seconds.contains("measure"));
  EXPECT_GT(report.original.measured.runs, 0);
  EXPECT_GT(report.original.measured.median_us, 0);
  EXPECT_LE(report.original.measured.p10_us, report.original.measured.p90_us);
  EXPECT_GT(report.search.kernels_measured, 0);
  if (report.outcome == report::Outcome::kImproved) {
    EXPECT_LT(report.optimized.measured.median_us, report.original.measured.median_us);
  }
}

// Memory runs out where the sink is told of a phase for the second time: inside of it.
class FullSink : public ProgressSink {
 public:
  explicit FullSink(std::string phase) : phase_(std::move(phase)) {}
  void Report(const Progress& progress) override {
    if (progress.phase == phase_ && ++told_ == 2) throw std::bad_alloc();
  }

 private:
  const std::string phase_;
  int told_ = 0;
};

TEST_F(OptimizeTest, MemoryThatRunsOutCostsTheCandidatesOnly) {
  FullSink sink("search");
  const std::string model = Branches();
  const ModelFiles files{.name = "m", .model = model};
  const auto result = Optimize(files, options_, environment_, StopCondition(&token_), &sink);
  ASSERT_TRUE(result.ok()) << result.status();
  EXPECT_EQ(result->files.model, model);
  EXPECT_THAT(result->report.notes, Contains(HasSubstr("memory ran out in the phase search")));
}

// A price of zero is a price: the stage before the search has run.
TEST_F(OptimizeTest, MemoryThatRunsOutForAModelThatCostsNothingIsTheSame) {
  FullSink sink("search");
  networks::NetworkBuilder builder("free", 1);
  builder.Output(builder.Flatten(builder.Input("x", {"2", "3", "4"})), {"2", "12"});
  const std::string model = std::move(builder).Build().SerializeAsString();
  const ModelFiles files{.name = "m", .model = model};
  const auto result = Optimize(files, options_, environment_, StopCondition(&token_), &sink);
  ASSERT_TRUE(result.ok()) << result.status();
  EXPECT_EQ(result->report.original.predicted_us, 0);
  EXPECT_EQ(result->report.passed_through, "");
  EXPECT_EQ(result->files.model, model);
  EXPECT_THAT(result->report.notes, Contains(HasSubstr("memory ran out in the phase search")));
}

// Time stands still.
class StoppedClock : public Clock {
 public:
  int64_t NowNs() const override { return 1'000'000'000; }
  int64_t UnixMs() const override { return 0; }
};

TEST_F(OptimizeTest, AllPhasesAreTimedByTheClockThatIsHandedIn) {
  const StoppedClock clock;
  const Environment environment{.devices = &devices_, .clock = clock};
  const std::string model = Branches();
  const ModelFiles files{.name = "m", .model = model};
  options_.max_simulations = 20;
  const auto result = Optimize(files, options_, environment, StopCondition(&token_), nullptr);
  ASSERT_TRUE(result.ok()) << result.status();
  EXPECT_EQ(result->report.search.seconds, 0);
  EXPECT_EQ(result->report.search.grow_seconds, 0);
  EXPECT_EQ(result->report.phase_seconds.size(), 6);
  for (const auto& [phase, seconds] : result->report.phase_seconds) EXPECT_EQ(seconds, 0) << phase;
}

TEST_F(OptimizeTest, CancelledBeforeItBegan) {
  token_.Cancel();
  EXPECT_EQ(GetReason(Run(Normalized()).status()), Reason::kCancelled);
}

TEST_F(OptimizeTest, BadModelsAndOptionsHaveReasons) {
  EXPECT_EQ(GetReason(Run("not a model").status()), Reason::kModelMalformed);
  const std::string model = Normalized();
  EXPECT_FALSE(Run(model.substr(0, model.size() / 2)).ok());
  options_.device = "abacus";
  EXPECT_EQ(GetReason(Run(model).status()), Reason::kOptionInvalid);
}

// Before the model is even read.
TEST_F(OptimizeTest, ADeviceThatIsNotThereIsFoundFirst) {
  options_.device = "cuda:99";
  EXPECT_EQ(GetReason(Run("not a model").status()), Reason::kDeviceNotPresent);
}

// The report of a model that came back although it could not be read or prepared.
void ExpectPassedThrough(const absl::StatusOr<Result>& result, const std::string& model,
                         Reason reason, const char* words) {
  ASSERT_TRUE(result.ok()) << result.status();
  EXPECT_EQ(result->files.model, model);
  const report::Report& report = result->report;
  EXPECT_EQ(report.outcome, report::Outcome::kNoImprovement);
  EXPECT_EQ(report.passed_through, ReasonName(reason));
  EXPECT_THAT(report.notes, Contains(HasSubstr(words)));
  EXPECT_THAT(report::ToTable(report),
              ::testing::AllOf(HasSubstr(words), ::testing::Not(HasSubstr(" us"))));
  EXPECT_THAT(report::ToHtml(report), HasSubstr("came back byte for byte"));
  const auto back = report::ReportFromJson(report::ToJson(report));
  ASSERT_TRUE(back.ok()) << back.status();
  EXPECT_EQ(back->passed_through, report.passed_through);
}

// Each tensor is below the limit of 64 GiB, together they are more than a machine has.
TEST_F(OptimizeTest, AModelThatMemoryCannotHoldComesBack) {
  options_.measure_shapes = {{"input", {3'600'000, 8, 24, 24}}};
  for (const char* device : {"model:h200", "cpu"}) {
    options_.device = device;
    const std::string model = Branches();
    ExpectPassedThrough(Run(model), model, Reason::kModelUnsupported, "--measure-shape");
  }
}

// The product of two matrices that do not fit.
TEST_F(OptimizeTest, ANodeThatMakesNoSensePassesThroughAndTheRestIsOptimized) {
  ::onnx::ModelProto proto;
  ASSERT_TRUE(proto.ParseFromString(Branches()));
  auto* node = proto.mutable_graph()->add_node();
  node->set_op_type("MatMul");
  node->set_name("senseless");
  for (int i = 0; i < 2; ++i) node->add_input(proto.graph().output(0).name());
  node->add_output("product");
  auto* product = proto.mutable_graph()->add_output();
  product->set_name("product");
  product->mutable_type()->mutable_tensor_type()->set_elem_type(::onnx::TensorProto::FLOAT);
  auto* dead = proto.mutable_graph()->add_node();
  dead->set_op_type("NoSuchOperator");
  dead->set_name("dead");
  dead->add_input("product");
  dead->add_output("unread");
  for (auto* value :
       {proto.mutable_graph()->mutable_input(0), proto.mutable_graph()->mutable_output(0)}) {
    value->mutable_type()->mutable_tensor_type()->mutable_shape()->mutable_dim(0)->set_dim_value(2);
  }
  const auto result = Run(proto.SerializeAsString());
  ASSERT_TRUE(result.ok()) << result.status();
  EXPECT_EQ(result->report.outcome, report::Outcome::kImproved);
  EXPECT_THAT(result->report.notes, Contains(HasSubstr("left as it is: ")).Times(1));
  EXPECT_THAT(result->report.notes, Contains(HasSubstr("'senseless' (MatMul): MatMul")).Times(0))
      << "a node is named once";
  EXPECT_THAT(result->report.notes, Contains(HasSubstr("senseless")));
  ASSERT_TRUE(proto.ParseFromString(result->files.model));
  EXPECT_EQ(std::count_if(proto.graph().node().begin(), proto.graph().node().end(),
                          [](const auto& each) { return each.name() == "senseless"; }),
            1);
}

TEST_F(OptimizeTest, WhereNoDimensionsMakeSenseTheUserIsAskedForThem) {
  networks::NetworkBuilder builder("contradiction", 1);
  const std::string x = builder.Input("x", {"2", "length"});
  builder.Output(builder.Reshape(x, {7, 2, 10007}), {"7", "2", "10007"});
  const std::string model = std::move(builder).Build().SerializeAsString();
  ExpectPassedThrough(Run(model), model, Reason::kShapeMissing, "--measure-shape x=DIMS");
  ExpectPassedThrough(Run(model), model, Reason::kShapeMissing, "'length' of input 'x'");
  options_.measure_shapes["x"] = {2, 70049};
  const auto bound = Run(model);
  ASSERT_TRUE(bound.ok()) << bound.status();
  EXPECT_EQ(bound->report.passed_through, "");
}

TEST_F(OptimizeTest, ModelsThatAreNotUnderstoodComeBackUntouched) {
  ::onnx::ModelProto proto;
  ASSERT_TRUE(proto.ParseFromString(Normalized()));
  ::onnx::ModelProto newer = proto, nameless = proto;
  newer.mutable_opset_import(0)->set_version(999);
  const std::string of_the_future = newer.SerializeAsString();
  ExpectPassedThrough(Run(of_the_future), of_the_future, Reason::kOpsetUnknown, "opset 999");
  nameless.mutable_graph()->mutable_node(0)->set_name("\xc3\x28");
  const std::string not_text = nameless.SerializeAsString();
  ExpectPassedThrough(Run(not_text), not_text, Reason::kModelUnsupported, "not UTF-8");
  // What is malformed is refused all the same.
  newer.mutable_graph()->mutable_node(0)->set_input(0, "nowhere");
  EXPECT_EQ(GetReason(Run(newer.SerializeAsString()).status()), Reason::kModelMalformed);
}

TEST_F(OptimizeTest, WhatOnnxsCheckerObjectsToIsToldAndTheRestIsOptimized) {
  ::onnx::ModelProto proto;
  ASSERT_TRUE(proto.ParseFromString(Branches()));
  auto* node = proto.mutable_graph()->add_node();
  node->set_op_type("Mystery");
  node->add_input(proto.graph().output(0).name());
  node->add_output("mystery");
  *proto.mutable_graph()->add_output() = proto.graph().output(0);
  proto.mutable_graph()->mutable_output(1)->set_name("mystery");
  const auto result = Run(proto.SerializeAsString());
  ASSERT_TRUE(result.ok()) << result.status();
  EXPECT_EQ(result->report.outcome, report::Outcome::kImproved);
  EXPECT_THAT(result->report.notes, Contains(HasSubstr("has no such operator")));
}

// By the letter of the standard such weights are no constants, unless the user says so.
TEST_F(OptimizeTest, WeightsThatAreInputsAreFrozenOnDemand) {
  ::onnx::ModelProto proto;
  ASSERT_TRUE(proto.ParseFromString(Branches()));
  const int interface = proto.graph().input_size();
  for (const ::onnx::TensorProto& tensor : proto.graph().initializer()) {
    auto* input = proto.mutable_graph()->add_input();
    input->set_name(tensor.name());
    auto* type = input->mutable_type()->mutable_tensor_type();
    type->set_elem_type(tensor.data_type());
    for (int64_t dim : tensor.dims()) type->mutable_shape()->add_dim()->set_dim_value(dim);
  }
  const int weights = proto.graph().initializer_size();
  const std::string model = proto.SerializeAsString();
  const auto kept = Run(model);
  ASSERT_TRUE(kept.ok()) << kept.status();
  EXPECT_THAT(kept->report.notes,
              Contains(HasSubstr(absl::StrCat(weights, " initializers are inputs, too"))));
  EXPECT_EQ(kept->report.outcome, report::Outcome::kNoImprovement);
  EXPECT_EQ(kept->files.model, model);

  options_.freeze_initializers = true;
  const auto frozen = Run(model);
  ASSERT_TRUE(frozen.ok()) << frozen.status();
  EXPECT_EQ(frozen->report.outcome, report::Outcome::kImproved);
  EXPECT_THAT(frozen->report.notes, Contains(HasSubstr("--freeze-initializers")));
  ASSERT_TRUE(proto.ParseFromString(frozen->files.model));
  EXPECT_EQ(proto.graph().input_size(), interface);
}

TEST_F(OptimizeTest, InspectTellsWhatAModelIs) {
  const std::string model = Normalized();
  ModelFiles files;
  files.model = model;
  const auto text = Inspect(files);
  ASSERT_TRUE(text.ok()) << text.status();
  EXPECT_THAT(*text, HasSubstr("\"Conv\": 2"));
  EXPECT_THAT(*text, HasSubstr("float32[N,8,24,24]"));
  EXPECT_THAT(*text, HasSubstr("\"objections\": []"));
}

TEST_F(OptimizeTest, InspectTellsWhatIsWrong) {
  ::onnx::ModelProto proto;
  ASSERT_TRUE(proto.ParseFromString(Normalized()));
  proto.mutable_graph()->mutable_node(0)->add_input("input");
  proto.mutable_graph()->mutable_node(0)->add_input("input");
  const std::string model = proto.SerializeAsString();
  ModelFiles files;
  files.model = model;
  const auto text = Inspect(files);
  ASSERT_TRUE(text.ok()) << text.status();
  EXPECT_THAT(*text, HasSubstr("inputs, not 2 to 3"));
}

}  // namespace
}  // namespace quotient::optimize
