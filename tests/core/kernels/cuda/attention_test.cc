// Attention on the emulated GPU: every way to run it against the reference, whatever stands around
// it.

#include "core/kernels/attention.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "core/kernels/cuda/lower.h"
#include "tests/core/kernels/cuda/way_checks.h"
#include "tests/support/cuda/program_runner.h"
#include "tests/support/status_matchers.h"

namespace quotient::kernels::cuda {
namespace {

using ::testing::ElementsAre;

constexpr const char* kTypes[] = {"float32", "float16", "bfloat16"};

// The one kernel of a graph that makes `y` of values of type FLOAT.
KernelSpec SpecOf(absl::string_view lines, absl::string_view type) {
  const std::string body =
      absl::StrCat(absl::StrReplaceAll(lines, {{"FLOAT", type}}), "\noutput y\n");
  const std::vector<KernelSpec> specs = NativeSpecsOf(body);
  EXPECT_EQ(specs.size(), 1u) << body;
  EXPECT_EQ(specs.at(0).op, kAttentionOp) << body;
  return specs.at(0);
}

std::vector<KernelSpec> InAllTypes(absl::string_view lines) {
  std::vector<KernelSpec> specs;
  for (const char* type : kTypes) specs.push_back(SpecOf(lines, type));
  return specs;
}

size_t LaunchesOf(const KernelSpec& spec, absl::string_view program) {
  for (const Program& way : Lower(spec, MathPolicy::kTf32)) {
    if (way.name == program) return way.launches.size();
  }
  return 0;
}

// As projections leave them: heads behind the positions.
constexpr char kHeadsLast[] =
    "input q: FLOAT[BATCH,5,3,8]\ninput k: FLOAT[BATCH,6,3,8]\ninput v: FLOAT[BATCH,6,3,8]\n"
    "a = Transpose(q) {perm=[0,2,1,3]}\nb = Transpose(k) {perm=[0,2,3,1]}\n"
    "c = Transpose(v) {perm=[0,2,1,3]}\ns = MatMul(a, b)\np = Softmax(s) {axis=3}\n"
    "o = MatMul(p, c)\ny = Transpose(o) {perm=[0,2,1,3]}";

TEST(AttentionTest, OfOneSequenceNeedsNoCopies) {
  const std::string lines = absl::StrReplaceAll(kHeadsLast, {{"BATCH", "1"}});
  for (const KernelSpec& spec : InAllTypes(lines)) {
    EXPECT_THAT(ProgramNames(spec), ElementsAre("dnn", "parts"));
    EXPECT_EQ(LaunchesOf(spec, "parts"), 3u);
  }
  ExpectEveryWayAgrees(InAllTypes(lines));
}

TEST(AttentionTest, OfSeveralSequencesCopiesWhatProductsCannotRead) {
  const std::string lines = absl::StrReplaceAll(kHeadsLast, {{"BATCH", "2"}});
  for (const KernelSpec& spec : InAllTypes(lines)) {
    EXPECT_THAT(ProgramNames(spec), ElementsAre("dnn", "parts"));
    EXPECT_EQ(LaunchesOf(spec, "parts"), 7u);
  }
  ExpectEveryWayAgrees(InAllTypes(lines));
}

TEST(AttentionTest, WhatCuDnnDoesNotTakeIsForProductsOnly) {
  // Heads of no whole number of packs.
  const std::string narrow = absl::StrReplaceAll(kHeadsLast, {{"BATCH", "1"}, {"3,8]", "3,12]"}});
  for (const KernelSpec& spec : InAllTypes(narrow)) {
    EXPECT_THAT(ProgramNames(spec), ElementsAre("parts"));
  }
  ExpectEveryWayAgrees(InAllTypes(narrow));
}

TEST(AttentionTest, KeysThatLieAsColumnsAreForProductsOnly) {
  const std::string lines =
      "input q: FLOAT[2,3,5,4]\ninput k: FLOAT[2,3,4,6]\ninput v: FLOAT[2,3,6,7]\n"
      "s = MatMul(q, k)\np = Softmax(s) {axis=3}\ny = MatMul(p, v)";
  for (const KernelSpec& spec : InAllTypes(lines)) {
    EXPECT_THAT(ProgramNames(spec), ElementsAre("parts"));
    EXPECT_EQ(LaunchesOf(spec, "parts"), 3u);
  }
  ExpectEveryWayAgrees(InAllTypes(lines));
}

TEST(AttentionTest, OfThreeAxes) {
  ExpectEveryWayAgrees(InAllTypes(
      "input q: FLOAT[4,5,8]\ninput k: FLOAT[4,6,8]\ninput v: FLOAT[6,4,8]\n"
      "t = Transpose(k) {perm=[0,2,1]}\nu = Transpose(v) {perm=[1,0,2]}\ns = MatMul(q, t)\n"
      "p = Softmax(s) {axis=2}\no = MatMul(p, u)\ny = Transpose(o) {perm=[1,0,2]}"));
}

TEST(AttentionTest, ScaleAndMasks) {
  std::vector<KernelSpec> specs;
  for (const char* mask : {"6", "1", "5,6", "5,1", "3,1,6", "2,1,1,6", "1,3,5,1", "2,3,5,6"}) {
    for (KernelSpec& spec : InAllTypes(absl::StrReplaceAll(
             "input q: FLOAT[2,3,5,8]\ninput k: FLOAT[2,3,6,8]\ninput v: FLOAT[2,3,6,8]\n"
             "input m: FLOAT[MASK]\nconst c: FLOAT[] = [2.5]\n"
             "t = Transpose(k) {perm=[0,1,3,2]}\ns = MatMul(q, t)\nd = Div(s, c)\n"
             "a = Add(d, m)\np = Softmax(a) {axis=3}\ny = MatMul(p, v)",
             {{"MASK", mask}}))) {
      specs.push_back(std::move(spec));
    }
  }
  ExpectEveryWayAgrees(specs);
}

// Where a mask hides all keys from a row, the reference has NaN: nothing to share the weight.
TEST(AttentionTest, ARowThatSeesNoKeyIsNotANumber) {
  for (const KernelSpec& spec :
       InAllTypes("input q: FLOAT[1,2,3,8]\ninput k: FLOAT[1,2,8,4]\ninput v: FLOAT[1,2,4,8]\n"
                  "const m: FLOAT[3,4] = random(1)\ns = MatMul(q, k)\na = Add(s, m)\n"
                  "p = Softmax(a) {axis=3}\ny = MatMul(p, v)")) {
    std::vector<model::Tensor> operands = RandomOperands(spec, 1);
    std::vector<double> mask = operands[3].AsDoubles();
    std::fill_n(mask.begin() + 4, 4, -std::numeric_limits<double>::infinity());
    std::span<std::byte> bytes;
    operands[3] = model::Tensor::Allocate(operands[3].dtype(), {3, 4}, &bytes);
    model::Store(operands[3].dtype(), bytes, 0, std::span<const double>(mask));
    ASSERT_OK_AND_ASSIGN(const std::vector<model::Tensor> expected,
                         ReferenceOutputs(spec, operands));
    const auto is_nan = [&](int64_t row) { return std::isnan(expected[0].GetDouble(row * 8)); };
    EXPECT_THAT((std::vector<bool>{is_nan(0), is_nan(1), is_nan(2)}),
                ElementsAre(false, true, false));
    ExpectProgramAgrees(spec, "parts", operands);
  }
}

// Learned queries, and a mask that is known.
TEST(AttentionTest, ConstantOperands) {
  ExpectEveryWayAgrees(InAllTypes(
      "input k: FLOAT[1,6,3,8]\ninput v: FLOAT[1,6,3,8]\n"
      "const m: FLOAT[5,6] = random(2)\nconst r: FLOAT[1,3,5,8] = random(1)\n"
      "b = Transpose(k) {perm=[0,2,3,1]}\nc = Transpose(v) {perm=[0,2,1,3]}\ns = MatMul(r, b)\n"
      "a = Add(s, m)\np = Softmax(a) {axis=3}\ny = MatMul(p, c)"));
}

TEST(AttentionTest, LongRowsAndRowsOfOne) {
  std::vector<KernelSpec> specs;
  for (const char* keys : {"1", "700", "3001"}) {
    for (const char* queries : {"1", "3"}) {
      specs.push_back(
          SpecOf(absl::StrReplaceAll("input q: FLOAT[1,2,QUERIES,8]\ninput k: FLOAT[1,2,KEYS,8]\n"
                                     "input v: FLOAT[1,2,KEYS,8]\ninput m: FLOAT[QUERIES,KEYS]\nt "
                                     "= Transpose(k) {perm=[0,1,3,2]}\ns = MatMul(q, t)\n"
                                     "a = Add(s, m)\np = Softmax(a) {axis=3}\ny = MatMul(p, v)",
                                     {{"QUERIES", queries}, {"KEYS", keys}}),
                 "float32"));
    }
  }
  ExpectEveryWayAgrees(specs);
}

TEST(AttentionTest, StrictFloat32HasNoKernelOfCuDnn) {
  const std::string lines = absl::StrReplaceAll(kHeadsLast, {{"BATCH", "1"}});
  const auto names = [&](const char* type) {
    std::vector<std::string> result;
    for (const Program& way : Lower(SpecOf(lines, type), MathPolicy::kStrict32)) {
      result.push_back(way.name);
    }
    return result;
  };
  EXPECT_THAT(names("float32"), ElementsAre("parts"));
  EXPECT_THAT(names("float16"), ElementsAre("dnn", "parts"));
}

}  // namespace
}  // namespace quotient::kernels::cuda
