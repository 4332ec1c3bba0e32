#pragma once

// What the files about Concat and Slice share.

#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "core/domain/slices.h"
#include "core/rules/family.h"
#include "core/rules/site_rule.h"

namespace quotient::rules {

using domain::SliceRange;
using EmitFn = std::function<bool(SiteMatch)>;

bool IsOperator(const OpWord& word, absl::string_view name);

// The range of a Slice of a tensor of that type; nothing if the word is no such Slice.
std::optional<SliceRange> Range(const OpWord& word, const TensorType& input);

// All classes of a match but its root.
std::vector<ClassId> PartsOf(const SiteMatch& match);

// The axis of a Concat, from the type of one of its parts; -1 if it is not known which.
int64_t ConcatAxis(const OpWord& word, const TensorType& part);

// The type of the parts joined along an axis; nothing if a size there is no number.
std::optional<TensorType> ConcatType(Terms& terms, const std::vector<ClassId>& parts, int64_t axis);

// Slice of an operand c that is broadcast against a tensor of that rank: along the axis as c counts
// it, if c has it.
ClassId SlicedOperand(Terms& terms, const SliceRange& range, int rank, ClassId c);

// The first e-node of a class whose word is wanted.
std::optional<ENodeId> NodeOf(const View& view, ClassId cls,
                              const std::function<bool(const OpWord&)>& wanted);

// A rule by hand: how it is told, how it searches, what it builds.
struct SiteRow {
  const char* name;
  const char* equation;
  void (*search)(const View&, TensorDomain*, const EmitFn&);
  std::vector<Equation> (*build)(Terms&, const SiteMatch&);
};

// Concats of Concats and of Slices, Slices of Concats.
std::span<const SiteRow> ConcatGeometryRows();
// Element-wise operators through Concat and Slice.
std::span<const SiteRow> ConcatElementwiseRows();

}  // namespace quotient::rules
