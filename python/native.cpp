// Makes the C++ compiler of chunk programs (models/algorithms/mscclang) available as the Python module moire_native.
// Users import python/moire/language, which uses this module.
#include <pybind11/pybind11.h>
#include <pybind11/stl.h>

#include "models/algorithms/msccl/check.hpp"
#include "models/algorithms/msccl/rules.hpp"
#include "models/algorithms/msccl/xml_writer.hpp"
#include "models/algorithms/mscclang/compile.hpp"
#include "models/algorithms/mscclang/program.hpp"

namespace py = pybind11;
using namespace moire;  // NOLINT: this file is the binding
using mscclang::Buffer;
using mscclang::Chunk;
using mscclang::Place;
using mscclang::Placement;
using mscclang::Program;
using mscclang::ProgramError;
using mscclang::Where;

namespace {

using Line = std::pair<std::string, std::uint32_t>;
Where where(const Line& line) { return {line.first, line.second}; }

mscclang::Options options_of(const py::dict& given) {
  mscclang::Options options;
  const auto collective = msccl::collective_of(given["collective"].cast<std::string>());
  const auto protocol = msccl::protocol_of(given["protocol"].cast<std::string>());
  if (!collective) throw ProgramError({"unknown collective '" + given["collective"].cast<std::string>() + "'"});
  if (!protocol) {
    throw ProgramError(
        {"unknown protocol '" + given["protocol"].cast<std::string>() + "'", "Simple, LL and LL128 exist"});
  }
  options.name = given["name"].cast<std::string>();
  options.collective = *collective;
  options.protocol = *protocol;
  options.ranks = given["ranks"].cast<std::int32_t>();
  options.chunk_factor = given["chunk_factor"].cast<std::int32_t>();
  options.in_place = given["in_place"].cast<bool>();
  options.instances = given["instances"].cast<std::int32_t>();
  options.replication =
      given["interleaved"].cast<bool>() ? mscclang::Replication::interleaved : mscclang::Replication::blocked;
  options.blocks = given["manual"].cast<bool>() ? mscclang::Blocks::manual : mscclang::Blocks::automatic;
  options.root = given["root"].cast<std::int32_t>();
  options.fuse = given["fuse"].cast<bool>();
  options.gather_waits = given["gather_waits"].cast<bool>();
  options.min_bytes = given["min_bytes"].cast<std::uint64_t>();
  options.max_bytes = given["max_bytes"].cast<std::uint64_t>();
  return options;
}

// For each rank, a pair of flags for the chunks of the input and of the output of a user-defined collective. A flag is
// true if the chunk has data at the start.
using Initial = std::vector<std::pair<std::vector<bool>, std::vector<bool>>>;

std::unique_ptr<Program> make(const py::dict& given, const std::optional<Initial>& initial) {
  mscclang::Options options = options_of(given);
  if (!initial) return std::make_unique<Program>(std::move(options));
  std::vector<mscclang::InitialBuffers> buffers;
  for (const auto& [in, out] : *initial) buffers.push_back({in, out});
  return std::make_unique<Program>(std::move(options), std::move(buffers));
}

std::vector<std::pair<std::int32_t, std::int32_t>> contributions(const Program& program, mscclang::ValueId value) {
  std::vector<std::pair<std::int32_t, std::int32_t>> all;
  for (const mscclang::ValueId one : program.values().contributions(value)) {
    all.push_back(program.values().origin(one));
  }
  return all;
}

void bind_program(py::module_& m) {
  py::class_<Chunk>(m, "Chunk")
      .def_property_readonly("rank", &Chunk::rank)
      .def_property_readonly("buffer", [](const Chunk& c) { return c.buffer().id; })
      .def_property_readonly("index", &Chunk::index)
      .def_property_readonly("count", &Chunk::count)
      .def("split", [](const Chunk& c, std::int32_t parts) { return c.split(parts); })
      .def("group", [](const Chunk& a, const Chunk& b) { return a.group(b); });

  py::class_<Program>(m, "Program")
      .def(py::init(&make))
      .def("scratch", [](Program& p, const std::string& name) { return p.scratch(name).id; })
      .def("length", [](const Program& p, std::int32_t rank, std::int32_t buffer) { return p.length(rank, {buffer}); })
      .def("value",
           [](const Program& p, std::int32_t rank, std::int32_t buffer, std::int32_t index) {
             return p.value({rank, {buffer}, index});
           })
      .def("contributions", &contributions)
      .def(
          "take",
          [](Program& p, std::int32_t rank, std::int32_t buffer, std::int32_t index, std::int32_t count,
             const Line& line) {
            return p.take({rank, {buffer}, index}, count, where(line));
          },
          py::keep_alive<0, 1>())
      .def(
          "copy",
          [](Program& p, const Chunk& from, std::int32_t rank, std::int32_t buffer, std::int32_t index,
             std::int32_t send_block, std::int32_t recv_block, std::int32_t channel, const Line& line) {
            return p.copy(from, {rank, {buffer}, index}, {send_block, recv_block, channel}, where(line));
          },
          py::keep_alive<0, 1>())
      .def(
          "code",
          [](Program& p, const Chunk& from, bool encodes, std::int32_t buffer, std::int32_t index, std::int32_t block,
             std::int32_t channel, const Line& line) {
            using Kind = mscclang::Operation::Kind;
            return p.copy(from, {from.rank(), {buffer}, index}, {block, -1, channel}, where(line),
                          encodes ? Kind::encode : Kind::decode);
          },
          py::keep_alive<0, 1>())
      .def(
          "reduce",
          [](Program& p, const Chunk& into, const Chunk& from, std::int32_t send_block, std::int32_t recv_block,
             std::int32_t channel, const Line& line) {
            return p.reduce(into, from, {send_block, recv_block, channel}, where(line));
          },
          py::keep_alive<0, 1>())
      .def("parallel", [](Program& p, std::int32_t parts, const Line& line) { p.parallel(parts, where(line)); })
      .def("check", &Program::check)
      .def("compile", &mscclang::compile);
}

void bind_algorithm(py::module_& m) {
  py::class_<msccl::Step>(m, "Step")
      .def_property_readonly("type", [](const msccl::Step& s) { return std::string(msccl::to_string(s.type)); })
      .def_property_readonly(
          "src",
          [](const msccl::Step& s) { return std::pair(std::string(msccl::to_string(s.src_buffer)), s.src_offset); })
      .def_property_readonly(
          "dst",
          [](const msccl::Step& s) { return std::pair(std::string(msccl::to_string(s.dst_buffer)), s.dst_offset); })
      .def_readonly("count", &msccl::Step::count);
  py::class_<msccl::ThreadBlock>(m, "ThreadBlock")
      .def_readonly("send", &msccl::ThreadBlock::send)
      .def_readonly("recv", &msccl::ThreadBlock::recv)
      .def_readonly("channel", &msccl::ThreadBlock::channel)
      .def_readonly("steps", &msccl::ThreadBlock::steps);
  py::class_<msccl::Gpu>(m, "Gpu").def_readonly("blocks", &msccl::Gpu::blocks);
  py::class_<msccl::Algorithm>(m, "Algorithm")
      .def_readonly("gpus", &msccl::Algorithm::gpus)
      .def_readonly("channels", &msccl::Algorithm::channels)
      .def_readonly("chunks", &msccl::Algorithm::chunks)
      .def("xml", &msccl::to_xml);
}

// Returns the errors that `moire check` reports for an algorithm.
std::vector<std::string> wrong_with(const msccl::Algorithm& algorithm) {
  moire::config::Diagnostics diagnostics;
  if (msccl::check_rules(algorithm, diagnostics)) {
    const msccl::Verdict verdict = msccl::check(algorithm);
    if (!verdict.accepted(algorithm)) msccl::report(algorithm, verdict, diagnostics);
  }
  std::vector<std::string> all;
  for (const auto& diagnostic : diagnostics.sorted()) all.push_back(diagnostic.str());
  return all;
}

}  // namespace

PYBIND11_MODULE(moire_native, m) {
  m.doc() = "Moire's compiler of chunk programs; programs import moire.language";
  py::register_exception<ProgramError>(m, "ProgramError", PyExc_RuntimeError);
  bind_program(m);
  bind_algorithm(m);
  m.def("check", &wrong_with);
}
