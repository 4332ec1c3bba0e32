#include "core/extract/ilp_model.h"

#include <limits>
#include <utility>

namespace quotient::extract {
namespace {

constexpr double kUnbounded = std::numeric_limits<double>::max();  // The solver's infinity.

}  // namespace

IlpModel::IlpModel(const Instance& instance, const std::vector<bool>& forced)
    : instance_(instance),
      node_column_(instance.num_nodes(), kOne),
      class_column_(instance.num_classes(), kOne),
      users_(instance.num_classes()) {
  AddColumns(forced);
  for (uint32_t i = 0; i < instance.num_classes(); ++i) {
    AddChoiceRow(Class(i));
    AddChildRows(Class(i));
  }
  AddComputationRows();
}

void IlpModel::AddColumns(const std::vector<bool>& forced) {
  for (uint32_t i = 0; i < instance_.num_classes(); ++i) {
    const std::span<const Node> nodes = instance_.nodes[i];
    if (nodes.size() > 1) {
      if (!forced[i]) class_column_[i] = AddColumn(0);
      for (Node node : nodes) {
        node_column_[node.value()] = AddColumn(instance_.cost[node.value()]);
      }
      continue;
    }
    const double cost = instance_.cost[nodes[0].value()];
    if (forced[i]) {
      constant_ += cost;
    } else {
      node_column_[nodes[0].value()] = class_column_[i] = AddColumn(cost);
    }
  }
}

int IlpModel::AddColumn(double cost) {
  objective_.push_back(cost);
  return static_cast<int>(objective_.size()) - 1;
}

void IlpModel::AddChoiceRow(Class id) {
  const std::span<const Node> nodes = instance_.nodes[id.value()];
  if (nodes.size() == 1) return;
  Row row = {{}, {}, 0, 0};
  for (Node node : nodes) AddTerm(row, node_column_[node.value()], 1);
  AddTerm(row, class_column_[id.value()], -1);
  rows_.push_back(std::move(row));
}

void IlpModel::AddChildRows(Class id) {
  const std::span<const Node> nodes = instance_.nodes[id.value()];
  std::vector<Class> children;
  for (Node node : nodes) {
    for (Class child : instance_.children[node.value()]) {
      if (class_column_[child.value()] == kOne) continue;
      if (users_[child.value()].empty()) children.push_back(child);
      users_[child.value()].push_back(node);
    }
  }
  for (Class child : children) {
    std::vector<Node>& users = users_[child.value()];
    Row row = {{}, {}, 0, kUnbounded};
    AddTerm(row, class_column_[child.value()], 1);
    if (users.size() == nodes.size()) {
      AddTerm(row, class_column_[id.value()], -1);
    } else {
      for (Node node : users) AddTerm(row, node_column_[node.value()], -1);
    }
    rows_.push_back(std::move(row));
    users.clear();
  }
}

void IlpModel::AddComputationRows() {
  std::vector<Row> rows(instance_.num_computed, Row{{}, {}, -kUnbounded, 1});
  for (uint32_t i = 0; i < instance_.computes.size(); ++i) {
    const uint32_t computation = instance_.computes[i];
    if (computation != Instance::kComputesAlone) AddTerm(rows[computation], node_column_[i], 1);
  }
  for (Row& row : rows) {
    if (row.upper < 0) feasible_ = false;  // Every selection would compute it in two places.
    if (static_cast<double>(row.columns.size()) > row.upper) rows_.push_back(std::move(row));
  }
}

IlpModel::Row IlpModel::ToRow(const LoopInequality& inequality) const {
  Row row = {{}, {}, 0, kUnbounded};
  for (Node node : inequality.exits) AddTerm(row, node_column_[node.value()], 1);
  AddTerm(row, class_column_[inequality.needed.value()], -1);
  return row;
}

IlpModel::Row IlpModel::ToRow(const UseInequality& inequality) const {
  Row row = {{}, {}, 0, kUnbounded};
  AddTerm(row, class_column_[inequality.needed.value()], 1);
  for (Node node : inequality.users) AddTerm(row, node_column_[node.value()], -1);
  return row;
}

void IlpModel::AddTerm(Row& row, int column, double coefficient) {
  if (column == kOne) {
    if (row.lower > -kUnbounded) row.lower -= coefficient;
    if (row.upper < kUnbounded) row.upper -= coefficient;
    return;
  }
  row.columns.push_back(column);
  row.coefficients.push_back(coefficient);
}

std::vector<double> IlpModel::NodeValues(std::span<const double> solution) const {
  return Values(node_column_, solution);
}

std::vector<double> IlpModel::ClassValues(std::span<const double> solution) const {
  return Values(class_column_, solution);
}

std::vector<double> IlpModel::Values(const std::vector<int>& columns,
                                     std::span<const double> solution) {
  std::vector<double> values(columns.size(), 1);
  for (size_t i = 0; i < columns.size(); ++i) {
    if (columns[i] != kOne) values[i] = solution[columns[i]];
  }
  return values;
}

}  // namespace quotient::extract
