#pragma once

// A cache of compiled code in a folder.

#include <cstdint>
#include <memory>
#include <string>

#include "core/kernels/cuda/interface/code_cache.h"

namespace quotient::kernels::cuda {

// A cache in a folder, which is made if missing and may be used by several processes at once. Each
// entry is a file named by the SHA-256 of its key:
//
//   8 bytes    "QTCODE1\n"
//   32 bytes   SHA-256 of the key
//   32 bytes   SHA-256 of the rest
//   the rest   the entry's bytes
//
// A damaged or foreign file is not an entry; it is replaced when there is one. When the folder is
// opened, the most recently used files are kept, up to `most_bytes`. Only the first failure is
// logged. The folder must not be writable by others, because its content is executed.
std::unique_ptr<CodeCache> OpenCodeCache(const std::string& directory,
                                         int64_t most_bytes = int64_t{1} << 30);

}  // namespace quotient::kernels::cuda
