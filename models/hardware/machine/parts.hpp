// The list of the parts of a machine. parts.cpp has one entry for each part. Besides spec.hpp, which composes their
// parameters, it is the only file that names the parts.
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
  // Returns null and sets `error` if the part cannot be made from this system.
  std::unique_ptr<part::Part> (*make)(const SystemSpec& spec, part::Site& site, config::Problem& error);
  // True if queues of this program could lose time by sharing this kind of resource on this system.
  bool (*shares)(const part::BlameKind& kind, const SystemSpec& spec, const program::Program& program);
  // May be null. Reports why the program cannot run on the part at all.
  std::optional<config::Problem> (*refuses)(const program::Program& program, const SystemSpec& spec);
  // May be null. Returns the parameters of the part that other parameters of the system limit.
  std::vector<part::Limit> (*limits)(const SystemSpec& spec, const program::Program& program) = nullptr;
};

// Metrics are printed in the order of the parts, and blame separates the kinds of sharing in this order.
const std::vector<RegisteredPart>& parts();

// Timeline sections of all parts, from the compute units outwards.
std::vector<part::TimelineSection> timeline_sections();

// The problem of the first part that refuses the program.
std::optional<config::Problem> does_not_fit(const program::Program& program, const SystemSpec& spec);

// The limits of all parts.
std::vector<part::Limit> limits(const SystemSpec& spec, const program::Program& program);

// Links of a GPU's port that lead to another GPU of the node.
std::int64_t links_in_use(const NodeSpec& node);

// The kind of sharing that a counterfactual run of this system cannot separate completely, if there is one. Blame
// charges to this kind the time that queues still lose after all kinds have been separated.
std::optional<std::string_view> kind_that_stays_shared(const SystemSpec& spec);

}  // namespace moire::machine
