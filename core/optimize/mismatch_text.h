#pragma once

// Words for what is in the e-graph of a model, and for how near a pattern came to matching there.
// The texts have names from the model, so whoever shows them escapes them.

#include <span>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "core/domain/tensor_egraph.h"
#include "core/egraph/near_match.h"
#include "core/egraph/rule.h"

namespace quotient::optimize {

class ENodeText {
 public:
  // Borrows both. `rules` are those of the e-graph's origins. The e-graph is clean, and does not
  // change as long as this is used.
  ENodeText(const domain::TensorEGraph& tensors, std::span<const egraph::Rule* const> rules);

  // The name of the class: that of its first value in the original, in quotes, or "a new value".
  std::string Name(egraph::ClassId id) const;
  // The name with its type and with what is known of the value. Of constants only scalars are
  // shown with their values, as reports must not carry weights.
  std::string Typed(egraph::ClassId id) const;
  // "Relu 'relu_3'", or with a rule's name for an e-node that the rule made.
  std::string Of(egraph::ENodeId node) const;
  // The same with its attributes and the number of its operands.
  std::string InDetail(egraph::ENodeId node) const;

  // What is missing (NearMatch::missing), as one sentence without a full stop.
  std::string Missing(const egraph::NearMatch& near) const;
  // A guard that refuses, as the rule has it, and its arguments.
  std::string Refusal(const egraph::NearMatch& near, const egraph::RefusedGuard& refused) const;
  // The terms of the pattern that were found, and where, a line each: "found Relu(?x) at Relu
  // 'relu_3'".
  std::vector<std::string> Found(const egraph::NearMatch& near) const;

 private:
  std::string Argument(const egraph::RefusedGuard::Argument& argument, char sort) const;
  std::string MadeBy(egraph::ClassId id) const;
  std::string ReadBy(egraph::ClassId id) const;

  const domain::TensorEGraph& tensors_;
  const egraph::EGraph& graph_ = *tensors_.egraph;
  const std::span<const egraph::Rule* const> rules_;
  std::vector<std::string> names_;  // By canonical ClassId. Empty where the original has no value.
};

// The left sides of a pattern as the rule has them, without its guards.
std::string LeftText(const egraph::Program& program);

}  // namespace quotient::optimize
