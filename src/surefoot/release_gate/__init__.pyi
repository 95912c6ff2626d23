"""The public names of `surefoot.release_gate`; see `surefoot._lazy`."""

from surefoot.release_gate.accepted import Accepted as Accepted
from surefoot.release_gate.accepted import read_accepted as read_accepted
from surefoot.release_gate.accepted import write_accepted as write_accepted
from surefoot.release_gate.ratchet import accept as accept
from surefoot.release_gate.ratchet import gate_accepted as gate_accepted
from surefoot.release_gate.render import render_gate as render_gate
from surefoot.release_gate.render import render_junit as render_junit
from surefoot.release_gate.render import render_markdown as render_markdown
from surefoot.release_gate.rules import Rules as Rules
from surefoot.release_gate.verdict import GateResult as GateResult
