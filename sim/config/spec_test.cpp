#include "sim/config/spec.hpp"

#include <gtest/gtest.h>

#include "sim/config/catalogue.hpp"
#include "sim/config/load.hpp"

namespace moire::config {
namespace {

enum class Routing { fixed, adaptive };

struct LinkSpec {
  BytesPerSecond bandwidth;
  Time latency{500'000};

  static void describe(Describer<LinkSpec>& d) {
    d.component("link", "A link.");
    d.field("bandwidth", &LinkSpec::bandwidth, "Peak").positive();
    d.field("latency", &LinkSpec::latency, "One way").range("1 ns", "1 ms").or_default();
  }
};

struct NodeSpec {
  std::vector<LinkSpec> links;
  Routing routing = Routing::fixed;
  std::optional<int> gpus;
  double efficiency = 1;
  bool shared = false;
  std::string kind = "mesh";
  std::filesystem::path table;
  std::vector<std::pair<std::string, Bytes>> buffers;
  std::map<std::string, int> counts;
  std::vector<std::pair<std::string, std::vector<std::pair<std::string, Node>>>> variants;
  int priority = 0;

  static void describe(Describer<NodeSpec>& d) {
    d.component("node", "A node.");
    d.field("links", &NodeSpec::links, "Links");
    d.field("routing", &NodeSpec::routing, "Routes")
        .choices({{"fixed", Routing::fixed}, {"adaptive", Routing::adaptive}})
        .or_default();
    d.field("gpus", &NodeSpec::gpus, "GPUs").range(1, 16);
    d.field("efficiency", &NodeSpec::efficiency, "Payload share").range(0, 1).or_default();
    d.field("shared", &NodeSpec::shared, "Shared").or_default();
    d.field("kind", &NodeSpec::kind, "Kind").choices({"mesh", "ring"}).or_default();
    d.field("table", &NodeSpec::table, "Table").exists().optional();
    d.field("buffers", &NodeSpec::buffers, "Buffers").optional();
    d.field("counts", &NodeSpec::counts, "Counts").optional();
    d.field("variants", &NodeSpec::variants, "Variants").optional();
    d.field("priority", &NodeSpec::priority, "Priority").range(-4, 4).or_default();
    d.check([](const NodeSpec& s) -> std::optional<Problem> {
      if (s.routing == Routing::adaptive && s.links.size() < 2)
        return Problem{"adaptive routing needs 2 links", "add one"};
      return std::nullopt;
    });
    d.check("gpus", [](const NodeSpec& s) -> std::optional<Problem> {
      if (s.gpus && *s.gpus % 2 == 1) return Problem{"odd counts cannot be paired", "make it even"};
      return std::nullopt;
    });
  }
};

struct Parsed {
  std::optional<NodeSpec> spec;
  std::string errors;
};

Parsed read(const std::string& text, const std::vector<std::string>& sets = {}) {
  Diagnostics diagnostics;
  const auto overrides = parse_sets(sets, diagnostics);
  const auto root = load_text("n.yaml", text, overrides, diagnostics);
  Parsed out;
  if (root) out.spec = parse<NodeSpec>(*root, diagnostics);
  out.errors = diagnostics.str();
  EXPECT_EQ(out.spec.has_value(), out.errors.empty()) << out.errors;
  return out;
}

TEST(Spec, ReadsEveryType) {
  const auto [spec, errors] = read(
      "links: [{bandwidth: 400 Gb/s}, {bandwidth: 50 GB/s, latency: 2 us}]\n"
      "routing: adaptive\ngpus: 8\nefficiency: 92 %\nshared: true\nkind: ring\npriority: -1\n"
      "buffers: {z: 1 MiB, a: 2 KiB}\ncounts: {b: 2, a: 1}\n"
      "variants: {plain: {}, fast: {links.0.bandwidth: 1 TB/s}}\n");
  ASSERT_EQ(errors, "");
  EXPECT_EQ(spec->links[0].bandwidth, BytesPerSecond{50e9});
  EXPECT_EQ(spec->links[0].latency, Time{500'000});
  EXPECT_EQ(spec->links[1].latency, Time{2'000'000});
  EXPECT_EQ(spec->routing, Routing::adaptive);
  EXPECT_EQ(spec->gpus, 8);
  EXPECT_EQ(spec->efficiency, 0.92);
  EXPECT_TRUE(spec->shared);
  EXPECT_EQ(spec->kind, "ring");
  EXPECT_EQ(spec->priority, -1);
  EXPECT_EQ(spec->buffers[0], (std::pair<std::string, Bytes>("z", Bytes{1 << 20})));
  EXPECT_EQ(spec->counts.begin()->first, "a");
  EXPECT_EQ(spec->variants[1].second[0].second.text, "1 TB/s");
}

TEST(Spec, AllErrorsAtOnceInFileOrder) {
  EXPECT_EQ(
      read("rooting: fixed\n"
           "links:\n"
           "  - {latency: 5 ms}\n"
           "  - {bandwidth: 900}\n"
           "routing: adaptve\n"
           "gpus: 8k\n"
           "shared: yes\n"
           "kind: torus\n"
           "table: gone.csv\n"
           "gpus: 4\n"
           "priority: -9\n"
           "buffers: [1]\n"
           "counts: {a: -1}\n")
          .errors,
      "n.yaml:1:1: unknown key 'rooting' in node; did you mean 'routing'?\n"
      "n.yaml:3:5: missing key 'bandwidth' in link; add 'bandwidth: 200 GB/s'\n"
      "n.yaml:3:15: 'links.0.latency' is '5 ms'; must be 1 ns to 1 ms\n"
      "n.yaml:4:17: 'links.1.bandwidth': '900' has no unit; a bandwidth takes one of B/s, MB/s, GB/s, TB/s, MiB/s, "
      "GiB/s, TiB/s, Mb/s, Gb/s\n"
      "n.yaml:5:10: 'routing' is 'adaptve'; did you mean 'adaptive'?\n"
      "n.yaml:6:7: 'gpus' is '8k', not an integer; write digits only, like 8\n"
      "n.yaml:7:9: 'shared' is 'yes'; write true or false\n"
      "n.yaml:8:7: 'kind' is 'torus'; it is one of: mesh, ring\n"
      "n.yaml:9:8: 'table' names 'gone.csv', which does not exist; a path is relative to the file it is written "
      "in\n"
      "n.yaml:10:1: duplicate key 'gpus'; first set at n.yaml:6:1, keep one\n"
      "n.yaml:11:11: 'priority' is '-9'; must be -4 to 4\n"
      "n.yaml:12:10: 'buffers' is a list, not a map; write it like {name: 64 MiB}\n"
      "n.yaml:13:13: 'counts.a' is '-1'; must be 0 or more\n");
}

TEST(Spec, FormsThatDoNotFit) {
  EXPECT_EQ(
      read("[1]\n").errors,
      "n.yaml:1:1: the top level is a list, not a map; it takes the keys links, routing, gpus, efficiency, shared, "
      "kind, table, buffers, counts, variants, priority\n");
  EXPECT_EQ(read("links: {bandwidth: 1 GB/s}\nrouting: []\nefficiency:\n").errors,
            "n.yaml:1:8: 'links' is a map, not a list; write it like [{...}]\n"
            "n.yaml:2:10: 'routing' is a list, not one of fixed, adaptive; write it like fixed\n"
            "n.yaml:3:1: 'efficiency' has no value; write it like 0.92\n");
  EXPECT_EQ(read("links: [5]\ngpus: 99999999999999999999\n").errors,
            "n.yaml:1:9: 'links.0' is '5', not a map; it takes the keys bandwidth, latency\n"
            "n.yaml:2:7: 'gpus' is '99999999999999999999'; must be -2147483648 to 2147483647\n");
}

TEST(Spec, NullLeavesAnOptionalOut) {
  const auto [spec, errors] = read("links: []\ngpus: null\n");
  ASSERT_EQ(errors, "");
  EXPECT_FALSE(spec->gpus);
}

TEST(Spec, OverridesAreBlamedByTheirText) {
  EXPECT_EQ(read("links: []\n", {"gpus=0", "lnks=3"}).errors,
            "--set gpus=0: 'gpus' is '0'; must be 1 to 16\n"
            "--set lnks=3: unknown key 'lnks' in node; did you mean 'links'?\n");
}

TEST(Spec, ChecksRunOnceTheFieldsAreGood) {
  EXPECT_EQ(read("links: []\nrouting: adaptive\ngpus: 3\n").errors,
            "n.yaml:1:1: 'node': adaptive routing needs 2 links; add one\n"
            "n.yaml:3:7: 'gpus': odd counts cannot be paired; make it even\n");
  EXPECT_EQ(read("links: []\nrouting: adaptive\ngpus: 30\n").errors, "n.yaml:3:7: 'gpus' is '30'; must be 1 to 16\n");
}

TEST(Spec, AMissingIncludeIsToldOnce) {
  EXPECT_EQ(read("links: missing_links_file.yaml\n").errors.find("'links'"), std::string::npos);
}

// A file with a key that another reader parses (Describer::field_elsewhere).
struct ShelfSpec {
  std::int64_t height = 0;
  static void describe(Describer<ShelfSpec>& d) {
    d.component("shelf", "A shelf.");
    d.field("height", &ShelfSpec::height, "Height");
    d.field_elsewhere("book", "book", "What stands on it").or_default();
  }
};

struct BookSpec {
  std::int64_t pages = 10;
  static void describe(Describer<BookSpec>& d) {
    d.component("book", "A book.");
    d.field("pages", &BookSpec::pages, "Pages").range(1, 99).or_default();
  }
};

TEST(Spec, AKeyOfAnotherReaderIsReadFromTheSameTree) {
  Diagnostics diagnostics;
  const auto root = load_text("s.yaml", "height: 2\nbook: {pages: 7}\n", {}, diagnostics);
  ASSERT_TRUE(parse<ShelfSpec>(*root, diagnostics)) << diagnostics.str();
  BookSpec book;
  std::vector<Provenance> provenance;
  EXPECT_TRUE(read_at(*root, {"book"}, book, diagnostics, &provenance, "shelf"));
  EXPECT_EQ(book.pages, 7);
  ASSERT_EQ(provenance.size(), 1u);
  EXPECT_EQ(provenance[0].path, "shelf.book.pages");
  EXPECT_TRUE(read_at(*root, {"shelf", "book"}, book, diagnostics)) << "absent: stays as it is";
  EXPECT_EQ(book.pages, 7);
  const auto wrong = load_text("s.yaml", "height: 2\nbook: {pages: 700, x: 1}\n", {}, diagnostics);
  EXPECT_FALSE(read_at(*wrong, {"book"}, book, diagnostics));
  EXPECT_EQ(diagnostics.str(),
            "s.yaml:2:15: 'book.pages' is '700'; must be 1 to 99\n"
            "s.yaml:2:20: unknown key 'x' in book; known keys: pages\n");
}

TEST(Catalogue, ExplainsAKeyOfAnotherReaderOnceItsSpecIsAdded) {
  Catalogue catalogue;
  catalogue.add<ShelfSpec>();
  Diagnostics diagnostics;
  EXPECT_FALSE(catalogue.explain("shelf.book.pages", diagnostics));
  catalogue.add<BookSpec>();
  EXPECT_TRUE(catalogue.explain("shelf.book.pages", diagnostics));
  EXPECT_NE(catalogue.explain("shelf", diagnostics)->find("book, default its own defaults"), std::string::npos);
}

TEST(Spec, PathsStartFromTheirFile) {
  Diagnostics diagnostics;
  const auto root = load_text("a/b/n.yaml", "links: []\ntable: ../t.csv\n", {}, diagnostics);
  EXPECT_FALSE(parse<NodeSpec>(*root, diagnostics));
  EXPECT_NE(diagnostics.str().find("'table' names 'a/t.csv', which does not exist"), std::string::npos);
}

struct Buffers {
  Bytes chunk;
  Bytes window;
  static void describe(Describer<Buffers>& d) {
    d.component("buffers", "Two sizes.");
    d.field("chunk", &Buffers::chunk, "A buffer").positive();
    d.field("window", &Buffers::window, "A mean").positive().fractional();
  }
};

TEST(Sizes, AreWholeBytesWhereTheyAreBuffers) {
  const auto told = [](const std::string& text, Buffers& out) {
    Diagnostics diagnostics;
    const auto tree = load_text("f.yaml", text, {}, diagnostics);
    if (const auto read = parse<Buffers>(*tree, diagnostics)) out = *read;
    return diagnostics.str();
  };
  Buffers read;
  EXPECT_EQ(told("chunk: 23.77 kB\nwindow: 16.25 B\n", read), "");
  EXPECT_EQ(read.chunk.value, 23770);
  EXPECT_EQ(read.window.value, 16.25);
  EXPECT_EQ(told("chunk: 0.5 B\nwindow: 1 B\n", read),
            "f.yaml:1:8: 'chunk' is '0.5 B', not a whole number of bytes; the nearest is 1 B\n");
  EXPECT_EQ(told("chunk: 0 B\nwindow: 1 B\n", read), "f.yaml:1:8: 'chunk' is '0 B'; must be 1 B to 8 PiB\n");
  EXPECT_EQ(told("chunk: 2e19 B\nwindow: 1 B\n", read),
            "f.yaml:1:8: 'chunk': '2e19 B' is above what a size can be; it is at most 8 PiB\n");
}

}  // namespace
}  // namespace moire::config
