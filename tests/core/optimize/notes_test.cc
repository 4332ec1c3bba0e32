#include "core/optimize/notes.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "core/cost/cost_model.h"
#include "core/ops/infer_graph.h"
#include "core/timing/memory_store.h"
#include "tests/core/onnx/onnx_text.h"
#include "tests/support/fake_backend.h"
#include "tests/support/graphs.h"
#include "tests/support/status_matchers.h"

namespace quotient::optimize {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using Part = onnx::ObjectionAt::Part;

class NotesOnReadingTest : public ::testing::Test {
 protected:
  void SetUp() override { Read(17, "y = Relu(x)"); }

  // Reads a model with these nodes at an opset. Without this it is a Relu at opset 17.
  void Read(int opset, absl::string_view nodes) {
    ASSERT_OK_AND_ASSIGN(
        original_.model,
        testing::ReadProto(testing::ModelAtOpset(
            opset, absl::StrCat("g (float[2,3] x) => (float[2,3] y) { ", nodes, " }"))));
  }
  // Binds a graph whose sizes are unknown behind opaque nodes.
  void Bind(absl::string_view text) {
    original_.graph = testing::MustParse(text);
    ASSERT_OK(ops::InferTypes(original_.graph));
    ASSERT_OK_AND_ASSIGN(original_.measured, ops::BindShapes(original_.graph, {{"x", {2, 3}}}));
  }

  std::vector<std::string> Notes() const {
    return NotesOnReading(original_, options_, runs_files_);
  }

  Prepared original_;
  Options options_;
  bool runs_files_ = false;
};

TEST_F(NotesOnReadingTest, OfAPlainModelThereIsNothingToSay) { EXPECT_THAT(Notes(), IsEmpty()); }

TEST_F(NotesOnReadingTest, WhatReadingAndBindingFoundComesFirst) {
  original_.model.inlined_calls = 1;
  original_.shapes.notes = {"a size was taken"};
  original_.stale_declarations = {"a type is wrong"};
  EXPECT_THAT(Notes(), ElementsAre("a type is wrong", "a size was taken",
                                   HasSubstr("1 call of the model's own functions")));
}

TEST_F(NotesOnReadingTest, DefaultsOfInputsAreToldWithTheOptionThatMakesThemConstants) {
  original_.model.overridable_initializers = 1;
  EXPECT_THAT(Notes(), ElementsAre(AllOf(HasSubstr("1 initializer is an input, too"),
                                         HasSubstr("--freeze-initializers"))));
  original_.model.overridable_initializers = 2;
  EXPECT_THAT(Notes(), ElementsAre(HasSubstr("2 initializers are inputs, too")));
}

TEST_F(NotesOnReadingTest, FrozenInputsAreMissedInTheResult) {
  original_.model.frozen_initializers = 3;
  EXPECT_THAT(Notes(), ElementsAre(AllOf(HasSubstr("3 inputs with an initializer"),
                                         HasSubstr("does not have these inputs"))));
}

// A device that runs files runs these nodes as well, so its times hold theirs.
TEST_F(NotesOnReadingTest, CutNodesAreMissedInTimesUnlessFilesAreRun) {
  original_.cut.cut_nodes = 1;
  EXPECT_THAT(Notes(), ElementsAre(AllOf(HasSubstr("1 node is not understood"),
                                         HasSubstr("checking and measuring cut the model"),
                                         HasSubstr("no time holds what it takes"))));
  runs_files_ = true;
  original_.cut.cut_nodes = 2;
  EXPECT_THAT(Notes(), ElementsAre(AllOf(HasSubstr("2 nodes are not understood"),
                                         HasSubstr(": checking cuts the model"),
                                         HasSubstr("no prediction holds what they take"))));
}

TEST_F(NotesOnReadingTest, SizesThatWereAssumedBehindOpaqueNodesAreTold) {
  Bind(R"(graph g {
    input x: float32[2,3]
    a: float32[?,3] = Opaque "Foo" (x)
    b: float32[4,3] = Opaque "Bar" (x)
    y = Relu(a)
    z = Relu(b)
    output y, z
  })");
  EXPECT_THAT(Notes(), ElementsAre(AllOf(HasSubstr("behind 1 node"), HasSubstr("taken as 16"))));
}

TEST_F(NotesOnReadingTest, DeclaredSizesAreNoAssumptions) {
  Bind(R"(graph g {
    input x: float32[2,3]
    a: float32[16,3] = Opaque "Foo" (x)
    y = Relu(a)
    output y
  })");
  EXPECT_THAT(Notes(), IsEmpty());
}

TEST_F(NotesOnReadingTest, AModelThatIsNewerThanTheOptionAsksForStaysSo) {
  options_.max_opset = 17;
  EXPECT_THAT(Notes(), IsEmpty());
  options_.max_opset = 13;
  EXPECT_THAT(Notes(), ElementsAre(HasSubstr("the model itself needs opset 17")));
}

TEST_F(NotesOnReadingTest, AnOperatorThatKeepsTheOpsetIsNamed) {
  Read(11, "t = Hardmax(x) y = Relu(t)");
  EXPECT_THAT(Notes(), ElementsAre(AllOf(HasSubstr("newer than opset 12"),
                                         HasSubstr("Hardmax, which opset 13 defines anew"))));
  options_.max_opset = 12;
  EXPECT_THAT(Notes(), IsEmpty()) << "nothing newer was asked for";
}

TEST_F(NotesOnReadingTest, WhatTheUserSaysOfInputsIsRepeated) {
  options_.assume_finite_inputs = true;
  EXPECT_THAT(Notes(), ElementsAre(HasSubstr("nothing beyond 1e+06")));
}

onnx::ObjectionAt Objection(Part part, const std::string& value) {
  return {.part = part, .value = value, .text = absl::StrCat("something is wrong at ", value)};
}

onnx::Model ModelWith(std::vector<onnx::ObjectionAt> objections) {
  return {.objections = std::move(objections)};
}

TEST(NotesOnObjectionsTest, AnOriginalThatCameBackHasAllOfThem) {
  const onnx::Model original =
      ModelWith({Objection(Part::kNode, "a"), Objection(Part::kDeclaration, "b")});
  EXPECT_THAT(NotesOnObjections(original, nullptr),
              ElementsAre("left as it is: something is wrong at a",
                          "left as it is: something is wrong at b"));
  EXPECT_THAT(NotesOnObjections(ModelWith({}), nullptr), IsEmpty());
}

// A node is told by its first output, and what is declared of a value by the result's objections.
TEST(NotesOnObjectionsTest, OfAResultOnlyWhatIsStillThereIsTold) {
  const onnx::Model original =
      ModelWith({Objection(Part::kNode, "kept"), Objection(Part::kNode, "gone"),
                 Objection(Part::kDeclaration, "wrong"), Objection(Part::kDeclaration, "mended")});
  onnx::Model result = ModelWith({Objection(Part::kDeclaration, "wrong")});
  result.graph = testing::MustParse(
      "graph g { input x: float32[2] kept = Relu(x) mended = Relu(kept) output mended }");
  EXPECT_THAT(NotesOnObjections(original, &result),
              ElementsAre(HasSubstr("wrong at kept"), HasSubstr("wrong at wrong")));
}

TEST(NotesOnObjectionsTest, OfManyFiveAreShownAndTheRestIsCounted) {
  std::vector<onnx::ObjectionAt> objections;
  for (const char* const value : {"a", "b", "c", "d", "e"}) {
    objections.push_back(Objection(Part::kNode, value));
  }
  EXPECT_EQ(NotesOnObjections(ModelWith(objections), nullptr).size(), 5u);
  objections.push_back(Objection(Part::kNode, "f"));
  objections.push_back(Objection(Part::kNode, "g"));
  const std::vector<std::string> notes = NotesOnObjections(ModelWith(objections), nullptr);
  ASSERT_EQ(notes.size(), 6u);
  EXPECT_THAT(notes[4], HasSubstr("wrong at e"));
  EXPECT_EQ(notes[5], "left as it is: 2 more places");
}

TEST(NotesOnSnapshotTest, ASnapshotThatLacksMostOfTheKernelsIsNoted) {
  EXPECT_THAT(NotesOnSnapshot({.measured = 1, .estimated = 2}),
              ElementsAre(HasSubstr("has only 1 of the 3 kernels")));
  EXPECT_THAT(NotesOnSnapshot({.measured = 0, .estimated = 1}),
              ElementsAre(HasSubstr("has none of the 1 kernel of")));
  EXPECT_THAT(NotesOnSnapshot({.measured = 2, .estimated = 2}), IsEmpty());
  EXPECT_THAT(NotesOnSnapshot({}), IsEmpty());
}

TEST(NotesOnDisturbanceTest, SayWhatWasComparedInstead) {
  Decision decision;
  EXPECT_THAT(NotesOnDisturbance(decision), IsEmpty());
  decision.disturbed = true;
  EXPECT_THAT(NotesOnDisturbance(decision),
              ElementsAre(HasSubstr("the times say less than usual")));
  decision.original.disturbed = true;
  EXPECT_THAT(NotesOnDisturbance(decision), ElementsAre(HasSubstr("instead: no time is known")));
  decision.by_cpu_time = true;
  EXPECT_THAT(NotesOnDisturbance(decision),
              ElementsAre(HasSubstr("the CPU time of runs on one thread was compared instead")));
}

TEST(NotesOnRefusalTest, WhereARuntimeRefusesTheModelAnotherDeviceIsNamed) {
  const absl::Status refusal = absl::UnimplementedError("acme:Frobnicate is not registered");
  kernels::fake::FakeClock clock;
  timing::MemoryStore store;
  timing::Lane lane;
  auto backend = kernels::fake::NewFakeBackend(&clock, {.runs_files = true});
  auto service = timing::NewTimingService(backend.get(), &store, &lane, {});
  const Device files(
      MeasuringParts{.backend = std::move(backend), .service = std::move(service), .lane = &lane});
  EXPECT_THAT(NotesOnRefusal(files, refusal), ElementsAre(HasSubstr("--device cpu")));
  EXPECT_THAT(NotesOnRefusal(files, absl::ResourceExhaustedError("no memory")), IsEmpty());
  ASSERT_OK_AND_ASSIGN(auto model, cost::NewAnalyticCostModel("model:h200"));
  EXPECT_THAT(NotesOnRefusal(Device(std::move(model)), refusal), IsEmpty());
}

}  // namespace
}  // namespace quotient::optimize
