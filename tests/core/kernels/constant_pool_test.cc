#include "core/kernels/onednn/constant_pool.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "core/kernels/onednn/onednn_backend.h"
#include "tests/core/kernels/graph_cases.h"
#include "tests/support/status_matchers.h"

namespace quotient::kernels::onednn {
namespace {

std::shared_ptr<const std::byte> NewByte() { return std::make_shared<const std::byte>(); }

TEST(ConstantPool, KnowsWhatIsKeptForARecipe) {
  ConstantPool pool;
  const Digest recipe = Digest::Of("weights for a kernel");
  EXPECT_EQ(pool.Find(recipe), std::nullopt);
  const PackedConstants constants = {NewByte(), NewByte()};
  pool.Keep(recipe, constants);
  EXPECT_EQ(pool.Find(recipe), constants);
  EXPECT_EQ(pool.Find(Digest::Of("others")), std::nullopt);
}

TEST(ConstantPool, OnlyAllOfThemOrNone) {
  ConstantPool pool;
  const Digest recipe = Digest::Of("weights for a kernel");
  PackedConstants constants = {NewByte(), NewByte()};
  pool.Keep(recipe, constants);
  constants[1].reset();
  EXPECT_EQ(pool.Find(recipe), std::nullopt);
  constants[1] = NewByte();
  pool.Keep(recipe, constants);
  EXPECT_EQ(pool.Find(recipe), constants);
}

TEST(ConstantPool, KeepsWhatIsAliveWhereMuchIsFreed) {
  ConstantPool pool;
  const PackedConstants alive = {NewByte()};
  pool.Keep(Digest::Of("alive"), alive);
  for (int i = 0; i < 1000; ++i) pool.Keep(Digest::Of(std::to_string(i)), {NewByte()});
  EXPECT_EQ(pool.Find(Digest::Of("alive")), alive);
  EXPECT_EQ(pool.Find(Digest::Of("999")), std::nullopt);
}

// Their kernels are equal, but not their weights.
TEST(ConstantPool, ExecutablesOfABackendGetTheirOwnWeights) {
  ASSERT_OK_AND_ASSIGN(const auto backend, NewBackend(1));
  std::vector<std::unique_ptr<Executable>> alive;
  for (const char* const weights : {"random(1)", "random(2)", "random(1)"}) {
    const GraphCase each = {
        weights, absl::StrCat("input x: float32[4,64]\nconst w: float32[64,48] = ", weights,
                              "\ny = MatMul(x, w)\noutput y\n")};
    const model::Graph graph = GraphOf(each);
    ASSERT_OK_AND_ASSIGN(alive.emplace_back(), backend->CompileGraph(graph, {}));
    ExpectReference(*backend, graph, 1);
  }
}

}  // namespace
}  // namespace quotient::kernels::onednn
