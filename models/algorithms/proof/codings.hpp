// Follows encoded (compressed) values through a program. A value that a step has encoded may be sent, copied and
// decoded. It must not be added, encoded again, or left in the result.
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
  encoded_twice,  // the step encodes data that are already encoded
  not_encoded,    // the step decodes data that are not encoded
  in_place,       // the step encodes or decodes chunks onto themselves
  mixed,          // the step moves encoded chunks together with chunks that are not encoded
  result,         // the step writes an encoded chunk to the output, and no later step replaces it
};

struct WrongCoding {
  Miscoding fault = Miscoding::sum;
  StepAt by;
};

struct Codings {
  // By block and step: the numbers of the encoded chunks that the step reads or receives. Encoded chunks are numbered
  // in the order of the encoding steps in the program, whatever order these steps run in. Empty if no step encodes or
  // decodes.
  std::vector<std::vector<std::vector<std::uint32_t>>> takes;
  std::uint32_t chunks = 0;  // number of chunks that all steps together encode
  std::uint32_t passes = 0;  // how often a value is encoded on its way, at most
  std::optional<WrongCoding> first_wrong;
};

// Returns which encoded chunks each step takes, and the first wrong use of an encoded chunk. `order` must be the result
// of schedule() for the same cells_per_call.
Codings follow_codings(const Program& program, const Layout& layout, const Goal& goal,
                       const std::vector<std::uint32_t>& order, std::uint32_t cells_per_call);

}  // namespace moire::proof
