check plan_unwritten.json
