#include "server/rpc/call_kind.h"

#include "absl/strings/match.h"

namespace quotient::rpc {

CallKind KindOf(absl::string_view path) {
  if (path == "/quotient.v1.BlobService/Upload") return CallKind::kUpload;
  if (path == "/quotient.v1.BlobService/Download") return CallKind::kDownload;
  if (path == "/quotient.v1.OptimizerService/WatchJob") return CallKind::kWatch;
  if (path == "/grpc.health.v1.Health/Watch") return CallKind::kWatch;
  if (absl::StartsWith(path, "/grpc.reflection.")) return CallKind::kReflection;
  return CallKind::kAnswersOnce;
}

}  // namespace quotient::rpc
