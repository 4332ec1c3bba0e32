#pragma once

// Terms: builds right sides of rules. An invalid ClassId means "this cannot be" and passes through
// every function, so that a right side is written as one expression and checked once at its end.

#include <initializer_list>
#include <optional>
#include <span>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "core/domain/slices.h"
#include "core/domain/tensor_domain.h"
#include "core/egraph/egraph.h"

namespace quotient::rules {

using domain::ClassData;
using domain::OpWord;
using domain::TensorDomain;
using egraph::ClassId;
using egraph::EGraph;
using egraph::ENodeId;
using egraph::OpId;
using model::AttributeMap;
using model::Ints;
using model::TensorType;

// An element-wise operator of one tensor.
bool IsUnary(const OpWord& word);

// The only class of a list that may be empty: an input that may be left out.
inline std::optional<ClassId> Optional(std::span<const ClassId> list) {
  return list.empty() ? std::nullopt : std::optional<ClassId>(list[0]);
}

// Reading a graph while rules search.
class View {
 public:
  View(const TensorDomain& domain, const EGraph& graph) : domain_(domain), graph_(graph) {}

  const EGraph& graph() const { return graph_; }
  const ClassData& data(ClassId id) const { return domain_.data(graph_, id); }
  const TensorType& type(ClassId id) const { return data(id).type; }
  const OpWord& word(OpId op) const { return domain_.word(op); }
  const OpWord& word(ENodeId enode) const { return domain_.word(graph_.node(enode).op); }
  // Whether some e-node of the class is of this operator. Clean graphs only.
  bool HasOperator(ClassId id, absl::string_view name) const;

 private:
  const TensorDomain& domain_;
  const EGraph& graph_;
};

class Terms {
 public:
  Terms(TensorDomain& domain, EGraph& graph, egraph::Origin origin)
      : domain_(domain), graph_(graph), origin_(origin) {}

  const ClassData& data(ClassId id) const { return domain_.data(graph_, id); }
  const TensorType& type(ClassId id) const { return data(id).type; }
  const OpWord& word(OpId op) const { return domain_.word(op); }

  // An e-node in canonical form; invalid if a child is invalid or inference refuses it.
  ClassId Op(absl::string_view name, std::span<const ClassId> children,
             AttributeMap attributes = {});
  ClassId Op(absl::string_view name, std::initializer_list<ClassId> children,
             AttributeMap attributes = {}) {
    return Op(name, std::span<const ClassId>(children.begin(), children.size()),
              std::move(attributes));
  }
  ClassId Constant(const model::Tensor& tensor);
  // The sum of two weights, or invalid if they may not meet before an activation does: see
  // MayBeSummed.
  ClassId Summed(ClassId a, ClassId b);
  // The class itself, or invalid if an element may be infinite or NaN: a product of weights may
  // overflow where the activation that one of them scaled did not.
  ClassId FiniteWeight(ClassId x) const;
  // A tensor of that element type and shape, all elements the same number. Not for shapes of more
  // than a million elements.
  ClassId Filled(model::DType dtype, Ints dims, double value);

  ClassId Reshape(ClassId x, Ints shape);
  // To the shape of `like`, which must be expressible for x (see model::Reshape's 0 and -1); x
  // itself if it has that shape.
  ClassId ReshapeTo(ClassId x, const TensorType& like);
  ClassId Transpose(ClassId x, Ints perm);
  ClassId Concat(std::span<const ClassId> parts, int64_t axis);
  ClassId Slice(ClassId x, const domain::SliceRange& range);
  // With zeros around; pads as in ONNX: all begins, then all ends.
  ClassId Pad(ClassId x, Ints pads);

  // A constant that, broadcast against a tensor of that rank, varies along one axis alone, as a
  // vector of `size` elements; invalid if it is not of that form.
  ClassId Vector(ClassId x, int rank, int axis, int64_t size);

  // The class, or nothing if it is invalid: what egraph::TermBuilder returns. An error if something
  // went wrong on the way that is not just "cannot be".
  absl::StatusOr<std::optional<ClassId>> Result(ClassId id) const;
  // Makes both sides equal: true if that is news. Types that differ are refused: false.
  absl::StatusOr<bool> Unite(ClassId left, ClassId right);

 private:
  TensorDomain& domain_;
  EGraph& graph_;
  const egraph::Origin origin_;
  absl::Status trouble_;
};

}  // namespace quotient::rules
