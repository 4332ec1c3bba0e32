#pragma once

// Partial selections of the e-nodes at a bag of a tree decomposition and below it
// (decomposed_instance.h), and tables of those that are worth completing: the cheapest of all that
// look the same from above.

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

// What a partial selection looks like from above; sets of vertices are masks of their slots.
struct Interface {
  uint32_t needed = 0;    // classes that are used and not chosen for yet; shared vertices in use
  uint32_t provided = 0;  // classes that are chosen for
  uint64_t paths = 0;     // of a PathMatrix, along choices

  // Does all that completes the other complete this one, too? Choices that nobody needs do no harm,
  // they can be left out in the end.
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
using Table = std::vector<Partial>;  // by cost

// What was chosen for each partial selection: as what another one has and an e-node, or as what two
// of them have. What no table refers to any more is forgotten from time to time.
class Traces {
 public:
  uint32_t Extend(uint32_t trace, Node node) { return Add({trace, node.value() | kIsNode}); }
  uint32_t Join(uint32_t a, uint32_t b);

  // Of a class chosen for twice one of both.
  void WriteChoice(uint32_t trace, const Instance& instance, std::vector<Node>& choice) const;

  // Renames the traces of the tables.
  void ForgetUnused(std::span<Table> tables);

 private:
  static constexpr uint32_t kIsNode = uint32_t{1} << 31;
  struct Record {
    uint32_t first;
    uint32_t second;  // a node if it says so, else a trace
  };
  uint32_t Add(Record record) {
    records_.push_back(record);
    return static_cast<uint32_t>(records_.size() - 1);
  }

  std::vector<Record> records_;  // after those that they refer to
  size_t forget_at_ = 1 << 16;
};

struct TableLimits {
  double cutoff;            // dearer is of no interest
  size_t max_entries;       // of a table
  uint64_t max_candidates;  // of all tables together
};

// Collects what may be in a table. One after the other.
class TableBuilder {
 public:
  TableBuilder(const TableLimits& limits, const StopCondition& stop, Traces& traces)
      : limits_(limits), stop_(stop), traces_(traces) {}

  // True if a limit was met, or `stop` says so: what it has is of no use then.
  bool failed() const { return failed_; }

  // To be asked first for each candidate, also for those that turn out to be none. False for what
  // is too dear, and once it has failed.
  bool Consider(double cost);

  // As it is; with an e-node; two together.
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
  absl::flat_hash_map<Interface, uint32_t> known_;  // where in candidates_
  uint64_t num_considered_ = 0;
  bool failed_ = false;
};

}  // namespace quotient::extract
