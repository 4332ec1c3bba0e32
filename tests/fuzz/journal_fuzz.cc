// Any bytes are a journal or a refusal; what is taken for one has no other text. With the right
// digest behind them, so that it does not hide what is before it, and without. What is taken for one
// is replayed on a small graph, which is another graph then, or the journal is refused.

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "core/base/digest.h"
#include "core/base/reason.h"
#include "core/journal/journal.h"
#include "core/journal/replayed_round.h"
#include "core/model/graph.h"
#include "core/model/text.h"
#include "core/ops/infer_graph.h"

namespace {

using quotient::Reason;
using quotient::journal::Journal;
using quotient::journal::ReplayedRound;
using quotient::journal::Round;

// Normalization that merges into the weights of a Conv, branches that become one, an operand that is
// left out, and a node that is not understood.
quotient::model::Graph SmallGraph() {
  auto graph = quotient::model::ParseGraph(R"(graph g {
    input x: float32[1,4,8,8]
    input limit: float32[]
    const w: float32[4,4,1,1] = random(1)
    const v: float32[4,4,1,1] = random(2)
    const two: float32[] = [2]
    a = Conv(x, w)
    b = Conv(x, v)
    c = Relu(a)
    d = Relu(b)
    e = Concat(c, d) {axis=1}
    f = Mul(e, two)
    g = Mul(f, two)
    h = Clip(g, _, limit)
    m = Opaque "com.acme.Foo" (h)
    output h, m
  })");
  if (!graph.ok() || !quotient::ops::InferTypes(*graph).ok()) std::abort();
  return *std::move(graph);
}

void Replay(const Round& recorded, const quotient::model::Graph& graph) {
  auto round = ReplayedRound::Begin(graph, graph, {.max_opset = 20, .max_folded_bytes = 1 << 20});
  if (!round.ok()) std::abort();
  const absl::Status made = (*round)->Make(recorded.rewrites, quotient::StopCondition());
  if (!made.ok()) {
    if (quotient::GetReason(made) != Reason::kJournalInvalid) std::abort();
    return;
  }
  const auto result = (*round)->Finish(recorded);
  if (!result.ok() && quotient::GetReason(result.status()) != Reason::kJournalInvalid) std::abort();
  if (result.ok() && !quotient::model::Validate(*result).ok()) std::abort();
}

void ParseAndCheck(absl::string_view text) {
  static const auto& graph = *new quotient::model::Graph(SmallGraph());
  const absl::StatusOr<Journal> journal = quotient::journal::FromText(text);
  if (!journal.ok()) return;
  if (ToText(*journal) != text) std::abort();
  if (!journal->derivation.has_value()) return;
  for (const Round& round : journal->derivation->rounds) Replay(round, graph);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const absl::string_view text(reinterpret_cast<const char*>(data), size);
  ParseAndCheck(text);
  const size_t seal = text.rfind("{\"sha256\":");
  const absl::string_view content = text.substr(0, seal);
  ParseAndCheck(
      absl::StrCat(content, "{\"sha256\":\"", quotient::Digest::Of(content).Hex(), "\"}\n"));
  return 0;
}
