// Follows encoded values through a program. What a step has encoded may be sent, copied and decoded; it must not be
// added, encoded again, or left in the result.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "models/algorithms/proof/goal.hpp"
#include "models/algorithms/proof/layout.hpp"
#include "models/algorithms/proof/schedule.hpp"

namespace moire::proof {

enum class Miscoding : std::uint8_t {
  sum,            // the step adds encoded data
  encoded_twice,  // the step encodes what is encoded
  not_encoded,    // the step decodes what is not encoded
  in_place,       // the step encodes or decodes chunks onto themselves
  mixed,          // the step moves encoded chunks together with others
  result,         // an output is left encoded by the step
};

struct WrongCoding {
  Miscoding fault = Miscoding::sum;
  StepAt by;
};

struct Codings {
  // Of each block and step: which encoded chunks it takes, by number. The chunks that steps encode are numbered in the
  // order of the program, whatever order they are encoded in. Empty if no step encodes or decodes.
  std::vector<std::vector<std::vector<std::uint32_t>>> takes;
  std::uint32_t chunks = 0;  // that are encoded
  std::uint32_t passes = 0;  // largest number of codings that a value passes one after the other
  std::optional<WrongCoding> first_wrong;
};

// `order` must be the result of schedule() for this cut.
Codings follow_codings(const Program& program, const Layout& layout, const Goal& goal,
                       const std::vector<std::uint32_t>& order, std::uint32_t cells_per_call);

}  // namespace moire::proof
