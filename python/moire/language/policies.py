"""How thread blocks and instances come about, and what instructions there are."""

from enum import Enum


class _Named(Enum):
    def __str__(self):
        return self.value


class ThreadblockPolicy(_Named):
    auto = "auto"  # the compiler chooses thread blocks and free channels
    manual = "manual"  # sendtb, recvtb and ch say it


class ReplicationPolicy(_Named):
    duplicated = "duplicated"  # instance i works on the i-th part of every buffer
    interleaved = "interleaved"  # every operation is cut into as many parts as instances


class Instruction(_Named):
    """Step types, by the names that MSCCL XML has for them."""

    nop = "nop"
    send = "s"
    recv = "r"
    recv_copy_send = "rcs"
    recv_reduce_send = "rrs"
    recv_reduce_copy = "rrc"
    recv_reduce_copy_send = "rrcs"
    copy = "cpy"
    reduce = "re"
