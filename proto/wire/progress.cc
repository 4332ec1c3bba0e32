#include "proto/wire/progress.h"

#include <cmath>

#include "google/protobuf/util/time_util.h"
#include "proto/wire/status.h"
#include "proto/wire/time.h"

namespace quotient::wire {

using google::protobuf::util::TimeUtil;

v1::Progress ToProto(const Progress& progress) {
  v1::Progress message;
  message.set_phase(progress.phase);
  *message.mutable_elapsed() = TimeUtil::MillisecondsToDuration(
      static_cast<int64_t>(std::llround(progress.elapsed_seconds * 1000)));
  message.set_fraction(progress.fraction);
  message.set_original_cost_us(progress.original_cost_us);
  message.set_best_share(progress.best_share);
  message.set_enodes(progress.enodes);
  message.set_detail(Utf8(progress.detail));
  return message;
}

Progress FromProto(const v1::Progress& message) {
  return {.phase = message.phase(),
          .elapsed_seconds = static_cast<double>(Milliseconds(message.elapsed())) / 1000,
          .fraction = message.fraction(),
          .original_cost_us = message.original_cost_us(),
          .best_share = message.best_share(),
          .enodes = message.enodes(),
          .detail = message.detail()};
}

}  // namespace quotient::wire
