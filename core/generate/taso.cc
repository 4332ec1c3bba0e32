#include "core/generate/taso.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "core/egraph/pattern_text.h"

namespace quotient::generate {
namespace {

// By the rows of "verify.py" in TASO. Each holds from left to right and from right to left.
constexpr char kAxioms[] = R"(
add-associative: Add(?x, Add(?y, ?z)) => Add(Add(?x, ?y), ?z)
mul-associative: Mul(?x, Mul(?y, ?z)) => Mul(Mul(?x, ?y), ?z)
mul-distributive: Mul(Add(?x, ?y), ?z) => Add(Mul(?x, ?z), Mul(?y, ?z))
scalar-transpose: Transpose[?p](Mul(?x, ?s)) => Mul(Transpose[?p](?x), ?s) if has_rank(?s, 0)
scalar-matmul: MatMul(Mul(?x, ?s), ?y) => Mul(MatMul(?x, ?y), ?s) if has_rank(?s, 0)
scalar-matmul-right: MatMul(?x, Mul(?y, ?s)) => Mul(MatMul(?x, ?y), ?s) if has_rank(?s, 0)
scalar-concat: Concat[?c](Mul(?x, ?s), Mul(?y, ?s)) => Mul(Concat[?c](?x, ?y), ?s) if has_rank(?s, 0)
scalar-conv: Conv[?c](Mul(?x, ?s), ?w) => Mul(Conv[?c](?x, ?w), ?s) if has_rank(?s, 0)
scalar-conv-weight: Conv[?c](?x, Mul(?w, ?s)) => Mul(Conv[?c](?x, ?w), ?s) if has_rank(?s, 0)
relu-concat: Relu(Concat[?c](?x, ?y)) => Concat[?c](Relu(?x), Relu(?y))
relu-transpose: Relu(Transpose[?p](?x)) => Transpose[?p](Relu(?x))
conv-weights: Conv[?c](?x, Add(?v, ?w)) => Add(Conv[?c](?x, ?v), Conv[?c](?x, ?w)) if same(?v, ?w)
conv-inputs: Conv[?c](Add(?x, ?y), ?w) => Add(Conv[?c](?x, ?w), Conv[?c](?y, ?w)) if same(?x, ?y)
conv-sum: Add(Conv[?c](?x, ?v), Conv[?c](?y, ?w)) => Conv[?c](Concat[axis=1](?x, ?y), Concat[axis=1](?v, ?w))
matmul-associative: MatMul(MatMul(?x, ?y), ?z) => MatMul(?x, MatMul(?y, ?z))
matmul-right: MatMul(?x, Add(?y, ?z)) => Add(MatMul(?x, ?y), MatMul(?x, ?z)) if same(?y, ?z)
matmul-left: MatMul(Add(?x, ?y), ?z) => Add(MatMul(?x, ?z), MatMul(?y, ?z)) if same(?x, ?y)
matmul-columns: MatMul(?x, Concat[axis=1](?y, ?z)) => Concat[axis=1](MatMul(?x, ?y), MatMul(?x, ?z))
matmul-rows: MatMul(Concat[axis=0](?x, ?y), ?z) => Concat[axis=0](MatMul(?x, ?z), MatMul(?y, ?z))
matmul-sum: Add(MatMul(?x, ?v), MatMul(?y, ?w)) => MatMul(Concat[axis=1](?x, ?y), Concat[axis=0](?v, ?w))
add-concat: Concat[?c](Add(?x, ?y), Add(?z, ?w)) => Add(Concat[?c](?x, ?z), Concat[?c](?y, ?w))
mul-concat: Concat[?c](Mul(?x, ?y), Mul(?z, ?w)) => Mul(Concat[?c](?x, ?z), Concat[?c](?y, ?w))
geometry: Concat[axis=0](Concat[axis=1](?x, ?y), Concat[axis=1](?z, ?w)) => Concat[axis=1](Concat[axis=0](?x, ?z), Concat[axis=0](?y, ?w))
conv-batch: Conv[?c](Concat[axis=0](?x, ?y), ?w) => Concat[axis=0](Conv[?c](?x, ?w), Conv[?c](?y, ?w))
conv-channels: Conv[?c](?x, Concat[axis=0](?v, ?w)) => Concat[axis=1](Conv[?c](?x, ?v), Conv[?c](?x, ?w))
transpose-twice: Transpose[perm=[1,0]](Transpose[perm=[1,0]](?x)) => ?x
transpose-matmul: Transpose[perm=[1,0]](MatMul(?x, ?y)) => MatMul(Transpose[perm=[1,0]](?y), Transpose[perm=[1,0]](?x))
transpose-concat: Transpose[perm=[1,0]](Concat[axis=0](?x, ?y)) => Concat[axis=1](Transpose[perm=[1,0]](?x), Transpose[perm=[1,0]](?y))
transpose-add: Transpose[?p](Add(?x, ?y)) => Add(Transpose[?p](?x), Transpose[?p](?y)) if same(?x, ?y)
transpose-mul: Transpose[?p](Mul(?x, ?y)) => Mul(Transpose[?p](?x), Transpose[?p](?y)) if same(?x, ?y)
average-channels: AveragePool[?p](Concat[axis=1](?x, ?y)) => Concat[axis=1](AveragePool[?p](?x), AveragePool[?p](?y))
average-batch: AveragePool[?p](Concat[axis=0](?x, ?y)) => Concat[axis=0](AveragePool[?p](?x), AveragePool[?p](?y))
max-channels: MaxPool[?p](Concat[axis=1](?x, ?y)) => Concat[axis=1](MaxPool[?p](?x), MaxPool[?p](?y))
max-batch: MaxPool[?p](Concat[axis=0](?x, ?y)) => Concat[axis=0](MaxPool[?p](?x), MaxPool[?p](?y))
enlarge: Conv[](?x, ?e) => Conv[pads=[1,1,1,1]](?x, Pad[pads=[0,0,1,1,0,0,1,1]](?e))
)";

// The letters and lines of TENSAT's list. Mirrored and repeated lines stand together, since Add and
// Mul have no order here.
constexpr char kMatrixRules[] = R"(
A 0: MatMul(MatMul(a, b), c) = MatMul(a, MatMul(b, c))
A 1: MatMul(MatMul(a, b), MatMul(c, d)) = MatMul(MatMul(a, MatMul(b, c)), d)
A 3: MatMul(MatMul(MatMul(a, b), c), c) = MatMul(a, MatMul(MatMul(b, c), c))
A 4: MatMul(MatMul(a, b), MatMul(c, d)) = MatMul(a, MatMul(MatMul(b, c), d))
A 8: MatMul(MatMul(c, MatMul(a, b)), a) = MatMul(c, MatMul(a, MatMul(b, a)))
A 9: MatMul(MatMul(a, b), MatMul(MatMul(a, b), a)) = MatMul(MatMul(a, MatMul(b, a)), MatMul(b, a))
A 10: MatMul(MatMul(c, MatMul(a, b)), a) = MatMul(MatMul(c, a), MatMul(b, a))
A 11: MatMul(MatMul(a, MatMul(a, b)), c) = MatMul(a, MatMul(a, MatMul(b, c)))
A 12: MatMul(MatMul(b, MatMul(a, b)), c) = MatMul(b, MatMul(a, MatMul(b, c)))
A 13: MatMul(MatMul(c, MatMul(a, b)), c) = MatMul(c, MatMul(a, MatMul(b, c)))
A 15: MatMul(MatMul(b, MatMul(a, b)), c) = MatMul(MatMul(b, a), MatMul(b, c))
A 16: MatMul(MatMul(c, MatMul(a, b)), c) = MatMul(MatMul(c, a), MatMul(b, c))
A 17: MatMul(c, MatMul(a, MatMul(a, b))) = MatMul(MatMul(MatMul(c, a), a), b)
A 18: MatMul(MatMul(a, c), MatMul(a, b)) = MatMul(a, MatMul(MatMul(c, a), b))
A 19: MatMul(MatMul(b, c), MatMul(a, b)) = MatMul(b, MatMul(MatMul(c, a), b))
A 20: MatMul(c, MatMul(b, MatMul(a, b))) = MatMul(MatMul(MatMul(c, b), a), b)
B 5: Add(MatMul(x, a), MatMul(MatMul(x, a), b)) = MatMul(x, Add(a, MatMul(a, b)))
B 6: MatMul(Add(x, MatMul(x, a)), b) = MatMul(x, Add(b, MatMul(a, b)))
B 14: MatMul(Add(b, MatMul(a, b)), c) = Add(MatMul(b, c), MatMul(a, MatMul(b, c)))
B 21: Add(MatMul(x, a), MatMul(y, a)) = MatMul(Add(x, y), a)
B 30: Add(MatMul(x, a), MatMul(x, b)) = MatMul(x, Add(a, b))
C 2: MatMul(Concat[axis=0](a, MatMul(x, a)), b) = Concat[axis=0](MatMul(a, b), MatMul(x, MatMul(a, b)))
C 7: Concat[axis=1](MatMul(x, a), MatMul(MatMul(x, a), b)) = MatMul(x, Concat[axis=1](a, MatMul(a, b)))
C 69 84: Add(MatMul(x, a), MatMul(y, b)) = MatMul(Concat[axis=1](x, y), Concat[axis=0](a, b))
C 72: Concat[axis=1](MatMul(x, a), MatMul(x, b)) = MatMul(x, Concat[axis=1](a, b))
C 73: Concat[axis=0](MatMul(x, a), MatMul(y, a)) = MatMul(Concat[axis=0](x, y), a)
D 22: Add(c, Add(c, Add(a, b))) = Add(Add(a, c), Add(b, c))
D 23: Add(c, Add(a, b)) = Add(b, Add(a, c))
D 24: Add(Add(a, b), Add(b, c)) = Add(b, Add(b, Add(a, c)))
D 25: Add(c, Add(c, Add(a, b))) = Add(b, Add(c, Add(a, c)))
D 26: Add(c, Add(c, Add(a, b))) = Add(Add(b, c), Add(a, c))
D 27: Add(c, Add(a, b)) = Add(a, Add(b, c))
D 28: Add(Add(a, b), Add(a, c)) = Add(a, Add(a, Add(b, c)))
D 29: Add(c, Add(c, Add(a, b))) = Add(a, Add(c, Add(b, c)))
E 40: Mul(c, Mul(c, Mul(a, b))) = Mul(Mul(a, c), Mul(b, c))
E 41: Mul(c, Mul(a, b)) = Mul(b, Mul(a, c))
E 42: Mul(Mul(a, b), Mul(b, c)) = Mul(b, Mul(b, Mul(a, c)))
E 43: Mul(c, Mul(c, Mul(a, b))) = Mul(b, Mul(c, Mul(a, c)))
E 47: Mul(c, Mul(c, Mul(a, b))) = Mul(Mul(b, c), Mul(a, c))
E 48: Mul(c, Mul(a, b)) = Mul(a, Mul(b, c))
E 50: Mul(Mul(a, b), Mul(a, c)) = Mul(a, Mul(a, Mul(b, c)))
E 51: Mul(c, Mul(c, Mul(a, b))) = Mul(a, Mul(c, Mul(b, c)))
F 35 36 39 46 56 57: Mul(a, Add(b, c)) = Add(Mul(a, b), Mul(a, c))
F 37: Add(Mul(a, b), Mul(c, Mul(a, b))) = Mul(b, Add(a, Mul(a, c)))
F 44: Add(Mul(a, b), Mul(c, Mul(a, b))) = Mul(a, Add(b, Mul(b, c)))
F 38: Mul(c, Add(b, Mul(a, b))) = Mul(b, Add(c, Mul(a, c)))
F 45: Mul(c, Add(a, Mul(a, b))) = Mul(a, Add(c, Mul(b, c)))
F 49: Mul(c, Add(b, Mul(a, b))) = Add(Mul(b, c), Mul(a, Mul(b, c)))
K 66: Concat[axis=1](Relu(x), Relu(y)) = Relu(Concat[axis=1](x, y))
K 74: Concat[axis=0](Relu(x), Relu(y)) = Relu(Concat[axis=0](x, y))
L1 67 70: Concat[axis=1](Add(x, y), Add(y, z)) = Add(Concat[axis=1](x, y), Concat[axis=1](y, z))
L1 68 71: Concat[axis=1](Mul(x, y), Mul(y, z)) = Mul(Concat[axis=1](x, y), Concat[axis=1](y, z))
L2 75 78 80 82: Concat[axis=0](Add(a, b), Add(c, d)) = Add(Concat[axis=0](a, c), Concat[axis=0](b, d))
L2 76 79 81 83: Concat[axis=0](Mul(a, b), Mul(c, d)) = Mul(Concat[axis=0](a, c), Concat[axis=0](b, d))
M 77: Concat[axis=0](Concat[axis=1](a, b), Concat[axis=1](c, d)) = Concat[axis=1](Concat[axis=0](a, c), Concat[axis=0](b, d))
multi 4, first: Slice[axes=[1], ends=[3], starts=[0]](Relu(Concat[axis=1](x, y))) = Relu(x)
multi 4, second: Slice[axes=[1], ends=[6], starts=[3]](Relu(Concat[axis=1](x, y))) = Relu(y)
multi 5, first: Slice[axes=[1], ends=[3], starts=[0]](MatMul(x, Concat[axis=1](a, b))) = MatMul(x, a)
multi 5, second: Slice[axes=[1], ends=[6], starts=[3]](MatMul(x, Concat[axis=1](a, b))) = MatMul(x, b)
multi 6, first: Slice[axes=[0], ends=[3], starts=[0]](MatMul(Concat[axis=0](x, y), a)) = MatMul(x, a)
multi 6, second: Slice[axes=[0], ends=[6], starts=[3]](MatMul(Concat[axis=0](x, y), a)) = MatMul(y, a)
multi 7, first: Slice[axes=[0], ends=[3], starts=[0]](Relu(Concat[axis=0](x, y))) = Relu(x)
multi 7, second: Slice[axes=[0], ends=[6], starts=[3]](Relu(Concat[axis=0](x, y))) = Relu(y)
)";

// A Conv with a fused relu is a Relu of a Conv.
constexpr char kImageRules[] = R"(
H 58 60: Conv[](x, Add(e, f)) = Add(Conv[](x, e), Conv[](x, f))
H 58 60, 3x3: Conv[pads=[1,1,1,1]](x, Add(v, w)) = Add(Conv[pads=[1,1,1,1]](x, v), Conv[pads=[1,1,1,1]](x, w))
H 59 61: Conv[pads=[1,1,1,1]](Add(x, y), w) = Add(Conv[pads=[1,1,1,1]](x, w), Conv[pads=[1,1,1,1]](y, w))
I 90 97: Add(Conv[pads=[1,1,1,1]](x, v), Conv[pads=[1,1,1,1]](y, w)) = Conv[pads=[1,1,1,1]](Concat[axis=1](x, y), Concat[axis=1](v, w))
J 64: Relu(Concat[axis=1](x, Conv[pads=[1,1,1,1]](y, w))) = Concat[axis=1](Relu(x), Relu(Conv[pads=[1,1,1,1]](y, w)))
J 65: Relu(Concat[axis=0](x, Conv[pads=[1,1,1,1]](y, w))) = Concat[axis=0](Relu(x), Relu(Conv[pads=[1,1,1,1]](y, w)))
K 87: Concat[axis=1](Relu(x), Relu(y)) = Relu(Concat[axis=1](x, y))
K 109: Concat[axis=0](Relu(x), Relu(y)) = Relu(Concat[axis=0](x, y))
L1 88 93: Concat[axis=1](Add(x, y), Add(y, z)) = Add(Concat[axis=1](x, y), Concat[axis=1](y, z))
L1 89 94: Concat[axis=1](Mul(x, y), Mul(y, z)) = Mul(Concat[axis=1](x, y), Concat[axis=1](y, z))
L1 110 112: Concat[axis=0](Add(x, y), Add(y, z)) = Add(Concat[axis=0](x, y), Concat[axis=0](y, z))
L1 111 113: Concat[axis=0](Mul(x, y), Mul(y, z)) = Mul(Concat[axis=0](x, y), Concat[axis=0](y, z))
L3 95: Add(Concat[axis=1](x, y), Concat[axis=1](z, t)) = Add(Concat[axis=1](z, y), Concat[axis=1](x, t))
L3 96: Mul(Concat[axis=1](x, y), Concat[axis=1](z, t)) = Mul(Concat[axis=1](z, y), Concat[axis=1](x, t))
L3 102 104: Add(Concat[axis=0](x, y), Concat[axis=0](z, t)) = Add(Concat[axis=0](x, t), Concat[axis=0](z, y))
L3 103 105: Mul(Concat[axis=0](x, y), Concat[axis=0](z, t)) = Mul(Concat[axis=0](x, t), Concat[axis=0](z, y))
M 119: Concat[axis=0](Concat[axis=1](x, y), Concat[axis=1](y, z)) = Concat[axis=1](Concat[axis=0](x, y), Concat[axis=0](y, z))
N1 106: Concat[axis=0](Conv[pads=[1,1,1,1]](x, w), Conv[pads=[1,1,1,1]](y, w)) = Conv[pads=[1,1,1,1]](Concat[axis=0](x, y), w)
N1 107 108: Concat[axis=0](Relu(Conv[pads=[1,1,1,1]](x, w)), Relu(Conv[pads=[1,1,1,1]](y, w))) = Relu(Conv[pads=[1,1,1,1]](Concat[axis=0](x, y), w))
N2 114: Concat[axis=1](Conv[pads=[1,1,1,1]](x, v), Conv[pads=[1,1,1,1]](x, w)) = Conv[pads=[1,1,1,1]](x, Concat[axis=0](v, w))
N2 115 116: Concat[axis=1](Relu(Conv[pads=[1,1,1,1]](x, v)), Relu(Conv[pads=[1,1,1,1]](x, w))) = Relu(Conv[pads=[1,1,1,1]](x, Concat[axis=0](v, w)))
multi 8, first: Slice[axes=[1], ends=[2], starts=[0]](Relu(Concat[axis=1](x, y))) = Relu(x)
multi 8, second: Slice[axes=[1], ends=[4], starts=[2]](Relu(Concat[axis=1](x, y))) = Relu(y)
multi 9, first: Slice[axes=[0], ends=[1], starts=[0]](Conv[pads=[1,1,1,1]](Concat[axis=0](x, y), w)) = Conv[pads=[1,1,1,1]](x, w)
multi 9, second: Slice[axes=[0], ends=[2], starts=[1]](Conv[pads=[1,1,1,1]](Concat[axis=0](x, y), w)) = Conv[pads=[1,1,1,1]](y, w)
multi 10, first: Slice[axes=[0], ends=[1], starts=[0]](Relu(Conv[pads=[1,1,1,1]](Concat[axis=0](x, y), w))) = Relu(Conv[pads=[1,1,1,1]](x, w))
multi 10, second: Slice[axes=[0], ends=[2], starts=[1]](Relu(Conv[pads=[1,1,1,1]](Concat[axis=0](x, y), w))) = Relu(Conv[pads=[1,1,1,1]](y, w))
multi 11, first: Slice[axes=[0], ends=[1], starts=[0]](Relu(Concat[axis=0](x, y))) = Relu(x)
multi 11, second: Slice[axes=[0], ends=[2], starts=[1]](Relu(Concat[axis=0](x, y))) = Relu(y)
multi 12, first: Slice[axes=[1], ends=[2], starts=[0]](Conv[pads=[1,1,1,1]](x, Concat[axis=0](v, w))) = Conv[pads=[1,1,1,1]](x, v)
multi 12, second: Slice[axes=[1], ends=[4], starts=[2]](Conv[pads=[1,1,1,1]](x, Concat[axis=0](v, w))) = Conv[pads=[1,1,1,1]](x, w)
multi 13, first: Slice[axes=[1], ends=[2], starts=[0]](Relu(Conv[pads=[1,1,1,1]](x, Concat[axis=0](v, w)))) = Relu(Conv[pads=[1,1,1,1]](x, v))
multi 13, second: Slice[axes=[1], ends=[4], starts=[2]](Relu(Conv[pads=[1,1,1,1]](x, Concat[axis=0](v, w)))) = Relu(Conv[pads=[1,1,1,1]](x, w))
multi 14, first: Slice[axes=[1], ends=[2], starts=[0]](Conv[pads=[1,1,1,1]](x, Concat[axis=0](Pad[pads=[0,0,1,1,0,0,1,1]](e), w))) = Conv[](x, e)
multi 14, second: Slice[axes=[1], ends=[4], starts=[2]](Conv[pads=[1,1,1,1]](x, Concat[axis=0](Pad[pads=[0,0,1,1,0,0,1,1]](e), w))) = Conv[pads=[1,1,1,1]](x, w)
multi 15, first: Slice[axes=[1], ends=[2], starts=[0]](Relu(Conv[pads=[1,1,1,1]](x, Concat[axis=0](Pad[pads=[0,0,1,1,0,0,1,1]](e), w)))) = Relu(Conv[](x, e))
multi 15, second: Slice[axes=[1], ends=[4], starts=[2]](Relu(Conv[pads=[1,1,1,1]](x, Concat[axis=0](Pad[pads=[0,0,1,1,0,0,1,1]](e), w)))) = Relu(Conv[pads=[1,1,1,1]](x, w))
)";

}  // namespace

std::string TasoAxioms() {
  std::string text;
  for (const egraph::RuleLine& line : egraph::SplitRules(kAxioms)) {
    const size_t name = line.text.find(": ");
    const size_t arrow = line.text.find(" => ");
    const size_t guards = std::min(line.text.find(" if "), line.text.size());
    const std::string left = line.text.substr(name + 2, arrow - name - 2);
    const std::string right = line.text.substr(arrow + 4, guards - arrow - 4);
    absl::StrAppend(&text, line.text, "\n");
    if (right[0] == '?') continue;
    absl::StrAppend(&text, line.text.substr(0, name), "-back: ", right, " => ", left,
                    line.text.substr(guards), "\n");
  }
  return text;
}

std::vector<TasoRule> TasoRules(absl::string_view universe) {
  absl::string_view text;
  if (universe == "taso-rules-matrices") text = kMatrixRules;
  if (universe == "taso-rules-images") text = kImageRules;
  std::vector<TasoRule> rules;
  for (const absl::string_view line : absl::StrSplit(text, '\n', absl::SkipEmpty())) {
    const std::vector<std::string> parts = absl::StrSplit(line, absl::MaxSplits(": ", 1));
    const std::vector<std::string> sides = absl::StrSplit(parts[1], " = ");
    rules.push_back({parts[0], sides[0], sides[1]});
  }
  return rules;
}

}  // namespace quotient::generate
