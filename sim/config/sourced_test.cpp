#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>

#include "sim/config/load.hpp"
#include "sim/config/spec.hpp"

namespace moire::config {
namespace {

struct HbmSpec {
  BytesPerSecond bandwidth;
  double growth = 0.25;
  std::vector<Time> steps;
  std::string vendor = "any";

  static void describe(Describer<HbmSpec>& d) {
    d.component("hbm", "Memory.");
    d.sourced();
    d.field("bandwidth", &HbmSpec::bandwidth, "Peak").positive().example("4.8 TB/s");
    d.field("growth", &HbmSpec::growth, "Growth").or_default();
    d.field("steps", &HbmSpec::steps, "Steps").optional();
    d.field("vendor", &HbmSpec::vendor, "Maker").optional();
  }
};

struct GpuSpec {
  HbmSpec hbm;

  static void describe(Describer<GpuSpec>& d) {
    d.component("gpu", "A GPU.");
    d.field("hbm", &GpuSpec::hbm, "Memory");
  }
};

struct Parsed {
  std::string errors;
  std::vector<std::string> lines;  // "path = value <- source"
};

Parsed read(const std::string& text, const std::vector<std::string>& sets = {}) {
  Diagnostics diagnostics;
  const auto overrides = parse_sets(sets, diagnostics);
  const auto root = load_text("g.yaml", text, overrides, diagnostics);
  std::vector<Provenance> provenance;
  if (root) parse<GpuSpec>(*root, diagnostics, &provenance);
  Parsed out;
  out.errors = diagnostics.str();
  for (const Provenance& p : provenance) {
    const std::string residual = p.residual ? fmt::format(" +- {}", *p.residual) : "";
    out.lines.push_back(p.path + " = " + p.value + " <- " + p.source + residual);
  }
  return out;
}

using Lines = std::vector<std::string>;

TEST(Sourced, AFileMayHoldOneValueWithItsSource) {
  const std::string file = testing::TempDir() + "moire_sourced_steps.yaml";
  std::ofstream(file) << "sources: {fit: Benchmarks}\nvalue: [1 us, 2 us]\nsource: fit\n";
  const std::string own = "sources: {ds: Datasheet}\nhbm:\n  bandwidth: {value: 4 TB/s, source: ds}\n  steps: ";
  for (const auto& [errors, lines] :
       {read(own + file + "\n"), read(own + "{value: [3 us], source: ds}\n", {"hbm.steps=" + file})}) {
    EXPECT_EQ(errors, "");
    EXPECT_EQ(std::count(lines.begin(), lines.end(), "hbm.steps.1 = 2 us <- Benchmarks"), 1);
  }
  std::ofstream(file) << "sources: {fit: [1]}\nvalue: [1 us]\nsource: fit\n";
  EXPECT_NE(read(own + file + "\n").errors, "") << "a source that is no text";
  std::filesystem::remove(file);
}

TEST(Sourced, ProvenanceListsEveryValue) {
  const auto [errors, lines] = read(
      "sources: {ds: \"Datasheet, 2024\", fit: Benchmarks}\n"
      "hbm:\n"
      "  bandwidth: {value: 4.8 TB/s, source: ds}\n"
      "  steps: {value: [1 ns, 2 ns], source: fit, residual: 3 %}\n"
      "  vendor: acme\n");
  EXPECT_EQ(errors, "");
  EXPECT_EQ(lines, (Lines{"hbm.bandwidth = 4.8 TB/s <- Datasheet, 2024", "hbm.steps.0 = 1 ns <- Benchmarks +- 0.03",
                          "hbm.steps.1 = 2 ns <- Benchmarks +- 0.03", "hbm.vendor = acme <- ",
                          "hbm.growth = 0.25 <- default"}));
}

TEST(Sourced, ANumberWithoutSourceIsAnError) {
  EXPECT_EQ(read("sources: {ds: x}\nhbm: {bandwidth: 4.8 TB/s, growth: {value: 1}}\n").errors,
            "g.yaml:2:18: 'hbm.bandwidth' states no source; write {value: 4.8 TB/s, source: ds}\n"
            "g.yaml:2:44: 'hbm.growth' states no source; write {value: 1, source: ds}\n");
  EXPECT_EQ(read("hbm: {bandwidth: 4.8 TB/s}\n").errors,
            "g.yaml:1:18: 'hbm.bandwidth' states no source; write {value: 4.8 TB/s, source: datasheet} and, at the top "
            "of the file, sources: {datasheet: \"title, year\"}\n");
  EXPECT_EQ(read("hbm: {}\n").errors,
            "g.yaml:1:6: missing key 'bandwidth' in hbm; add 'bandwidth: {value: 4.8 TB/s, source: datasheet}'\n");
}

TEST(Sourced, SourcesMustBeKnown) {
  EXPECT_EQ(read("sources: {datasheet: x}\nhbm: {bandwidth: {value: 1 GB/s, source: datashet}}\n").errors,
            "g.yaml:2:42: 'hbm.bandwidth' has the unknown source 'datashet'; did you mean 'datasheet'?\n");
  EXPECT_EQ(
      read("hbm: {bandwidth: {value: 1 GB/s, source: ds}}\n").errors,
      "g.yaml:1:42: 'hbm.bandwidth' has the unknown source 'ds'; add sources: {ds: \"title, year\"} at the top of "
      "the file\n");
}

TEST(Sourced, BadForms) {
  EXPECT_EQ(read("sources: {ds: x}\nhbm:\n"
                 "  bandwidth: {source: ds}\n"
                 "  growth: {value: 1, source: ds, residul: 1, residual: 5 ns}\n")
                .errors,
            "g.yaml:3:14: 'hbm.bandwidth' states a source but no value; write {value: ..., source: ...}\n"
            "g.yaml:4:34: 'hbm.growth' has the unknown key 'residul'; did you mean 'residual'?\n"
            "g.yaml:4:56: 'hbm.growth' has a bad residual: '5 ns' is a time, not a ratio; write a ratio like 0.03 or 3 "
            "%\n");
  EXPECT_EQ(read("sources: [a]\nhbm: {bandwidth: {value: 1 GB/s, source: a}}\n").errors,
            "g.yaml:1:10: 'sources' names each source by a text, not by a list; write sources: {datasheet: \"title, "
            "year\"}\n"
            "g.yaml:2:42: 'hbm.bandwidth' has the unknown source 'a'; add sources: {a: \"title, year\"} at the top of "
            "the file\n");
}

TEST(Sourced, AnOverrideIsItsOwnSource) {
  const auto [errors, lines] =
      read("sources: {ds: x}\nhbm: {bandwidth: {value: 1 GB/s, source: ds}}\n", {"hbm.bandwidth=2 GB/s"});
  EXPECT_EQ(errors, "");
  EXPECT_EQ(lines[0], "hbm.bandwidth = 2 GB/s <- --set hbm.bandwidth=2 GB/s");
}

TEST(Sourced, OverridingTheValueKeepsTheForm) {
  const auto [errors, lines] =
      read("sources: {ds: x}\nhbm: {bandwidth: {value: 1 GB/s, source: ds}}\n", {"hbm.bandwidth.value=2 GB/s"});
  EXPECT_EQ(errors, "");
  EXPECT_EQ(lines[0], "hbm.bandwidth = 2 GB/s <- --set hbm.bandwidth.value=2 GB/s");
}

TEST(Sourced, SourcesStandOnlyAtTheTop) {
  EXPECT_EQ(read("sources: {ds: x}\nhbm: {bandwidth: {value: 1 GB/s, source: ds}, sources: {}}\n").errors,
            "g.yaml:2:47: unknown key 'sources' in hbm; known keys: bandwidth, growth, steps, vendor\n");
}

}  // namespace
}  // namespace moire::config
