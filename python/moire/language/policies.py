"""Policies that determine how thread blocks and instances are made, and the types of instructions."""

from enum import Enum


class _Named(Enum):
    def __str__(self):
        return self.value


class ThreadblockPolicy(_Named):
    auto = "auto"  # the compiler chooses thread blocks and free channels
    manual = "manual"  # the arguments sendtb, recvtb and ch choose them


class ReplicationPolicy(_Named):
    duplicated = "duplicated"  # instance i works on the i-th part of every buffer
    interleaved = "interleaved"  # every operation is cut into as many parts as instances


class Instruction(_Named):
    """Step types, by their names in MSCCL XML."""

    nop = "nop"
    send = "s"
    recv = "r"
    recv_copy_send = "rcs"
    recv_reduce_send = "rrs"
    recv_reduce_copy = "rrc"
    recv_reduce_copy_send = "rrcs"
    copy = "cpy"
    reduce = "re"
