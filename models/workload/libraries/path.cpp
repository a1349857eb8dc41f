#include "models/workload/libraries/path.hpp"

#include <algorithm>

#include "models/workload/libraries/collective_library.hpp"
#include "sim/config/spec.hpp"

namespace moire::libraries {

Path split_path(const std::string& path) {
  const std::size_t dot = path.rfind('.');
  if (dot == std::string::npos) return {"", path};
  return {path.substr(0, dot), path.substr(dot + 1)};
}

const config::Description* section_spec(const std::string& section) {
  const config::Description* spec = &config::description<LibrarySpec>();
  for (std::size_t begin = 0; !section.empty() && begin <= section.size();) {
    const std::size_t dot = std::min(section.find('.', begin), section.size());
    const config::Field* field = spec->find(section.substr(begin, dot - begin));
    if (field == nullptr || field->type.shape.form != config::Shape::Form::spec) return nullptr;
    spec = &field->type.shape.spec();
    begin = dot + 1;
  }
  return spec;
}

const config::Field* field_at(const Path& path) {
  const config::Description* spec = section_spec(path.section);
  return spec != nullptr ? spec->find(path.key) : nullptr;
}

}  // namespace moire::libraries
