#pragma once

// The linear relaxation of the program in COIN-OR Clp, kept while cuts come and go.

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

// Costs are multiplied by `scale`, the constant part is left out. Borrows `stop`, which ends the
// simplex algorithm itself, in copies of the solver too. One thread.
class Relaxation {
 public:
  Relaxation(const IlpModel& model, double scale, const StopCondition& stop);
  Relaxation(const Relaxation&) = delete;

  OsiClpSolverInterface& solver() { return solver_; }
  SilentHandler& silent() { return silent_; }

  // As cuts.
  void AddRows(const std::vector<IlpModel::Row>& rows);
  // Cuts that hold the last solution no more make each step of the simplex algorithm dearer.
  void DropSlackCuts();
  // A column whose change would cost all that is left between the last solution and `cutoff` keeps
  // its value for good.
  void FixByReducedCost(double cutoff);

 private:
  SilentHandler silent_;
  OsiClpSolverInterface solver_;
  const int num_model_rows_;  // those after them are cuts
};

}  // namespace quotient::extract
