#pragma once

// What the files of operator_intervals.h share: a family of operators is a file, which gives rows
// of its operators. Nobody else includes this.

#include <span>

#include "absl/strings/string_view.h"
#include "core/domain/facts.h"
#include "core/domain/interval.h"

namespace quotient::domain {

// Relative errors of what is not rounded correctly: functions, and results of long sums.
inline constexpr double kFunctionSlack = 0x1p-10;
// More elements than any tensor has.
inline constexpr double kUnknownCount = 0x1p48;

// One application of an operator.
struct Call {
  const model::AttributeMap& attributes;
  std::span<const FactInput> inputs;
  const model::TensorType& output;

  bool has(size_t i) const { return i < inputs.size() && inputs[i].facts != nullptr; }
  // Of an input left out: anything.
  Interval in(size_t i) const { return has(i) ? inputs[i].facts->values : Interval(); }
  model::DType dtype() const { return output.dtype; }
  bool same_operands() const { return inputs.size() == 2 && inputs[0].cls == inputs[1].cls; }
  // How many elements an input has along an axis (negative ones count from the end).
  double SizeAt(size_t input, int axis) const;
};

// The interval of output 0.
using Transfer = Interval (*)(const Call&);

struct TransferRow {
  absl::string_view op;
  Transfer transfer;
};

std::span<const TransferRow> UnaryTransfers();
std::span<const TransferRow> ElementwiseTransfers();
std::span<const TransferRow> ChoosingTransfers();
std::span<const TransferRow> SummingTransfers();
std::span<const TransferRow> NormalizationTransfers();

}  // namespace quotient::domain
