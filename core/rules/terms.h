#pragma once

// View reads a graph while rules search, and Terms builds their right sides. An invalid ClassId
// means that a term cannot be built. All functions pass it on, so that a right side can be written
// as one expression that is checked once at the end.

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

// Whether this is an element-wise operator with one input.
bool IsUnary(const OpWord& word);

// The class in a list of at most one: an operand that may be left out.
inline std::optional<ClassId> Optional(std::span<const ClassId> list) {
  return list.empty() ? std::nullopt : std::optional<ClassId>(list[0]);
}

// Reads a graph while rules search.
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
  // As TensorDomain::LimitConstants has set it.
  int64_t max_constant_bytes() const { return domain_.max_constant_bytes(); }

 private:
  const TensorDomain& domain_;
  const EGraph& graph_;
};

// Builds terms in an e-graph.
class Terms {
 public:
  Terms(TensorDomain& domain, EGraph& graph, egraph::Origin origin)
      : domain_(domain), graph_(graph), origin_(origin) {}

  const ClassData& data(ClassId id) const { return domain_.data(graph_, id); }
  const TensorType& type(ClassId id) const { return data(id).type; }
  const OpWord& word(OpId op) const { return domain_.word(op); }
  // Whether there may be e-nodes of an operator of the table. Others are refused, but operands that
  // were made for them stay.
  bool Allows(absl::string_view name) const { return domain_.Allows(*ops::FindOp(name)); }
  bool NeverEmpty(const model::Dim& dim) const { return domain_.NeverEmpty(dim); }
  // TensorDomain::AllowsOpset
  bool AllowsOpset(int since) const { return domain_.AllowsOpset(since); }

  // The classes of the model's inputs that x is computed from, in order. Empty if more than 4096
  // classes lie between.
  std::vector<ClassId> InputsOf(ClassId x) const;

  // Adds an e-node in canonical form. Invalid if a child is invalid or inference refuses the
  // e-node.
  ClassId Op(absl::string_view name, std::span<const ClassId> children,
             AttributeMap attributes = {});
  ClassId Op(absl::string_view name, std::initializer_list<ClassId> children,
             AttributeMap attributes = {}) {
    return Op(name, std::span<const ClassId>(children.begin(), children.size()),
              std::move(attributes));
  }
  ClassId Constant(const model::Tensor& tensor);
  // A constant with these elements in row-major order.
  ClassId Constant(model::DType dtype, Ints dims, std::span<const double> values);
  // The sum of two weights; invalid if adding them first would change rounding too much
  // (MayBeSummed).
  ClassId Summed(ClassId a, ClassId b);
  // The class itself; invalid if an element may be infinite or NaN. A product of weights may
  // overflow even if applying them to an activation one after the other does not.
  ClassId FiniteWeight(ClassId x) const;
  // A constant with all elements equal. Invalid for more than 2^20 elements.
  ClassId Filled(model::DType dtype, Ints dims, double value);

  ClassId Reshape(ClassId x, Ints shape);
  // Reshapes x to the shape of `like`. Returns x itself if it has that shape, and an invalid class
  // if the shape attribute of a Reshape (see 0 and -1 in model::Reshape) cannot express the shape.
  ClassId ReshapeTo(ClassId x, const TensorType& like);
  ClassId Transpose(ClassId x, Ints perm);
  ClassId Concat(std::span<const ClassId> parts, int64_t axis);
  ClassId Slice(ClassId x, const domain::SliceRange& range);
  // Pads x with zeros. As in ONNX, `pads` has all begins, then all ends.
  ClassId Pad(ClassId x, Ints pads);

  // Converts a constant that, broadcast against a tensor of this rank, varies only along `axis` to
  // a vector of `size` elements. Invalid if the constant does not have that form.
  ClassId Vector(ClassId x, int rank, int axis, int64_t size);

  // The result of an egraph::TermBuilder: the class, or nullopt if it is invalid. Returns an error
  // if adding an e-node failed with INTERNAL or RESOURCE_EXHAUSTED.
  absl::StatusOr<std::optional<ClassId>> Result(ClassId id) const;
  // Makes two classes equal, and returns whether they were different; false if one is invalid.
  // Fails if the domain refuses it because the types differ, or if adding an e-node failed.
  absl::StatusOr<bool> Unite(ClassId left, ClassId right);

 private:
  TensorDomain& domain_;
  EGraph& graph_;
  const egraph::Origin origin_;
  absl::Status trouble_;
};

}  // namespace quotient::rules
