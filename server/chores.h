#pragma once

// What the server does every now and then, beside calls and jobs.

#include <vector>

#include "server/config/flags.h"
#include "server/jobs/admission.h"
#include "server/jobs/dispatch.h"
#include "server/jobs/retention.h"
#include "server/jobs/watch_hub.h"
#include "server/ops/metrics.h"
#include "server/ops/ticker.h"
#include "server/rpc/blob_service.h"
#include "server/rpc/unread_replies.h"
#include "server/rpc/unsent_requests.h"
#include "server/store/disk/blob_scrubber.h"
#include "server/stores.h"

namespace quotient {

// Tasks that take milliseconds, for a thread of their own. Borrow what they are given.
std::vector<ops::Ticker::Task> QuickChores(jobs::WatchHub* hub, jobs::Dispatch* dispatch,
                                           jobs::Admission* admission, rpc::BlobService* blobs,
                                           rpc::UnsentRequests* requests,
                                           rpc::UnreadReplies* replies);

// What is kept: see --keep-days and its neighbours.
jobs::RetentionLimits LimitsOfRetention(const config::ServerFlags& flags);

// Tasks that read and remove files, and so may take long, for a thread of their own. Borrow what
// they are given, but for the flags.
std::vector<ops::Ticker::Task> SlowChores(const config::ServerFlags& flags, const Stores& stores,
                                          store::BlobScrubber* scrubber, jobs::Retention* retention,
                                          ops::Metrics* metrics);

}  // namespace quotient
