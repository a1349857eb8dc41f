// libFuzzer: reads any bytes as a .npy and as a .safetensors file. The tensors of an accepted file must lie within the
// file. Their ratios are measured and written as a list, which must be readable. A refused file must have an error
// message.
#include <cstdlib>
#include <sstream>
#include <string>

#include "app/import/tensor/import_tensor.hpp"
#include "app/import/tensor/tensor_file.hpp"
#include "sim/config/load.hpp"

namespace {

using namespace moire;

void require(bool condition) {
  if (!condition) std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const unsigned char* data, std::size_t size) {
  const std::string bytes(reinterpret_cast<const char*>(data), size);
  for (const std::string name : {"fuzz.npy", "fuzz.safetensors"}) {
    const bool npy = name == "fuzz.npy";
    std::istringstream in(bytes);
    const importing::TensorFile file(name, in);
    config::Diagnostics of_header;
    const auto tensors = npy ? importing::read_npy(file, importing::Float::bf16, of_header)
                             : importing::read_safetensors(file, of_header);
    require(tensors.has_value() == of_header.ok());
    if (!tensors) continue;
    for (const importing::Tensor& tensor : *tensors)
      require(tensor.begin <= size && tensor.bytes <= size - tensor.begin &&
              (!tensor.values || tensor.bytes % importing::bytes_of(*tensor.values) == 0));
    for (const std::string codec : {"", "ans", "zfp", "zstd", "lz4"}) {
      importing::Given given = {{"--chunk", "4 KiB"}};
      if (npy) given["--dtype"] = "bf16";
      if (!codec.empty()) given["--codec"] = codec;
      config::Diagnostics diagnostics;
      const auto imported = importing::import_tensor(name, in, given, diagnostics);
      require(imported.has_value() == diagnostics.ok());
      if (!imported || codec.empty()) continue;
      config::Diagnostics of_list;
      const auto list = config::load_text("list.yaml", imported->yaml, {}, of_list);
      require(list && of_list.ok() && list->find("value"));
      require(codec == "zfp" ? list->find("value")->is_scalar() : list->find("value")->is_sequence());
    }
  }
  return 0;
}
