// Feeds a fuzz target without libFuzzer: every file of the corpus, and mutations of it from a fixed seed, so that every
// build exercises the parsers. `replay_corpus MUTATIONS FILE...`
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <random>
#include <string>
#include <vector>

extern "C" int LLVMFuzzerTestOneInput(const unsigned char* data, std::size_t size);

namespace {

constexpr std::size_t longest = 20'000;  // larger files are mutated in their first bytes only

void feed(const std::string& input) {
  LLVMFuzzerTestOneInput(reinterpret_cast<const unsigned char*>(input.data()), input.size());
}

std::string mutated(std::string text, const std::vector<std::string>& corpus, std::mt19937_64& random) {
  const auto below = [&random](std::size_t n) { return n == 0 ? 0 : static_cast<std::size_t>(random() % n); };
  for (std::size_t changes = 1 + below(4); changes > 0; --changes) {
    const std::size_t at = below(text.size() + 1);
    switch (below(5)) {
      case 0:
        if (at < text.size()) text[at] = static_cast<char>(random());
        break;
      case 1:
        text.insert(at, 1, static_cast<char>(random()));
        break;
      case 2:
        text.erase(at, below(20));
        break;
      case 3:
        text.insert(at, text.substr(below(text.size()), below(40)));
        break;
      default: {
        const std::string& other = corpus[below(corpus.size())];
        text.insert(at, other.substr(below(other.size()), below(40)));
      }
    }
  }
  return text;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 3) return 2;
  std::vector<std::string> corpus;
  for (int i = 2; i < argc; ++i) {
    std::ifstream in(argv[i], std::ios::binary);
    if (!in) {
      std::fprintf(stderr, "cannot read %s\n", argv[i]);
      return 2;
    }
    corpus.emplace_back(std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>());
    feed(corpus.back());
  }
  std::mt19937_64 random(20240229);
  const long mutations = std::strtol(argv[1], nullptr, 10);
  for (long i = 0; i < mutations; ++i) {
    const std::string& seed = corpus[static_cast<std::size_t>(random()) % corpus.size()];
    feed(mutated(seed.substr(0, longest), corpus, random));
  }
  std::printf("%zu files, %ld mutations\n", corpus.size(), mutations);
}
