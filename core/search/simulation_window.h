#pragma once

// SimulationWindow: the simulations of a tree search that are under way. Simulation s is selected
// when the results of exactly the simulations 0 to s - kSize are in the tree, so what is selected
// does not depend on how many workers there are, up to kSize, or how fast they are.
//
// MctsSearch::mutex_ guards everything here, with one exception: until it sets `done`, the worker
// that took a simulation writes the fields of its result without the lock. If the simulation opens
// a node, Leaf::tries is one of these fields. Other fields that the selection wrote do not change
// meanwhile, so both the worker and those who hold the lock may read them.

#include <algorithm>
#include <array>
#include <cstdint>
#include <vector>

#include "core/base/stop.h"
#include "core/search/search_tree.h"
#include "core/search/walk.h"

namespace quotient::search {

struct Simulation {
  // --- Written by the selection

  // Whether the tree selected a leaf. If it did not, there is no result to wait for.
  bool used = false;
  int64_t tree = 0;  // Number of the tree that selected it.
  Walk::Places places = Walk::Places::kOfPatterns;
  SearchTree::Leaf leaf;

  // --- Owned by the worker that took the simulation (TakeNearest), until it sets `done`

  // Ends early enough to go back to the best state.
  StopCondition stop;
  SearchTree::Opened opened;
  std::vector<State> states;  // The states that leaf.tries lead to.
  // Time it takes to walk to each of them.
  std::vector<double> seconds;

  // --- Written under the lock

  // Whether the result is complete.
  bool done = false;
};

class SimulationWindow {
 public:
  static constexpr int64_t kSize = 32;

  // Number of the next simulation, and of the oldest that is not in the tree.
  int64_t next() const { return next_; }
  int64_t first() const { return std::max<int64_t>(0, next_ - kSize); }
  // Simulation `s`, one of the last kSize. It takes the place of simulation s - kSize.
  Simulation& at(int64_t s) { return simulations_[s % kSize]; }

  // Whether the next simulation may be selected: the result of the one in its place is there.
  bool may_select() const { return next_ < kSize || simulations_[next_ % kSize].done; }
  // Advances to the next simulation and returns its place, which the caller fills in.
  Simulation& Begin() { return at(next_++); }

  // Simulations that are selected and wait for a worker.
  bool has_waiting() const { return !waiting_.empty(); }
  void AddWaiting(Simulation* simulation) { waiting_.push_back(simulation); }
  // Takes the waiting simulation whose path shares the most steps with the walk's: paths are long,
  // and the selected states lie close together.
  Simulation* TakeNearest(const Walk& walk);
  // Drops all waiting simulations. Their places count as done.
  void DropWaiting();

  // Empties the window.
  void Clear() { *this = SimulationWindow(); }
  // For checkpoints: reads or writes next(). The caller then visits the simulations from first()
  // on.
  template <typename Stream>
  void VisitNext(Stream& stream, uint64_t most) {
    stream.Number(next_, most);
  }

 private:
  int64_t next_ = 0;
  std::array<Simulation, kSize> simulations_;
  std::vector<Simulation*> waiting_;  // The oldest first.
};

}  // namespace quotient::search
