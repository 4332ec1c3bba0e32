// Einsum of two operands: products of their elements, summed over the labels that the output lacks.

#include "core/ops/einsum.h"

#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "core/base/status_macros.h"
#include "core/ops/bounds.h"
#include "core/ops/elementwise.h"
#include "core/ops/families.h"
#include "core/ops/gemm.h"
#include "core/ops/support.h"

namespace quotient::ops {
namespace {

using model::AttributeMap;
using model::Dim;
using model::DType;
using model::Ints;
using model::Shape;
using model::Tensor;
using model::TensorType;

bool Has(const std::string& labels, char label) { return labels.find(label) != labels.npos; }

// Whether these are letters, each once.
bool AreLabels(const std::string& labels) {
  for (size_t i = 0; i < labels.size(); ++i) {
    if (!absl::ascii_isalpha(labels[i]) || labels.find(labels[i], i + 1) != labels.npos) {
      return false;
    }
  }
  return true;
}

// The labels that occur once, in alphabetical order.
std::optional<std::string> ImplicitOutput(const std::string& left, const std::string& right) {
  std::string output;
  for (const char label : absl::StrCat(left, right)) {
    if (absl::ascii_isupper(label)) return std::nullopt;
    if (Has(left, label) != Has(right, label)) output.push_back(label);
  }
  std::ranges::sort(output);
  return output;
}

absl::StatusOr<EinsumLabels> LabelsOf(const AttributeMap& attributes) {
  std::optional<EinsumLabels> labels = ReadEinsum(attributes);
  if (labels) return *std::move(labels);
  return ShapeError("Einsum with an equation that is not one of two operands");
}

bool KnowsEinsum(const model::Node& node) { return ReadEinsum(node.attributes).has_value(); }

// Labels are named in the order in which they come, so that equal equations are equal text.
absl::Status CanonicalizeEinsum(model::Node& node, std::span<const InferInput>) {
  QUOTIENT_ASSIGN_OR_RETURN(EinsumLabels labels, LabelsOf(node.attributes));
  std::string known;
  for (std::string* place : {&labels.left, &labels.right, &labels.output}) {
    for (char& label : *place) {
      if (!Has(known, label)) known.push_back(label);
      const size_t index = known.find(label);
      label = static_cast<char>(index < 26 ? 'a' + index : 'A' + index - 26);
    }
  }
  node.attributes.Set("equation",
                      absl::StrCat(labels.left, ",", labels.right, "->", labels.output));
  return absl::OkStatus();
}

// --- Inference ---

absl::Status CheckRank(const Shape* shape, const std::string& labels) {
  if (shape == nullptr || shape->size() == labels.size()) return absl::OkStatus();
  return ShapeError("Einsum has ", labels.size(), " labels for ", shape->size(), " axes");
}

// The size of a label, unknown if an operand has it whose shape is not known.
absl::StatusOr<Dim> SizeOf(char label, const EinsumLabels& labels, const Shape* left,
                           const Shape* right) {
  const bool in_left = Has(labels.left, label), in_right = Has(labels.right, label);
  if ((in_left && left == nullptr) || (in_right && right == nullptr)) return Dim();
  const auto part = [label](const std::string& own, const Shape& shape) {
    return Shape{shape[own.find(label)]};
  };
  const Shape one = {Dim(1)};
  QUOTIENT_ASSIGN_OR_RETURN(const Shape both,
                            model::Broadcast(in_left ? part(labels.left, *left) : one,
                                             in_right ? part(labels.right, *right) : one));
  return both[0];
}

absl::StatusOr<InferResult> InferEinsum(const InferContext& context) {
  QUOTIENT_ASSIGN_OR_RETURN(const DType dtype, CommonDType(context, 0, 2));
  QUOTIENT_RETURN_IF_ERROR(CheckDomain(Domain::kNumeric, dtype));
  QUOTIENT_ASSIGN_OR_RETURN(const EinsumLabels labels, LabelsOf(context.attributes));
  const Shape* left = ShapeAt(context, 0);
  const Shape* right = ShapeAt(context, 1);
  QUOTIENT_RETURN_IF_ERROR(CheckRank(left, labels.left));
  QUOTIENT_RETURN_IF_ERROR(CheckRank(right, labels.right));
  for (const char label : labels.left) {
    QUOTIENT_RETURN_IF_ERROR(SizeOf(label, labels, left, right).status());
  }
  Shape shape;
  for (const char label : labels.output) {
    QUOTIENT_ASSIGN_OR_RETURN(shape.emplace_back(), SizeOf(label, labels, left, right));
  }
  return OneOutput(TensorType(dtype, std::move(shape)));
}

// --- Evaluation ---

// The labels of one kind, with the distances of neighbours along them in each tensor: 0 in one that
// lacks the label, or is broadcast along it.
struct Axes {
  Ints sizes;
  Ints left, right, output;

  int64_t count() const { return Count(sizes); }
  // Where the elements lie that combinations of these labels stand for, in the row-major order of
  // the combinations.
  Ints Offsets(const Ints& strides) const {
    Ints offsets;
    for (BoxIndex i(sizes); i.valid(); i.Next()) offsets.push_back(i.Offset(strides));
    return offsets;
  }
};

// An Einsum as a batch of matrix products.
struct EinsumPlan {
  EinsumPlan(const EinsumLabels& labels, const Ints& a, const Ints& b, const Ints& y) {
    const auto axes_of = [&](const std::string& kind) {
      Axes axes;
      for (const char label : kind) {
        const int64_t in_a = SizeAt(labels.left, a, label), in_b = SizeAt(labels.right, b, label);
        axes.sizes.push_back(in_a == 1 ? in_b : in_a);
        axes.left.push_back(in_a == 1 ? 0 : StrideAt(labels.left, a, label));
        axes.right.push_back(in_b == 1 ? 0 : StrideAt(labels.right, b, label));
        axes.output.push_back(StrideAt(labels.output, y, label));
      }
      return axes;
    };
    const EinsumKinds kinds = KindsOf(labels);
    batch = axes_of(kinds.batch);
    m = axes_of(kinds.rows);
    n = axes_of(kinds.columns);
    k = axes_of(kinds.summed);
  }

  Axes batch, m, n, k;

 private:
  static int64_t SizeAt(const std::string& labels, const Ints& dims, char label) {
    return Has(labels, label) ? dims[labels.find(label)] : 1;
  }
  static int64_t StrideAt(const std::string& labels, const Ints& dims, char label) {
    return Has(labels, label) ? Count(std::span(dims).subspan(labels.find(label) + 1)) : 0;
  }
};

// Where the elements of one tensor lie, for each kind of labels. Empty kinds have one combination.
struct Offsets {
  Ints batch;
  Ints outer;  // Of m or n.
  Ints inner;  // Of k, or of n for the output.
};

struct AllOffsets {
  explicit AllOffsets(const EinsumPlan& plan)
      : left{plan.batch.Offsets(plan.batch.left), plan.m.Offsets(plan.m.left),
             plan.k.Offsets(plan.k.left)},
        right{plan.batch.Offsets(plan.batch.right), plan.n.Offsets(plan.n.right),
              plan.k.Offsets(plan.k.right)},
        output{plan.batch.Offsets(plan.batch.output), plan.m.Offsets(plan.m.output),
               plan.n.Offsets(plan.n.output)} {}

  Offsets left, right, output;
};

// Reads a factor along k. Borrows both.
GemmOperand Rows(const std::vector<double>& from, const Offsets& offsets) {
  return {GemmOperand::Rows::kOuter,
          [&from, &offsets](int64_t batch, int64_t row, int64_t begin, std::span<double> out) {
            const int64_t base = offsets.batch[batch] + offsets.outer[row];
            for (size_t i = 0; i < out.size(); ++i) {
              out[i] = from[base + offsets.inner[begin + static_cast<int64_t>(i)]];
            }
          }};
}

std::vector<double> MultiplyFloats(const EinsumPlan& plan, const Tensor& a, const Tensor& b,
                                   int64_t elements, int threads) {
  const AllOffsets offsets(plan);
  const std::vector<double> left = a.AsDoubles(), right = b.AsDoubles();
  std::vector<double> result(static_cast<size_t>(elements), 0);
  const auto write = [&](int64_t batch, int64_t row, int64_t column, std::span<double> values) {
    const int64_t base = offsets.output.batch[batch] + offsets.output.outer[row];
    for (size_t i = 0; i < values.size(); ++i) {
      result[base + offsets.output.inner[column + static_cast<int64_t>(i)]] = values[i];
    }
  };
  const GemmSize size{plan.batch.count(), plan.m.count(), plan.n.count(), plan.k.count()};
  Gemm(size, Rows(left, offsets.left), Rows(right, offsets.right), write, threads);
  return result;
}

// Exact modulo 2^64.
std::vector<int64_t> MultiplyIntegers(const EinsumPlan& plan, const Tensor& a, const Tensor& b,
                                      int64_t elements) {
  const AllOffsets offsets(plan);
  std::vector<int64_t> left(a.elements()), right(b.elements());
  a.Load(0, std::span(left));
  b.Load(0, std::span(right));
  std::vector<int64_t> result(static_cast<size_t>(elements), 0);
  for (int64_t batch = 0; batch < plan.batch.count(); ++batch) {
    for (int64_t row = 0; row < plan.m.count(); ++row) {
      const int64_t* of_left = left.data() + offsets.left.batch[batch] + offsets.left.outer[row];
      int64_t* to = result.data() + offsets.output.batch[batch] + offsets.output.outer[row];
      for (int64_t column = 0; column < plan.n.count(); ++column) {
        const int64_t* of_right =
            right.data() + offsets.right.batch[batch] + offsets.right.outer[column];
        int64_t sum = 0;
        for (int64_t i = 0; i < plan.k.count(); ++i) {
          sum = WrapAdd(sum,
                        WrapMul(of_left[offsets.left.inner[i]], of_right[offsets.right.inner[i]]));
        }
        to[offsets.output.inner[column]] = sum;
      }
    }
  }
  return result;
}

absl::StatusOr<std::vector<Tensor>> EvaluateEinsum(const EvaluateContext& context) {
  const Tensor& a = *context.inputs[0];
  const Tensor& b = *context.inputs[1];
  QUOTIENT_ASSIGN_OR_RETURN(const EinsumLabels labels, LabelsOf(context.attributes));
  NewTensor result(context.output_types[0]);
  const EinsumPlan plan(labels, a.dims(), b.dims(), result.tensor.dims());
  const int64_t elements = result.tensor.elements();
  if (model::IsFloat(a.dtype())) {
    model::Store(a.dtype(), result.bytes, 0,
                 std::span<const double>(MultiplyFloats(plan, a, b, elements, context.threads)));
  } else {
    model::Store(a.dtype(), result.bytes, 0,
                 std::span<const int64_t>(MultiplyIntegers(plan, a, b, elements)));
  }
  return std::vector<Tensor>{std::move(result.tensor)};
}

Products ProductsOfEinsum(const AttributeMap& attributes, const Dims& left, const Dims& right,
                          const Dims& output) {
  const EinsumPlan plan(*ReadEinsum(attributes), left, right, output);
  return {static_cast<double>(plan.batch.count()), static_cast<double>(plan.m.count()),
          static_cast<double>(plan.n.count()), static_cast<double>(plan.k.count())};
}

double LargestMagnitude(const Tensor& tensor) {
  double largest = 0;
  for (const double element : tensor.AsDoubles()) largest = std::max(largest, std::abs(element));
  return largest;
}

// ONNX Runtime may sum elements of one operand before it multiplies, and integers that overflow in
// a sum saturate or wrap.
bool SumsCertainly(const EvaluateContext& context, std::span<const Tensor> outputs) {
  const Tensor &a = *context.inputs[0], &b = *context.inputs[1];
  if (model::IsFloat(a.dtype())) return true;
  const EinsumPlan plan(*ReadEinsum(context.attributes), a.dims(), b.dims(), outputs[0].dims());
  const double largest = std::max(1.0, LargestMagnitude(a)) * std::max(1.0, LargestMagnitude(b));
  return largest * static_cast<double>(plan.k.count()) < 0x1p31;
}

Interval BoundsOfEinsum(const BoundsContext& context) {
  return SumOfProducts(context, kUnknownCount);
}

}  // namespace

std::optional<EinsumLabels> ReadEinsum(const AttributeMap& attributes) {
  std::string text = attributes.GetString("equation", "");
  std::erase(text, ' ');
  const std::vector<std::string> sides = absl::StrSplit(text, "->");
  const std::vector<std::string> operands = absl::StrSplit(sides[0], ',');
  if (sides.size() > 2 || operands.size() != 2) return std::nullopt;
  EinsumLabels labels{operands[0], operands[1], ""};
  if (!AreLabels(labels.left) || !AreLabels(labels.right)) return std::nullopt;
  const auto output = sides.size() == 2 ? sides[1] : ImplicitOutput(labels.left, labels.right);
  if (!output || !AreLabels(*output)) return std::nullopt;
  labels.output = *output;
  const bool are_known = std::ranges::all_of(labels.output, [&](char label) {
    return Has(labels.left, label) || Has(labels.right, label);
  });
  return are_known ? std::optional(labels) : std::nullopt;
}

EinsumKinds KindsOf(const EinsumLabels& labels) {
  EinsumKinds kinds;
  for (const char label : labels.output) {
    const bool in_left = Has(labels.left, label), in_right = Has(labels.right, label);
    (in_left && in_right ? kinds.batch : in_left ? kinds.rows : kinds.columns).push_back(label);
  }
  for (const char label : absl::StrCat(labels.left, labels.right)) {
    if (!Has(labels.output, label) && !Has(kinds.summed, label)) kinds.summed.push_back(label);
  }
  return kinds;
}

std::span<const OpDef> EinsumOps() {
  static const auto& rows = *new std::vector<OpDef>{
      {.name = "Einsum",
       .op_class = OpClass::kNormalization,
       .min_inputs = 2,
       .max_inputs = 2,
       .max_outputs = 1,
       .since_opset = 12,
       .numerics = {.bounds = BoundsOfEinsum},
       .contraction = {.products = ProductsOfEinsum},
       .attributes = {{"equation", AttributeDef::Kind::kString, std::nullopt}},
       .infer = InferEinsum,
       .evaluate = EvaluateEinsum,
       .canonicalize = CanonicalizeEinsum,
       .accepts = KnowsEinsum,
       .is_certain = SumsCertainly},
  };
  return rows;
}

}  // namespace quotient::ops
