#include "core/report/profile.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <string>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "core/kernels/kernel_names.h"

namespace quotient::report {
namespace {

using kernels::KernelGroup;
using kernels::KernelSpec;
using kernels::Operand;

double Gap(double predicted_us, const std::optional<double>& measured_us) {
  return std::abs(predicted_us - measured_us.value_or(0));
}

std::string ShapeOf(const Operand& operand) {
  if (operand.type.dtype == model::DType::kUndefined) return "-";
  const std::string dims =
      operand.type.rank() == 0 ? "scalar" : absl::StrJoin(operand.type.dims(), "x");
  return operand.constant ? absl::StrCat("[", dims, "]") : dims;
}

std::string NodeOf(const model::Graph& graph, const KernelGroup& group) {
  if (group.nodes.empty()) return "";
  const model::Node& node = graph.node(group.nodes[0]);
  if (!node.name.empty() || group.results.empty() || !group.results[0].valid()) return node.name;
  return graph.value(group.results[0]).name;
}

void Add(std::optional<double> us, std::optional<double>* sum) {
  if (us.has_value()) *sum = sum->value_or(0) + *us;
}

template <typename Row>
void SortByGap(std::vector<Row>* rows) {
  std::ranges::stable_sort(*rows, [](const Row& a, const Row& b) {
    return Gap(a.predicted_us, a.measured_us) > Gap(b.predicted_us, b.measured_us);
  });
}

std::vector<ProfiledOperator> ByOperator(const std::vector<ProfiledKernel>& kernels) {
  std::map<std::string, ProfiledOperator> by_name;
  for (const ProfiledKernel& kernel : kernels) {
    const std::string name = kernel.op.substr(0, kernel.op.find('+'));
    ProfiledOperator& row = by_name[name];
    row.op = name;
    row.kernels += kernel.times;
    row.predicted_us += kernel.predicted_us;
    Add(kernel.measured_us, &row.measured_us);
  }
  std::vector<ProfiledOperator> rows;
  for (auto& [name, row] : by_name) rows.push_back(std::move(row));
  return rows;
}

}  // namespace

std::string OperandsText(const KernelSpec& spec) {
  return absl::StrJoin(kernels::AllOperands(spec), " ", [](std::string* out, const Operand& each) {
    absl::StrAppend(out, ShapeOf(each));
  });
}

double ProfiledKernel::gap_us() const { return Gap(predicted_us, measured_us); }

void DescribeKernels(const model::Graph& graph, const cost::GraphCost& cost,
                     std::span<const std::optional<double>> kernel_us, Profile* profile) {
  absl::flat_hash_map<std::string, size_t> row_of;  // By kernel key.
  size_t ran = 0;
  for (size_t i = 0; i < cost.groups.size(); ++i) {
    const KernelGroup& group = cost.groups[i];
    if (group.spec.free) continue;
    const auto [row, is_new] =
        row_of.try_emplace(kernels::KernelKey(group.spec), profile->kernels.size());
    if (is_new) {
      profile->kernels.push_back({.op = kernels::OperatorNames(group.spec, "+"),
                                  .operands = OperandsText(group.spec),
                                  .node = NodeOf(graph, group),
                                  .times = 0,
                                  .estimated = cost.costs[i].source == cost::CostSource::kModel});
    }
    ProfiledKernel& kernel = profile->kernels[row->second];
    ++kernel.times;
    kernel.predicted_us += cost.costs[i].us;
    if (ran < kernel_us.size()) Add(kernel_us[ran++], &kernel.measured_us);
  }
  profile->operators = ByOperator(profile->kernels);
  SortByGap(&profile->kernels);
  SortByGap(&profile->operators);
  for (const ProfiledKernel& kernel : profile->kernels) {
    profile->predicted_us += kernel.predicted_us;
    Add(kernel.measured_us, &profile->kernels_us);
  }
}

}  // namespace quotient::report
