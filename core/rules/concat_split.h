#pragma once

// Declarations shared by the files with rules about Concat and Slice.

#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "core/domain/slices.h"
#include "core/rules/family.h"
#include "core/rules/site_rule.h"

namespace quotient::rules {

using domain::SliceRange;

bool IsOperator(const OpWord& word, absl::string_view name);

// The range that a Slice takes from a tensor of type `input`. Returns nullopt if the word is not a
// Slice, or not one that a SliceRange describes.
std::optional<SliceRange> Range(const OpWord& word, const TensorType& input);

// All classes of a match except the first, which is the root.
std::vector<ClassId> PartsOf(const SiteMatch& match);

// The axis of a Concat, not negative. `part` is the type of one of its parts. Returns -1 if the
// axis counts from the end and the rank is unknown.
int64_t ConcatAxis(const OpWord& word, const TensorType& part);

// Whether all classes certainly have the same sizes along every axis but this one, as the parts of
// a Concat must have. Inference takes sizes that may differ for equal.
bool CanConcat(const Terms& terms, std::span<const ClassId> parts, int64_t axis);

// The type of the Concat of the parts along `axis`. Returns nullopt if the size of a part along
// that axis is unknown.
std::optional<TensorType> ConcatType(Terms& terms, const std::vector<ClassId>& parts, int64_t axis);

// For Slice(x + c) with x of rank `rank`: returns what is added to Slice(x). That is c sliced along
// the corresponding axis, or c itself if it is broadcast along that axis.
ClassId SlicedOperand(Terms& terms, const SliceRange& range, int rank, ClassId c);

// The first e-node of a class whose operator word satisfies `wanted`.
std::optional<ENodeId> NodeOf(const View& view, ClassId cls,
                              const std::function<bool(const OpWord&)>& wanted);

// Whether some part of a Concat is a contraction that only the Concat reads, so that an operator
// that is applied to the part can be merged into it. Repeated parts are examined once.
bool SomeCanTakeMore(const View& view, std::span<const ClassId> parts);

// A site rule: its name, its equation, the operator whose e-nodes it is searched around,
// and its functions for searching and building.
struct SiteRow {
  const char* name;
  const char* equation;
  absl::string_view anchor;
  void (*search)(const View&, std::span<const ENodeId>, const EmitFn&);
  std::vector<Equation> (*build)(Terms&, const SiteMatch&);
  // See SiteRule.
  bool (*for_classes)(const View&, std::span<const ENodeId>, std::span<const ClassId>,
                      const EmitFn&) = nullptr;
};

// Rules about Concats of Concats, Concats of Slices, and Slices of Concats.
std::span<const SiteRow> ConcatGeometryRows();
// Rules that move element-wise operators of one input, and of two, through Concat and Slice.
std::span<const SiteRow> ConcatUnaryRows();
std::span<const SiteRow> ConcatBinaryRows();
// Rules about Concats of MatMuls and Convs.
std::span<const SiteRow> ConcatContractionRows();

}  // namespace quotient::rules
