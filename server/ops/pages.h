#pragma once

// The interface to whoever makes pages for people, which the exporter serves beside its own.

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/string_view.h"

namespace quotient::ops {

struct PageRequest {
  absl::string_view path;   // Decoded, such as "/jobs".
  absl::string_view query;  // As it was sent, without "?"; may be empty.
  absl::string_view host;   // Of the header; empty if there was none.
};

using Headers = std::vector<std::pair<std::string, std::string>>;  // Names and values.

struct Page {
  int status = 200;
  std::string type = "text/plain; charset=utf-8";
  Headers headers;  // Further ones.
  std::string body;
  std::shared_ptr<void> held;  // Kept until the page was sent, which a slow reader decides.
};

// Thread-safe.
class Pages {
 public:
  virtual ~Pages() = default;
  // Answers GET, and HEAD without the body. Called for all paths that the exporter does not serve.
  virtual Page Answer(const PageRequest& request) = 0;
};

}  // namespace quotient::ops
