#include "core/extract/treewidth.h"

#include <utility>

#include "core/extract/decomposed_instance.h"
#include "core/extract/partial_selections.h"
#include "core/extract/path_matrix.h"
#include "core/extract/shared_selection.h"

namespace quotient::extract {
namespace {

class Program {
 public:
  Program(const Instance& instance, const DecomposedInstance& decomposed, const TableLimits& limits,
          const StopCondition& stop)
      : instance_(instance),
        decomposed_(decomposed),
        cost_(ExactlyAdded(instance)),
        builder_(limits, stop, traces_) {}

  TreewidthResult Run() {
    for (uint32_t bag = 0; bag < decomposed_.num_bags(); ++bag) {
      Solve(decomposed_.DescribeBag(bag));
      if (builder_.failed()) return {};
      traces_.ForgetUnused(tables_);
    }
    // Independent parts of the instance have a table each, with at most one entry; they are joined
    // here.
    Table table = Take();
    while (!tables_.empty()) table = Join(table, Take(), /*exclusive=*/0);
    if (builder_.failed()) return {};
    if (table.empty()) return {.complete = true};
    std::vector<Node> chosen(instance_.num_classes());
    traces_.WriteChoice(table[0].trace, instance_, chosen);
    return {.complete = true, .choice = decomposed_.Complete(chosen)};
  }

 private:
  // Removes and returns the last table. If there is none, returns one with the empty selection.
  Table Take() {
    if (tables_.empty()) return {Partial{}};
    Table table = std::move(tables_.back());
    tables_.pop_back();
    return table;
  }

  void Solve(const Bag& bag) {
    Table table = bag.num_children == 0 ? Table{Partial{}} : Take();
    for (Partial& partial : table) {
      partial.interface.needed |= bag.required & ~partial.interface.provided;
    }
    for (size_t i = 1; i < bag.num_children; ++i) table = Join(table, Take(), bag.exclusive);
    for (const Offers& offers : bag.classes) table = Choose(table, offers);
    tables_.push_back(Forget(table, bag));
  }

  Table Join(const Table& a, const Table& b, uint32_t exclusive) {
    for (const Partial& x : a) {
      for (const Partial& y : b) {
        if (!builder_.Consider(x.cost + y.cost)) break;  // Those that follow are dearer.
        if ((x.interface.needed & y.interface.needed & exclusive) != 0) continue;
        PathMatrix paths(x.interface.paths);
        if (!paths.Unite(PathMatrix(y.interface.paths))) continue;
        const uint32_t provided = x.interface.provided | y.interface.provided;
        const uint32_t needed = (x.interface.needed | y.interface.needed) & ~provided;
        builder_.Join({needed, provided, paths.bits()}, x, y);
      }
    }
    return builder_.Finish();
  }

  // Extends each entry by one of the e-nodes, or by none.
  Table Choose(const Table& table, const Offers& offers) {
    for (const Partial& partial : table) {
      const bool must = offers.last && (partial.interface.needed & offers.of) != 0;
      if (!must && builder_.Consider(partial.cost)) builder_.Keep(partial.interface, partial);
      if ((partial.interface.provided & offers.of) != 0) continue;
      for (const Offer& offer : offers.offers) Choose(partial, offers, offer);
    }
    return builder_.Finish();
  }

  void Choose(const Partial& partial, const Offers& offers, const Offer& offer) {
    const double cost = cost_[offer.node.value()];
    if (!builder_.Consider(partial.cost + cost)) return;
    Interface next = partial.interface;
    if ((next.needed & offer.computes) != 0) return;
    next.provided |= offers.of;
    next.needed = ((next.needed | offer.needs) & ~next.provided) | offer.computes;
    if (offer.leads_to != 0) {
      PathMatrix paths(next.paths);
      if (!paths.AddEdges(offers.place, offer.leads_to)) return;
      next.paths = paths.bits();
    }
    builder_.Extend(next, partial, offer.node, cost);
  }

  Table Forget(const Table& table, const Bag& bag) {
    for (const Partial& partial : table) {
      const Interface& now = partial.interface;
      if ((now.needed & bag.no_more_offers) != 0 || !builder_.Consider(partial.cost)) continue;
      builder_.Keep({now.needed & ~bag.no_more_exclusive, now.provided & ~bag.no_more_users,
                     now.paths & ~bag.no_more_paths},
                    partial);
    }
    return builder_.Finish();
  }

  const Instance& instance_;
  const DecomposedInstance& decomposed_;
  const std::vector<double> cost_;
  Traces traces_;
  TableBuilder builder_;
  std::vector<Table> tables_;  // Tables of bags whose parents are still to come.
};

}  // namespace

TreewidthResult MinimizeByTreewidth(const Instance& instance, double cutoff,
                                    const TreewidthLimits& limits, const StopCondition& stop) {
  const std::optional<DecomposedInstance> decomposed =
      DecomposedInstance::Make(instance, limits.max_width, stop);
  if (!decomposed.has_value()) return {};
  const TableLimits table_limits = {
      .cutoff = cutoff,
      .max_entries = limits.max_entries,
      .max_candidates = limits.max_candidates_per_node * instance.num_nodes()};
  return Program(instance, *decomposed, table_limits, stop).Run();
}

}  // namespace quotient::extract
