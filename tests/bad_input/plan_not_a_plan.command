check plan_not_a_plan.json
