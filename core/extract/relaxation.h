#pragma once

// The linear relaxation of the program in COIN-OR Clp, which is kept while cuts are added and
// removed.

#include <CoinMessageHandler.hpp>
#include <OsiClpSolverInterface.hpp>
#include <vector>

#include "core/base/stop.h"
#include "core/extract/ilp_model.h"

namespace quotient::extract {

// Prints nothing, whatever the log level.
class SilentHandler : public CoinMessageHandler {
 public:
  SilentHandler() { setLogLevel(0); }
  int print() override { return 0; }
  CoinMessageHandler* clone() const override { return new SilentHandler(*this); }
};

// Costs are multiplied by `scale`; the constant part is left out. Borrows `stop`, which also
// interrupts the simplex algorithm, even in copies of the solver. One thread.
class Relaxation {
 public:
  Relaxation(const IlpModel& model, double scale, const StopCondition& stop);
  Relaxation(const Relaxation&) = delete;

  OsiClpSolverInterface& solver() { return solver_; }
  SilentHandler& silent() { return silent_; }

  // Adds the rows as cuts.
  void AddRows(const std::vector<IlpModel::Row>& rows);
  // Removes cuts that are not tight at the last solution. Each cut makes the steps of the simplex
  // algorithm slower.
  void DropSlackCuts();
  // Fixes columns for good whose change would cost more than the difference between the last
  // solution and `cutoff`.
  void FixByReducedCost(double cutoff);

 private:
  SilentHandler silent_;
  OsiClpSolverInterface solver_;
  const int num_model_rows_;  // Rows after these are cuts.
};

}  // namespace quotient::extract
