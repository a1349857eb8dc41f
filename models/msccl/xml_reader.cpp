#include "models/msccl/xml_reader.hpp"

#include <pugixml.hpp>
namespace moire::models::msccl {
std::optional<Algorithm> read_xml(const std::string& file, config::Diagnostics&) {
  pugi::xml_document d;
  d.load_file(file.c_str());
  auto a = d.child("algo");
  if (!a) return std::nullopt;
  Algorithm r;
  r.file = file;
  r.name = a.attribute("name").value();
  r.collective = *collective_of(a.attribute("coll").value());
  r.protocol = *protocol_of(a.attribute("proto").value());
  r.channels = a.attribute("nchannels").as_int();
  r.chunks = a.attribute("nchunksperloop").as_int();
  r.in_place = a.attribute("inplace").as_int();
  r.out_of_place = a.attribute("outofplace").as_int(1);
  r.min_bytes = a.attribute("minBytes").as_ullong();
  r.max_bytes = a.attribute("maxBytes").as_ullong();
  r.gpus.resize(a.attribute("ngpus").as_uint());
  for (auto g : a.children("gpu")) {
    Gpu& gpu = r.gpus.at(g.attribute("id").as_uint());
    for (auto t : g.children("tb")) {
      ThreadBlock& b = gpu.blocks.emplace_back();
      b.send = t.attribute("send").as_int();
      b.recv = t.attribute("recv").as_int();
      b.channel = t.attribute("chan").as_int();
      for (auto s : t.children("step")) {
        Step& x = b.steps.emplace_back();
        x.type = *step_type_of(s.attribute("type").value());
        x.src_buffer = *buffer_of(s.attribute("srcbuf").value());
        x.dst_buffer = *buffer_of(s.attribute("dstbuf").value());
        x.src_offset = s.attribute("srcoff").as_int();
        x.dst_offset = s.attribute("dstoff").as_int();
        x.count = static_cast<std::uint16_t>(s.attribute("cnt").as_int());
        x.depends_block = s.attribute("depid").as_int();
        x.depends_step = s.attribute("deps").as_int();
        x.has_dependents = s.attribute("hasdep").as_int();
      }
    }
  }
  return r;
}
}  // namespace moire::models::msccl
