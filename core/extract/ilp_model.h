#pragma once

// Extraction as an integer linear program, after TENSAT (Yang et al., "Equality saturation for
// tensor graph superoptimization", MLSys 2021), without its order of the classes:
//
//   minimize   Σ cost(n) x(n)                 x(n) = 1: e-node n is chosen
//   subject to Σ x(n) = y(c)                  over the e-nodes of class c; y(c) = 1: c is needed
//              Σ x(n) <= y(d)                 over the e-nodes of class c with child d
//              y(c) = 1                       for classes that every selection needs
//              Σ x(n) <= 1                    over all that compute one class of the e-graph
//
// What is left out is that choices must not close cycles. Those rows are added where a solution
// breaks them (loop_separator.h), with others that it is to obey (flow_separator.h,
// use_separator.h).

#include <span>
#include <vector>

#include "core/extract/instance.h"

namespace quotient::extract {

// Σ x(exits) >= y(needed).
struct LoopInequality {
  Class needed;
  std::vector<Node> exits;
};

// Σ x(users) <= y(needed), for e-nodes of one class.
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

  // A column for each class that is not needed for certain and for each e-node with others in its
  // class: one that is alone shares the column of the class. `forced`, by Class: every selection
  // needs it. Borrows `instance`.
  IlpModel(const Instance& instance, const std::vector<bool>& forced);

  // False if no choice can do, whatever the columns are.
  bool feasible() const { return feasible_; }
  const std::vector<double>& objective() const { return objective_; }  // by column
  double constant() const { return constant_; }  // cost of what is chosen in any case
  const std::vector<Row>& rows() const { return rows_; }
  Row ToRow(const LoopInequality& inequality) const;
  Row ToRow(const UseInequality& inequality) const;

  // A solution by column as one by Node and by Class.
  std::vector<double> NodeValues(std::span<const double> solution) const;
  std::vector<double> ClassValues(std::span<const double> solution) const;

 private:
  static constexpr int kOne = -1;  // no column: 1 in every solution

  void AddColumns(const std::vector<bool>& forced);
  void AddChoiceRow(Class id);
  void AddChildRows(Class id);
  void AddComputationRows();
  int AddColumn(double cost);
  static void AddTerm(Row& row, int column, double coefficient);
  static std::vector<double> Values(const std::vector<int>& columns,
                                    std::span<const double> solution);

  const Instance& instance_;
  std::vector<int> node_column_;   // by Node
  std::vector<int> class_column_;  // by Class
  std::vector<double> objective_;
  double constant_ = 0;
  std::vector<Row> rows_;
  bool feasible_ = true;
  std::vector<std::vector<Node>> users_;  // by Class, of one call of AddChildRows; else empty
};

}  // namespace quotient::extract
