// The operator msccl runs a custom algorithm in a library's kernel. The algorithm is read from MSCCL XML, or compiled
// from a program that comes with Moire.
#pragma once

#include <filesystem>
#include <optional>
#include <vector>

#include "models/workload/builder/builder.hpp"
#include "models/workload/codec/spec.hpp"
#include "models/workload/libraries/collective_library.hpp"
#include "sim/config/diagnostics.hpp"
#include "sim/config/node.hpp"

namespace moire::collective {

struct MscclSpec {
  std::optional<std::filesystem::path> file;
  std::vector<std::filesystem::path> files;  // the first file that accepts the size and `in_place` runs
  std::optional<config::Node> program;       // one of models/algorithms/mscclang: its name and parameters
  Bytes bytes;                               // size of the whole buffer
  builder::DataType dtype = builder::DataType::fp32;
  bool in_place = true;                           // for `files`: true if input and output are one buffer
  std::optional<codec::CodecSpec> codec;          // of the steps that encode and decode
  std::optional<libraries::LibrarySpec> library;  // absent: the library of the system
  static void describe(config::Describer<MscclSpec>& d);
};

// Reads the algorithm and appends its kernel. Returns false after reporting what is wrong with the file or the machine.
bool append_msccl(builder::Builder& build, const MscclSpec& spec, const config::Node& node,
                  config::Diagnostics& diagnostics);

}  // namespace moire::collective
