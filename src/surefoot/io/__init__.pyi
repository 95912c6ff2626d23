"""The public names of `surefoot.io`; see `surefoot._lazy`."""

from surefoot.io.small_files import read_map as read_map
from surefoot.io.small_files import read_names as read_names
from surefoot.io.small_files import read_segments as read_segments
from surefoot.io.tables import read_scores as read_scores
from surefoot.io.tables import read_scores_by as read_scores_by
from surefoot.io.texts import read_documents as read_documents
from surefoot.io.texts import read_queries as read_queries
from surefoot.io.trec import read_qrels as read_qrels
from surefoot.io.trec import read_run as read_run
