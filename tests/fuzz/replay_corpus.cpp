// Runs a harness without libFuzzer on every file of the seed corpus, and on random mutations of these files, so that
// every build tests the readers. The mutations are the same each time. Usage: `replay HARNESS MUTATIONS FILE`, where
// FILE lists the seed corpus.
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iterator>
#include <random>
#include <string>
#include <vector>

// CMakeLists.txt defines HARNESSES as the text HARNESS(name) for each harness, one after the other.
#define HARNESS(name) extern "C" int fuzz_##name(const unsigned char* data, std::size_t size);
HARNESSES
#undef HARNESS

namespace {

using Harness = int (*)(const unsigned char*, std::size_t);

Harness harness_of(const char* name) {
#define HARNESS(each) \
  if (std::strcmp(name, #each) == 0) return fuzz_##each;
  HARNESSES
#undef HARNESS
  return nullptr;
}

constexpr std::size_t longest = 20'000;  // larger files are cut to this many bytes before mutation

// Copies the input to memory of exactly its size, so that sanitizers find reads beyond it.
void feed(Harness harness, const std::string& input) {
  const std::vector<unsigned char> bytes(input.begin(), input.end());
  harness(bytes.data(), bytes.size());
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
  if (argc != 4) return 2;
  const Harness harness = harness_of(argv[1]);
  std::ifstream list(argv[3]);
  if (harness == nullptr || !list) {
    std::fprintf(stderr, "no harness '%s', or cannot read %s\n", argv[1], argv[3]);
    return 2;
  }
  std::vector<std::string> corpus;
  for (std::string file; std::getline(list, file) && !file.empty();) {
    std::ifstream in(file, std::ios::binary);
    if (!in) {
      std::fprintf(stderr, "cannot read %s\n", file.c_str());
      return 2;
    }
    corpus.emplace_back(std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>());
    feed(harness, corpus.back());
  }
  if (corpus.empty()) corpus.emplace_back();
  std::mt19937_64 random(20240229);
  const long mutations = std::strtol(argv[2], nullptr, 10);
  for (long i = 0; i < mutations; ++i) {
    const std::string& seed = corpus[static_cast<std::size_t>(random()) % corpus.size()];
    feed(harness, mutated(seed.substr(0, longest), corpus, random));
  }
  std::printf("%zu files, %ld mutations\n", corpus.size(), mutations);
}
