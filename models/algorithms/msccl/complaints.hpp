// What is wrong with an algorithm, told with its place: the first errors in full, then how many more; a warning once a
// kind.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <string>

#include "models/algorithms/msccl/algorithm.hpp"
#include "sim/config/diagnostics.hpp"

namespace moire::msccl {

// Of a step, a thread block, a GPU or the algorithm.
struct Spot {
  std::uint32_t line = 0;
  std::uint32_t col = 0;
};
template <class Element>
Spot spot(const Element& element) {
  return {element.line, element.col};
}

std::string name_of(std::int64_t gpu);
std::string name_of(std::int64_t gpu, std::int64_t block);
std::string name_of(std::int64_t gpu, std::int64_t block, std::int64_t step);  // "gpu 0, tb 1, step 2"

class Complaints {
 public:
  // `file` as in Algorithm::file; where it is "", complaints have no place.
  Complaints(const std::string& file, config::Diagnostics& diagnostics);
  ~Complaints();
  Complaints(const Complaints&) = delete;
  Complaints& operator=(const Complaints&) = delete;

  void error(Spot at, std::string what, std::string remedy);
  // The first of a kind is told in full, with the number of others like it.
  void warning(const std::string& kind, Spot at, std::string what, std::string remedy);

  std::size_t errors() const { return errors_; }
  config::Place place(Spot at) const;

 private:
  struct Warning {
    Spot at;
    std::string what;
    std::string remedy;
    std::size_t others = 0;
  };

  config::Diagnostics& diagnostics_;
  std::shared_ptr<const config::Source> source_;
  std::size_t errors_ = 0;
  std::map<std::string, Warning> warnings_;
};

}  // namespace moire::msccl
