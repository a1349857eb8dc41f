#include "models/algorithms/mscclpp/cells.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace moire::mscclpp {

namespace {

// True if the same thread makes both accesses.
bool by_same_thread(const Access& a, const Access& b) {
  return a.agent == b.agent && a.grain == b.grain && a.grain != Grain::whole && a.offset == b.offset &&
         a.length == b.length;
}

}  // namespace

Cells::Cells(const Plan& plan, const Layout& layout, const Agents& agents, Faults& faults)
    : plan_(plan), layout_(layout), agents_(agents), faults_(faults), cells_(layout.cells()) {
  for (std::size_t g = 0; g < plan.gpus.size(); ++g) {
    const std::uint32_t call = add_site({static_cast<std::uint32_t>(g), 0, -1, -1});
    for (const std::size_t at : layout.inputs(g)) {
      Cell& cell = cells_[at];
      cell.sum = {static_cast<std::uint32_t>(at)};
      cell.written = true;
      cell.write = {static_cast<std::uint32_t>(agents.call(g)), 1, call, 0, 0, Grain::whole};
    }
  }
}

std::uint32_t Cells::add_site(const Site& site) {
  sites_.push_back(site);
  return static_cast<std::uint32_t>(sites_.size() - 1);
}

bool Cells::is_before(const Access& earlier, const Access& later, const Clock& known) const {
  if (earlier.site == later.site) return earlier.offset == later.offset;  // else it overlaps itself
  // A proxy runs its operations one after the other.
  const bool by_same_proxy = earlier.agent == later.agent && !agents_.is_block(earlier.agent);
  return known.of(earlier.agent) >= earlier.time || by_same_thread(earlier, later) || by_same_proxy;
}

// Reports the access if it uses a user's buffer of a GPU whose call may not have begun.
void Cells::check_begun(std::size_t cell, const Access& access, const Knowledge& known, const Clock& over,
                        const char* verb) {
  if (layout_.is_scratch(cell)) return;
  const std::size_t call = agents_.call(layout_.gpu_of(cell));
  if (known.over.of(call) > 0 || over.of(call) > 0) return;
  const Site& at = sites_[access.site];
  faults_.add(Fault::Kind::race, at,
              fmt::format("race: {} {} {}, which may not have begun its call", name(at), verb, layout_.name(cell)),
              "first wait for a signal of that gpu", "enter " + name(at));
}

void Cells::conflict(const Access& earlier, const Access& later, std::size_t cell, const char* was, const char* is) {
  const Site& a = sites_[earlier.site];
  const Site& b = sites_[later.site];
  const bool own = a.gpu == b.gpu && a.block == b.block && earlier.agent == later.agent;
  faults_.add(
      Fault::Kind::race, b,
      fmt::format("race: {} {} {}, which {} {}; nothing orders the two", name(b), is, layout_.name(cell), name(a), was),
      earlier.site == later.site ? "choose a source and a destination that do not overlap"
      : own                      ? "put a nop between them: threads of a block do not wait for each other"
            : "let the second wait for the first by a signal, semaphore or barrier, with nops between it and the data",
      fmt::format("{} {} {} {}", name(a), was, name(b), is));
}

Clock Cells::read(std::size_t index, const Access& access, const Knowledge& known, const Clock& over, bool packet) {
  Cell& cell = cells_[index];
  const Site& at = sites_[access.site];
  check_begun(index, access, known, over, "reads");
  if (!cell.written) {
    faults_.add(Fault::Kind::unwritten, at,
                fmt::format("{} reads {}, which no operation wrote", name(at), layout_.name(index)), "write it first",
                "unwritten " + name(at));
  } else if (packet && cell.packet_writes == 1) {
    cell.reads.push_back(access);
    return cell.over;
  } else if (!agents_.is_call(cell.write.agent) && !is_before(cell.write, access, known.visible)) {
    conflict(cell.write, access, index, packet ? "writes again, with the same flag," : "writes", "reads");
  }
  cell.reads.push_back(access);
  return {};
}

void Cells::write(std::size_t index, const Access& access, const Knowledge& known, const Clock& over,
                  const std::vector<std::uint32_t>& sum, bool packet) {
  Cell& cell = cells_[index];
  check_begun(index, access, known, over, "writes");
  // The user wrote the initial data before the call. check_begun() checks this case, so it is no conflict here.
  const bool initial = cell.written && agents_.is_call(cell.write.agent);
  if (cell.written && !initial && !is_before(cell.write, access, known.visible)) {
    conflict(cell.write, access, index, "writes", "writes");
  }
  for (const Access& read : cell.reads) {
    if (!is_before(read, access, known.over) && over.of(read.agent) < read.time) {
      conflict(read, access, index, "reads", "writes");
    }
  }
  cell.reads.clear();
  cell.written = true;
  cell.write = access;
  cell.sum = sum;
  cell.packet_writes += packet ? 1 : 0;
  if (packet) {
    cell.over = known.over;
    cell.over.join(over);
    cell.over.join(Clock(agents_.count));
    cell.over.set(access.agent, access.time);
  }
}

void Cells::check_ends(const std::vector<Knowledge>& ends) {
  for (std::size_t g = 0; g < plan_.gpus.size(); ++g) {
    const auto [first, last] = layout_.user_cells(g);
    for (std::size_t c = first; c < last; ++c) {
      const Cell& cell = cells_[c];
      if (cell.written && !agents_.is_call(cell.write.agent) &&
          ends[g].visible.of(cell.write.agent) < cell.write.time) {
        const Site& at = sites_[cell.write.site];
        const bool relaxed = ends[g].over.of(cell.write.agent) >= cell.write.time;
        faults_.add(
            Fault::Kind::race, at,
            fmt::format("race: the call of gpu {} may end before what {} writes to {} has arrived{}", g, name(at),
                        layout_.name(c), relaxed ? ": only relaxed signals follow it, which do not order memory" : ""),
            fmt::format("add a signal{} after it that gpu {} waits for", relaxed ? " that is not relaxed" : "", g),
            "end " + name(at), true);
      }
      for (const Access& read : cell.reads) {
        if (ends[g].over.of(read.agent) >= read.time) continue;
        const Site& at = sites_[read.site];
        faults_.add(Fault::Kind::race, at,
                    fmt::format("race: the call of gpu {} may end, and its user overwrite {}, while {} still reads it",
                                g, layout_.name(c), name(at)),
                    agents_.is_block(read.agent) ? fmt::format("add a signal after it that gpu {} waits for", g)
                                                 : "add a flush: a put over a port continues after the operation",
                    "end read " + name(at), true);
      }
    }
  }
}

std::string Cells::terms(const std::vector<std::uint32_t>& sum) const {
  constexpr std::size_t shown = 6;
  if (sum.empty()) return "nothing";
  std::string out;
  for (std::size_t i = 0; i < std::min(sum.size(), shown); ++i) {
    out += (i > 0 ? " + " : "") + layout_.name(sum[i]);
    if (layout_.cut().slices > 1) out += fmt::format(" slice {}", layout_.slice_of(sum[i]));
  }
  if (sum.size() > shown) out += fmt::format(" + {} more", sum.size() - shown);
  return out;
}

void Cells::check_result() {
  for (std::size_t g = 0; g < plan_.gpus.size(); ++g) {
    const std::size_t slices = layout_.cut().slices;
    for (std::size_t chunk = 0; chunk * slices < layout_.outputs(g); ++chunk) {
      for (std::size_t slice = 0; slice < slices; ++slice) {
        const Cell& cell = cells_[layout_.output_cell(g, chunk * slices + slice)];
        const std::vector<std::uint32_t> expected = layout_.expected(g, chunk * slices + slice);
        if (cell.written && cell.sum == expected) continue;
        const Site last = cell.written ? sites_[cell.write.site] : Site{static_cast<std::uint32_t>(g), 0, -1, -1};
        faults_.add(Fault::Kind::wrong, last,
                    fmt::format("wrong result: output chunk {}{} of gpu {} is {}{}, not {}", chunk,
                                slices > 1 ? fmt::format(" slice {}", slice) : "", g, terms(cell.sum),
                                !cell.written ? ""
                                : last.op < 0 ? ", as it was at the start"
                                              : ", written by " + name(last),
                                terms(expected)),
                    fmt::format("write what {} requires", msccl::to_string(plan_.collective)),
                    fmt::format("wrong {}", g));
        break;
      }
    }
  }
}

}  // namespace moire::mscclpp
