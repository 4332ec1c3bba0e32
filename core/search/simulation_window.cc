#include "core/search/simulation_window.h"

namespace quotient::search {

Simulation* SimulationWindow::TakeNearest(const Walk& walk) {
  const auto steps_taken = [&walk](const Simulation* simulation) {
    return walk.StepsTaken(simulation->leaf.path);
  };
  const auto nearest = std::ranges::max_element(waiting_, {}, steps_taken);
  Simulation* const simulation = *nearest;
  waiting_.erase(nearest);
  return simulation;
}

void SimulationWindow::DropWaiting() {
  for (Simulation* const simulation : waiting_) {
    simulation->used = false;
    simulation->done = true;
  }
  waiting_.clear();
}

}  // namespace quotient::search
