#include "tests/support/cuda/emulator.h"

#include <dlfcn.h>
#include <ucontext.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "absl/base/thread_annotations.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/substitute.h"
#include "absl/synchronization/mutex.h"
#include "core/base/status_macros.h"
#include "tests/support/cuda/emulation.h"

// This file uses these words as ordinary names.
#undef threadIdx
#undef blockIdx
#undef blockDim
#undef gridDim

namespace quotient::kernels::cuda {

using quotient_emulation::Place;

// A loaded shared library with its own copy of the emulated state. Its file is deleted after
// loading.
class EmulatedLibrary {
 public:
  static absl::StatusOr<std::shared_ptr<EmulatedLibrary>> Load(const std::string& path) {
    void* const handle = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (handle == nullptr) return absl::InternalError(dlerror());
    auto library = std::make_shared<EmulatedLibrary>();
    library->handle_ = handle;
    const absl::MutexLock lock(&library->running);
    library->place = static_cast<Place*>(library->Find("quotient_emulation_place"));
    return library;
  }
  ~EmulatedLibrary() { dlclose(handle_); }

  void* Find(const std::string& symbol) const { return dlsym(handle_, symbol.c_str()); }

  absl::Mutex running;
  Place* place ABSL_GUARDED_BY(running) = nullptr;

 private:
  void* handle_ = nullptr;
};

namespace {

// The threads of a block. Each has its own stack, and they take turns on the calling thread.
class Block {
 public:
  Block(int size, Place* place, void (*call)(void* const*), void* const* buffers)
      : place_(place),
        call_(call),
        buffers_(buffers),
        stacks_(std::make_unique_for_overwrite<char[]>(kStackBytes * size)),
        fibers_(size) {}

  // Runs all threads. INTERNAL if some end while others wait at a barrier.
  absl::Status Run() {
    running_ = this;
    for (size_t i = 0; i < fibers_.size(); ++i) Start(i);
    // The direction alternates, so that a kernel that relies on the order of threads fails in one.
    for (bool forward = true;; forward = !forward) {
      size_t ended = 0;
      for (size_t i = 0; i < fibers_.size(); ++i) {
        const size_t index = forward ? i : fibers_.size() - 1 - i;
        Resume(index);
        ended += fibers_[index].ended ? 1 : 0;
      }
      if (ended == fibers_.size()) return absl::OkStatus();
      if (ended != 0) {
        return absl::InternalError(absl::StrCat(ended, " of ", fibers_.size(),
                                                " threads end where others wait at a barrier"));
      }
    }
  }

  static void Barrier() { running_->Yield(); }

 private:
  static constexpr size_t kStackBytes = size_t{1} << 16;
  struct Fiber {
    ucontext_t context;
    bool ended = false;
  };

  void Start(size_t index) {
    Fiber& fiber = fibers_[index];
    fiber.ended = false;
    getcontext(&fiber.context);
    fiber.context.uc_stack.ss_sp = stacks_.get() + index * kStackBytes;
    fiber.context.uc_stack.ss_size = kStackBytes;
    fiber.context.uc_link = &main_;
    makecontext(&fiber.context, &Block::Main, 0);
  }

  static void Main() {
    Block* const block = running_;
    block->call_(block->buffers_);
    block->fibers_[block->current_].ended = true;
  }

  void Resume(size_t index) {
    current_ = index;
    place_->thread.x = static_cast<unsigned int>(index);
    swapcontext(&main_, &fibers_[index].context);
  }

  void Yield() { swapcontext(&fibers_[current_].context, &main_); }

  static thread_local Block* running_;

  Place* const place_;
  void (*const call_)(void* const*);
  void* const* const buffers_;
  const std::unique_ptr<char[]> stacks_;
  std::vector<Fiber> fibers_;
  ucontext_t main_;
  size_t current_ = 0;
};

thread_local Block* Block::running_ = nullptr;

// A new folder, which the destructor deletes.
class TemporaryFolder {
 public:
  TemporaryFolder() {
    std::string name = (std::filesystem::temp_directory_path() / "emulation_XXXXXX").string();
    if (mkdtemp(name.data()) != nullptr) path_ = name;
  }
  ~TemporaryFolder() {
    std::error_code ignored;
    if (!path_.empty()) std::filesystem::remove_all(path_, ignored);
  }
  const std::string& path() const { return path_; }  // Empty if it could not be made.

 private:
  std::string path_;
};

std::string Numbered(absl::string_view name, size_t number) { return absl::StrCat(name, number); }

// Joins all kernels to one translation unit, each in a namespace of its own, with a function for
// each that calls it.
std::string JoinTexts(std::span<const SourceKernel> kernels) {
  std::string text = R"(
#define VISIBLE __attribute__((visibility("default")))
extern "C" VISIBLE quotient_emulation::Place quotient_emulation_place;
quotient_emulation::Place quotient_emulation_place;
)";
  for (size_t i = 0; i < kernels.size(); ++i) {
    // Kernels have C linkage, for which namespaces make no difference, so they are renamed.
    absl::StrAppend(&text, absl::Substitute(R"(
#define $0 $0_$1
namespace kernel_$1 {
$2
extern "C" VISIBLE void call_$1(void* const* buffers) { quotient_emulation::Call($0, buffers); }
}
#undef $0
)",
                                            kernels[i].name, i, kernels[i].source));
  }
  return text;
}

absl::Status Compile(const std::string& source, const std::string& library) {
  const std::string log = library + ".log";
  const std::string command = absl::StrCat(
      QUOTIENT_EMULATION_COMPILER, " -std=c++17 -O1 -w -fPIC -shared -ffp-contract=off",
      " -fvisibility=hidden -include tests/support/cuda/emulation.h -o ", library, " ", source,
      " > ", log, " 2>&1");
  if (std::system(command.c_str()) == 0) return absl::OkStatus();
  std::ifstream file(log);
  const std::string messages{std::istreambuf_iterator<char>(file),
                             std::istreambuf_iterator<char>()};
  return absl::InvalidArgumentError(absl::StrCat(command, "\n", messages));
}

}  // namespace

absl::Status EmulatedKernel::Run(std::span<void* const> buffers) const {
  if (static_cast<int>(buffers.size()) != num_buffers_) {
    return absl::InvalidArgumentError(
        absl::StrCat(buffers.size(), " buffers for a kernel of ", num_buffers_));
  }
  absl::MutexLock lock(&library_->running);
  Place* const place = library_->place;
  place->block_dim.x = static_cast<unsigned int>(block_);
  place->grid_dim.x = static_cast<unsigned int>(grid_);
  place->barrier = &Block::Barrier;
  Block block(has_barriers_ ? block_ : 0, place, call_, buffers.data());
  for (int64_t i = 0; i < grid_; ++i) {
    place->block.x = static_cast<unsigned int>(i);
    if (has_barriers_) {
      QUOTIENT_RETURN_IF_ERROR(block.Run());
      continue;
    }
    for (int thread = 0; thread < block_; ++thread) {
      place->thread.x = static_cast<unsigned int>(thread);
      call_(buffers.data());
    }
  }
  return absl::OkStatus();
}

absl::StatusOr<std::vector<EmulatedKernel>> Emulate(std::span<const SourceKernel> kernels) {
  const TemporaryFolder folder;
  if (folder.path().empty()) return absl::InternalError("no temporary folder");
  const std::string source = folder.path() + "/kernels.cc", object = folder.path() + "/kernels.so";
  std::ofstream(source) << JoinTexts(kernels);
  QUOTIENT_RETURN_IF_ERROR(Compile(source, object));
  QUOTIENT_ASSIGN_OR_RETURN(const auto library, EmulatedLibrary::Load(object));
  std::vector<EmulatedKernel> result(kernels.size());
  for (size_t i = 0; i < kernels.size(); ++i) {
    result[i].library_ = library;
    result[i].call_ = reinterpret_cast<void (*)(void* const*)>(library->Find(Numbered("call_", i)));
    result[i].has_barriers_ = kernels[i].source.find("__syncthreads") != std::string::npos;
    result[i].grid_ = kernels[i].grid;
    result[i].block_ = kernels[i].block;
    result[i].num_buffers_ = kernels[i].num_buffers;
  }
  return result;
}

absl::StatusOr<EmulatedKernel> Emulate(const SourceKernel& kernel) {
  QUOTIENT_ASSIGN_OR_RETURN(const std::vector<EmulatedKernel> kernels,
                            Emulate(std::span(&kernel, 1)));
  return kernels[0];
}

}  // namespace quotient::kernels::cuda
