// Random graphs, executed and compared with the reference evaluator.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "absl/strings/str_cat.h"
#include "core/kernels/onednn/onednn_backend.h"
#include "tests/core/kernels/graph_cases.h"
#include "tests/core/kernels/random_graphs.h"
#include "tests/support/status_matchers.h"

namespace quotient::kernels {
namespace {

TEST(RandomGraphTest, ExecutionAgreesWithTheReference) {
  ASSERT_OK_AND_ASSIGN(const auto backend, onednn::NewBackend(1));
  for (uint64_t seed = 0; seed < 150; ++seed) {
    const std::string text = RandomGraphText(seed);
    SCOPED_TRACE(absl::StrCat("seed ", seed, "\n", text));
    ExpectReference(*backend, GraphOf({"random", text}), seed);
    if (HasFailure()) return;
  }
}

}  // namespace
}  // namespace quotient::kernels
