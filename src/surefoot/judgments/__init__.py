"""What the judgments can't tell: documents that nobody judged, assessors who differ, and what to judge next."""
