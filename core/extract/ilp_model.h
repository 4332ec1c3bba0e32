#pragma once

// Extraction as an integer linear program, after TENSAT (Yang et al., "Equality saturation for
// tensor graph superoptimization", MLSys 2021), without its order variables:
//
//   minimize   Σ cost(n) x(n)                 x(n) = 1: e-node n is chosen
//   subject to Σ x(n) = y(c)                  over the e-nodes of class c; y(c) = 1: c is needed
//              Σ x(n) <= y(d)                 over the e-nodes of class c with child d
//              y(c) = 1                       for classes that every selection needs
//              Σ x(n) <= 1                    over all nodes that compute one class of the e-graph
//
// That choices must not close cycles is not part of the model. Those rows are added when a solution
// violates them (loop_separator.h), as are other valid rows that tighten the relaxation
// (flow_separator.h, use_separator.h).

#include <span>
#include <vector>

#include "core/extract/instance.h"

namespace quotient::extract {

// Σ x(exits) >= y(needed).
struct LoopInequality {
  Class needed;
  std::vector<Node> exits;
};

// Σ x(users) <= y(needed), where the users are e-nodes of one class.
struct UseInequality {
  Class needed;
  std::vector<Node> users;
};

class IlpModel {
 public:
  struct Row {
    std::vector<int> columns;
    std::vector<double> coefficients;
    double lower;
    double upper;
  };

  // Builds the program. It has a column for each class that is not certain to be needed, and for
  // each e-node that is not alone in its class; an e-node that is alone shares the column of its
  // class. `forced`, by Class, says which classes every selection needs. Borrows `instance`.
  IlpModel(const Instance& instance, const std::vector<bool>& forced);

  // False if no choice satisfies all constraints, because a class of the e-graph would have to be
  // computed twice.
  bool feasible() const { return feasible_; }
  const std::vector<double>& objective() const { return objective_; }  // By column.
  // Cost of the e-nodes that every selection contains.
  double constant() const { return constant_; }
  const std::vector<Row>& rows() const { return rows_; }
  Row ToRow(const LoopInequality& inequality) const;
  Row ToRow(const UseInequality& inequality) const;

  // Convert a solution by column to values by Node and by Class.
  std::vector<double> NodeValues(std::span<const double> solution) const;
  std::vector<double> ClassValues(std::span<const double> solution) const;

 private:
  static constexpr int kOne = -1;  // In place of a column: the value is 1 in every solution.

  void AddColumns(const std::vector<bool>& forced);
  void AddChoiceRow(Class id);
  void AddChildRows(Class id);
  void AddComputationRows();
  int AddColumn(double cost);
  static void AddTerm(Row& row, int column, double coefficient);
  static std::vector<double> Values(const std::vector<int>& columns,
                                    std::span<const double> solution);

  const Instance& instance_;
  std::vector<int> node_column_;   // By Node.
  std::vector<int> class_column_;  // By Class.
  std::vector<double> objective_;
  double constant_ = 0;
  std::vector<Row> rows_;
  bool feasible_ = true;
  // Scratch of AddChildRows, by Class; empty between calls.
  std::vector<std::vector<Node>> users_;
};

}  // namespace quotient::extract
