#pragma once

// Right sides without lists and builders as a flat list of steps, for rules that apply millions of
// times. Everything else is built by the Builder of pattern.cc.

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
  // Nothing if the right sides need more.
  static std::optional<RightProgram> Make(const Program& program);

  // `match`: root classes, class variables, operator variables, as words. True if the graph
  // changed.
  absl::StatusOr<bool> Apply(EGraph& graph, std::span<const uint32_t> match, Origin origin) const;

  // The same for several matches, one behind the other, at most kMaxBatch: a step of all of them
  // before the next step, so that their cache misses are under way together. How many of them
  // changed the graph.
  static constexpr size_t kMaxBatch = 32;
  class Batch;
  absl::StatusOr<int64_t> ApplyBatch(EGraph& graph, std::span<const uint32_t> matches,
                                     Origin origin, Batch& batch) const;

  size_t match_size() const { return num_roots_ + num_variables_ + num_ops_; }

 private:
  // op(arguments); an argument is the number of a class variable or, from num_variables_ on, of an
  // earlier step.
  struct Step {
    OpId op;
    uint32_t op_variable = kNoIndex;
    uint32_t first_argument = 0;
    uint32_t num_arguments = 0;
  };

  static constexpr size_t kMaxBatchValues = 16;

  // Whether the only root's right side is the last step, which then goes straight into its class.
  bool direct() const {
    return rights_.size() == 1 && !steps_.empty() &&
           rights_[0] == num_variables_ + steps_.size() - 1;
  }
  bool fits_batch() const {
    return direct() && num_variables_ + steps_.size() <= kMaxBatchValues && max_arguments_ <= 2;
  }
  void Prepare(const EGraph& graph, const Step& step, Batch& batch) const;
  // The e-nodes of a step but the last; those of the last, into the classes of the roots.
  absl::Status AddStep(EGraph& graph, size_t step, Origin origin, Batch& batch) const;
  absl::Status AddLast(EGraph& graph, Origin origin, Batch& batch) const;
  // What stands for `term` as an argument; nothing if it cannot be a step.
  std::optional<uint32_t> Flatten(const RightTerm& term);
  void Record(EGraph& graph, std::span<const uint32_t> match, Origin origin) const {
    if (!graph.records_proofs()) return;
    const size_t classes = num_roots_ + num_variables_;
    graph.RecordApplication(origin, match.first(classes), match.subspan(classes));
  }
  OpId Operator(const Step& step, std::span<const uint32_t> match) const {
    if (step.op_variable == kNoIndex) return step.op;
    return OpId(match[num_roots_ + num_variables_ + step.op_variable]);
  }

  uint32_t num_roots_ = 0;
  uint32_t num_variables_ = 0;
  uint32_t num_ops_ = 0;
  size_t max_arguments_ = 0;  // of a step
  std::vector<Step> steps_;
  std::vector<uint32_t> arguments_;
  std::vector<uint32_t> rights_;  // for each root, as an argument
  std::vector<uint32_t> lets_;    // for class variables behind those of the left side
};

// Several matches on their way through the steps. For ApplyBatch to write, and to be used again: to
// initialize all of it would take longer than a few matches do. Values lie by value, then match.
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
  size_t words = 0;  // of a match
  size_t count = 0;
  ClassId values[kMaxBatchValues][kMaxBatch];
  EGraph::Probe probes[kMaxBatch];
  std::array<bool, kMaxBatch> applies;
  std::array<bool, kMaxBatch> changed;
};

}  // namespace quotient::egraph
