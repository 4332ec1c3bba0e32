// MatMul and Gemm, based on the blocked product of gemm.h.

#include <algorithm>
#include <vector>

#include "core/base/parallel.h"
#include "core/base/status_macros.h"
#include "core/ops/bounds.h"
#include "core/ops/elementwise.h"
#include "core/ops/families.h"
#include "core/ops/gemm.h"
#include "core/ops/support.h"

namespace quotient::ops {
namespace {

using model::Dim;
using model::DType;
using model::Ints;
using model::Shape;
using model::Tensor;
using model::TensorType;

using Outputs = absl::StatusOr<std::vector<Tensor>>;
using Rows = GemmOperand::Rows;

absl::Status CheckInner(const Dim& left, const Dim& right) {
  if (!left.is_number() || !right.is_number() || left == right) return absl::OkStatus();
  return ShapeError("a product over ", left.number(), " and ", right.number(), " elements");
}

// --- MatMul ---

absl::StatusOr<InferResult> InferMatMul(const InferContext& context) {
  QUOTIENT_ASSIGN_OR_RETURN(const DType dtype, CommonDType(context, 0, 2));
  QUOTIENT_RETURN_IF_ERROR(CheckDomain(Domain::kNumeric, dtype));
  const Shape* a = ShapeAt(context, 0);
  const Shape* b = ShapeAt(context, 1);
  for (const Shape* shape : {a, b}) {
    if (shape != nullptr && shape->empty()) return ShapeError("a matrix product of a scalar");
  }
  if (a == nullptr || b == nullptr) return UnknownShape(dtype);
  QUOTIENT_RETURN_IF_ERROR(CheckInner(a->back(), b->size() == 1 ? (*b)[0] : (*b)[b->size() - 2]));
  const auto batch_of = [](const Shape& shape) {
    return shape.size() < 2 ? Shape() : Shape(shape.begin(), shape.end() - 2);
  };
  QUOTIENT_ASSIGN_OR_RETURN(Shape shape, model::Broadcast(batch_of(*a), batch_of(*b)));
  if (a->size() > 1) shape.push_back((*a)[a->size() - 2]);
  if (b->size() > 1) shape.push_back(b->back());
  return OneOutput(TensorType(dtype, std::move(shape)));
}

// A static MatMul as a batch of matrix products.
struct MatMulPlan {
  MatMulPlan(const Ints& a, const Ints& b) {
    Ints a_batch = a, b_batch = b;
    size.k = a.back();
    a_batch.pop_back();
    if (!a_batch.empty()) {
      size.m = a_batch.back();
      a_batch.pop_back();
    }
    size.n = b.size() == 1 ? 1 : b.back();
    b_batch.resize(b.size() < 2 ? 0 : b.size() - 2);
    if (Count(b_batch) == 1) {  // Stacks the left factors.
      size.m *= Count(a_batch);
      a_batch.clear();
      b_batch.clear();
    }
    SetOffsets(a_batch, b_batch);
  }

  GemmSize size{.batch = 1, .m = 1, .n = 1, .k = 1};
  Ints a_offsets, b_offsets;  // Where the factors of each product begin.

 private:
  void SetOffsets(const Ints& a_batch, const Ints& b_batch) {
    const size_t rank = std::max(a_batch.size(), b_batch.size());
    Ints dims(rank, 1), a_strides(rank), b_strides(rank);
    Align(a_batch, size.m * size.k, dims, a_strides);
    Align(b_batch, size.k * size.n, dims, b_strides);
    size.batch = Count(dims);
    for (BoxIndex i(dims); i.valid(); i.Next()) {
      a_offsets.push_back(i.Offset(a_strides));
      b_offsets.push_back(i.Offset(b_strides));
    }
  }

  // Sets the strides of `own` within the broadcast box, and its contribution to the box's
  // dimensions.
  static void Align(const Ints& own, int64_t stride, Ints& dims, Ints& strides) {
    for (size_t i = own.size(), at = dims.size(); i-- > 0;) {
      --at;
      if (own[i] != 1) dims[at] = own[i];
      strides[at] = own[i] == 1 ? 0 : stride;
      stride *= own[i];
    }
  }
};

Tensor MultiplyFloats(const EvaluateContext& context, const MatMulPlan& plan) {
  const Tensor& a = *context.inputs[0];
  const Tensor& b = *context.inputs[1];
  const GemmSize& size = plan.size;
  NewTensor result(context.output_types[0]);
  const GemmOperand left{Rows::kOuter,
                         [&](int64_t batch, int64_t row, int64_t begin, std::span<double> out) {
                           a.Load(plan.a_offsets[batch] + row * size.k + begin, out);
                         }};
  // A single column is one contiguous row of the transposed matrix.
  const bool is_column = size.n == 1;
  const int64_t row_length = is_column ? size.k : size.n;
  const GemmOperand right{is_column ? Rows::kOuter : Rows::kInner,
                          [&](int64_t batch, int64_t row, int64_t begin, std::span<double> out) {
                            b.Load(plan.b_offsets[batch] + row * row_length + begin, out);
                          }};
  const auto write = [&](int64_t batch, int64_t row, int64_t column, std::span<double> values) {
    model::Store(result.tensor.dtype(), result.bytes, (batch * size.m + row) * size.n + column,
                 std::span<const double>(values));
  };
  Gemm(size, left, right, write, context.threads);
  return std::move(result.tensor);
}

// Exact modulo 2^64. Integer products are small and rare, so plain loops suffice.
Tensor MultiplyIntegers(const EvaluateContext& context, const MatMulPlan& plan) {
  const Tensor& a = *context.inputs[0];
  const Tensor& b = *context.inputs[1];
  const GemmSize& size = plan.size;
  NewTensor result(context.output_types[0]);
  ParallelFor(size.batch * size.m, 1, context.threads, [&](int64_t begin, int64_t end) {
    std::vector<int64_t> left(size.k), right(size.n), sums(size.n);
    for (int64_t row = begin; row < end; ++row) {
      const int64_t batch = row / size.m;
      a.Load(plan.a_offsets[batch] + row % size.m * size.k, std::span(left));
      std::fill(sums.begin(), sums.end(), 0);
      for (int64_t k = 0; k < size.k; ++k) {
        b.Load(plan.b_offsets[batch] + k * size.n, std::span(right));
        for (int64_t j = 0; j < size.n; ++j) {
          sums[j] = WrapAdd(sums[j], WrapMul(left[k], right[j]));
        }
      }
      model::Store(result.tensor.dtype(), result.bytes, row * size.n,
                   std::span<const int64_t>(sums));
    }
  });
  return std::move(result.tensor);
}

Outputs EvaluateMatMul(const EvaluateContext& context) {
  const MatMulPlan plan(context.inputs[0]->dims(), context.inputs[1]->dims());
  return std::vector<Tensor>{model::IsFloat(context.inputs[0]->dtype())
                                 ? MultiplyFloats(context, plan)
                                 : MultiplyIntegers(context, plan)};
}

// --- Gemm ---

bool IsTransposed(const model::AttributeMap& attributes, absl::string_view name) {
  return attributes.GetInt(name, 0) != 0;
}

absl::Status CheckMatrix(const Shape* shape, absl::string_view what) {
  if (shape == nullptr || shape->size() == 2) return absl::OkStatus();
  return ShapeError(what, " of Gemm has rank ", shape->size(), ", not 2");
}

// C is broadcast to the product, never the other way.
absl::Status CheckAddend(const InferContext& context, const TensorType& type) {
  const Shape* c = ShapeAt(context, 2);
  if (c == nullptr) return absl::OkStatus();
  QUOTIENT_ASSIGN_OR_RETURN(Shape both, model::Broadcast(*c, *type.shape));
  if (Compatible(TensorType(type.dtype, both), type)) return absl::OkStatus();
  return ShapeError("C of shape ", ToString(*c), " cannot be broadcast to ", ToString(*type.shape));
}

absl::StatusOr<InferResult> InferGemm(const InferContext& context) {
  QUOTIENT_ASSIGN_OR_RETURN(const DType dtype, CommonDType(context, 0, 3));
  QUOTIENT_RETURN_IF_ERROR(CheckDomain(Domain::kNumeric, dtype));
  const Shape* a = ShapeAt(context, 0);
  const Shape* b = ShapeAt(context, 1);
  QUOTIENT_RETURN_IF_ERROR(CheckMatrix(a, "A"));
  QUOTIENT_RETURN_IF_ERROR(CheckMatrix(b, "B"));
  const size_t a_rows = IsTransposed(context.attributes, "transA");
  const size_t b_columns = !IsTransposed(context.attributes, "transB");
  if (a != nullptr && b != nullptr) {
    QUOTIENT_RETURN_IF_ERROR(CheckInner((*a)[1 - a_rows], (*b)[1 - b_columns]));
  }
  const TensorType type(
      dtype, Shape{a == nullptr ? Dim() : (*a)[a_rows], b == nullptr ? Dim() : (*b)[b_columns]});
  QUOTIENT_RETURN_IF_ERROR(CheckAddend(context, type));
  return OneOutput(type);
}

GemmOperand ReadMatrix(const Tensor& matrix, Rows rows) {
  return {rows, [&matrix](int64_t, int64_t row, int64_t begin, std::span<double> out) {
            matrix.Load(row * matrix.dims()[1] + begin, out);
          }};
}

Outputs EvaluateGemm(const EvaluateContext& context) {
  const Tensor& a = *context.inputs[0];
  const Tensor& b = *context.inputs[1];
  const bool a_transposed = IsTransposed(context.attributes, "transA");
  const bool b_transposed = IsTransposed(context.attributes, "transB");
  const double alpha = context.attributes.GetFloat("alpha", 1);
  const double beta = context.attributes.GetFloat("beta", 1);
  const Ints dims = context.output_types[0].dims();
  const GemmSize size{.m = dims[0], .n = dims[1], .k = a.dims()[a_transposed ? 0 : 1]};
  std::optional<BroadcastReader> addend;
  if (context.inputs.size() > 2 && context.inputs[2] != nullptr) {
    addend.emplace(*context.inputs[2], dims);
  }
  NewTensor result(context.output_types[0]);
  const auto write = [&](int64_t, int64_t row, int64_t column, std::span<double> values) {
    const int64_t at = row * size.n + column;
    std::vector<double> c(values.size(), 0);
    if (addend) addend->Load(at, std::span(c));
    for (size_t i = 0; i < values.size(); ++i) values[i] = alpha * values[i] + beta * c[i];
    model::Store(result.tensor.dtype(), result.bytes, at, std::span<const double>(values));
  };
  Gemm(size, ReadMatrix(a, a_transposed ? Rows::kInner : Rows::kOuter),
       ReadMatrix(b, b_transposed ? Rows::kOuter : Rows::kInner), write, context.threads);
  return std::vector<Tensor>{std::move(result.tensor)};
}

// --- Facts ---

Interval BoundsOfMatMul(const BoundsContext& context) {
  return SumOfProducts(context, SizeAt(context, 0, -1));
}

Interval BoundsOfGemm(const BoundsContext& context) {
  const bool transposed = context.attributes.GetInt("transA", 0) != 0;
  const double alpha = context.attributes.GetFloat("alpha", 1);
  const double beta = context.attributes.GetFloat("beta", 1);
  const Interval product = SumOfProducts(context, SizeAt(context, 0, transposed ? 0 : 1));
  const Interval result = InType(context.dtype(), Product(product, {alpha, alpha, false}));
  if (!context.has(2)) return result;
  const Interval bias = InType(context.dtype(), Product(context.in(2), {beta, beta, false}));
  return InType(context.dtype(), Sum(result, bias));
}

double MatMulTerms(const model::AttributeMap&, const Dims& weights) {
  return static_cast<double>(weights.size() > 1 ? weights[weights.size() - 2] : weights[0]);
}

double GemmTerms(const model::AttributeMap& attributes, const Dims& weights) {
  return static_cast<double>(weights[attributes.GetInt("transB", 0) != 0 ? 1 : 0]);
}

// One product with all rows of the left factor if there is one matrix of weights.
Products ProductsOfMatMul(const model::AttributeMap&, const Dims& input, const Dims& weights,
                          const Dims& output) {
  const size_t leading = weights.size() > 2 ? weights.size() - 2 : 0;
  const double outputs = static_cast<double>(Count(output));
  const double n = weights.size() > 1 ? static_cast<double>(weights.back()) : 1;
  const double k = static_cast<double>(input.back());
  if (Count(std::span(weights).first(leading)) == 1) return {1, outputs / std::max(1.0, n), n, k};
  const double m = input.size() > 1 ? static_cast<double>(input[input.size() - 2]) : 1;
  return {outputs / std::max(1.0, m * n), m, n, k};
}

Products ProductsOfGemm(const model::AttributeMap& attributes, const Dims& input, const Dims&,
                        const Dims& output) {
  return {.batch = 1,
          .m = static_cast<double>(output[0]),
          .n = static_cast<double>(output[1]),
          .k = static_cast<double>(input[attributes.GetInt("transA", 0) != 0 ? 0 : 1])};
}

}  // namespace

std::span<const OpDef> MatmulOps() {
  using Kind = AttributeDef::Kind;
  static const auto& rows = *new std::vector<OpDef>{
      {.name = "MatMul",
       .op_class = OpClass::kContraction,
       .min_inputs = 2,
       .max_inputs = 2,
       .max_outputs = 1,
       .since_opset = 1,
       .numerics = {.bounds = BoundsOfMatMul, .own_rounding = true},
       .contraction = {.products = ProductsOfMatMul, .terms = MatMulTerms},
       .infer = InferMatMul,
       .evaluate = EvaluateMatMul},
      {.name = "Gemm",
       .op_class = OpClass::kContraction,
       .min_inputs = 2,
       .max_inputs = 3,
       .max_outputs = 1,
       .since_opset = 11,
       .numerics = {.bounds = BoundsOfGemm, .own_rounding = true},
       .contraction = {.products = ProductsOfGemm, .terms = GemmTerms},
       .attributes = {{"alpha", Kind::kFloat, 1.0},
                      {"beta", Kind::kFloat, 1.0},
                      {"transA", Kind::kInt, int64_t{0}},
                      {"transB", Kind::kInt, int64_t{0}}},
       .infer = InferGemm,
       .evaluate = EvaluateGemm},
  };
  return rows;
}

}  // namespace quotient::ops
