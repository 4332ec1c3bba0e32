#include "core/egraph/proof_log.h"

#include <algorithm>

namespace quotient::egraph {

void ProofLog::AddApplication(Origin origin, std::span<const uint32_t> classes,
                              std::span<const uint32_t> ops) {
  last_application_ = matches_.size();
  Append({.origin = origin,
          .uses = kExplains,
          .alternative = 0,
          .unions_before = unions_.size(),
          .num_classes = static_cast<uint32_t>(classes.size()),
          .num_ops = static_cast<uint32_t>(ops.size())});
  for (const uint32_t id : classes) matches_.push_back({id});
  for (const uint32_t op : ops) matches_.push_back({op});
}

void ProofLog::AddChange(Origin origin, uint32_t alternative, std::span<const ClassId> classes,
                         std::span<const OpId> ops) {
  if (IsLast(origin, classes, ops)) {
    SetUses(last_match_, HeaderAt(last_match_).uses | kChanged);
    matches_.Write(last_match_ + 2, {alternative});
    return;
  }
  Append({.origin = origin,
          .uses = kChanged,
          .alternative = alternative,
          .unions_before = unions_.size(),
          .num_classes = static_cast<uint32_t>(classes.size()),
          .num_ops = static_cast<uint32_t>(ops.size())});
  for (const ClassId id : classes) matches_.push_back({id.value()});
  for (const OpId op : ops) matches_.push_back({op.value()});
}

void ProofLog::Append(const Header& header) {
  last_match_ = matches_.size();
  for (const uint32_t word : {header.origin, header.uses, header.alternative, header.unions_before,
                              header.num_classes, header.num_ops}) {
    matches_.push_back({word});
  }
}

bool ProofLog::IsLast(Origin origin, std::span<const ClassId> classes,
                      std::span<const OpId> ops) const {
  if (last_match_ >= matches_.size()) return false;
  const Header header = HeaderAt(last_match_);
  const std::span<const uint32_t> words = matches_.words().subspan(last_match_ + kHeaderWords);
  return header.origin == origin && (header.uses & kChanged) == 0 &&
         std::ranges::equal(words.first(header.num_classes), classes, {}, {}, &ClassId::value) &&
         std::ranges::equal(words.subspan(header.num_classes), ops, {}, {}, &OpId::value);
}

void ProofLog::VoidApplication(Origin origin) {
  if (last_application_ >= matches_.size()) return;
  const Header header = HeaderAt(last_application_);
  if (header.origin == origin) SetUses(last_application_, header.uses & ~kExplains);
}

}  // namespace quotient::egraph
