"""From results to standings, crosstable and ladder: pure functions, the same digits whatever the order of arrival.

``standings`` and ``crosstable`` rank the entrants of one tournament, ``ladder`` rates bot versions on all results there
are. All need NumPy; SciPy, which is slow to import, is imported where a quantile is first asked for.
"""

from arbiter.rating.crosstable import Pairing, crosstable
from arbiter.rating.evidence import BoardScore, EvidenceError
from arbiter.rating.ladder import Rating, TableResult, ladder
from arbiter.rating.ratio import Estimate
from arbiter.rating.standings import Standing, standings

__all__ = [
    "BoardScore",
    "Estimate",
    "EvidenceError",
    "Pairing",
    "Rating",
    "Standing",
    "TableResult",
    "crosstable",
    "ladder",
    "standings",
]
