// Measures how far codecs compress the chunks of a tensor.
#pragma once

#include <istream>
#include <optional>
#include <string>

#include "app/import/importer.hpp"

namespace moire::importing {

// Compresses the chunks of the tensors in an open file and returns their ratios. The end of `name` says which kind of
// file it is: .npy or .safetensors. Returns nothing and reports errors if the file cannot be read.
std::optional<Imported> import_tensor(const std::string& name, std::istream& in, const Given& given,
                                      config::Diagnostics& diagnostics);

}  // namespace moire::importing
