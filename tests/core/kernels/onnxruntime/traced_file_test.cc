// What is listed of a file that ONNX Runtime runs once, and how long its operands are kept.

#include "core/kernels/onnxruntime/traced_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/kernels/onnxruntime/node_kernel.h"
#include "core/kernels/onnxruntime/written_graph.h"
#include "tests/core/kernels/graph_cases.h"
#include "tests/core/kernels/onnxruntime/shared_client.h"
#include "tests/support/status_matchers.h"

namespace quotient::kernels::onnxruntime {
namespace {

using quotient::testing::StatusIs;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::SizeIs;

TEST(OperandBookTest, FindsWhatWasAdded) {
  OperandBook book;
  EXPECT_FALSE(book.Find("a").has_value());
  book.Add("a", {{1, 2}, {"x", ""}});
  const std::optional<OperandBook::Operands> found = book.Find("a");
  ASSERT_TRUE(found.has_value());
  EXPECT_EQ(found->store.process, 1);
  EXPECT_EQ(found->store.store, 2);
  EXPECT_THAT(found->values, ElementsAre("x", ""));
  EXPECT_FALSE(book.Find("b").has_value());
}

TEST(OperandBookTest, TheFirstOperandsOfAKernelStay) {
  OperandBook book;
  book.Add("a", {{1, 2}, {"x"}});
  book.Add("a", {{1, 3}, {"z"}});
  EXPECT_THAT(book.Find("a")->values, ElementsAre("x"));
}

// Stores of two processes may have the same number.
TEST(OperandBookTest, ForgetsTheOperandsOfOneStore) {
  OperandBook book;
  book.Add("a", {{1, 2}, {}});
  book.Add("b", {{1, 2}, {}});
  book.Add("other store", {{1, 3}, {}});
  book.Add("other process", {{2, 2}, {}});
  book.Forget({1, 2});
  EXPECT_FALSE(book.Find("a").has_value());
  EXPECT_FALSE(book.Find("b").has_value());
  EXPECT_TRUE(book.Find("other store").has_value());
  EXPECT_TRUE(book.Find("other process").has_value());
  book.Add("a", {{1, 3}, {"z"}});
  EXPECT_THAT(book.Find("a")->values, ElementsAre("z"));
}

class TraceFileTest : public ::testing::Test {
 protected:
  absl::StatusOr<FileKernels> Trace(const std::string& body, int threads = 1,
                                    int footprint_log2 = 0) {
    const model::Graph graph = GraphOf({"g", body});
    QUOTIENT_ASSIGN_OR_RETURN(const WrittenGraph written, WriteGraph(graph));
    const std::vector<model::Tensor> tensors = RandomInputs(graph, graph.inputs, 1);
    std::vector<NamedTensor> inputs;
    for (size_t i = 0; i < tensors.size(); ++i) {
      inputs.push_back({written.values.inputs[i].name, tensors[i]});
    }
    return TraceFile(&SharedClient(), &book_, written.file, inputs, threads, footprint_log2);
  }

  // The values that a kernel reads, as long as they are kept.
  std::optional<OperandBook::Operands> OperandsOf(const FileKernel& kernel) const {
    return book_.Find(KernelKey(*kernel.spec));
  }

  OperandBook book_;
};

// The weights are 64 KiB.
constexpr char kProduct[] =
    "input x: float32[4,128]\nconst w: float32[128,128] = random(1)\n"
    "m = MatMul(x, w)\ns = Softmax(m) {axis=1}\ny = Add(s, x)\noutput y\n";

TEST_F(TraceFileTest, ListsTheKernelsOfAFile) {
  ASSERT_OK_AND_ASSIGN(const FileKernels traced, Trace(kProduct, 3));
  ASSERT_THAT(traced.kernels, SizeIs(3));
  std::vector<std::string> ops;
  for (const FileKernel& kernel : traced.kernels) {
    ops.push_back(kernel.op);
    ASSERT_TRUE(kernel.spec.has_value()) << kernel.op;
    EXPECT_TRUE(IsNodeSpec(*kernel.spec));
    EXPECT_EQ(kernel.spec->threads, 3);
  }
  EXPECT_THAT(ops, ElementsAre("MatMul", "Softmax", "Add"));
  EXPECT_THAT(traced.kernels[0].names, Contains("m"));
  EXPECT_THAT(traced.kernels[2].names, Contains("out0"));
}

// ONNX Runtime calls what it makes of several nodes by the first of them, with a suffix. The writer
// called that one quotient_MatMul.
TEST_F(TraceFileTest, AFusedKernelIsCalledByTheNodeThatItWas) {
  ASSERT_OK_AND_ASSIGN(const FileKernels traced,
                       Trace("input x: float32[4,8]\nconst w: float32[8,8] = random(1)\n"
                             "const b: float32[8] = random(2)\n"
                             "m = MatMul(x, w)\ny = Add(m, b)\noutput y\n"));
  ASSERT_THAT(traced.kernels, SizeIs(1));
  EXPECT_EQ(traced.kernels[0].op, "Gemm");
  EXPECT_THAT(traced.kernels[0].names,
              ElementsAre("out0", "quotient_MatMul/MatMulAddFusion", "quotient_MatMul"));
}

// Only kernels that read constants depend on what a run reads and writes: 64 KiB of weights and
// four values of 2 KiB, rounded up.
TEST_F(TraceFileTest, TheFootprintIsThatOfAllValues) {
  ASSERT_OK_AND_ASSIGN(const FileKernels traced, Trace(kProduct));
  EXPECT_EQ(traced.kernels[0].spec->constant_footprint_log2, 17);
  EXPECT_EQ(traced.kernels[1].spec->constant_footprint_log2, 0);
  EXPECT_EQ(traced.kernels[2].spec->constant_footprint_log2, 0);
}

TEST_F(TraceFileTest, AFootprintThatIsGivenTakesItsPlace) {
  ASSERT_OK_AND_ASSIGN(const FileKernels traced, Trace(kProduct, 1, /*footprint_log2=*/20));
  EXPECT_EQ(traced.kernels[0].spec->constant_footprint_log2, 20);
  EXPECT_EQ(traced.kernels[1].spec->constant_footprint_log2, 0);
}

TEST_F(TraceFileTest, OperandsAreInTheBookWhileTheTraceIsKept) {
  ASSERT_OK_AND_ASSIGN(FileKernels traced, Trace(kProduct));
  const std::optional<OperandBook::Operands> product = OperandsOf(traced.kernels[0]);
  ASSERT_TRUE(product.has_value());
  ASSERT_THAT(product->values, SizeIs(2));
  EXPECT_EQ(product->values[0], "in0");
  EXPECT_NE(product->store.store, 0);
  traced.operands.reset();
  for (const FileKernel& kernel : traced.kernels) {
    EXPECT_FALSE(OperandsOf(kernel).has_value()) << kernel.op;
  }
}

// Another trace of the same file has the same kernels, which keep the operands that they had.
TEST_F(TraceFileTest, EqualKernelsOfTwoFilesReadThoseOfTheFirst) {
  ASSERT_OK_AND_ASSIGN(FileKernels first, Trace(kProduct));
  const StoreId store = OperandsOf(first.kernels[0])->store;
  ASSERT_OK_AND_ASSIGN(const FileKernels second, Trace(kProduct));
  EXPECT_EQ(KernelKey(*first.kernels[0].spec), KernelKey(*second.kernels[0].spec));
  EXPECT_EQ(OperandsOf(second.kernels[0])->store.store, store.store);
}

TEST_F(TraceFileTest, AFileThatIsNoModelIsAnError) {
  EXPECT_THAT(TraceFile(&SharedClient(), &book_,
                        {.model = "no model", .external_data = {}, .owner = nullptr}, {}, 1, 0),
              StatusIs(absl::StatusCode::kUnimplemented));
}

}  // namespace
}  // namespace quotient::kernels::onnxruntime
