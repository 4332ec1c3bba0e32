#pragma once

// A model's file without its weights, which go to another file. Runtimes map such a file instead of
// reading it, so that weights take no memory until they are used.

#include <cstddef>
#include <map>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "core/onnx/data_file.h"

namespace quotient::onnx {

// What has fewer bytes takes no room worth mentioning, and optimizers look at its values.
inline constexpr size_t kLeastDetachedBytes = 1024;

struct DetachedWeights {
  std::string model;
  // What the other file consists of. Refers to the bytes of the model and of its external files.
  DataFile weights;
};

// What initializers get that refer to the same bytes. Each gets a place of its own in any case.
enum class Copies {
  kEqual,
  // Contents of their own: the same elements, which begin at other ones. Runtimes keep equal
  // weights once, so that copies that are to be read like different ones have to differ.
  kRotated,
};

// Replaces the initializers of a model, and of the graphs inside of its nodes, by references to the
// file `location` if they have at least `min_bytes`, or refer to one of `files`. Everything else
// stays as it is.
//
// Fails as ReadExternalReference and ResolveReference do, and with MODEL_MALFORMED if the bytes are
// no model.
absl::StatusOr<DetachedWeights> DetachWeights(absl::string_view model,
                                              const std::map<std::string, absl::string_view>& files,
                                              const std::string& location, size_t min_bytes,
                                              Copies copies = Copies::kEqual);

}  // namespace quotient::onnx
