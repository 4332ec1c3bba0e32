#include "core/ops/reduction.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <span>
#include <vector>

#include "core/base/checked.h"
#include "core/base/parallel.h"
#include "core/ops/elementwise.h"
#include "core/ops/support.h"

namespace quotient::ops {
namespace {

using model::Ints;
using model::Tensor;
using model::TensorType;

constexpr int64_t kBlock = 1024;  // Number of elements loaded at a time.

// An accumulator has a State; Add updates it, and Finish gets it with the number of elements.

template <typename T>
struct SumReducer {
  using State = T;
  static State Initial() { return 0; }
  static void Add(State& state, T value) { state = WrapAdd(state, value); }
  static T Finish(State state, int64_t) { return state; }
};

template <typename T>
struct MeanReducer : SumReducer<T> {
  static T Finish(T state, int64_t count) {
    if constexpr (std::is_integral_v<T>) {
      return count == 0 ? 0 : static_cast<T>(state / static_cast<T>(count));
    } else {
      return state / static_cast<T>(count);
    }
  }
};

template <typename T>
struct ProdReducer {
  using State = T;
  static State Initial() { return 1; }
  static void Add(State& state, T value) { state = WrapMul(state, value); }
  static T Finish(State state, int64_t) { return state; }
};

template <typename T>
struct LargestReducer {
  using State = T;
  using Limits = std::numeric_limits<T>;
  static State Initial() { return Limits::has_infinity ? -Limits::infinity() : Limits::lowest(); }
  static void Add(State& state, T value) { state = MaxOf(state, value); }
  static T Finish(State state, int64_t) { return state; }
};

template <typename T>
struct SmallestReducer {
  using State = T;
  using Limits = std::numeric_limits<T>;
  static State Initial() { return Limits::has_infinity ? Limits::infinity() : Limits::max(); }
  static void Add(State& state, T value) { state = MinOf(state, value); }
  static T Finish(State state, int64_t) { return state; }
};

template <typename T>
struct L1Reducer : SumReducer<T> {
  static void Add(T& state, T value) {
    state = WrapAdd(state, value < 0 ? WrapSub<T>(0, value) : value);
  }
};

template <typename T>
struct SumSquareReducer : SumReducer<T> {
  static void Add(T& state, T value) { state = WrapAdd(state, WrapMul(value, value)); }
};

struct L2Reducer : SumSquareReducer<double> {
  static double Finish(double state, int64_t) { return std::sqrt(state); }
};

struct LogSumReducer : SumReducer<double> {
  static double Finish(double state, int64_t) { return std::log(state); }
};

// Keeps the sum relative to the largest exponent so far, so that nothing overflows.
struct LogSumExpReducer {
  struct State {
    double largest = -std::numeric_limits<double>::infinity();
    double sum = 0;
  };
  static State Initial() { return {}; }
  static void Add(State& state, double value) {
    if (value > state.largest) {
      state.sum = state.sum * std::exp(state.largest - value) + 1;
      state.largest = value;
    } else if (value == state.largest) {
      state.sum += 1;  // Also for two infinities, whose difference is NaN.
    } else {
      state.sum += std::exp(value - state.largest);
    }
  }
  static double Finish(const State& state, int64_t) {
    return state.sum == 0 ? state.largest : state.largest + std::log(state.sum);
  }
};

// The axes of the input as two boxes, kept and reduced; neighbouring axes of the same kind are
// joined.
struct Layout {
  Layout(std::span<const int64_t> dims, const Ints& axes) {
    const std::vector<int64_t> packed = RowMajorStrides(dims);
    for (size_t axis = 0; axis < dims.size(); ++axis) {
      const bool reduced = std::binary_search(axes.begin(), axes.end(), int64_t(axis));
      Ints& box = reduced ? reduced_dims : kept_dims;
      Ints& strides = reduced ? reduced_strides : kept_strides;
      if (axis > 0 && reduced == last_is_reduced) {
        // The product overflows only if there are no elements, and then it is 0.
        box.back() = CheckedMul(box.back(), dims[axis]).value_or(0);
        strides.back() = packed[axis];
      } else {
        box.push_back(dims[axis]);
        strides.push_back(packed[axis]);
      }
      last_is_reduced = reduced;
    }
  }

  Ints kept_dims, kept_strides;
  Ints reduced_dims, reduced_strides;
  bool last_is_reduced = false;
};

// Removes the last axis of a box and returns its length; 1 for an empty box.
int64_t PopLast(Ints& dims) {
  if (dims.empty()) return 1;
  const int64_t last = dims.back();
  dims.pop_back();
  return last;
}

// Storage is the type that elements are loaded as, T the type of the arithmetic.
template <typename Storage, typename T, typename Accumulator>
class Reducer {
 public:
  Reducer(const Tensor& input, const Ints& axes, const TensorType& output)
      : input_(input),
        layout_(input.dims(), axes),
        result_(output),
        type_(output),
        count_(Count(layout_.reduced_dims)) {}

  Tensor Run(int threads) {
    if (layout_.last_is_reduced) {
      ReduceRows(threads);
    } else {
      ReduceColumns(threads);
    }
    return std::move(result_.tensor);
  }

 private:
  // For outputs whose elements are contiguous in runs of the last axis.
  void ReduceRows(int threads) {
    Ints outer = layout_.reduced_dims;
    const int64_t run = PopLast(outer);
    const int64_t grain = (int64_t{1} << 15) / std::max<int64_t>(count_, 1) + 1;
    ParallelFor(Count(layout_.kept_dims), grain, threads, [&](int64_t begin, int64_t end) {
      std::vector<Storage> buffer(std::min(run, kBlock));
      BoxIndex kept(layout_.kept_dims, begin);
      for (int64_t output = begin; output < end; ++output, kept.Next()) {
        typename Accumulator::State state = Accumulator::Initial();
        for (BoxIndex row(outer); row.valid() && run > 0; row.Next()) {
          AddRun(kept.Offset(layout_.kept_strides) + row.Offset(layout_.reduced_strides), run,
                 buffer, state);
        }
        const Storage value = static_cast<Storage>(Accumulator::Finish(state, count_));
        model::Store(type_.dtype, result_.bytes, output, std::span<const Storage>(&value, 1));
      }
    });
  }

  void AddRun(int64_t from, int64_t length, std::vector<Storage>& buffer,
              typename Accumulator::State& state) {
    for (int64_t done = 0; done < length; done += kBlock) {
      const std::span<Storage> part = std::span(buffer).first(std::min(kBlock, length - done));
      input_.Load(from + done, part);
      for (Storage value : part) Accumulator::Add(state, static_cast<T>(value));
    }
  }

  // For neighbouring outputs whose elements are neighbours, too: reduces a block of outputs at
  // once.
  void ReduceColumns(int threads) {
    Ints outer = layout_.kept_dims;
    const int64_t run = PopLast(outer);
    if (run == 0) return;
    const int64_t blocks = (run + kBlock - 1) / kBlock;
    ParallelFor(Count(outer) * blocks, 1, threads, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        const int64_t column = i % blocks * kBlock;
        ReduceBlock(BoxIndex(outer, i / blocks).Offset(layout_.kept_strides) + column,
                    i / blocks * run + column, std::min(kBlock, run - column));
      }
    });
  }

  void ReduceBlock(int64_t from, int64_t to, int64_t width) {
    std::vector<Storage> buffer(width);
    std::vector<typename Accumulator::State> states(width, Accumulator::Initial());
    for (BoxIndex row(layout_.reduced_dims); row.valid(); row.Next()) {
      input_.Load(from + row.Offset(layout_.reduced_strides), std::span(buffer));
      for (int64_t i = 0; i < width; ++i) {
        Accumulator::Add(states[i], static_cast<T>(buffer[i]));
      }
    }
    for (int64_t i = 0; i < width; ++i) {
      buffer[i] = static_cast<Storage>(Accumulator::Finish(states[i], count_));
    }
    model::Store(type_.dtype, result_.bytes, to, std::span<const Storage>(buffer));
  }

  const Tensor& input_;
  const Layout layout_;
  NewTensor result_;
  const TensorType& type_;
  const int64_t count_;
};

struct Call {
  const Tensor& input;
  const Ints& axes;
  const TensorType& output;
  int threads;
};

template <typename Accumulator>
Tensor InDouble(const Call& call) {
  return Reducer<double, double, Accumulator>(call.input, call.axes, call.output).Run(call.threads);
}

template <template <typename> typename Accumulator>
Tensor InOwnType(const Call& call) {
  if (model::IsFloat(call.input.dtype())) return InDouble<Accumulator<double>>(call);
  if (call.input.dtype() == model::DType::kUint64) {
    return Reducer<int64_t, uint64_t, Accumulator<uint64_t>>(call.input, call.axes, call.output)
        .Run(call.threads);
  }
  return Reducer<int64_t, int64_t, Accumulator<int64_t>>(call.input, call.axes, call.output)
      .Run(call.threads);
}

// The maximum of no elements is the smallest value of the element type, the minimum the largest.
Tensor ExtremeOfNothing(bool largest, const TensorType& output) {
  double extreme =
      std::numeric_limits<double>::infinity();  // Saturates to the limit of an integer type.
  if (largest) extreme = output.dtype == model::DType::kBool ? 0 : -extreme;
  const std::vector<double> values(output.elements(), extreme);
  NewTensor result(output);
  model::Store(output.dtype, result.bytes, 0, std::span<const double>(values));
  return std::move(result.tensor);
}

}  // namespace

Tensor Reduce(Reduction reduction, const Tensor& input, const Ints& axes, const TensorType& output,
              int threads) {
  const bool is_extreme = reduction == Reduction::kMax || reduction == Reduction::kMin;
  if (is_extreme && input.elements() == 0) {
    return ExtremeOfNothing(reduction == Reduction::kMax, output);
  }
  const Call call{input, axes, output, threads};
  switch (reduction) {
    case Reduction::kSum:
      return InOwnType<SumReducer>(call);
    case Reduction::kMean:
      return InOwnType<MeanReducer>(call);
    case Reduction::kMax:
      return InOwnType<LargestReducer>(call);
    case Reduction::kMin:
      return InOwnType<SmallestReducer>(call);
    case Reduction::kProd:
      return InOwnType<ProdReducer>(call);
    case Reduction::kL1:
      return InOwnType<L1Reducer>(call);
    case Reduction::kSumSquare:
      return InOwnType<SumSquareReducer>(call);
    case Reduction::kL2:
      return InDouble<L2Reducer>(call);
    case Reduction::kLogSum:
      return InDouble<LogSumReducer>(call);
    case Reduction::kLogSumExp:
      return InDouble<LogSumExpReducer>(call);
  }
  return input;
}

}  // namespace quotient::ops
