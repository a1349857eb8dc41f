#include "sim/config/catalogue.hpp"

#include <gtest/gtest.h>

namespace moire::config {
namespace {

struct HbmSpec {
  BytesPerSecond bandwidth;
  double growth = 0.3;

  static void describe(Describer<HbmSpec>& d) {
    d.component("hbm", "High-bandwidth memory.");
    d.sourced();
    d.field("bandwidth", &HbmSpec::bandwidth, "Peak read | write").positive().example("4.8 TB/s");
    d.field("growth", &HbmSpec::growth, "Latency growth").range(0, 10).or_default();
  }
};

struct GpuSpec {
  HbmSpec hbm;
  std::vector<GpuSpec> parts;  // a spec may contain itself
  std::string kind = "chip";

  static void describe(Describer<GpuSpec>& d) {
    d.component("gpu", "One GPU.");
    d.field("hbm", &GpuSpec::hbm, "Its memory");
    d.field("parts", &GpuSpec::parts, "Its parts").optional();
    d.field("kind", &GpuSpec::kind, "What it is").choices({"chip", "module"}).or_default();
  }
};

struct ImpostorSpec {
  static void describe(Describer<ImpostorSpec>& d) { d.component("hbm", "Another."); }
};

class CatalogueTest : public testing::Test {
 protected:
  CatalogueTest() { catalogue_.add<GpuSpec>(); }

  std::string explain(std::string_view topic) {
    Diagnostics diagnostics;
    const auto text = catalogue_.explain(topic, diagnostics);
    EXPECT_EQ(text.has_value(), diagnostics.ok());
    return text.value_or(diagnostics.str());
  }

  Catalogue catalogue_;
};

TEST_F(CatalogueTest, ListsComponentsAndWhatTheyNest) {
  EXPECT_EQ(catalogue_.list(), "gpu  One GPU.\nhbm  High-bandwidth memory.\n");
  EXPECT_EQ(catalogue_.names(), (std::vector<std::string>{"gpu", "hbm"}));
}

TEST_F(CatalogueTest, AddingTwiceIsFineAnImpostorIsNot) {
  catalogue_.add<HbmSpec>();
  EXPECT_EQ(catalogue_.names().size(), 2u);
  EXPECT_THROW(catalogue_.add<ImpostorSpec>(), std::logic_error);
}

TEST_F(CatalogueTest, ExplainsAComponent) {
  EXPECT_EQ(explain("hbm"),
            "hbm: High-bandwidth memory.\n"
            "Every number states its source: {value: ..., source: key}, with the key under the file's sources:.\n"
            "\n"
            "  bandwidth  Peak read | write\n"
            "             bandwidth, required, 1 MB/s to 1 ZB/s\n"
            "  growth     Latency growth\n"
            "             ratio, default 0.3, 0 to 10\n");
}

TEST_F(CatalogueTest, ExplainsAKey) {
  EXPECT_EQ(explain("gpu.hbm.bandwidth"),
            "gpu.hbm.bandwidth: Peak read | write\n"
            "\n"
            "  type      bandwidth\n"
            "  presence  required\n"
            "  range     1 MB/s to 1 ZB/s\n"
            "  units     B/s, MB/s, GB/s, TB/s, MiB/s, GiB/s, TiB/s, Mb/s, Gb/s\n"
            "  example   bandwidth: 4.8 TB/s\n");
  EXPECT_EQ(explain("gpu.kind"),
            "gpu.kind: What it is\n"
            "\n"
            "  type      one of chip, module\n"
            "  presence  default chip\n"
            "  example   kind: chip\n");
}

TEST_F(CatalogueTest, UnknownTopicsAreSuggested) {
  EXPECT_EQ(explain("hmb"), "no component 'hmb'; did you mean 'hbm'?\n");
  EXPECT_EQ(explain("cache"), "no component 'cache'; components: gpu, hbm\n");
  EXPECT_EQ(explain("hbm.bandwith"), "hbm has no key 'bandwith'; did you mean 'bandwidth'?\n");
  EXPECT_EQ(explain("gpu.kind.x"), "kind has no key 'x'\n");
}

TEST_F(CatalogueTest, WritesReferencePages) {
  EXPECT_EQ(catalogue_.markdown(),
            "# Components\n\n| component | meaning |\n|---|---|\n"
            "| [gpu](gpu.md) | One GPU. |\n| [hbm](hbm.md) | High-bandwidth memory. |\n");
  EXPECT_EQ(catalogue_.markdown(*catalogue_.find("hbm")),
            "# hbm\n\nHigh-bandwidth memory.\n\n"
            "Every number states its source: {value: ..., source: key}, with the key under the file's sources:.\n\n"
            "| key | meaning | type | presence | range | example |\n|---|---|---|---|---|---|\n"
            "| `bandwidth` | Peak read \\| write | bandwidth | required | 1 MB/s to 1 ZB/s | `4.8 TB/s` |\n"
            "| `growth` | Latency growth | ratio | default 0.3 | 0 to 10 | `0.92` |\n");
}

}  // namespace
}  // namespace moire::config
