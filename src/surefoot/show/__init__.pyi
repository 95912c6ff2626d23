"""The public names of `surefoot.show`; see `surefoot._lazy`."""

from surefoot.show.judging import judging_page as judging_page
from surefoot.show.report import Rankings as Rankings
from surefoot.show.tables import render as render
