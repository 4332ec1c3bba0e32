#pragma once

// Terms over the variables and operators of a universe. Equal terms have equal ids; an id is larger
// than those of its parts.

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "core/base/ids.h"
#include "core/generate/universe.h"
#include "core/model/graph.h"

namespace quotient::generate {

using TermId = StrongId<struct TermTag>;

// One of a variable and an operator with its operands.
struct Term {
  int variable = -1;        // Index among the universe's variables; negative for operators.
  int op = -1;              // Index among the universe's operators.
  TermId operands[2] = {};  // The second is invalid for operators with one operand.
  uint32_t shape = 0;       // See Terms::dims.
  bool is_weight = false;   // No part of it is a variable that is no weight.
  bool is_variable() const { return variable >= 0; }
};

// In which shapes, and with which operators, a graph is made of a term.
struct Instance {
  std::vector<Ints> dims;              // By variable.
  std::vector<AttributeMap> words;     // By operator.
  bool weights_are_constants = false;  // Else they are inputs.
};

// One thread.
class Terms {
 public:
  // Adds the variables, whose ids are their indices. Borrows the universe.
  explicit Terms(const Universe* universe);

  const Universe& universe() const { return universe_; }
  size_t size() const { return terms_.size(); }
  const Term& term(TermId id) const { return terms_[id.value()]; }
  const Ints& dims(TermId id) const { return shapes_[term(id).shape]; }
  const Operator& op(TermId id) const { return universe_.operators[term(id).op]; }
  std::span<const TermId> operands(TermId id) const;

  // The operator applied to operands, added if need be. Operands of a commutative operator are put
  // in order: weights last. Nullopt if type inference refuses it, or the second is no weight where
  // the operator wants one.
  std::optional<TermId> Apply(int op, std::span<const TermId> operands);
  // Reads what Text prints. INVALID_ARGUMENT if it is no term of this universe.
  absl::StatusOr<TermId> Parse(absl::string_view text);
  std::string Text(TermId id) const;
  // The same term with other variables, by index, of the same types.
  TermId Renamed(TermId id, std::span<const int> variables);

  // The terms that it consists of, each once, operands first, itself last.
  std::vector<TermId> Parts(TermId id) const;
  // The number of operators among them.
  int Size(TermId id) const;
  // Indices of the variables in it, in the order in which its text has them.
  std::vector<int> VariablesOf(TermId id) const;

  // The instances with the universe's small and large types.
  Instance Small() const;
  Instance Large() const;
  // A graph with the terms as outputs, its types inferred. Nullopt if the operators do not accept
  // the shapes.
  std::optional<model::Graph> ToGraph(std::span<const TermId> outputs,
                                      const Instance& instance) const;

 private:
  std::optional<uint32_t> ShapeOf(int op, std::span<const TermId> operands);
  uint32_t InternShape(const Ints& dims);

  const Universe& universe_;
  std::vector<Term> terms_;
  std::vector<Ints> shapes_;
  absl::flat_hash_map<std::vector<uint32_t>, TermId> id_of_;  // By operator and operands.
  // By operator and shapes of operands; nullopt for those that are refused.
  absl::flat_hash_map<std::vector<uint32_t>, std::optional<uint32_t>> shape_of_application_;
};

}  // namespace quotient::generate
