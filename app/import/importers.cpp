#include "app/import/importer.hpp"

namespace moire::importing {

std::vector<Importer> importers() { return {nccl_topo_importer(), tensor_importer()}; }

}  // namespace moire::importing
