#include "tests/bench/model_problem.h"

#include <utility>

#include "core/base/status_macros.h"
#include "core/kernels/partition.h"
#include "core/optimize/prepared.h"
#include "core/search/saturate.h"

namespace quotient {
namespace {

constexpr int kThreads = 2;
constexpr int kMaxOpset = 20;

}  // namespace

absl::StatusOr<std::unique_ptr<ModelProblem>> ModelProblem::Make(const std::string& path,
                                                                 const std::string& device,
                                                                 int64_t max_nodes) {
  std::unique_ptr<ModelProblem> made(new ModelProblem);
  QUOTIENT_ASSIGN_OR_RETURN(client::LocalModel files, client::LocalModel::Open(path));
  made->files_ = std::make_unique<client::LocalModel>(std::move(files));
  QUOTIENT_ASSIGN_OR_RETURN(
      const optimize::Prepared prepared,
      optimize::Prepare(made->files_->View(), optimize::Options(), kThreads, StopCondition()));
  QUOTIENT_ASSIGN_OR_RETURN(made->tensors_, domain::FromGraph(prepared.graph, prepared.measured));
  QUOTIENT_ASSIGN_OR_RETURN(made->rules_,
                            rules::BuildRules(made->tensors_.domain.get(), kMaxOpset, {}));
  search::Limits limits;
  limits.max_enodes = max_nodes;
  search::Rewriter rewriter(made->tensors_.egraph.get(), made->rules_.rules());
  QUOTIENT_RETURN_IF_ERROR(search::Saturate(rewriter, limits, {}, {}).status());
  QUOTIENT_ASSIGN_OR_RETURN(made->model_, cost::NewAnalyticCostModel(device));
  made->prices_ = std::make_unique<pricing::KernelPrices>(made->model_.get());
  made->costs_ = std::make_unique<pricing::ENodeCosts>(
      made->tensors_, made->prices_.get(),
      kernels::ConstantFootprintLog2(prepared.cut.graph, made->model_->partition().storage));
  made->roots_ = made->tensors_.CanonicalRoots();
  return made;
}

}  // namespace quotient
