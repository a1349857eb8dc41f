// The parts of a machine, one entry each in parts.cpp: the only place, with the composition of spec.hpp, that names
// them.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "models/hardware/machine/spec.hpp"
#include "models/hardware/part/part.hpp"

namespace moire::machine {

struct RegisteredPart {
  const part::Declaration& (*declaration)();
  // Null after saying in `error` what does not fit and what would be right.
  std::unique_ptr<part::Part> (*make)(const SystemSpec& spec, part::Site& site, config::Problem& error);
  // Could queues of the program lose time to sharing this kind on this system?
  bool (*shares)(const part::BlameKind& kind, const SystemSpec& spec, const program::Program& program);
  // May null: says why the program cannot run on the part at all.
  std::optional<config::Problem> (*refuses)(const program::Program& program, const SystemSpec& spec);
  // May be null: which parameters others of the system keep back.
  std::vector<part::Limit> (*limits)(const SystemSpec& spec, const program::Program& program) = nullptr;
};

// In the order of their metrics and of the kinds of blame: what is taken apart first is charged first.
const std::vector<RegisteredPart>& parts();

// Of all parts as a timeline shows them, from the compute units outwards.
std::vector<part::TimelineSection> timeline_sections();

// The first part that refuses says why.
std::optional<config::Problem> does_not_fit(const program::Program& program, const SystemSpec& spec);

// What all parts say.
std::vector<part::Limit> limits(const SystemSpec& spec, const program::Program& program);

// Links of a GPU's port that lead to another GPU of the node.
std::int64_t links_in_use(const NodeSpec& node);

// Where a counterfactual run cannot give queues networks of their own, what is left between everything apart and alone
// belongs to this kind.
std::optional<std::string_view> kind_that_stays_shared(const SystemSpec& spec);

}  // namespace moire::machine
