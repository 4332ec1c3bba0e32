// The table of universes. Sizes are mostly different, so that terms that are equal in one shape
// only are rare.

#include "core/generate/universe.h"

#include <algorithm>
#include <initializer_list>
#include <utility>

#include "absl/strings/str_cat.h"
#include "core/model/text.h"

namespace quotient::generate {
namespace {

class Builder {
 public:
  explicit Builder(std::string name) { universe_.name = std::move(name); }

  Builder& Inputs(std::initializer_list<const char*> names, const Ints& dims, const Ints& large) {
    for (const char* name : names) universe_.variables.push_back({name, dims, large, false});
    return *this;
  }
  Builder& Weights(std::initializer_list<const char*> names, const Ints& dims, const Ints& large) {
    for (const char* name : names) universe_.variables.push_back({name, dims, large, true});
    return *this;
  }
  // Attributes as graphs in text form have them, without braces. Those of the large graph are the
  // same if none are given.
  Builder& Unary(const char* name, const std::string& attributes = "",
                 const std::string& large = "") {
    return Word(name, 1, attributes, large);
  }
  Builder& Binary(const char* name, const std::string& attributes = "") {
    return Word(name, 2, attributes, "");
  }
  // With a weight as second operand.
  Builder& Weighted(const char* name, const std::string& attributes = "") {
    Binary(name, attributes);
    universe_.operators.back().wants_weight = true;
    return *this;
  }
  // The first and the second part of something along an axis.
  Builder& Halves(int axis, int64_t half, int64_t large_half) {
    const auto text = [axis](int64_t start, int64_t end) {
      return absl::StrCat("axes=[", axis, "], ends=[", end, "], starts=[", start, "]");
    };
    Unary("Slice", text(0, half), text(0, large_half));
    return Unary("Slice", text(half, 2 * half), text(large_half, 2 * large_half));
  }
  Builder& WeightsAreInputs() {
    universe_.weights_are_constants = false;
    return *this;
  }
  Universe Build() { return std::move(universe_); }

 private:
  Builder& Word(const char* name, int num_operands, const std::string& attributes,
                const std::string& large) {
    const auto parsed = [](const std::string& text) {
      return model::ParseAttributes(absl::StrCat("{", text, "}")).value();
    };
    universe_.operators.push_back(
        {name, parsed(attributes), num_operands, parsed(large.empty() ? attributes : large)});
    return *this;
  }

  Universe universe_;
};

// --- TASO's operators (generator.cc of TASO), without its constants

Universe TasoMatrices() {
  return Builder("taso-matrices")
      .Inputs({"x", "y", "z"}, {2, 3}, {256, 512})
      .Weights({"u", "v", "w"}, {3, 3}, {512, 512})
      .Weights({"s"}, {}, {})
      .Binary("Add")
      .Binary("Mul")
      .Binary("MatMul")
      .Binary("Concat", "axis=0")
      .Binary("Concat", "axis=1")
      .Unary("Relu")
      .Unary("Tanh")
      .Unary("Transpose", "perm=[1,0]")
      .Unary("Slice", "axes=[0], ends=[1], starts=[0]", "axes=[0], ends=[128], starts=[0]")
      .Unary("Slice", "axes=[1], ends=[2], starts=[0]", "axes=[1], ends=[256], starts=[0]")
      .Halves(0, 2, 256)
      .Halves(1, 3, 512)
      .WeightsAreInputs()
      .Build();
}

constexpr char kSame3[] = "pads=[1,1,1,1]";
constexpr char kSamePool3[] = "kernel_shape=[3,3], pads=[1,1,1,1]";

Universe TasoImages() {
  return Builder("taso-images")
      .Inputs({"x", "y"}, {1, 2, 3, 3}, {8, 64, 28, 28})
      .Weights({"v", "w"}, {2, 2, 3, 3}, {64, 64, 3, 3})
      .Weights({"e"}, {2, 2, 1, 1}, {64, 64, 1, 1})
      .Weights({"s"}, {}, {})
      .Binary("Add")
      .Binary("Mul")
      .Weighted("Conv")
      .Weighted("Conv", kSame3)
      .Binary("Concat", "axis=0")
      .Binary("Concat", "axis=1")
      .Unary("Relu")
      .Unary("MaxPool", kSamePool3)
      .Unary("AveragePool", "count_include_pad=1, kernel_shape=[3,3], pads=[1,1,1,1]")
      .Unary("Pad", "pads=[0,0,1,1,0,0,1,1]")
      .Unary("Slice", "axes=[1], ends=[1], starts=[0]", "axes=[1], ends=[32], starts=[0]")
      .Halves(0, 1, 8)
      .Halves(1, 2, 64)
      .WeightsAreInputs()
      .Build();
}

// What TASO's rules are written with.
Universe TasoRuleMatrices() {
  return Builder("taso-rules-matrices")
      .Inputs({"a", "b", "c", "d", "x", "y", "z"}, {3, 3}, {512, 512})
      .Binary("Add")
      .Binary("Mul")
      .Binary("MatMul")
      .Binary("Concat", "axis=0")
      .Binary("Concat", "axis=1")
      .Unary("Relu")
      .Halves(0, 3, 512)
      .Halves(1, 3, 512)
      .WeightsAreInputs()
      .Build();
}

Universe TasoRuleImages() {
  return Builder("taso-rules-images")
      .Inputs({"x", "y", "z", "t"}, {1, 2, 3, 3}, {8, 64, 28, 28})
      .Weights({"v", "w"}, {2, 2, 3, 3}, {64, 64, 3, 3})
      .Weights({"e", "f"}, {2, 2, 1, 1}, {64, 64, 1, 1})
      .Binary("Add")
      .Binary("Mul")
      .Weighted("Conv")
      .Weighted("Conv", kSame3)
      .Binary("Concat", "axis=0")
      .Binary("Concat", "axis=1")
      .Unary("Relu")
      .Unary("Pad", "pads=[0,0,1,1,0,0,1,1]")
      .Halves(0, 1, 8)
      .Halves(1, 2, 64)
      .WeightsAreInputs()
      .Build();
}

// --- Ours

Universe Activations() {
  return Builder("activations")
      .Inputs({"x", "y", "z"}, {2, 3}, {256, 512})
      .Weights({"v"}, {3}, {512})
      .Binary("Add")
      .Binary("Sub")
      .Binary("Mul")
      .Binary("Max")
      .Binary("Min")
      .Unary("Neg")
      .Unary("Relu")
      .Unary("Sigmoid")
      .Build();
}

Universe Reductions() {
  return Builder("reductions")
      .Inputs({"x", "y"}, {2, 3}, {256, 512})
      .Weights({"v"}, {3}, {512})
      .Weights({"w"}, {3, 3}, {512, 512})
      .Weights({"s"}, {}, {})
      .Binary("Add")
      .Binary("Mul")
      .Binary("MatMul")
      .Binary("Concat", "axis=0")
      .Binary("Concat", "axis=1")
      .Binary("Max")
      .Unary("Relu")
      .Unary("Neg")
      .Unary("Transpose", "perm=[1,0]")
      .Unary("ReduceSum", "axes=[0]")
      .Unary("ReduceSum", "axes=[1]")
      .Unary("ReduceMean", "axes=[0]")
      .Unary("ReduceMean", "axes=[1]")
      .Unary("ReduceMax", "axes=[0]")
      .Unary("ReduceMax", "axes=[1]")
      .Build();
}

Universe Broadcasts() {
  return Builder("broadcasts")
      .Inputs({"x", "y"}, {2, 3}, {256, 512})
      .Inputs({"r"}, {1, 3}, {1, 512})
      .Inputs({"c"}, {2, 1}, {256, 1})
      .Weights({"w"}, {3, 3}, {512, 512})
      .Binary("Add")
      .Binary("Mul")
      .Binary("Sub")
      .Binary("MatMul")
      .Unary("Relu")
      .Unary("Expand", "shape=[2,3]", "shape=[256,512]")
      .Unary("Tile", "repeats=[2,1]")
      .Unary("ReduceSum", "axes=[0]")
      .Unary("ReduceSum", "axes=[1]")
      .Unary("ReduceMean", "axes=[1]")
      .Unary("ReduceMax", "axes=[1]")
      .Unary("Transpose", "perm=[1,0]")
      .Build();
}

Universe Layouts() {
  return Builder("layouts")
      .Inputs({"x", "y"}, {2, 3, 4}, {8, 128, 512})
      .Weights({"w"}, {4, 4}, {512, 512})
      .Weights({"s"}, {}, {})
      .Binary("Add")
      .Binary("Mul")
      .Binary("MatMul")
      .Binary("Concat", "axis=0")
      .Binary("Concat", "axis=1")
      .Unary("Relu")
      .Unary("Softmax")
      .Unary("Softmax", "axis=1")
      .Unary("Transpose", "perm=[0,2,1]")
      .Unary("Transpose", "perm=[1,0,2]")
      .Unary("Transpose", "perm=[1,2,0]")
      .Unary("Reshape", "shape=[6,4]", "shape=[1024,512]")
      .Unary("Reshape", "shape=[2,12]", "shape=[8,65536]")
      .Unary("ReduceSum", "axes=[1]")
      .Unary("ReduceMean", "axes=[2]")
      .Build();
}

Universe Normalizations() {
  return Builder("normalizations")
      .Inputs({"x", "y"}, {2, 4}, {256, 512})
      .Weights({"v"}, {4}, {512})
      .Weights({"w"}, {4, 4}, {512, 512})
      .Weights({"s"}, {}, {})
      .Binary("Add")
      .Binary("Mul")
      .Binary("MatMul")
      .Weighted("LayerNormalization")
      .Binary("Concat", "axis=0")
      .Binary("Concat", "axis=1")
      .Unary("Softmax")
      .Unary("Softmax", "axis=0")
      .Unary("Relu")
      .Unary("Neg")
      .Unary("Transpose", "perm=[1,0]")
      .Unary("ReduceSum", "axes=[1]")
      .Unary("ReduceMean", "axes=[1]")
      .Halves(0, 1, 128)
      .Build();
}

Universe Slices() {
  return Builder("slices")
      .Inputs({"x", "y"}, {4, 6}, {256, 512})
      .Weights({"w"}, {6, 6}, {512, 512})
      .Weights({"v"}, {6}, {512})
      .Binary("Add")
      .Binary("Mul")
      .Binary("MatMul")
      .Binary("Concat", "axis=0")
      .Binary("Concat", "axis=1")
      .Halves(0, 2, 128)
      .Halves(1, 3, 256)
      .Unary("Relu")
      .Unary("Softmax")
      .Unary("Transpose", "perm=[1,0]")
      .Unary("ReduceSum", "axes=[0]")
      .Unary("ReduceSum", "axes=[1]")
      .Unary("ReduceMax", "axes=[1]")
      .Build();
}

Universe Pools() {
  return Builder("pools")
      .Inputs({"x", "y"}, {1, 2, 4, 4}, {8, 64, 28, 28})
      .Weights({"e"}, {2, 2, 1, 1}, {64, 64, 1, 1})
      .Weights({"s"}, {}, {})
      .Binary("Add")
      .Binary("Mul")
      .Binary("Max")
      .Weighted("Conv")
      .Binary("Concat", "axis=0")
      .Binary("Concat", "axis=1")
      .Unary("Relu")
      .Unary("MaxPool", kSamePool3)
      .Unary("MaxPool", "kernel_shape=[5,5], pads=[2,2,2,2]")
      .Unary("MaxPool", "kernel_shape=[2,2], strides=[2,2]")
      .Unary("AveragePool", "kernel_shape=[2,2], strides=[2,2]")
      .Unary("GlobalAveragePool")
      .Unary("GlobalMaxPool")
      .Unary("ReduceSum", "axes=[1]")
      .Halves(1, 1, 32)
      .Build();
}

Universe Convolutions() {
  return Builder("convolutions")
      .Inputs({"x", "y"}, {1, 2, 4, 4}, {8, 64, 28, 28})
      .Weights({"v", "w"}, {2, 2, 3, 3}, {64, 64, 3, 3})
      .Weights({"e"}, {2, 2, 1, 1}, {64, 64, 1, 1})
      .Weights({"s"}, {}, {})
      .Binary("Add")
      .Binary("Mul")
      .Weighted("Conv")
      .Weighted("Conv", kSame3)
      .Weighted("Conv", "pads=[1,1,1,1], strides=[2,2]")
      .Weighted("Conv", "strides=[2,2]")
      .Binary("Concat", "axis=0")
      .Binary("Concat", "axis=1")
      .Unary("Relu")
      .Unary("GlobalAveragePool")
      .Unary("Slice", "axes=[1], ends=[1], starts=[0]", "axes=[1], ends=[32], starts=[0]")
      .Unary("Slice", "axes=[0], ends=[1], starts=[0]", "axes=[0], ends=[8], starts=[0]")
      .Build();
}

struct Row {
  const char* group;  // Empty: only by its own name.
  Universe (*make)();
};
constexpr Row kRows[] = {
    {"taso", TasoMatrices},   {"taso", TasoImages}, {"", TasoRuleMatrices}, {"", TasoRuleImages},
    {"ours", Activations},    {"ours", Reductions}, {"ours", Broadcasts},   {"ours", Layouts},
    {"ours", Normalizations}, {"ours", Slices},     {"ours", Pools},        {"ours", Convolutions},
};

}  // namespace

absl::StatusOr<std::vector<Universe>> UniversesNamed(absl::string_view word) {
  std::vector<Universe> universes;
  for (const Row& row : kRows) {
    Universe universe = row.make();
    if (word == universe.name || (word == row.group && !word.empty())) {
      universes.push_back(std::move(universe));
    }
  }
  if (universes.empty()) {
    return absl::InvalidArgumentError(absl::StrCat("no operators are called '", word, "'"));
  }
  return universes;
}

std::vector<std::string> UniverseNames() {
  std::vector<std::string> names;
  for (const Row& row : kRows) names.push_back(row.make().name);
  return names;
}

}  // namespace quotient::generate
