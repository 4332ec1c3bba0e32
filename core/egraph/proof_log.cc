#include "core/egraph/proof_log.h"

namespace quotient::egraph {

void ProofLog::AddApplication(Origin origin, std::span<const uint32_t> classes,
                              std::span<const uint32_t> ops) {
  last_application_ = applications_.size();
  for (const uint32_t word : {origin, unions_.size(), static_cast<uint32_t>(classes.size()),
                              static_cast<uint32_t>(ops.size())}) {
    applications_.push_back({word});
  }
  for (const uint32_t id : classes) applications_.push_back({id});
  for (const uint32_t op : ops) applications_.push_back({op});
}

void ProofLog::AddChange(Origin origin, uint32_t alternative, std::span<const ClassId> classes,
                         std::span<const OpId> ops) {
  for (const uint32_t word : {origin, alternative, static_cast<uint32_t>(classes.size()),
                              static_cast<uint32_t>(ops.size())}) {
    changes_.push_back({word});
  }
  for (const ClassId id : classes) changes_.push_back({id.value()});
  for (const OpId op : ops) changes_.push_back({op.value()});
}

void ProofLog::VoidApplication(Origin origin) {
  if (last_application_ >= applications_.size()) return;
  if (applications_[last_application_].value != origin) return;
  applications_.Write(last_application_, {kVoidOrigin});
}

}  // namespace quotient::egraph
