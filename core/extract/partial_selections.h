#pragma once

// Partial selections of the e-nodes at a bag of a tree decomposition and below it
// (decomposed_instance.h), and tables of those worth completing: the cheapest among all that look
// the same from above.

#include <cstdint>
#include <limits>
#include <span>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "core/base/stop.h"
#include "core/extract/instance.h"
#include "core/extract/path_matrix.h"

namespace quotient::extract {

// What a partial selection looks like from above. Sets of vertices are masks of their slots.
struct Interface {
  // Classes that are used and have no choice yet, and shared vertices in use.
  uint32_t needed = 0;
  uint32_t provided = 0;  // Classes that have a choice.
  uint64_t paths = 0;     // PathMatrix of the paths along choices.

  // Whether everything that completes the other one also completes this one. Choices that are not
  // needed do no harm, since they can be left out in the end.
  bool Covers(const Interface& other) const {
    return (needed & ~other.needed) == 0 && (other.provided & ~provided) == 0 &&
           (paths & ~other.paths) == 0;
  }

  friend auto operator<=>(const Interface&, const Interface&) = default;
  template <typename H>
  friend H AbslHashValue(H h, const Interface& x) {
    return H::combine(std::move(h), x.needed, x.provided, x.paths);
  }
};

inline constexpr uint32_t kNothingChosen = std::numeric_limits<uint32_t>::max();

struct Partial {
  Interface interface;
  double cost = 0;
  uint32_t trace = kNothingChosen;
};
using Table = std::vector<Partial>;  // Sorted by cost.

// Records what was chosen for each partial selection: the choices of another one and an e-node, or
// the choices of two others. Records that no table refers to are discarded from time to time.
class Traces {
 public:
  uint32_t Extend(uint32_t trace, Node node) { return Add({trace, node.value() | kIsNode}); }
  uint32_t Join(uint32_t a, uint32_t b);

  // Writes the choices of the trace. For a class that was chosen for twice, writes one of both.
  void WriteChoice(uint32_t trace, const Instance& instance, std::vector<Node>& choice) const;

  // Discards records that the tables do not refer to. Renumbers the traces in the tables.
  void ForgetUnused(std::span<Table> tables);

 private:
  static constexpr uint32_t kIsNode = uint32_t{1} << 31;
  struct Record {
    uint32_t first;
    // A node if kIsNode is set, else a trace.
    uint32_t second;
  };
  uint32_t Add(Record record) {
    records_.push_back(record);
    return static_cast<uint32_t>(records_.size() - 1);
  }

  std::vector<Record> records_;  // Each comes after those that it refers to.
  size_t forget_at_ = 1 << 16;
};

struct TableLimits {
  double cutoff;            // Partial selections must cost less than this.
  size_t max_entries;       // Each table may have so many.
  uint64_t max_candidates;  // All tables together may try so many.
};

// Builds tables, one after the other, from candidates.
class TableBuilder {
 public:
  TableBuilder(const TableLimits& limits, const StopCondition& stop, Traces& traces)
      : limits_(limits), stop_(stop), traces_(traces) {}

  // True if a limit was exceeded or `stop` fired. The tables are then useless.
  bool failed() const { return failed_; }

  // To be called first for each candidate, including those that turn out to be invalid. False if
  // the candidate is too expensive, or after a failure.
  bool Consider(double cost);

  // Add a candidate: `from` unchanged; `from` with an e-node; two together.
  void Keep(const Interface& interface, const Partial& from) {
    Insert({interface, from.cost, from.trace, kNothingChosen, Node()});
  }
  void Extend(const Interface& interface, const Partial& from, Node node, double cost) {
    Insert({interface, from.cost + cost, from.trace, kNothingChosen, node});
  }
  void Join(const Interface& interface, const Partial& a, const Partial& b) {
    Insert({interface, a.cost + b.cost, a.trace, b.trace, Node()});
  }

  Table Finish();

 private:
  struct Candidate {
    Interface interface;
    double cost;
    uint32_t first;
    uint32_t second;
    Node node;
  };
  void Insert(const Candidate& candidate);

  const TableLimits limits_;
  const StopCondition& stop_;
  Traces& traces_;
  std::vector<Candidate> candidates_;
  absl::flat_hash_map<Interface, uint32_t> known_;  // Position in candidates_.
  uint64_t num_considered_ = 0;
  bool failed_ = false;
};

}  // namespace quotient::extract
