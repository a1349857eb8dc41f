// Measures how far codecs compress the chunks of a tensor.
#pragma once

#include <istream>
#include <optional>
#include <string>

#include "app/import/importer.hpp"

namespace moire::importing {

// The importer `tensor` for an open file; `name` ends in .npy or .safetensors.
std::optional<Imported> import_tensor(const std::string& name, std::istream& in, const Given& given,
                                      config::Diagnostics& diagnostics);

}  // namespace moire::importing
