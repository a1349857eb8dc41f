check plan_chunk_range.json
