#pragma once

// Right sides without lists and builders as a flat list of steps, for rules that apply millions of
// times. The Builder of pattern.cc builds all others.

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "absl/status/statusor.h"
#include "core/egraph/egraph.h"
#include "core/egraph/pattern_program.h"

namespace quotient::egraph {

class RightProgram {
 public:
  // Returns nullopt if the right sides have lists or builders.
  static std::optional<RightProgram> Make(const Program& program);

  // `match` has the root classes, class variables and operator variables, as words. Returns whether
  // the graph changed.
  absl::StatusOr<bool> Apply(EGraph& graph, std::span<const uint32_t> match, Origin origin) const;

  // Applies several matches, stored one after the other, at most kMaxBatch. Runs each step for all
  // of them before the next, so that their cache misses overlap. Returns how many changed the
  // graph.
  static constexpr size_t kMaxBatch = 32;
  class Batch;
  absl::StatusOr<int64_t> ApplyBatch(EGraph& graph, std::span<const uint32_t> matches,
                                     Origin origin, Batch& batch) const;

  size_t match_size() const { return num_roots_ + num_variables_ + num_ops_; }

 private:
  // The e-node op(arguments). An argument is the index of a class variable or, from num_variables_
  // on, of an earlier step.
  struct Step {
    OpId op;
    uint32_t op_variable = kNoIndex;
    uint32_t first_argument = 0;
    uint32_t num_arguments = 0;
  };

  static constexpr size_t kMaxBatchValues = 16;

  // Whether there is one root whose right side is the last step. Its e-node then goes straight into
  // the root's class.
  bool direct() const {
    return rights_.size() == 1 && !steps_.empty() &&
           rights_[0] == num_variables_ + steps_.size() - 1;
  }
  bool fits_batch() const {
    return direct() && num_variables_ + steps_.size() <= kMaxBatchValues && max_arguments_ <= 2;
  }
  void Prepare(const EGraph& graph, const Step& step, Batch& batch) const;
  // AddStep adds the e-nodes of any step but the last; AddLast adds those of the last step to the
  // roots' classes.
  absl::Status AddStep(EGraph& graph, size_t step, Origin origin, Batch& batch) const;
  absl::Status AddLast(EGraph& graph, Origin origin, Batch& batch) const;
  // Appends the steps of `term` and returns its index as an argument; nullopt if it cannot be a
  // step.
  std::optional<uint32_t> Flatten(const RightTerm& term);
  void Record(EGraph& graph, std::span<const uint32_t> match, Origin origin) const {
    if (graph.proofs() == nullptr) return;
    const size_t classes = num_roots_ + num_variables_;
    graph.proofs()->AddApplication(origin, match.first(classes), match.subspan(classes));
  }
  OpId Operator(const Step& step, std::span<const uint32_t> match) const {
    if (step.op_variable == kNoIndex) return step.op;
    return OpId(match[num_roots_ + num_variables_ + step.op_variable]);
  }

  uint32_t num_roots_ = 0;
  uint32_t num_variables_ = 0;
  uint32_t num_ops_ = 0;
  size_t max_arguments_ = 0;  // Maximum over the steps.
  std::vector<Step> steps_;
  std::vector<uint32_t> arguments_;
  std::vector<uint32_t> rights_;  // For each root, as an argument.
  std::vector<uint32_t> lets_;    // For the class variables after those of the left side.
};

// Scratch memory of ApplyBatch for several matches. It is reused, because initializing it takes
// longer than a few matches do. Values are indexed by value, then by match.
class RightProgram::Batch {
 private:
  friend class RightProgram;

  void Begin(std::span<const uint32_t> of_matches, size_t words_of_match) {
    matches = of_matches;
    words = words_of_match;
    count = matches.size() / words;
    applies.fill(true);
    changed.fill(false);
  }
  std::span<const uint32_t> match(size_t i) const { return matches.subspan(i * words, words); }
  ClassId root(size_t i) const { return ClassId(matches[i * words]); }

  std::span<const uint32_t> matches;
  size_t words = 0;  // Per match.
  size_t count = 0;
  ClassId values[kMaxBatchValues][kMaxBatch];
  EGraph::Probe probes[kMaxBatch];
  std::array<bool, kMaxBatch> applies;
  std::array<bool, kMaxBatch> changed;
};

}  // namespace quotient::egraph
