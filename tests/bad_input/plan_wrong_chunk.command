check plan_wrong_chunk.json
