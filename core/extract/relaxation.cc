#include "core/extract/relaxation.h"

#include <ClpEventHandler.hpp>
#include <ClpSimplex.hpp>
#include <CoinPackedMatrix.hpp>
#include <CoinWarmStartBasis.hpp>
#include <memory>
#include <utility>

namespace quotient::extract {
namespace {

// Stops a single linear program, which can take long; CBC checks its limits only between them.
class StopHandler : public ClpEventHandler {
 public:
  explicit StopHandler(const StopCondition& stop) : stop_(&stop) {}
  int event(Event which) override {
    constexpr int kGoOn = -1, kStop = 0;
    if (which != endOfIteration && which != endOfFactorization) return kGoOn;
    return stop_->ShouldStop() ? kStop : kGoOn;
  }
  ClpEventHandler* clone() const override { return new StopHandler(*this); }

 private:
  const StopCondition* stop_;
};

}  // namespace

Relaxation::Relaxation(const IlpModel& model, double scale, const StopCondition& stop)
    : num_model_rows_(static_cast<int>(model.rows().size())) {
  const auto num_columns = static_cast<int>(model.objective().size());
  std::vector<double> objective = model.objective();
  for (double& cost : objective) cost *= scale;
  const std::vector<double> zeros(num_columns, 0), ones(num_columns, 1);
  solver_.passInMessageHandler(&silent_);
  solver_.setHintParam(OsiDoPresolveInInitial, false);  // The presolve ignores `stop`.
  CoinPackedMatrix no_rows;
  no_rows.setDimensions(0, num_columns);
  solver_.loadProblem(no_rows, zeros.data(), ones.data(), objective.data(), nullptr, nullptr);
  AddRows(model.rows());
  for (int i = 0; i < num_columns; ++i) solver_.setInteger(i);
  const StopHandler handler(stop);
  solver_.getModelPtr()->passInEventHandler(&handler);
}

// Adds all rows at once, since each call copies the matrix.
void Relaxation::AddRows(const std::vector<IlpModel::Row>& rows) {
  std::vector<CoinBigIndex> starts = {0};
  std::vector<int> columns;
  std::vector<double> coefficients, lower, upper;
  for (const IlpModel::Row& row : rows) {
    columns.insert(columns.end(), row.columns.begin(), row.columns.end());
    coefficients.insert(coefficients.end(), row.coefficients.begin(), row.coefficients.end());
    starts.push_back(static_cast<CoinBigIndex>(columns.size()));
    lower.push_back(row.lower);
    upper.push_back(row.upper);
  }
  solver_.addRows(static_cast<int>(rows.size()), starts.data(), columns.data(), coefficients.data(),
                  lower.data(), upper.data());
}

void Relaxation::DropSlackCuts() {
  const std::unique_ptr<CoinWarmStart> start(solver_.getWarmStart());
  const auto& basis = dynamic_cast<const CoinWarmStartBasis&>(*start);
  std::vector<int> slack;
  for (int i = num_model_rows_; i < solver_.getNumRows(); ++i) {
    if (basis.getArtifStatus(i) == CoinWarmStartBasis::basic) slack.push_back(i);
  }
  if (!slack.empty()) solver_.deleteRows(static_cast<int>(slack.size()), slack.data());
}

void Relaxation::FixByReducedCost(double cutoff) {
  constexpr double kInteger = 1e-9;  // Tolerance.
  const double room = (cutoff - solver_.getObjValue()) * (1 + 1e-6) + 1e-6;
  std::vector<std::pair<int, double>> fixed;
  for (int i = 0; i < solver_.getNumCols(); ++i) {
    if (solver_.getColLower()[i] == solver_.getColUpper()[i]) continue;
    const double value = solver_.getColSolution()[i];
    const double reduced_cost = solver_.getReducedCost()[i];
    if (value < kInteger && reduced_cost > room) fixed.emplace_back(i, 0);
    if (value > 1 - kInteger && -reduced_cost > room) fixed.emplace_back(i, 1);
  }
  // Changed only after everything is read: a new bound discards the solution.
  for (const auto& [column, value] : fixed) solver_.setColBounds(column, value, value);
}

}  // namespace quotient::extract
