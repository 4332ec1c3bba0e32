#pragma once

// What is known of a method by its path. gRPC cannot tell interceptors, as it takes nearly all
// methods for streams in both directions (early_handler.h).

#include "absl/strings/string_view.h"

namespace quotient::rpc {

enum class CallKind {
  kAnswersOnce,  // With one message, or an error. Also calls of methods that there are not.
  kUpload,
  kDownload,
  kWatch,  // Waits for news, and uses no thread.
  kReflection,
};

CallKind KindOf(absl::string_view path);

}  // namespace quotient::rpc
