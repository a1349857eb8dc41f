"""The same as moire.language.collectives, where programs for the public compiler look for it."""

from moire.language.collectives import *
