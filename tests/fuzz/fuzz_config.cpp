// libFuzzer: reads any bytes as a configuration file with one override, and parses them into a typed spec. The reader
// must not crash, hang or throw, and a failed parse must report an error.
#include <cstdlib>
#include <string>

#include "sim/config/load.hpp"
#include "sim/config/spec.hpp"

namespace {

using namespace moire;

enum class Routing { fixed, adaptive };

struct LinkSpec {
  BytesPerSecond bandwidth;
  Time latency{500'000};

  static void describe(config::Describer<LinkSpec>& d) {
    d.component("link", "A link.");
    d.sourced();
    d.field("bandwidth", &LinkSpec::bandwidth, "Peak").positive();
    d.field("latency", &LinkSpec::latency, "One way").range("1 ns", "1 ms").or_default();
  }
};

struct SystemSpec {
  std::vector<LinkSpec> links;
  std::map<std::string, Bytes> buffers;
  std::optional<std::int64_t> count;
  Routing routing = Routing::fixed;
  double share = 1;
  bool on = false;
  std::string name;
  std::filesystem::path table;
  std::vector<std::pair<std::string, config::Node>> variants;

  static void describe(config::Describer<SystemSpec>& d) {
    d.component("system", "A system.");
    d.field("links", &SystemSpec::links, "Links");
    d.field("buffers", &SystemSpec::buffers, "Buffers").optional();
    d.field("count", &SystemSpec::count, "Count");
    d.field("routing", &SystemSpec::routing, "Routing")
        .choices({{"fixed", Routing::fixed}, {"adaptive", Routing::adaptive}})
        .or_default();
    d.field("share", &SystemSpec::share, "Share").range(0, 1).or_default();
    d.field("on", &SystemSpec::on, "On").or_default();
    d.field("name", &SystemSpec::name, "Name").optional();
    d.field("table", &SystemSpec::table, "Table").optional();
    d.field("variants", &SystemSpec::variants, "Overrides by path").optional();
  }
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const unsigned char* data, std::size_t size) {
  const std::string input(reinterpret_cast<const char*>(data), size);
  // The text after the last "--set " at the beginning of a line is an override of the file before it.
  const std::size_t set = input.rfind("\n--set ");
  const std::string text = input.substr(0, set);
  const config::LoadOptions options{.includes = false, .nodes = 10'000};

  config::Diagnostics diagnostics;
  std::vector<config::Override> overrides;
  if (set != std::string::npos) overrides = config::parse_sets({input.substr(set + 7)}, diagnostics, options);
  auto root = config::load_text("input.yaml", text, overrides, diagnostics, options);
  if (!root) {
    if (diagnostics.ok()) std::abort();
    return 0;
  }
  std::vector<config::Provenance> provenance;
  const auto spec = config::parse<SystemSpec>(*root, diagnostics, &provenance);
  if (!spec && diagnostics.ok()) std::abort();
  if (spec) {
    for (const auto& [path, value] : spec->variants) {
      if (const auto change = config::make_override(path, value, diagnostics)) {
        config::apply(*change, *root, diagnostics);
      }
    }
    config::parse<SystemSpec>(*root, diagnostics);
  }
  if (diagnostics.ok() == !diagnostics.str().empty()) std::abort();
  return 0;
}
