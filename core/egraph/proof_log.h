#pragma once

// ProofLog: what explanations need (explain.h), recorded while the e-graph changes. It holds
// little: the children that each e-node was added with, the unions, and the matches that rules
// applied. For whoever applies them again it also has, of all kinds of rules, the matches that have
// changed the graph. One thread may change it; a Trail undoes all changes.

#include <cstdint>
#include <span>

#include "core/egraph/flat_array.h"
#include "core/egraph/ids.h"
#include "core/egraph/row.h"

namespace quotient::egraph {

// A union that changed the graph.
struct UnionRecord {
  ClassId a;
  ClassId b;
  Origin origin;
  friend bool operator==(const UnionRecord&, const UnionRecord&) = default;
};

class ProofLog {
 public:
  // A recorded rule application.
  struct Application {
    Origin origin;
    size_t unions_before;  // Number of unions() that precede it.
    std::span<const uint32_t> classes;
    std::span<const uint32_t> ops;
  };

  // A match whose application has changed the graph, whatever else came of it: see Match.
  struct Change {
    Origin origin;
    uint32_t alternative;
    std::span<const uint32_t> classes;
    std::span<const uint32_t> ops;
  };

  explicit ProofLog(Trail* trail)
      : unions_(trail), born_children_(trail), applications_(trail), changes_(trail) {}

  // --- Recording

  void AddBirth(std::span<const ClassId> children) {
    for (const ClassId child : children) born_children_.push_back(child);
  }
  void AddUnion(const UnionRecord& record) { unions_.push_back(record); }
  // A match of rule `origin` is about to change the graph. `classes` and `ops` are those of the
  // match as they were found.
  void AddApplication(Origin origin, std::span<const uint32_t> classes,
                      std::span<const uint32_t> ops);
  // The last application, if it is one of this origin, failed to make its two sides equal: it must
  // not appear in an explanation.
  void VoidApplication(Origin origin);
  // Recorded by the rules of a rules::RuleSet.
  void AddChange(Origin origin, uint32_t alternative, std::span<const ClassId> classes,
                 std::span<const OpId> ops);
  // Call after the trail has rolled the arrays back.
  void ForgetLastApplication() { last_application_ = applications_.size(); }

  // --- Reading

  // All unions so far, oldest first.
  std::span<const UnionRecord> unions() const { return unions_.span(); }
  // The children of all e-nodes, as these were added with them, in order of creation.
  std::span<const ClassId> born_children() const { return born_children_.span(); }
  // Visits the applications that were not voided, oldest first.
  template <typename Visit>
  void ForEachApplication(const Visit& visit) const {
    const std::span<const uint32_t> words = applications_.words();
    for (size_t i = 0; i < words.size();) {
      const size_t classes = words[i + 2], ops = words[i + 3];
      if (words[i] != kVoidOrigin) {
        visit(Application{words[i], words[i + 1], words.subspan(i + 4, classes),
                          words.subspan(i + 4 + classes, ops)});
      }
      i += 4 + classes + ops;
    }
  }
  // Visits the changes, oldest first.
  template <typename Visit>
  void ForEachChange(const Visit& visit) const {
    const std::span<const uint32_t> words = changes_.words();
    for (size_t i = 0; i < words.size();) {
      const size_t classes = words[i + 2], ops = words[i + 3];
      visit(Change{words[i], words[i + 1], words.subspan(i + 4, classes),
                   words.subspan(i + 4 + classes, ops)});
      i += 4 + classes + ops;
    }
  }
  // Calls visit(op, children) for each of the e-nodes, which must be all of the graph, with the
  // children that it was added with.
  template <typename Visit>
  void ForEachBirth(std::span<const Row> rows, const Visit& visit) const {
    size_t first = 0;
    for (const Row& row : rows) {
      const size_t count = row.listed() ? row.child[1].value() : row.arity();
      visit(row.op(), born_children_.span().subspan(first, count));
      first += count;
    }
  }

 private:
  struct Word {
    uint32_t value;
  };
  // Origin of a voided application.
  static constexpr Origin kVoidOrigin = 0xffffffffu;

  FlatArray<UnionRecord> unions_;
  FlatArray<ClassId> born_children_;  // Children of all e-nodes, in order of creation.
  FlatArray<Word> applications_;      // Origin, unions before, two lengths, classes, ops.
  FlatArray<Word> changes_;           // Origin, alternative, two lengths, classes, ops.
  uint32_t last_application_ = 0;     // Index of its first word in applications_.
};

}  // namespace quotient::egraph
