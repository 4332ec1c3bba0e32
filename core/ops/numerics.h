#pragma once

// What is known of the numbers that an operator makes, without computing them: facts of its row
// (op.h) for rules, for the analysis of an e-graph (core/domain) and for checking (core/verify).

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "core/model/attribute.h"
#include "core/model/shape.h"
#include "core/model/tensor.h"
#include "core/ops/interval.h"

namespace quotient::ops {

// What is known of one input. All pointers are null for an input left out.
struct BoundsInput {
  const Interval* values = nullptr;
  const model::TensorType* type = nullptr;
  // Whether Softmax along the last axis gives no NaN: every row along that axis has a finite
  // element, and none has a NaN or +infinity.
  bool softmax_safe = false;
};

// One application of an operator, in canonical form.
struct BoundsContext {
  const model::AttributeMap& attributes;
  std::span<const BoundsInput> inputs;
  const model::TensorType& output;  // The type of output 0. Its element type is computable.
  bool same_operands = false;       // There are two inputs, and they are the same value.

  bool has(size_t i) const { return i < inputs.size() && inputs[i].values != nullptr; }
  // Anything for an input left out.
  Interval in(size_t i) const { return has(i) ? *inputs[i].values : Interval(); }
  model::DType dtype() const { return output.dtype; }
};

// Bounds of the elements of output 0 that hold for all inputs within their bounds, whatever order
// and precision (at least that of the element type) a kernel computes in. Pure and thread-safe.
using BoundsFn = Interval (*)(const BoundsContext& context);

// What becomes of an infinite element of an input.
enum class AtInfinity {
  kOther,        // Mostly NaN.
  kStays,        // Usually an infinity again: Add, Mul, Neg, Where.
  kEnds,         // Often a finite number: Clip, Greater, Min.
  kEndsIfBelow,  // Often a finite number for -infinity, but not for infinity: Relu, Softmax.
};

// What an operator requires of the values of an input, beyond its type. An evaluation fails, or
// gives NaN, if it is not so.
struct Requirement {
  enum class Kind {
    kPositive,      // Floats, which have a square root, a logarithm, or are a variance.
    kNonzero,       // Integers by which others are divided. Floats may be 0.
    kIndices,       // Indices along `axis` of input `data`.
    kIndexTuples,   // Its rows are index tuples into input `data`.
    kTargetTuples,  // The same. If attribute `reduction` is "none", no tuple may occur twice.
  };
  int input;
  Kind kind;
  int data = 0;
};

// Whether the values are indices or index tuples.
bool AreIndices(Requirement::Kind kind);
// Whether they are index tuples of which none may occur twice.
bool AreDistinctTuples(Requirement::Kind kind, const model::AttributeMap& attributes);
// What all indices have to be less than, for data of this static type. For tuples it is the
// smallest dimension, which suffices for every component.
int64_t IndexBound(Requirement::Kind kind, const model::AttributeMap& attributes,
                   const model::TensorType& data);

// The facts of a row. Without any, nothing is known.
struct Numerics {
  // Null: the elements that the operator moves (Movement), otherwise anything.
  BoundsFn bounds = nullptr;
  // Whether the change of an operand's last bit may become a jump: Floor, comparisons. ArgMax is
  // none, because checking judges ties. Of Casts, those to integers are.
  bool step = false;
  // Whether kernels round the sums of this operator each in its own way, so that no rewrite needs
  // to keep the last bits of operands.
  bool own_rounding = false;
  AtInfinity at_infinity = AtInfinity::kOther;
  // Whether it may give NaN or an infinity if rounding changes an operand near zero.
  bool singular_at_zero = false;
  // Whether an infinity may be the right result for ordinary numbers, because an input is at a
  // pole. All inputs are present. Null: there are no poles.
  bool (*is_at_pole)(std::span<const model::Tensor* const> inputs) = nullptr;
  std::vector<Requirement> requirements = {};
};

}  // namespace quotient::ops
