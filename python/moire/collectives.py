"""The same as moire.language.collectives, under the name that programs for the public compiler import."""

from moire.language.collectives import *
