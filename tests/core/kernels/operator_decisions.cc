#include "tests/core/kernels/operator_decisions.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <map>
#include <set>
#include <utility>
#include <vector>

#include "absl/strings/str_split.h"
#include "core/ops/op.h"
#include "tests/support/node_cases.h"

namespace quotient::kernels {
namespace {

using quotient::testing::AllNodeCases;
using quotient::testing::Constants;
using quotient::testing::NodeCase;
using quotient::testing::StaticGraph;

// The reasons by operator.
std::map<std::string, std::string> ReadList(const std::string& path) {
  std::ifstream file(path);
  EXPECT_TRUE(file) << path;
  std::map<std::string, std::string> reasons;
  for (std::string line; std::getline(file, line);) {
    if (line.empty() || line[0] == '#') continue;
    const std::pair<std::string, std::string> row = absl::StrSplit(line, absl::MaxSplits(": ", 1));
    EXPECT_FALSE(row.second.empty()) << path << ": no reason in '" << line << "'";
    EXPECT_NE(ops::FindOp(row.first), nullptr) << path << ": no operator " << row.first;
    EXPECT_TRUE(reasons.insert(row).second) << path << ": " << row.first << " is there twice";
  }
  return reasons;
}

// Whether a kernel computes the case's graph. Values that are views cost nothing and need none.
bool IsComputed(const model::Graph& graph, const PartitionOptions& options,
                const HasKernel& has_kernel) {
  const auto groups = PartitionGraph(graph, options);
  if (!groups.ok() || groups->empty()) return false;
  return std::all_of(groups->begin(), groups->end(), [&](const KernelGroup& group) {
    return group.spec.free || group.spec.op == kReorderOp || has_kernel(group.spec);
  });
}

// The operators with a case that a kernel computes. Parameters are constants in models, so each
// case is tried with constant operands, too.
std::set<std::string> OperatorsWithKernels(const PartitionOptions& options,
                                           const HasKernel& has_kernel) {
  std::set<std::string> found;
  for (const NodeCase& node_case : AllNodeCases()) {
    if (found.contains(node_case.op)) continue;
    for (const Constants constants : {Constants::kWhereNeeded, Constants::kAllButFirst}) {
      if (IsComputed(StaticGraph(node_case, constants), options, has_kernel)) {
        found.insert(node_case.op);
      }
    }
  }
  return found;
}

}  // namespace

void ExpectEveryOperatorIsDecided(const std::string& list, const PartitionOptions& options,
                                  const HasKernel& has_kernel) {
  const std::map<std::string, std::string> left = ReadList(list);
  const std::set<std::string> computed = OperatorsWithKernels(options, has_kernel);
  for (const ops::OpDef* op : ops::AllOps()) {
    const bool has = computed.contains(op->name);
    EXPECT_TRUE(has || left.contains(op->name))
        << op->name << " has no kernel: write one, or say in " << list << " why it needs none";
    EXPECT_FALSE(has && left.contains(op->name))
        << op->name << " has a kernel: take it out of " << list;
  }
}

}  // namespace quotient::kernels
