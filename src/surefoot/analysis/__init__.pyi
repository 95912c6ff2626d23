"""The public names of `surefoot.analysis`; see `surefoot._lazy`."""

from surefoot.analysis.cross import baseline_choice as baseline_choice
from surefoot.analysis.documents import document_moves as document_moves
from surefoot.analysis.intervals import difference_intervals as difference_intervals
from surefoot.analysis.paper_tables import compare_pairs as compare_pairs
from surefoot.analysis.paper_tables import side_by_side as side_by_side
from surefoot.analysis.paper_tables import with_letters as with_letters
from surefoot.analysis.segments import evaluate_segments as evaluate_segments
from surefoot.analysis.streaming import evaluate_parquet as evaluate_parquet
