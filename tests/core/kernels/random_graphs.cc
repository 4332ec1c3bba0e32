#include "tests/core/kernels/random_graphs.h"

#include <vector>

#include "absl/strings/str_cat.h"
#include "core/base/rng.h"

namespace quotient::kernels {
namespace {

// Writes graphs in which every value but those inside a step is float32[1,8,6,6].
class Writer {
 public:
  explicit Writer(uint64_t seed) : rng_(seed) {}

  std::string Write() {
    text_ = "input x: float32[1,8,6,6]\ninput z: float32[1,8,6,6]\n";
    values_ = {"x", "z"};
    const uint64_t steps = 3 + rng_.Below(12);
    for (uint64_t i = 0; i < steps; ++i) Step();
    // The last value and some others are outputs: those end chains and keep memory alive.
    absl::StrAppend(&text_, "output ", values_.back());
    for (size_t i = 2; i + 1 < values_.size(); ++i) {
      if (rng_.Below(5) == 0) absl::StrAppend(&text_, ", ", values_[i]);
    }
    return text_ + "\n";
  }

 private:
  std::string Fresh() { return absl::StrCat("v", next_++); }
  // Mostly a recent value, so that there are chains.
  const std::string& Pick() {
    const uint64_t back = rng_.Below(rng_.Below(3) == 0 ? values_.size() : 2);
    return values_[values_.size() - 1 - back];
  }
  std::string Constant(const char* type) {
    const std::string name = Fresh();
    absl::StrAppend(&text_, "const ", name, ": ", type, " = random(", rng_.Below(1000), ")\n");
    return name;
  }
  template <typename... Parts>
  std::string Node(const Parts&... call) {
    const std::string name = Fresh();
    absl::StrAppend(&text_, name, " = ", call..., "\n");
    return name;
  }

  void Step() {
    const std::string x = Pick(), y = Pick();
    values_.push_back(Value(rng_.Below(20), x, y));
  }

  std::string Value(uint64_t kind, const std::string& x, const std::string& y) {
    switch (kind) {
      case 0:
      case 1:
      case 2:
        return Node("Conv(", x, ", ", Constant("float32[8,8,3,3]"), ", ", Constant("float32[8]"),
                    ") {pads=[1,1,1,1]}");
      case 3:
        return Node("Conv(", x, ", ", Constant("float32[8,1,3,3]"), ") {group=8, pads=[1,1,1,1]}");
      case 4:
        return Node("Relu(", x, ")");
      case 5:
        return Node("Tanh(", x, ")");
      case 6:
        return Node("Erf(", x, ")");
      case 7:
      case 8:
        return Node("Add(", x, ", ", y, ")");
      case 9:
        return Node("Sub(", x, ", ", y, ")");
      case 10:
        return Node("Mul(", x, ", ", Constant("float32[8,1,1]"), ")");
      case 11:
        return Node("Max(", Constant("float32[]"), ", ", x, ")");
      case 12:
        return Node("MatMul(", x, ", ", Constant("float32[6,6]"), ")");
      case 13:
        return Node("MaxPool(", x, ") {kernel_shape=[3,3], pads=[1,1,1,1]}");
      case 14: {
        const std::string mean = Node("ReduceMean(", x, ") {axes=[2,3]}");
        return Node("Sub(", y, ", ", mean, ")");
      }
      case 15: {
        const std::string a = Fresh(), b = Fresh();
        absl::StrAppend(&text_, "(", a, ", ", b, ") = Split(", x, ") {axis=1, split=[3,5]}\n");
        return Node("Concat(", b, ", ", a, ") {axis=1}");
      }
      case 16: {
        const std::string flat = Node("Reshape(", x, ") {shape=[1,8,36]}");
        const std::string turned = Node("Transpose(", flat, ") {perm=[0,2,1]}");
        return Node("Reshape(", turned, ") {shape=[1,8,6,6]}");
      }
      case 17: {
        const std::string last = Node("Transpose(", x, ") {perm=[0,2,3,1]}");
        const std::string normal =
            Node("LayerNormalization(", last, ", ", Constant("float32[8]"), ")");
        return Node("Transpose(", normal, ") {perm=[0,3,1,2]}");
      }
      case 18:
        return Node("Softmax(", x, ") {axis=", 1 + rng_.Below(3), "}");
      default: {
        const std::string part = Node("Slice(", x, ") {starts=[2], ends=[8], axes=[1], steps=[1]}");
        return Node("Pad(", part, ") {pads=[0,1,0,0,0,1,0,0]}");
      }
    }
  }

  Rng rng_;
  std::string text_;
  std::vector<std::string> values_;
  int next_ = 0;
};

}  // namespace

std::string RandomGraphText(uint64_t seed) { return Writer(seed).Write(); }

}  // namespace quotient::kernels
