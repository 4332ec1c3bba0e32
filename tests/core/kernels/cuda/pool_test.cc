// The GPU's MaxPool and AveragePool.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"
#include "tests/core/kernels/cuda/source_checks.h"

namespace quotient::kernels::cuda {
namespace {

// Pools of graphs run channels last; the same in plain layout.
void AddBothLayouts(const std::string& body, std::vector<KernelSpec>& specs) {
  for (KernelSpec spec : SpecsOf(body)) {
    if (spec.op == kReorderOp) continue;
    spec.inputs[0].layout = spec.outputs[0].layout = Layout::kChannelsLast;
    specs.push_back(spec);
    spec.inputs[0].layout = spec.outputs[0].layout = Layout::kPlain;
    specs.push_back(spec);
  }
}

TEST(PoolTest, WindowsOfEveryKind) {
  std::vector<KernelSpec> specs;
  int i = 0;
  for (const char* op : {"MaxPool", "AveragePool"}) {
    for (const char* window : {
             "kernel_shape=[3,3], pads=[1,1,1,1], strides=[2,2]",
             "kernel_shape=[2,2], strides=[2,2]",
             "kernel_shape=[3,2], pads=[0,1,2,0], strides=[1,3], dilations=[2,1]",
             "kernel_shape=[3,3], strides=[2,2], ceil_mode=1",
             "kernel_shape=[3,3], pads=[1,1,1,1], strides=[3,3], ceil_mode=1",
             "kernel_shape=[2,3], auto_pad=\"SAME_LOWER\"",
             "kernel_shape=[9,11]",
         }) {
      const char* const type = i++ % 2 == 0 ? "float32" : "float16";
      AddBothLayouts(absl::StrCat("input x: ", type, "[2,6,10,13]\ny = ", op, "(x) {", window,
                                  "}\noutput y\n"),
                     specs);
    }
  }
  for (const char* window :
       {"kernel_shape=[3,3], pads=[1,1,1,1], strides=[2,2], count_include_pad=1",
        "kernel_shape=[3,3], pads=[1,1,1,1], strides=[3,3], ceil_mode=1, count_include_pad=1"}) {
    AddBothLayouts(
        absl::StrCat("input x: bfloat16[1,5,11,9]\ny = AveragePool(x) {", window, "}\noutput y\n"),
        specs);
  }
  ExpectSourceKernelsAgree(specs, "pool");
}

TEST(PoolTest, OneAndThreeSpatialAxes) {
  std::vector<KernelSpec> specs;
  for (const char* op : {"MaxPool", "AveragePool"}) {
    AddBothLayouts(absl::StrCat("input x: float32[2,5,17]\ny = ", op,
                                "(x) {kernel_shape=[4], strides=[3], pads=[1,2]}\noutput y\n"),
                   specs);
    AddBothLayouts(absl::StrCat("input x: float32[1,4,5,6,7]\ny = ", op,
                                "(x) {kernel_shape=[2,3,2], strides=[1,2,2]}\noutput y\n"),
                   specs);
  }
  ExpectSourceKernelsAgree(specs, "pool");
}

TEST(PoolTest, ChannelsAreReadInPacks) {
  std::vector<KernelSpec> specs;
  for (const char* type : {"float32", "float16", "bfloat16"}) {
    AddBothLayouts(absl::StrCat("input x: ", type, "[1,32,80,80]\ny = MaxPool(x) ",
                                "{kernel_shape=[3,3], pads=[1,1,1,1]}\noutput y\n"),
                   specs);
  }
  ExpectSourceKernelsAgree(specs, "pool");
}

}  // namespace
}  // namespace quotient::kernels::cuda
