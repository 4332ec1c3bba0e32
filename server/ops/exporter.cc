#include "server/ops/exporter.h"

#include <exception>

#include "absl/strings/str_cat.h"

namespace quotient::ops {

absl::StatusOr<std::unique_ptr<Exporter>> Exporter::Start(
    const std::string& listen,
    const std::vector<std::shared_ptr<prometheus::Collectable>>& collectables) {
  std::unique_ptr<Exporter> exporter(new Exporter());
  exporter->collectables_ = collectables;
  try {
    exporter->exposer_ = std::make_unique<prometheus::Exposer>(listen);
  } catch (const std::exception&) {
    return absl::UnavailableError(absl::StrCat("cannot serve metrics on ", listen));
  }
  for (const auto& collectable : collectables) exporter->exposer_->RegisterCollectable(collectable);
  const std::string host = listen.substr(0, listen.rfind(':'));
  exporter->address_ = absl::StrCat(host, ":", exporter->exposer_->GetListeningPorts().front());
  return exporter;
}

}  // namespace quotient::ops
