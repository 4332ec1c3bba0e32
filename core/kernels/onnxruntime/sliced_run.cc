#include "core/kernels/onnxruntime/sliced_run.h"

#include <algorithm>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "core/base/status_macros.h"
#include "core/onnx/model_slicer.h"

namespace quotient::kernels::onnxruntime {
namespace {

class SlicedRun {
 public:
  SlicedRun(HelperClient& client, const Dump& dump, const onnx::ModelSlicer& slicer,
            std::span<const NamedTensor> inputs, StoreId* store)
      : client_(client), dump_(dump), slicer_(slicer), inputs_(inputs), store_(*store) {}

  // Runs all nodes, in slices that compute about kSliceBytes: as many nodes as would have done so
  // in the slice before, but at most twice as many as there, since the next ones may compute more.
  // NOT_FOUND if a node reads what is no tensor of numbers from an earlier slice.
  absl::StatusOr<Summaries> Run(int nodes_at_first) && {
    constexpr int64_t kSliceBytes = int64_t{48} << 20;
    constexpr int64_t kMostNodes = 128;
    int count = nodes_at_first;
    for (int first = 0; first < slicer_.num_nodes();) {
      count = std::min(count, slicer_.num_nodes() - first);
      QUOTIENT_ASSIGN_OR_RETURN(
          const onnx::ModelSlice slice,
          slicer_.Slice(first, count, [this](const std::string& name) { return TypeOf(name); }));
      QUOTIENT_ASSIGN_OR_RETURN(const int64_t bytes, RunSlice(slice));
      first += count;
      const int64_t wanted = count * kSliceBytes / std::max<int64_t>(bytes, 1);
      count = static_cast<int>(
          std::clamp<int64_t>(wanted, 1, std::min<int64_t>(2 * count, kMostNodes)));
    }
    return std::move(summaries_);
  }

 private:
  const model::TensorType* TypeOf(const std::string& name) const {
    const auto found = summaries_.find(name);
    return found != summaries_.end() && found->second.type.is_static() ? &found->second.type
                                                                       : nullptr;
  }

  // Returns how many bytes its outputs have.
  absl::StatusOr<int64_t> RunSlice(const onnx::ModelSlice& slice) {
    // What is seen for the first time becomes known, and all of it but the constants is kept.
    std::vector<std::string> kept = slice.computed;
    for (const std::string& input : slice.inputs) {
      if (!summaries_.contains(input)) kept.push_back(input);
    }
    std::vector<std::string> outputs = kept;
    for (const std::string& constant : slice.initializers) {
      if (!summaries_.contains(constant)) outputs.push_back(constant);
    }
    QUOTIENT_ASSIGN_OR_RETURN(const SessionId session,
                              client_.Load(dump_.FileOf(slice.bytes), Level::kOnce));
    if (const absl::Status ran = FeedAndRun(session, slice, outputs); !ran.ok()) {
      client_.Unload(session);
      return ran;
    }
    QUOTIENT_ASSIGN_OR_RETURN(std::vector<OutputSummary> summaries,
                              client_.Keep(session, kept, &store_));
    if (summaries.size() != outputs.size()) {
      return absl::InternalError("ONNX Runtime computes another number of values");
    }
    int64_t bytes = 0;
    for (size_t i = 0; i < outputs.size(); ++i) {
      if (summaries[i].type.is_static()) bytes += summaries[i].type.bytes();
      summaries_[outputs[i]] = std::move(summaries[i]);
    }
    return bytes;
  }

  absl::Status FeedAndRun(SessionId session, const onnx::ModelSlice& slice,
                          std::span<const std::string> outputs) {
    std::vector<NamedTensor> given;
    std::vector<KeptTensor> kept;
    for (const std::string& name : slice.inputs) {
      if (summaries_.contains(name)) {
        kept.push_back({name, store_, name});
        continue;
      }
      const auto input = std::ranges::find(inputs_, name, &NamedTensor::name);
      if (input == inputs_.end()) {
        return absl::InternalError(absl::StrCat("nothing is given for the input '", name, "'"));
      }
      given.push_back(*input);
    }
    QUOTIENT_RETURN_IF_ERROR(client_.Feed(session, given, kept, outputs));
    return client_.Run(session, 1).status();
  }

  HelperClient& client_;
  const Dump& dump_;
  const onnx::ModelSlicer& slicer_;
  const std::span<const NamedTensor> inputs_;
  StoreId& store_;
  Summaries summaries_;
};

}  // namespace

absl::StatusOr<Summaries> RunInSlices(HelperClient& client, const Dump& dump,
                                      std::span<const NamedTensor> inputs, StoreId* store) {
  const absl::StatusOr<onnx::ModelSlicer> slicer = onnx::ModelSlicer::Create(dump.model);
  if (!slicer.ok()) return absl::InternalError(slicer.status().message());
  constexpr int kNodesAtFirst = 8;
  absl::StatusOr<Summaries> summaries =
      SlicedRun(client, dump, *slicer, inputs, store).Run(kNodesAtFirst);
  if (!absl::IsNotFound(summaries.status())) return summaries;
  // Sequences, strings and the like cannot be handed from slice to slice.
  return SlicedRun(client, dump, *slicer, inputs, store).Run(slicer->num_nodes());
}

}  // namespace quotient::kernels::onnxruntime
