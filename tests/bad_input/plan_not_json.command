check plan_not_json.json
