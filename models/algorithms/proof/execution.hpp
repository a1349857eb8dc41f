// Runs a program on values of any type, such as symbols or numbers, instead of data.
#pragma once

#include <cstdint>
#include <vector>

#include "models/algorithms/proof/layout.hpp"
#include "models/algorithms/proof/schedule.hpp"

namespace moire::proof {

// The messages in flight on one connection, in order.
template <class Value>
class Queue {
 public:
  void push(const Value& value) { values_.push_back(value); }
  Value pop() {
    Value value = values_[head_++];
    if (head_ == values_.size()) {
      values_.clear();
      head_ = 0;
    } else if (head_ >= 1024 && head_ * 2 > values_.size()) {
      values_.erase(values_.begin(), values_.begin() + static_cast<std::ptrdiff_t>(head_));
      head_ = 0;
    }
    return value;
  }

 private:
  std::vector<Value> values_;
  std::size_t head_ = 0;
};

// Runs the calls of a program in the given order. For each chunk of a call, carry() calls functions of `values`.
// `number` is the number of the step in `block`:
//   Value received(block, number, message)          returns the value in a message from a connection
//   Value read(block, number, buffer, chunk, cell)  returns the value in a cell
//   Value sum(block, number, first, second)
//   Value write(block, number, cell, value)         returns the value that the step sends on
//   Message sent(block, number, value)              returns the message that carries the value
template <class Message, class Values>
void carry(const Program& program, const Layout& layout, const std::vector<std::uint32_t>& order,
           std::uint32_t cells_per_call, Values& values) {
  std::vector<Queue<Message>> queues(program.connections.size());
  Calls calls(program, cells_per_call);
  for (const std::uint32_t b : order) {
    const Call call = calls.next(b);
    const Program::Block& block = program.blocks[b];
    const Step& step = block.steps[call.step];
    const ir::Effect does = ir::effect(step.op);
    for (std::uint32_t chunk = call.first; chunk < call.first + call.count; ++chunk) {
      const std::int64_t src = std::int64_t{step.src_offset} + chunk;
      const std::int64_t dst = std::int64_t{step.dst_offset} + chunk;
      typename Values::Value value{};
      if (does.receives) value = values.received(b, call.step, queues[step.in].pop());
      if (does.reads_dst)
        value = values.read(b, call.step, step.dst_buffer, dst, layout.cell(block.gpu, step.dst_buffer, dst));
      if (does.reads_src) {
        const auto read = values.read(b, call.step, step.src_buffer, src, layout.cell(block.gpu, step.src_buffer, src));
        value = does.reduces ? values.sum(b, call.step, value, read) : read;
      }
      if (does.writes_dst) value = values.write(b, call.step, layout.cell(block.gpu, step.dst_buffer, dst), value);
      if (does.sends) queues[step.out].push(values.sent(b, call.step, value));
    }
  }
}

}  // namespace moire::proof
