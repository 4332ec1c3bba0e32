#include "core/kernels/kernel_spec.h"

#include <gtest/gtest.h>

#include <set>

#include "core/kernels/fusion.h"
#include "core/kernels/view.h"

namespace quotient::kernels {
namespace {

using model::DType;

Operand Floats(std::vector<int64_t> dims, bool constant = false) {
  return {model::StaticType(DType::kFloat32, dims), constant};
}

KernelSpec ConvSpec() {
  return MakeSpec("Conv", {{"pads", model::Ints{1, 1, 1, 1}}},
                  {Floats({1, 8, 6, 6}), Floats({4, 8, 3, 3}, true)},
                  {model::StaticType(DType::kFloat32, std::vector<int64_t>{1, 4, 6, 6})}, 1, 20);
}

TEST(KernelSpecTest, KeyShowsAllThatCounts) {
  KernelSpec spec = ConvSpec();
  spec.epilogue.push_back(
      {.op = "Sub", .operands = {Floats({4, 1, 1})}, .running_is_second = true});
  EXPECT_EQ(KernelKey(spec),
            "k1 Conv{pads=[1,1,1,1]}(float32[1,8,6,6]:last, const float32[4,8,3,3])->"
            "(float32[1,4,6,6]:last) +~Sub(float32[4,1,1]) threads=1 cold=20");
}

TEST(KernelSpecTest, SpecsThatDifferHaveKeysThatDiffer) {
  std::vector<KernelSpec> specs(10, ConvSpec());
  specs[1].threads = 2;
  specs[2].constant_footprint_log2 = 21;
  specs[3].inputs[1].constant = false;
  specs[4].inputs[0].layout = Layout::kPlain;
  specs[5].attributes.Set("group", int64_t{2});
  specs[6].epilogue.push_back({.op = "Relu"});
  specs[7].inputs.push_back(Operand{});
  specs[8].free = true;
  specs[9].inputs[0].type.dtype = DType::kFloat16;
  std::set<std::string> keys;
  for (const KernelSpec& spec : specs) keys.insert(KernelKey(spec));
  EXPECT_EQ(keys.size(), specs.size());
}

TEST(KernelSpecTest, FootprintIsTheLogarithmRoundedDownAndBounded) {
  EXPECT_EQ(FootprintLog2(0), 0);
  EXPECT_EQ(FootprintLog2(1023), 9);
  EXPECT_EQ(FootprintLog2(1024), 10);
  EXPECT_EQ(FootprintLog2(int64_t{1} << 40), 28);
}

TEST(KernelSpecTest, KernelsWithoutConstantsDoNotDependOnTheFootprint) {
  const auto type = model::StaticType(DType::kFloat32, std::vector<int64_t>{4});
  const KernelSpec a = MakeSpec("Relu", {}, {Floats({4})}, {type}, 1, 10);
  const KernelSpec b = MakeSpec("Relu", {}, {Floats({4})}, {type}, 1, 20);
  EXPECT_EQ(KernelKey(a), KernelKey(b));
}

TEST(KernelSpecTest, ViewsAreMadeFree) {
  const auto type = model::StaticType(DType::kFloat32, std::vector<int64_t>{6});
  EXPECT_TRUE(
      MakeSpec("Reshape", {{"shape", model::Ints{6}}}, {Floats({2, 3})}, {type}, 1, 0).free);
  // A constant would have to be copied first.
  EXPECT_FALSE(
      MakeSpec("Reshape", {{"shape", model::Ints{6}}}, {Floats({2, 3}, true)}, {type}, 1, 0).free);
}

TEST(ViewTest, TransposeOfUnitAxesIsFree) {
  const auto spec = [](model::Ints perm, std::vector<int64_t> in, std::vector<int64_t> out) {
    return MakeSpec("Transpose", {{"perm", std::move(perm)}}, {Floats(std::move(in))},
                    {model::StaticType(DType::kFloat32, out)}, 1, 0);
  };
  EXPECT_TRUE(spec({0, 2, 1, 3}, {1, 1, 5, 6}, {1, 5, 1, 6}).free);
  EXPECT_FALSE(spec({0, 2, 1, 3}, {1, 2, 5, 6}, {1, 5, 2, 6}).free);
}

TEST(ViewTest, PartsOfTheSlowestAxisBeginWhereTheyLie) {
  KernelSpec spec =
      MakeSpec("Split", {{"axis", int64_t{1}}, {"split", model::Ints{1, 3}}}, {Floats({1, 4, 5})},
               {model::StaticType(DType::kFloat32, std::vector<int64_t>{1, 1, 5}),
                model::StaticType(DType::kFloat32, std::vector<int64_t>{1, 3, 5})},
               1, 0);
  EXPECT_EQ(FreeView(spec), (std::vector<int64_t>{0, 20}));
  // Channels last, the channels of all pixels would have to be picked out.
  for (Operand* operand : {&spec.inputs[0], &spec.outputs[0], &spec.outputs[1]}) {
    operand->layout = Layout::kChannelsLast;
  }
  EXPECT_EQ(FreeView(spec), std::nullopt);
}

TEST(ViewTest, WideningIsFreeWhereFloatsLieWide) {
  const auto spec = [](Storage storage) {
    const auto type = [](DType dtype) { return model::StaticType(dtype, std::vector<int64_t>{4}); };
    return MakeSpec("Cast", {{"to", int64_t{1}}}, {Operand{type(DType::kFloat16)}},
                    {type(DType::kFloat32)}, 1, 0, storage);
  };
  EXPECT_TRUE(spec(Storage::kWide).free);
  EXPECT_FALSE(spec(Storage::kNative).free);
  EXPECT_NE(KernelKey(spec(Storage::kWide)), KernelKey(spec(Storage::kNative)));
}

TEST(ViewTest, NativeViewsAreAligned) {
  const auto begins = [](DType dtype, int64_t start) {
    const auto part = model::StaticType(dtype, std::vector<int64_t>{4});
    const Operand whole{model::StaticType(dtype, std::vector<int64_t>{16})};
    return FreeView(MakeSpec("Slice",
                             {{"starts", model::Ints{start}},
                              {"ends", model::Ints{start + 4}},
                              {"axes", model::Ints{0}}},
                             {whole}, {part}, 1, 0, Storage::kNative));
  };
  EXPECT_EQ(begins(DType::kFloat32, 4), (std::vector<int64_t>{16}));
  EXPECT_EQ(begins(DType::kFloat32, 5), std::nullopt);
  EXPECT_EQ(begins(DType::kFloat16, 8), (std::vector<int64_t>{16}));
  EXPECT_EQ(begins(DType::kFloat16, 4), std::nullopt);
}

TEST(FusionTest, ContractionsTakeWhatTheirLibrariesTake) {
  const model::TensorType output =
      model::StaticType(DType::kFloat32, std::vector<int64_t>{1, 4, 6, 6});
  const Operand running{output};
  const auto fuses = [&](absl::string_view op, std::vector<Operand> inputs, int position) {
    return FusesAsEpilogue("Conv", {op, {}, inputs, output, position});
  };
  EXPECT_TRUE(fuses("Relu", {running}, 0));
  EXPECT_FALSE(fuses("Erf", {running}, 0));
  EXPECT_TRUE(fuses("Add", {running, running}, 0));
  EXPECT_TRUE(fuses("Add", {Floats({4, 1, 1}), running}, 1));
  EXPECT_FALSE(fuses("Add", {running, Floats({6, 1})}, 0));  // along another axis
  EXPECT_TRUE(fuses("Sub", {Floats({}), running}, 1));
  EXPECT_FALSE(fuses("Div", {Floats({}), running}, 1));
  EXPECT_FALSE(fuses("Add", {running, Floats({2, 4, 6, 6})}, 0));  // the output is another's
}

TEST(FusionTest, ElementwiseKernelsTakeEveryElementwiseNode) {
  const model::TensorType output = model::StaticType(DType::kFloat32, std::vector<int64_t>{4, 6});
  const std::vector<Operand> unary{Operand{output}};
  EXPECT_TRUE(FusesAsEpilogue("Add", {"Erf", {}, unary, output}));
  EXPECT_FALSE(FusesAsEpilogue("Add", {"Softmax", {}, unary, output}));
  const model::TensorType integers = model::StaticType(DType::kInt64, std::vector<int64_t>{4, 6});
  const std::vector<Operand> integer{Operand{integers}};
  EXPECT_FALSE(FusesAsEpilogue("Add", {"Abs", {}, integer, integers}));
}

}  // namespace
}  // namespace quotient::kernels
