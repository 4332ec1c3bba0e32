// The e-graph's basic operations at several sizes: time per e-node or per call.

#include <benchmark/benchmark.h>

#include <string>
#include <vector>

#include "core/base/rng.h"
#include "core/egraph/egraph.h"
#include "core/egraph/pattern.h"
#include "tests/support/egraph/incremental_tree.h"
#include "tests/support/egraph/symbol_domain.h"

namespace quotient::egraph {
namespace {

// Random binary terms over a few leaves: every e-node is new.
void Grow(EGraph& graph, testing::SymbolTable& table, int64_t num_nodes) {
  const OpId f = table.Op("f");
  const OpId g = table.Op("g");
  Rng rng(1);
  for (int i = 0; i < 16; ++i) {
    graph.Add(table.Op("x" + std::to_string(i)), {}).IgnoreError();
  }
  while (graph.enode_bound() < num_nodes) {
    const uint64_t made = graph.class_bound();
    const ClassId children[] = {ClassId(static_cast<uint32_t>(rng.Below(made))),
                                ClassId(static_cast<uint32_t>(rng.Below(made)))};
    graph.Add(rng.Below(2) == 0 ? f : g, children).IgnoreError();
  }
}

void BM_Add(benchmark::State& state) {
  for (auto _ : state) {
    testing::SymbolTable table;
    EGraph graph(&table, nullptr);
    Grow(graph, table, state.range(0));
    benchmark::DoNotOptimize(graph.enode_bound());
  }
  state.SetItemsProcessed(state.iterations() * state.range(0));
}
BENCHMARK(BM_Add)->Arg(2'000)->Arg(100'000)->Arg(1'000'000)->Unit(benchmark::kMillisecond);

// Adds what is there: the probe that finds that a right side exists.
void BM_AddExisting(benchmark::State& state) {
  testing::SymbolTable table;
  EGraph graph(&table, nullptr);
  Grow(graph, table, state.range(0));
  graph.Rebuild().IgnoreError();
  Rng rng(2);
  for (auto _ : state) {
    const ENodeId node(static_cast<uint32_t>(rng.Below(graph.enode_bound())));
    const ENodeView view = graph.node(node);
    benchmark::DoNotOptimize(graph.Add(view.op, view.children));
  }
}
BENCHMARK(BM_AddExisting)->Arg(2'000)->Arg(100'000)->Arg(1'000'000);

// A tenth of the classes united at random, then congruence.
void BM_UnionAndRebuild(benchmark::State& state) {
  for (auto _ : state) {
    state.PauseTiming();
    testing::SymbolTable table;
    EGraph graph(&table, nullptr);
    Grow(graph, table, state.range(0));
    graph.Rebuild().IgnoreError();
    Rng rng(3);
    state.ResumeTiming();
    for (int64_t i = 0; i < state.range(0) / 10; ++i) {
      const ClassId a(static_cast<uint32_t>(rng.Below(graph.class_bound())));
      const ClassId b(static_cast<uint32_t>(rng.Below(graph.class_bound())));
      graph.Union(a, b).IgnoreError();
    }
    graph.Rebuild().IgnoreError();
  }
  state.SetItemsProcessed(state.iterations() * state.range(0));
}
BENCHMARK(BM_UnionAndRebuild)->Arg(2'000)->Arg(100'000)->Unit(benchmark::kMillisecond);

// One new e-node and one union in a large graph: what a step of a search pays for at least.
void BM_SmallStep(benchmark::State& state) {
  testing::SymbolTable table;
  EGraph graph(&table, nullptr);
  Grow(graph, table, state.range(0));
  graph.Rebuild().IgnoreError();
  const OpId h = table.Op("h");
  Rng rng(4);
  for (auto _ : state) {
    const ClassId child[] = {ClassId(static_cast<uint32_t>(rng.Below(graph.class_bound())))};
    const ClassId made = *graph.Add(h, child);
    graph.Union(made, child[0]).IgnoreError();
    graph.Rebuild().IgnoreError();
  }
}
BENCHMARK(BM_SmallStep)->Arg(2'000)->Arg(10'000)->Iterations(2'000);

// An action of a search: 100 new e-nodes, of which 10 are united with classes that were there, then
// congruence.
void Act(EGraph& graph, OpId h, Rng& rng) {
  const uint32_t before = graph.class_bound();
  ClassId last(static_cast<uint32_t>(rng.Below(before)));
  for (int i = 0; i < 100; ++i) {
    const ClassId other(static_cast<uint32_t>(rng.Below(before)));
    const ClassId children[] = {other, last};
    if (i % 10 == 9) {
      graph.AddTo(other, h, children).IgnoreError();
    } else {
      last = *graph.Add(h, children);
    }
  }
  graph.Rebuild().IgnoreError();
}

void BM_ActionAndUndo(benchmark::State& state) {
  testing::SymbolTable table;
  EGraph graph(&table, nullptr);
  Grow(graph, table, state.range(0));
  graph.Rebuild().IgnoreError();
  const OpId h = table.Op("h");
  Rng rng(5);
  for (auto _ : state) {
    graph.Mark();
    Act(graph, h, rng);
    graph.Rollback();
  }
}
BENCHMARK(BM_ActionAndUndo)->Arg(2'000)->Arg(10'000)->Unit(benchmark::kMicrosecond);

// The same with the cheapest tree of every class kept: the number of e-nodes.
void BM_ActionAndUndoWithTree(benchmark::State& state) {
  testing::SymbolTable table;
  EGraph graph(&table, nullptr);
  Grow(graph, table, state.range(0));
  graph.Rebuild().IgnoreError();
  class : public extract::CostFunction {
    double Cost(ENodeId) const override { return 1; }
  } costs;
  testing::IncrementalTree tree(&costs);
  tree.Update(graph);
  const OpId h = table.Op("h");
  Rng rng(5);
  for (auto _ : state) {
    graph.Mark();
    tree.Mark();
    Act(graph, h, rng);
    tree.Update(graph);
    graph.Rollback();
    tree.Rollback(graph);
  }
}
BENCHMARK(BM_ActionAndUndoWithTree)->Arg(2'000)->Arg(10'000)->Unit(benchmark::kMicrosecond);

}  // namespace
}  // namespace quotient::egraph
