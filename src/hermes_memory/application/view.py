"""A memory as one caller has it: whose it is, in which conversation, with whom."""

from __future__ import annotations

from hermes_memory.application.view_capturing import Capturing
from hermes_memory.application.view_explaining import Explaining
from hermes_memory.application.view_history import LookingBack
from hermes_memory.application.view_recalling import Recalling
from hermes_memory.application.view_writing import Writing


class View(Writing, Capturing, Recalling, LookingBack, Explaining):
    """The memory as one caller has it. Cheap: make as many as needed.

    Whatever is read waits until all that this home has accepted to change or to forget is done, and raises when that
    takes too long: what is on its way out is not shown.
    """
