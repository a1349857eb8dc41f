#include "models/algorithms/msccl/xml_writer.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <ostream>
#include <sstream>

#include "sim/formats/markup.hpp"

namespace moire::msccl {

namespace {

// Returns a text as it may stand in an attribute. XML cannot hold most control characters, not even escaped, so a space
// replaces each of them.
std::string in_attribute(std::string text) {
  std::replace_if(
      text.begin(), text.end(), [](unsigned char c) { return c < 0x20; }, ' ');
  return formats::escaped(text);
}

using Out = std::back_insert_iterator<fmt::memory_buffer>;

void write_step(Out out, std::size_t s, const Step& step) {
  fmt::format_to(out,
                 "      <step s=\"{}\" type=\"{}\" srcbuf=\"{}\" srcoff=\"{}\" dstbuf=\"{}\" dstoff=\"{}\" cnt=\"{}\" "
                 "depid=\"{}\" deps=\"{}\" hasdep=\"{}\"",
                 s, to_string(step.type), to_string(step.src_buffer), step.src_offset, to_string(step.dst_buffer),
                 step.dst_offset, step.count, step.depends_block, step.depends_step, step.has_dependents ? 1 : 0);
  if (ir::is_coding(step.type)) fmt::format_to(out, " coding=\"{}\"", coding_to_string(step.type));
  fmt::format_to(out, "/>\n");
}

void write_block(Out out, std::size_t id, const ThreadBlock& block) {
  fmt::format_to(out, "    <tb id=\"{}\" send=\"{}\" recv=\"{}\" chan=\"{}\">\n", id, block.send, block.recv,
                 block.channel);
  for (std::size_t s = 0; s < block.steps.size(); ++s) write_step(out, s, block.steps[s]);
  fmt::format_to(out, "    </tb>\n");
}

}  // namespace

// Writes text without a tree of elements, which pugixml would need: a large all-to-all has half a million elements.
void write_xml(const Algorithm& algorithm, std::ostream& stream) {
  fmt::memory_buffer buffer;
  const Out out(buffer);
  fmt::format_to(out,
                 "<algo name=\"{}\" proto=\"{}\" nchannels=\"{}\" nchunksperloop=\"{}\" ngpus=\"{}\" coll=\"{}\" "
                 "inplace=\"{}\" outofplace=\"{}\" minBytes=\"{}\" maxBytes=\"{}\">\n",
                 in_attribute(algorithm.name), to_string(algorithm.protocol), algorithm.channels, algorithm.chunks,
                 algorithm.ranks(), to_string(algorithm.collective), algorithm.in_place ? 1 : 0,
                 algorithm.out_of_place ? 1 : 0, algorithm.min_bytes, algorithm.max_bytes);
  for (std::size_t g = 0; g < algorithm.gpus.size(); ++g) {
    const Gpu& gpu = algorithm.gpus[g];
    fmt::format_to(out, "  <gpu id=\"{}\" i_chunks=\"{}\" o_chunks=\"{}\" s_chunks=\"{}\">\n", g, gpu.input_chunks,
                   gpu.output_chunks, gpu.scratch_chunks);
    for (std::size_t b = 0; b < gpu.blocks.size(); ++b) write_block(out, b, gpu.blocks[b]);
    fmt::format_to(out, "  </gpu>\n");
  }
  fmt::format_to(out, "</algo>\n");
  stream.write(buffer.data(), static_cast<std::streamsize>(buffer.size()));
}

std::string to_xml(const Algorithm& algorithm) {
  std::ostringstream out;
  write_xml(algorithm, out);
  return out.str();
}

}  // namespace moire::msccl
