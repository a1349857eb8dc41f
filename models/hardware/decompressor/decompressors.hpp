// The decompression engines of all GPUs as a part of the machine.
//
// Buffers wait in one FIFO per GPU. An engine takes the time `command` for a buffer, and then decompressed bytes /
// rate. The rate is the engine's bandwidth or, if lower, the engine's share of the L2 and the memory.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <tuple>
#include <vector>

#include "models/hardware/decompressor/spec.hpp"
#include "models/hardware/part/services.hpp"

namespace moire::decompressor {

const part::Declaration& declaration();

// The decompression engines of one GPU.
class Engines final : public core::EventSink {
 public:
  struct Request {
    core::ClassId work = core::no_id;  // class of the sharing law; its unit of work is a decompressed byte
    part::CopyRequest asked;
  };
  Engines(const DecompressorSpec& spec, core::RunLoop& loop, core::Sharing& sharing);
  void submit(const Request& request);
  part::Copies::Finished finished() const { return finished_; }
  void fire(std::uint64_t payload) override;

 private:
  struct Engine {
    bool busy = false;
    bool moving = false;
    Request request;
    Time begin;
  };
  void dispatch();

  DecompressorSpec spec_;
  core::RunLoop& loop_;
  core::Sharing& sharing_;
  std::vector<Engine> engines_;
  std::deque<Request> queue_;
  part::Copies::Finished finished_{};
};

class Decompressors final : public part::Part, public part::Decompressors, public part::Shared {
 public:
  // `spec` is absent if the GPUs have no engine. submit() must not be called then.
  Decompressors(part::Site& site, const std::optional<DecompressorSpec>& spec);
  void submit(const part::CopyRequest& request) override;
  part::Copies::Finished finished(part::Rank rank) const override { return engines_[rank]->finished(); }
  void use(const part::CopyUse& use, core::ClassSpec& spec) const override;

 private:
  core::ClassId class_of(const part::CopyUse& use);

  part::Site& site_;
  std::optional<DecompressorSpec> spec_;
  // The engines of all ranks. A counterfactual run repeats them for every queue, as it does for DMA engines.
  std::vector<std::unique_ptr<Engines>> engines_;
  std::map<std::tuple<part::Rank, std::uint32_t, double>, core::ClassId> classes_;  // by rank, queue and ratio
};

}  // namespace moire::decompressor
