#include "core/kernels/onednn/primitive_kernel.h"

#include <exception>
#include <utility>

#include "absl/strings/str_cat.h"
#include "core/base/status_macros.h"
#include "core/kernels/cpu/omp.h"
#include "core/kernels/layout.h"
#include "core/kernels/storage.h"

namespace quotient::kernels::onednn {
namespace {

using dnnl::memory;

const dnnl::stream& Stream() {
  // A CPU stream runs its work at once. One per thread needs no lock.
  thread_local const dnnl::stream stream(Engine());
  return stream;
}

// The argument lists of all stages, complete except for the pointers.
class PrimitiveState : public cpu::KernelState {
 public:
  explicit PrimitiveState(const std::vector<Stage>& stages) {
    for (const Stage& stage : stages) {
      std::vector<dnnl_exec_arg_t>& list = lists.emplace_back();
      for (const Argument& argument : stage.arguments) {
        memories.emplace_back(argument.desc, Engine(), nullptr);
        list.push_back({argument.name, memories.back().get()});
      }
    }
  }

  std::vector<memory> memories;  // Owns what the lists point to.
  std::vector<std::vector<dnnl_exec_arg_t>> lists;
};

void Reorder(const memory::desc& from_desc, const void* from, const memory::desc& to_desc,
             void* to) {
  memory source(from_desc, Engine(), const_cast<void*>(from));
  memory target(to_desc, Engine(), to);
  dnnl::stream stream(Engine());
  dnnl::reorder(source, target).execute(stream, source, target);
  stream.wait();
}

}  // namespace

const dnnl::engine& Engine() {
  static const auto& engine = *new dnnl::engine(dnnl::engine::kind::cpu, 0);
  return engine;
}

memory::desc Plain(const std::vector<int64_t>& dims) {
  return Strided(dims, StridesOf(dims, Layout::kPlain));
}

memory::desc Strided(const std::vector<int64_t>& dims, const std::vector<int64_t>& strides) {
  return memory::desc(dims, memory::data_type::f32, strides);
}

memory::desc AnyOrder(const std::vector<int64_t>& dims) {
  return memory::desc(dims, memory::data_type::f32, memory::format_tag::any);
}

memory::desc Activation(const Operand& operand) {
  using Tag = memory::format_tag;
  const std::vector<int64_t> dims = operand.type.dims();
  if (operand.layout == Layout::kPlain) return Plain(dims);
  constexpr Tag kTags[] = {Tag::nwc, Tag::nhwc, Tag::ndhwc};
  return memory::desc(dims, memory::data_type::f32, kTags[dims.size() - 3]);
}

absl::Status Guard(const std::function<absl::Status()>& body) {
  try {
    return body();
  } catch (const dnnl::error& error) {
    if (error.status == dnnl_unimplemented) {
      return absl::UnimplementedError(absl::StrCat("oneDNN: ", error.what()));
    }
    return absl::InternalError(absl::StrCat("oneDNN: ", error.what()));
  } catch (const std::bad_alloc&) {
    return absl::ResourceExhaustedError("oneDNN: out of memory");
  } catch (const std::exception& error) {
    return absl::InternalError(absl::StrCat("oneDNN: ", error.what()));
  }
}

PrimitiveKernel::PrimitiveKernel(const KernelSpec& spec)
    : spec_(spec), operands_(AllOperands(spec)) {}

absl::Status PrimitiveKernel::Pack(std::span<const model::Tensor* const> operands,
                                   std::span<void* const> packed) const {
  return Guard([&] {
    for (size_t i = 0; i < packed_.size(); ++i) {
      if (packed[i] == nullptr) continue;
      const PackedOperand& constant = packed_[i];
      if (constant.operand < 0) {
        constant.make(operands, static_cast<float*>(packed[i]));
        continue;
      }
      const model::Tensor& tensor = *operands[constant.operand];
      const void* from = tensor.bytes().data();
      std::vector<float> floats;
      // Bytes of a model need not be aligned for floats.
      const bool aligned = reinterpret_cast<uintptr_t>(from) % alignof(float) == 0;
      if (tensor.dtype() != model::DType::kFloat32 || !aligned) {
        floats.resize(static_cast<size_t>(tensor.elements()));
        tensor.Load(0, std::span(floats));
        from = floats.data();
      }
      Reorder(constant.given, from, constant.wanted, packed[i]);
    }
    return absl::OkStatus();
  });
}

std::unique_ptr<cpu::KernelState> PrimitiveKernel::NewState() const {
  return std::make_unique<PrimitiveState>(stages_);
}

absl::Status PrimitiveKernel::Run(const cpu::KernelBuffers& buffers,
                                  cpu::KernelState* state) const {
  auto& prepared = *static_cast<PrimitiveState*>(state);
  auto memory = prepared.memories.begin();
  for (size_t i = 0; i < stages_.size(); ++i) {
    for (const Argument& argument : stages_[i].arguments) {
      const void* data = nullptr;
      switch (argument.source) {
        case Argument::Source::kOperand:
          data = buffers.operands[argument.index];
          break;
        case Argument::Source::kConstant:
          data = buffers.constants[argument.index];
          break;
        case Argument::Source::kOutput:
          data = buffers.outputs[argument.index];
          break;
        case Argument::Source::kScratch:
          data = static_cast<const std::byte*>(buffers.scratch) + argument.index;
          break;
      }
      // The C functions return a status, so no exception can pass here.
      dnnl_memory_set_data_handle((memory++)->get(), const_cast<void*>(data));
    }
    const std::vector<dnnl_exec_arg_t>& list = prepared.lists[i];
    const dnnl_status_t status = dnnl_primitive_execute(stages_[i].primitive.get(), Stream().get(),
                                                        static_cast<int>(list.size()), list.data());
    if (status != dnnl_success) {
      return absl::InternalError(absl::StrCat("oneDNN: execution failed with status ", status));
    }
  }
  return absl::OkStatus();
}

Argument PrimitiveKernel::Read(int name, size_t index, const memory::desc& given,
                               const memory::desc& wanted) {
  Argument argument{name, wanted};
  if (operands_[index].constant) {
    constants_.push_back({static_cast<int64_t>(wanted.get_size()), true});
    packed_.push_back({static_cast<int>(index), given, wanted, {}, nullptr});
    argument.source = Argument::Source::kConstant;
    argument.index = static_cast<int64_t>(packed_.size()) - 1;
    return argument;
  }
  argument.index = static_cast<int64_t>(index);
  if (given == wanted) return argument;
  const dnnl::reorder::primitive_desc reorder(Engine(), given, Engine(), wanted, Attributes());
  const Argument packed{DNNL_ARG_TO, wanted, Argument::Source::kScratch,
                        Reserve(static_cast<int64_t>(wanted.get_size()))};
  AddStage(dnnl::reorder(reorder),
           {{DNNL_ARG_FROM, given, Argument::Source::kOperand, argument.index}, packed},
           reorder.scratchpad_desc());
  return {name, wanted, Argument::Source::kScratch, packed.index};
}

int64_t PrimitiveKernel::AddDerived(std::vector<size_t> operands, int64_t count, MakeFloats make) {
  constants_.push_back({count * static_cast<int64_t>(sizeof(float)), true});
  packed_.push_back({-1, {}, {}, std::move(operands), std::move(make)});
  return static_cast<int64_t>(packed_.size()) - 1;
}

Argument PrimitiveKernel::Write(int name, const memory::desc& desc) {
  return {name, desc, Argument::Source::kOutput, 0};
}

void PrimitiveKernel::AddStage(dnnl::primitive primitive, std::vector<Argument> arguments,
                               const memory::desc& scratchpad) {
  if (const auto bytes = static_cast<int64_t>(scratchpad.get_size()); bytes > 0) {
    arguments.push_back(
        {DNNL_ARG_SCRATCHPAD, scratchpad, Argument::Source::kScratch, Reserve(bytes)});
  }
  stages_.push_back({std::move(primitive), std::move(arguments)});
}

int64_t PrimitiveKernel::Reserve(int64_t bytes) {
  constexpr int64_t kAlignment = 64;
  const int64_t offset = scratch_bytes_;
  scratch_bytes_ += (bytes + kAlignment - 1) / kAlignment * kAlignment;
  return offset;
}

dnnl::primitive_attr Attributes(const dnnl::post_ops& ops) {
  dnnl::primitive_attr attributes;
  attributes.set_scratchpad_mode(dnnl::scratchpad_mode::user);
  attributes.set_post_ops(ops);
  return attributes;
}

}  // namespace quotient::kernels::onednn
