check plan_wrong_ids.json
