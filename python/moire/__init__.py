"""Moire from Python: a language for collective algorithms, compiled to MSCCL XML by Moire's own compiler.

    from moire.language import *
    from moire.topologies import *
    from moire.language.collectives import AllReduce
"""
