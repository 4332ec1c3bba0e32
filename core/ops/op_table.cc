// Collects the rows of the families in one table.

#include <vector>

#include "absl/container/flat_hash_map.h"
#include "core/ops/families.h"

namespace quotient::ops {
namespace {

std::vector<const OpDef*> CollectRows() {
  std::vector<const OpDef*> rows;
  const std::span<const OpDef> families[] = {
      UnaryOps(),   FunctionOps(),      ActivationOps(),    BinaryOps(), PowerOps(),
      LogicOps(),   ConvOps(),          ConvTransposeOps(), PoolOps(),   MatmulOps(),
      SoftmaxOps(), NormalizationOps(), AttentionOps(),     RotaryOps(), ReduceOps(),
      ViewOps(),    CastOps(),          MoveOps(),          RepeatOps(), SliceOps(),
      PadOps(),     GatherOps(),        IndexTupleOps(),    SelectOps(), SourceOps(),
      CumSumOps(),  ResizeOps(),        EinsumOps(),        StftOps(),   QuantizeOps(),
  };
  for (std::span<const OpDef> family : families) {
    for (const OpDef& op : family) rows.push_back(&op);
  }
  return rows;
}

}  // namespace

std::span<const OpDef* const> AllOps() {
  static const auto& rows = *new std::vector<const OpDef*>(CollectRows());
  return rows;
}

const OpDef* FindOp(absl::string_view name) {
  static const auto& by_name = *[] {
    auto* map = new absl::flat_hash_map<absl::string_view, const OpDef*>;
    for (const OpDef* op : AllOps()) map->emplace(op->name, op);
    return map;
  }();
  const auto found = by_name.find(name);
  return found == by_name.end() ? nullptr : found->second;
}

}  // namespace quotient::ops
