#include "core/domain/operator_intervals.h"

#include "absl/container/flat_hash_map.h"
#include "core/domain/transfer.h"
#include "core/ops/op.h"

namespace quotient::domain {
namespace {

const absl::flat_hash_map<absl::string_view, Transfer>& Transfers() {
  static const auto& table = *[] {
    auto* const rows = new absl::flat_hash_map<absl::string_view, Transfer>;
    for (const auto family : {UnaryTransfers, ElementwiseTransfers, ChoosingTransfers,
                              SummingTransfers, NormalizationTransfers}) {
      for (const TransferRow& row : family()) rows->emplace(row.op, row.transfer);
    }
    return rows;
  }();
  return table;
}

// What the operator's row says of its results.
Interval InRange(absl::string_view op, const Call& call) {
  const ops::OpDef* const def = ops::FindOp(op);
  const ops::Range range = def == nullptr ? ops::Range() : def->range;
  const Interval within{range.low, range.high, call.in(0).may_be_nan};
  return within.bounded() ? within : AnythingOf(call.dtype());
}

}  // namespace

double Call::SizeAt(size_t input, int axis) const {
  const model::TensorType* const type = inputs[input].type;
  if (type == nullptr || !type->has_rank()) return kUnknownCount;
  if (axis < 0) axis += type->rank();
  if (axis < 0 || axis >= type->rank() || !type->dim(axis).is_number()) return kUnknownCount;
  return static_cast<double>(type->dim(axis).number());
}

Interval IntervalOfOperator(absl::string_view op, const model::AttributeMap& attributes,
                            std::span<const FactInput> inputs, const model::TensorType& output) {
  // An element type that is not known yet may turn out to be any.
  if (!model::IsComputable(output.dtype)) return {};
  const Call call{attributes, inputs, output};
  const auto row = Transfers().find(op);
  return row == Transfers().end() ? InRange(op, call) : row->second(call);
}

}  // namespace quotient::domain
