"""From results to standings, crosstable and ratings: pure functions, the same digits whatever the order of arrival.

``evidence``, ``standings`` and ``crosstable`` need the standard library alone; ``skill`` needs openskill, so it is
imported where ratings are wanted and not here.
"""

from arbiter.rating.crosstable import Pairing, crosstable
from arbiter.rating.evidence import BoardScore, EvidenceError
from arbiter.rating.standings import Standing, standings

__all__ = ["BoardScore", "EvidenceError", "Pairing", "Standing", "crosstable", "standings"]
