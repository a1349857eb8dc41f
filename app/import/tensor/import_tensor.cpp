// The importer `tensor`: reads its options, applies codecs to chunks, and makes the results.
#include "app/import/tensor/import_tensor.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "app/import/tensor/coders.hpp"
#include "app/import/tensor/ratio_report.hpp"
#include "sim/config/file.hpp"
#include "sim/config/suggest.hpp"
#include "sim/config/units.hpp"
#include "sim/formats/number.hpp"

namespace moire::importing {

namespace {

struct Options {
  std::optional<std::string> codec, tensor;
  std::optional<Float> words_of_two;
  std::uint64_t chunk =
      2 << 20;  // bytes; configs/scenarios/compressed_broadcast.yaml has such chunks (variant `once`, 64 MiB)
  double rate = 8;
};

std::optional<Options> read_options(const std::string& name, const Given& given, config::Diagnostics& diagnostics) {
  Options options;
  const auto text = [&given](const char* option) -> std::optional<std::string> {
    const auto found = given.find(option);
    return found == given.end() ? std::nullopt : std::optional(found->second);
  };
  options.codec = text("--codec");
  options.tensor = text("--tensor");
  if (text("--dtype")) options.words_of_two = *text("--dtype") == "bf16" ? Float::bf16 : Float::fp16;
  if (const auto size = text("--chunk")) {
    Bytes bytes;
    if (const auto problem = config::parse_quantity(*size, bytes)) {
      diagnostics.error({}, "--chunk: " + problem->what, problem->remedy);
    } else if (bytes.value < 4096 || bytes.value > (1 << 30) || std::fmod(bytes.value, 8) != 0) {
      diagnostics.error({}, fmt::format("--chunk is {}", config::in_quotes(*size)),
                        "write a multiple of 8 B from 4 KiB to 1 GiB");
    }
    options.chunk = static_cast<std::uint64_t>(std::clamp(bytes.value, 8.0, 0x1p30));
  }
  if (const auto rate = text("--rate")) {
    const bool read = formats::parse_number(*rate, options.rate, 1, 64) == formats::Digits::good;
    if (!read || std::fmod(options.rate * 4, 1) != 0)
      diagnostics.error({}, fmt::format("--rate is {}", config::in_quotes(*rate)),
                        "write the bits per value, from 1 to 64 in steps of 0.25");
  }
  if (!options.codec && given.contains("--out"))
    diagnostics.error({}, "--out needs the ratios of one codec, but --codec is missing",
                      "add --codec ans, zfp, zstd or lz4");
  const bool npy = name.ends_with(".npy");
  if (!npy && options.words_of_two)
    diagnostics.error({}, "--dtype is for .npy files; a .safetensors file states its types", "leave --dtype out");
  if (npy && options.tensor)
    diagnostics.error({}, "--tensor is for .safetensors files; a .npy file has only one array", "leave --tensor out");
  if (!diagnostics.ok()) return std::nullopt;
  return options;
}

std::optional<std::vector<Tensor>> tensors_of(const TensorFile& file, const Options& options,
                                              config::Diagnostics& diagnostics) {
  if (file.name.ends_with(".npy")) return read_npy(file, options.words_of_two, diagnostics);
  auto tensors = read_safetensors(file, diagnostics);
  if (!tensors || !options.tensor) return tensors;
  std::vector<std::string> names;
  for (const Tensor& tensor : *tensors) {
    if (tensor.name == *options.tensor) return std::vector<Tensor>{tensor};
    names.push_back(tensor.name);
  }
  file.refuse(0, "there is no tensor " + config::in_quotes(*options.tensor),
              config::suggestion(*options.tensor, names, "tensors"), diagnostics);
  return std::nullopt;
}

bool rate_fits(const std::vector<Tensor>& tensors, const Options& options, config::Diagnostics& diagnostics) {
  if (options.codec && *options.codec != "zfp") return true;
  std::set<Float> kinds;
  for (const Tensor& tensor : tensors)
    if (tensor.values == Float::fp32 || tensor.values == Float::fp64) kinds.insert(*tensor.values);
  for (const Float values : kinds)
    if (!is_zfp_rate(options.rate, values))
      diagnostics.error({}, fmt::format("--rate is {}, but zfp has no such rate for {}", options.rate, name_of(values)),
                        "write 2.25 or more for fp32, 3 or more for fp64");
  if (options.codec && kinds.size() > 1)
    diagnostics.error({}, "the file has tensors of fp32 and of fp64, for which one rate gives two ratios",
                      "choose one tensor with --tensor");
  return diagnostics.ok();
}

bool measure(const TensorFile& file, const Tensor& tensor, std::uint64_t chunk, std::vector<RatioRow>& rows,
             config::Diagnostics& diagnostics) {
  std::vector<char> plain(std::min(chunk, tensor.bytes));
  for (std::uint64_t at = 0; at < tensor.bytes; at += plain.size()) {
    plain.resize(std::min<std::uint64_t>(chunk, tensor.bytes - at));
    if (!file.read(tensor.begin + at, plain.data(), plain.size())) {
      file.refuse(tensor.begin + at, "the data cannot be read", "do not change the file while it is read", diagnostics);
      return false;
    }
    for (RatioRow& row : rows) {
      if (!row.coder->fits(*tensor.values)) continue;
      if (const auto coded = row.coder->code(*tensor.values, plain)) {
        row.add(static_cast<double>(plain.size()), *coded);
      } else if (row.without_code++ == 0) {
        row.first_without_code = tensor.begin + at;
      }
    }
  }
  return true;
}

}  // namespace

std::optional<Imported> import_tensor(const std::string& name, std::istream& in, const Given& given,
                                      config::Diagnostics& diagnostics) {
  if (!name.ends_with(".npy") && !name.ends_with(".safetensors")) {
    config::refuse({.file = name}, "is neither a .npy nor a .safetensors file by its name",
                   "rename it if it is one of them", diagnostics);
    return std::nullopt;
  }
  const auto options = read_options(name, given, diagnostics);
  if (!options) return std::nullopt;
  const TensorFile file(name, in);
  const auto tensors = tensors_of(file, *options, diagnostics);
  if (!tensors) return std::nullopt;

  RatioReport report{.file = name, .chunk = options->chunk, .tensors = *tensors};
  for (auto& coder : make_coders(options->rate))
    if (!options->codec || *options->codec == coder->name()) report.rows.push_back({.coder = std::move(coder)});
  std::uint64_t chunks = 0;
  for (const Tensor& tensor : *tensors)
    if (tensor.values) chunks += (tensor.bytes + options->chunk - 1) / options->chunk;
  constexpr std::uint64_t most_chunks = 500'000;
  if (chunks > most_chunks) {
    file.refuse(0, fmt::format("there are {} chunks of {} B", chunks, options->chunk),
                fmt::format("choose larger chunks with --chunk; at most {} are possible", most_chunks), diagnostics);
    return std::nullopt;
  }
  if (!rate_fits(*tensors, *options, diagnostics)) return std::nullopt;
  for (const Tensor& tensor : *tensors) {
    if (!tensor.values || tensor.bytes == 0) continue;
    if (!measure(file, tensor, options->chunk, report.rows, diagnostics)) return std::nullopt;
  }
  const bool nothing =
      std::all_of(report.rows.begin(), report.rows.end(), [](const RatioRow& row) { return row.ratios.empty(); });
  if (nothing) {
    const RatioRow& row = report.rows[0];
    if (row.without_code > 0) {
      file.refuse(row.first_without_code, "the values are not finite, and zfp cannot compress such values",
                  "choose another codec", diagnostics);
    } else {
      file.refuse(0,
                  "there are no values " +
                      (options->codec ? "that " + *options->codec + " compresses" : std::string("to compress")),
                  "give a tensor of " + (options->codec && *options->codec != "zstd" && *options->codec != "lz4"
                                             ? row.coder->takes()
                                             : "fp16, bf16, fp32 or fp64"),
                  diagnostics);
    }
    return std::nullopt;
  }
  return report.made(options->codec.has_value());
}

Importer tensor_importer() {
  return {
      .name = "tensor",
      .meaning = "Measure how far codecs compress the chunks of a tensor, and list the ratios for the file of a codec",
      .file = "A .npy file, or a .safetensors file, of which all tensors are read",
      .options =
          {{"--codec", "CODEC",
            "The codec whose ratios are written: zfp, ans, zstd or lz4. Without this option the table has every codec "
            "that accepts the values",
            coder_names},
           {"--chunk", "SIZE",
            "Uncompressed size of a chunk, like '1 MiB'; default: 2 MiB. The last chunk of a tensor may be shorter"},
           {"--tensor", "NAME", "Read only the tensor NAME of a .safetensors file"},
           {"--rate", "BITS", "Bits per value of zfp; default: 8"},
           {"--dtype",
            "TYPE",
            "The type of two-byte values in a .npy file whose header does not state it (V2, u2): bf16 or fp16",
            {"bf16", "fp16"}}},
      .out =
          "Write the list of ratios to FILE, replacing an old one, for the key ratios of a codec; with zfp, the single "
          "ratio for the key ratio. The table goes to stdout",
      .run = [](const std::string& file, const Given& given, const std::filesystem::path&,
                config::Diagnostics& diagnostics) -> std::optional<Imported> {
        const auto in = config::open_file({.file = file}, diagnostics);
        if (!in) return std::nullopt;
        return import_tensor(file, *in, given, diagnostics);
      }};
}

}  // namespace moire::importing
