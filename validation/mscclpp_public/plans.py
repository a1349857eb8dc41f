# Makes the plans that this folder compares with public timings: `python3 plans.py` writes them to configs/algorithms.
# Each block of a plan does the same as the block of a hand-written kernel of MSCCL++
# (examples/tutorials/03-memory-channel and 04-port-channel, test/mscclpp-test/allreduce_test.cu, kernel 6).
import json
import pathlib

target = pathlib.Path(__file__).resolve().parents[2] / "configs" / "algorithms"


def place(buffer, index, size=1):
    return {("buffer_id" if isinstance(buffer, int) else "type"): buffer, "index": index, "size": size}


def write(name, what, gpus, threads, packets, in_place=True):
    plan = {
        "name": name,
        "collective": what,
        "protocol": "LL" if packets else "Simple",
        "inplace": in_place,
        "reuse_resources": False,
        "num_threads_per_block": threads,
        "use_double_scratch_buffer": packets,
        "buffer_alignment": 16,
        "min_message_size": 0,
        "max_message_size": 2**64 - 1,
        "gpus": gpus,
    }
    (target / f"{name}.plan.json").write_text(compact(plan) + "\n")


def compact(value, depth=0):
    flat = json.dumps(value)
    if len(flat) + depth <= 140 or not isinstance(value, (dict, list)):
        return flat
    pad = "\n" + " " * (depth + 1)
    if isinstance(value, dict):
        inner = ("," + pad).join(f"{json.dumps(key)}: {compact(item, depth + 1)}" for key, item in value.items())
        return "{" + pad + inner + "\n" + " " * depth + "}"
    inner = ("," + pad).join(compact(item, depth + 1) for item in value)
    return "[" + pad + inner + "\n" + " " * depth + "]"


def pair(name, body, scratch=0, channel="memory", blocks=32, threads=1024):
    """Two GPUs gather their halves, `blocks` blocks each. The first block tells the peer that its call has begun."""
    gpus = []
    for rank in range(2):
        remote = "s" if scratch else "o"
        gpus.append(
            {
                "id": rank,
                "input_chunks": 1,
                "output_chunks": 2,
                "scratch_chunks": scratch,
                "channels": [{"channel_type": channel, "connected_to": [1 - rank]}],
                "remote_buffers": [{"rank": 1 - rank, "type": remote, "access_channel_types": [channel]}],
                "semaphores": [],
                "threadblocks": [
                    {
                        "id": block,
                        "ops": body(rank, block),
                        "channels": [{"channel_type": channel, "channel_ids": [0]}],
                        "remote_buffer_refs": [{"access_channel_type": channel, "remote_buffer_ids": [0]}],
                    }
                    for block in range(blocks)
                ],
            }
        )
    write(name, "allgather", gpus, threads, packets=scratch > 0)


blocks = 32
meet = {"name": "barrier", "barrier_id": 0, "num_threadblocks": blocks}


def flag(name, channel="memory"):
    return {"name": name, "channel_type": channel, "channel_ids": [0]}


def begun(block):
    return ([flag("rlxsignal"), flag("rlxwait")] if block == 0 else []) + [meet]


def move(name, source, destination, block):
    part = {"tb_id": block, "tbg_size": blocks}
    return {"name": name, "channel_type": "memory", "channel_ids": [0], "src_buff": [source], "dst_buff": [destination],
            "tbg_info": part}


def put(rank, block):
    end = [flag("signal"), flag("wait")] if block == 0 else []
    return begun(block) + [move("put", place("o", rank), place(0, rank), block), meet] + end


def get(rank, block):
    # In a plan, this rank's call may end only after the peer has read the data. The kernel that was timed ends earlier,
    # because it has no such handshake.
    end = [flag("rlxsignal"), flag("rlxwait")] if block == 0 else []
    return begun(block) + [move("get", place(0, 1 - rank), place("o", 1 - rank), block), meet] + end


def packets(rank, block):
    return begun(block) + [
        move("ppkt", place("o", rank), place(0, 0), block),
        {"name": "upkt", "src_buff": [place("s", 0)], "dst_buff": [place("o", 1 - rank)],
         "tbg_info": {"tb_id": block, "tbg_size": blocks}},
    ]


def port(rank, _):
    # The kernel that was timed does not wait for the copy engine. In a plan, the call may not end before the copy
    # engine has read the buffer, so the put waits ("f": flush).
    sent = {"name": "pwsf", "channel_type": "port", "channel_ids": [0], "src_buff": [place("o", rank)],
            "dst_buff": [place(0, rank)]}
    return [flag("signal", "port"), flag("wait", "port"), sent, flag("wait", "port")]


def all_reduce_packets(name="8gpu_all_reduce_packets", ranks=8, per_peer=3, threads=512):
    """Every GPU sends its chunks to their owners, which sum them and send the sums to all GPUs, in packets."""
    count = per_peer * (ranks - 1)
    gpus = []
    for rank in range(ranks):
        peers = [peer for peer in range(ranks) if peer != rank]
        number = {peer: i for i, peer in enumerate(peers)}
        threadblocks = []
        for block in range(count):
            peer = peers[block // per_peer]
            third = {"tb_id": block % per_peer, "tbg_size": per_peer}
            ops = [
                {"name": "ppkt", "channel_type": "memory", "channel_ids": [number[peer]], "src_buff": [place("i", peer)],
                 "dst_buff": [place(number[peer], rank)], "tbg_info": third},
                {"name": "respkt", "channel_type": "memory", "channel_ids": list(number.values()), "reduce_op": "sum",
                 "src_buff": [place("i", rank)] + [place("s", other) for other in peers],
                 "dst_buff": [place("o", rank)] + [place(number[other], ranks + rank) for other in peers],
                 "tbg_info": {"tb_id": block, "tbg_size": count}},
                {"name": "upkt", "src_buff": [place("s", ranks + peer)], "dst_buff": [place("o", peer)],
                 "tbg_info": third},
            ]
            threadblocks.append(
                {"id": block, "ops": ops,
                 "channels": [{"channel_type": "memory", "channel_ids": list(number.values())}],
                 "remote_buffer_refs": [{"access_channel_type": "memory",
                                         "remote_buffer_ids": list(number.values())}]}
            )
        gpus.append(
            {"id": rank, "input_chunks": ranks, "output_chunks": ranks, "scratch_chunks": 2 * ranks,
             "channels": [{"channel_type": "memory", "connected_to": peers}],
             "remote_buffers": [{"rank": peer, "type": "s", "access_channel_types": ["memory"]} for peer in peers],
             "semaphores": [], "threadblocks": threadblocks}
        )
    write(name, "allreduce", gpus, threads, packets=True, in_place=False)


pair("2gpu_all_gather_put", put)
pair("2gpu_all_gather_get", get)
pair("2gpu_all_gather_packets", packets, scratch=1)
pair("2gpu_all_gather_port", port, channel="port", blocks=1, threads=1)
all_reduce_packets()
