#pragma once

// ProofLog: what explanations need (explain.h), recorded while the e-graph changes. It holds
// little: the children that each e-node was added with, the unions, and the matches that were
// applied. Explanations read those of pattern rules (Application). Whoever applies the rewrites
// again reads those that have changed the graph, of all kinds of rules (Change). A match that is
// both is stored once. One thread may change the log; a Trail undoes all changes.

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
  // A match that a pattern rule applied.
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

  explicit ProofLog(Trail* trail) : unions_(trail), born_children_(trail), matches_(trail) {}

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
  // The match that was applied last has changed the graph. Recorded by the rules of a
  // rules::RuleSet, behind the application if the rule is a pattern.
  void AddChange(Origin origin, uint32_t alternative, std::span<const ClassId> classes,
                 std::span<const OpId> ops);
  // Call after the trail has rolled the arrays back.
  void ForgetLastApplication() { last_application_ = last_match_ = matches_.size(); }

  // --- Reading

  // All unions so far, oldest first.
  std::span<const UnionRecord> unions() const { return unions_.span(); }
  // The children of all e-nodes, as these were added with them, in order of creation.
  std::span<const ClassId> born_children() const { return born_children_.span(); }
  // Visits the applications that were not voided, oldest first.
  template <typename Visit>
  void ForEachApplication(const Visit& visit) const {
    ForEachMatch(kExplains, [&](const Header& header, auto classes, auto ops) {
      visit(Application{header.origin, header.unions_before, classes, ops});
    });
  }
  // Visits the changes, oldest first.
  template <typename Visit>
  void ForEachChange(const Visit& visit) const {
    ForEachMatch(kChanged, [&](const Header& header, auto classes, auto ops) {
      visit(Change{header.origin, header.alternative, classes, ops});
    });
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
  // What a recorded match is read as; both are possible.
  static constexpr uint32_t kExplains = 1;  // An Application.
  static constexpr uint32_t kChanged = 2;   // A Change.
  // The words that stand before the classes and ops of a match.
  struct Header {
    Origin origin;
    uint32_t uses;         // kExplains, kChanged.
    uint32_t alternative;  // 0 unless kChanged.
    uint32_t unions_before;
    uint32_t num_classes;
    uint32_t num_ops;
  };
  static constexpr size_t kHeaderWords = sizeof(Header) / sizeof(uint32_t);

  Header HeaderAt(size_t first) const {
    const std::span<const uint32_t> words = matches_.words().subspan(first);
    return {words[0], words[1], words[2], words[3], words[4], words[5]};
  }
  // Calls visit(header, classes, ops) for each match that is read as this.
  template <typename Visit>
  void ForEachMatch(uint32_t use, const Visit& visit) const {
    const std::span<const uint32_t> words = matches_.words();
    for (size_t i = 0; i < words.size();) {
      const Header header = HeaderAt(i);
      const std::span<const uint32_t> classes = words.subspan(i + kHeaderWords, header.num_classes);
      const size_t ops_at = i + kHeaderWords + header.num_classes;
      if ((header.uses & use) != 0) visit(header, classes, words.subspan(ops_at, header.num_ops));
      i = ops_at + header.num_ops;
    }
  }
  void Append(const Header& header);
  // Whether the match that was recorded last is this one.
  bool IsLast(Origin origin, std::span<const ClassId> classes, std::span<const OpId> ops) const;
  void SetUses(uint32_t match, uint32_t uses) { matches_.Write(match + 1, {uses}); }

  FlatArray<UnionRecord> unions_;
  FlatArray<ClassId> born_children_;  // Children of all e-nodes, in order of creation.
  FlatArray<Word> matches_;           // Of each match its header, classes and ops.
  uint32_t last_application_ = 0;     // Index of its first word in matches_.
  uint32_t last_match_ = 0;           // The same of the match that was recorded last.
};

}  // namespace quotient::egraph
