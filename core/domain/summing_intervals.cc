// Operators that combine elements along axes: reductions, pools, contractions.

#include <algorithm>
#include <cmath>

#include "core/domain/transfer.h"
#include "core/ops/window.h"

namespace quotient::domain {
namespace {

using model::DType;

constexpr double kInfinity = Interval::kInfinity;

// --- Sums along axes ---

// How many elements the axes have; `empty`: perhaps none.
struct Count {
  double most = 1;
  bool empty = false;

  void Times(const model::TensorType& type, int axis) {
    if (!type.dim(axis).is_number()) {
      most = kUnknownCount;
      empty = true;
      return;
    }
    most = std::min(most * static_cast<double>(type.dim(axis).number()), kUnknownCount);
    empty |= type.dim(axis).number() == 0;
  }
};

Count CountAxes(const model::TensorType& type, int begin, int end) {
  Count count;
  for (int axis = begin; axis < end; ++axis) count.Times(type, axis);
  return count;
}

Count ReducedCount(const Call& call) {
  const model::TensorType& type = *call.inputs[0].type;
  const model::Ints* axes = call.attributes.FindInts("axes");
  if (!type.has_rank() || call.inputs.size() > 1) return {kUnknownCount, true};
  if (axes == nullptr) return CountAxes(type, 0, type.rank());
  Count count;
  for (const int64_t axis : *axes) {
    const int64_t counted = axis < 0 ? axis + type.rank() : axis;
    if (counted < 0 || counted >= type.rank()) return {kUnknownCount, true};
    count.Times(type, static_cast<int>(counted));
  }
  return count;
}

Interval ReduceSumOf(const Call& call) {
  return InType(call.dtype(), SumOf(call.dtype(), call.in(0), ReducedCount(call).most));
}

Interval MeanOver(const Call& call, const Count& count) {
  if (!model::IsFloat(call.dtype())) return AnythingOf(call.dtype());
  const Interval x = call.in(0);
  const Interval sum = SumOf(call.dtype(), x, count.most);
  if (count.empty || !sum.finite()) {
    // The mean of no elements is NaN; that of numbers that are not negative overflows at worst.
    const Interval rising{0, kInfinity, count.empty || x.may_be_nan};
    return x.nonnegative() ? rising : Interval();
  }
  const double spread = std::max((sum.magnitude() - count.most * x.magnitude()) / count.most, 0.0);
  return InType(call.dtype(),
                {x.nonnegative() ? 0 : x.low - spread, x.high <= 0 ? 0 : x.high + spread, false},
                kFunctionSlack);
}

Interval ReduceMeanOf(const Call& call) { return MeanOver(call, ReducedCount(call)); }

Interval GlobalAverageOf(const Call& call) {
  const model::TensorType& type = *call.inputs[0].type;
  if (!type.has_rank()) return AnythingOf(call.dtype());
  return MeanOver(call, CountAxes(type, 2, type.rank()));
}

// Whether every window of a pool is sure to hold an element.
bool EveryWindowReads(const Call& call) {
  const model::TensorType& type = *call.inputs[0].type;
  const model::Ints* kernel = call.attributes.FindInts("kernel_shape");
  if (!type.has_rank() || type.rank() < 3 || kernel == nullptr) return false;
  const std::span<const model::Dim> plane = ops::SpatialDims(*type.shape);
  const absl::StatusOr<ops::Window> window = ops::ReadWindow(call.attributes, *kernel, plane);
  return window.ok() && ops::AlwaysReads(*window, plane);
}

Interval AveragePoolOf(const Call& call) {
  Count count;
  for (const int64_t size : call.attributes.GetInts("kernel_shape", {})) {
    count.most = std::min(count.most * static_cast<double>(size), kUnknownCount);
  }
  if (call.attributes.GetInt("ceil_mode", 0) != 0) return AnythingOf(call.dtype());
  // The mean of no elements is 0 or NaN.
  return Hull(MeanOver(call, count), {0, 0, !EveryWindowReads(call)});
}

// Nothing is the largest of no elements.
Interval ReduceExtremeOf(const Call& call) {
  return ReducedCount(call).empty ? AnythingOf(call.dtype()) : call.in(0);
}

// The largest element of windows. ONNX Runtime starts with the lowest number of the type (of some
// floats the lowest finite one, of others -infinity) and keeps it where all elements are NaN or
// -infinity, and where there are none: `has_elements` says that each window is sure to have some.
Interval LargestOfWindows(const Call& call, bool has_elements) {
  const Interval x = call.in(0);
  const double least = AnythingOf(call.dtype()).low;
  const double lowest = model::IsFloat(call.dtype()) ? -LargestOf(call.dtype()) : least;
  const bool may_keep_lowest = !has_elements || x.may_be_nan || x.low < lowest;
  return may_keep_lowest ? Hull(x, {least, lowest, false}) : x;
}

Interval MaxPoolOf(const Call& call) {
  if (call.attributes.GetInt("ceil_mode", 0) != 0) return AnythingOf(call.dtype());
  return LargestOfWindows(call, EveryWindowReads(call));
}
Interval GlobalMaxOf(const Call& call) {
  const model::TensorType& type = *call.inputs[0].type;
  const bool empty = !type.has_rank() || CountAxes(type, 2, type.rank()).empty;
  return empty ? AnythingOf(call.dtype()) : LargestOfWindows(call, /*has_elements=*/true);
}

Interval CumSumOf(const Call& call) {
  return InType(call.dtype(), SumOf(call.dtype(), call.in(0), kUnknownCount));
}

// --- Contractions ---

// Sums of products of elements of a and of b. Algorithms other than the plain one (Winograd's)
// reach further on the way.
Interval Contracted(const Call& call, double terms) {
  constexpr double kOnTheWay = 1024;
  const Interval product = InType(call.dtype(), Product(call.in(0), call.in(1)));
  const double reach = terms * product.magnitude();
  const bool far = call.dtype() != DType::kFloat16;
  if (!model::IsFloat(call.dtype()) || !(reach * (far ? kOnTheWay : 1) < LargestOf(call.dtype()))) {
    return AnythingOf(call.dtype());
  }
  return InType(call.dtype(), SumOf(call.dtype(), product, terms));
}

Interval MatMulOf(const Call& call) { return Contracted(call, call.SizeAt(0, -1)); }

Interval GemmOf(const Call& call) {
  const bool transposed = call.attributes.GetInt("transA", 0) != 0;
  const double alpha = call.attributes.GetFloat("alpha", 1);
  const double beta = call.attributes.GetFloat("beta", 1);
  const Interval product = Contracted(call, call.SizeAt(0, transposed ? 0 : 1));
  Interval result = InType(call.dtype(), Product(product, {alpha, alpha, false}));
  if (!call.has(2)) return result;
  const Interval bias = InType(call.dtype(), Product(call.in(2), {beta, beta, false}));
  return InType(call.dtype(), Sum(result, bias));
}

// Each output adds at most all inputs of its group in the window.
Interval ConvOf(const Call& call, int first_window_axis) {
  const model::TensorType& weight = *call.inputs[1].type;
  double terms = kUnknownCount;
  if (weight.has_rank() && weight.rank() > first_window_axis) {
    terms = CountAxes(weight, first_window_axis, weight.rank()).most;
    if (first_window_axis == 2) terms *= call.SizeAt(1, 0);
  }
  const Interval result = Contracted(call, terms);
  return call.has(2) ? InType(call.dtype(), Sum(result, call.in(2))) : result;
}
Interval PlainConvOf(const Call& call) { return ConvOf(call, 1); }
Interval TransposedConvOf(const Call& call) { return ConvOf(call, 2); }

}  // namespace

std::span<const TransferRow> SummingTransfers() {
  static constexpr TransferRow kRows[] = {
      {"ReduceSum", ReduceSumOf},
      {"ReduceMean", ReduceMeanOf},
      {"ReduceMax", ReduceExtremeOf},
      {"ReduceMin", ReduceExtremeOf},
      {"GlobalAveragePool", GlobalAverageOf},
      {"GlobalMaxPool", GlobalMaxOf},
      {"AveragePool", AveragePoolOf},
      {"MaxPool", MaxPoolOf},
      {"CumSum", CumSumOf},
      {"MatMul", MatMulOf},
      {"Gemm", GemmOf},
      {"Conv", PlainConvOf},
      {"ConvTranspose", TransposedConvOf},
  };
  return kRows;
}

}  // namespace quotient::domain
