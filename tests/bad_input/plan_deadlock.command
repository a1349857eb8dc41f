check plan_deadlock.json
